"""Loading the protocol's types in less time."""

from __future__ import annotations

from functools import partial

import attrs


def load_protocol_types() -> None:
    """Import lsprotocol with classes that have no `__repr__`.

    It makes some 550 attrs classes when it is imported, and attrs compiles the methods of each from
    source: most of the time a server takes to answer `initialize`. A `__repr__`, which nothing but
    pygls's own debug log would print, is over a third of that.
    """
    define = attrs.define
    attrs.define = partial(define, repr=False)
    try:
        import lsprotocol.types  # noqa: F401
    finally:
        attrs.define = define
