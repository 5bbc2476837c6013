"""TX404: the compiler keeps registers of a kernel in local memory."""

from __future__ import annotations

from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.rule import Page


class RegisterSpill(Page):
    """The CUDA compiler keeps registers of a kernel in local memory.

    ## What it does

    After "Show PTX", "Show SASS" or `tirx-lens cuda --machine-code` it reads the assembler's
    report. Where that names spills, it shows the lines whose SASS loads from or stores to local
    memory (`LDL`, `STL`). The compiler and its version are named: another one may decide
    otherwise.

    ## Why it is bad

    Local memory is memory of the GPU behind the caches. A spill in a loop costs a load and a
    store in each turn, on the path of the role that has the least time: the epilogue that empties
    the accumulator, or the softmax between two multiplications.

    ## Use instead

    Fewer values alive at once: a smaller epilogue tile, `T.wg_reg_tile` of fewer columns, a loop
    that is not unrolled. Or more registers for the warps that need them: `setmaxnreg.inc` for the
    consumers, `dec` for the producer, within the 64K registers of an SM (TX114).

    ## When not to

    Arrays that are indexed by a variable live in local memory by their author's will: nothing is
    said where the assembler reports no spills.

    ## References

    - CUDA C++ Programming Guide, Local Memory.
    - CUDA Binary Utilities, nvdisasm; ptxas option `-v`.
    """

    code = "TX404"
    name = "register-spill"
    levels = "warning"
    symptoms = (Symptom.SLOW,)
