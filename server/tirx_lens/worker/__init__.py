"""The build worker: runs in the user's kernel environment, on the standard library and TVM alone.

It travels as one archive over its own standard input (see `bootstrap`), so that a host needs
nothing but Python and TVM. It imports nothing from the rest of `tirx_lens`; the other side,
`tirx_lens.compile`, imports the wire types and the framing from here.
"""
