"""TX503: a tile operation is given a buffer in the wrong memory."""

from __future__ import annotations

from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.rule import Page


class ScopeMismatch(Page):
    """A tile operation is given a buffer in a memory that none of its variants takes.

    ## What it does

    When a kernel is built and every variant of an operation refuses it for the scope of a buffer,
    it shows the reasons at the operation, with the calls that led there.

    ## Why it is bad

    The kernel does not build: TMA moves between global and shared memory, tcgen05 multiplies
    operands in shared memory into TMEM, and registers reach neither without a copy of their own.

    ## Use instead

    Copy through the memory that the hardware goes through: registers to shared memory, then a TMA
    store.

    ## References

    - TVM, `tirx/operator/tile_primitive/dispatcher.py`: `run_dispatch`.
    - PTX ISA, Data Movement and Conversion Instructions: `cp.async.bulk.tensor`.
    """

    code = "TX503"
    name = "scope-mismatch"
    levels = "error"
    symptoms = (Symptom.BUILD,)
