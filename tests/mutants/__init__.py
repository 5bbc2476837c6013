"""Mutants of the correct kernels: one mistake each, judged by hand, found or missed by the rules.

`places` finds the statements that synchronise, `mutate` breaks them one at a time, `judge` says
what each break does on the hardware, `measure` asks the rules and
runs the handoffs (`simulator`). `python -m tests.mutants` prints it.
"""
