"""TX507: where a kernel is to be built, it cannot be."""

from __future__ import annotations

from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.rule import Page


class EnvironmentUnfit(Page):
    """The environment that was chosen cannot build this file's kernels.

    ## What it does

    When a kernel is built, it says at the import of TVM why the interpreter or the target cannot
    build it: there is no TVM, it is too old, or it does not import; the file is written for
    another TVM, by its spelling or by `tvm-version` of the project, and does not build on this one;
    the host cannot be reached; its GPU is not of the target's architecture.

    The next build that goes well, of any kernel of the file, takes it away.

    ## Why it is bad

    Nothing is built there, and no change of the kernel helps. What earlier builds said stays, and
    so does the CUDA they gave, marked as stale.

    ## Use instead

    Another interpreter (`tirx-lens.interpreter`) or another target ("TIRx Lens: Choose Target").
    "TIRx Lens: Check Targets" and `tirx-lens doctor` say what each of them has.

    ## References

    - TVM releases: TIRx is in 0.25 and later; 0.27 spells instructions anew.
    """

    code = "TX507"
    name = "environment-unfit"
    levels = "warning"
    symptoms = (Symptom.BUILD, Symptom.CRASH)
