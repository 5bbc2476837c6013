"""TX506: what TVM, or the Python around a kernel, says when the kernel is built."""

from __future__ import annotations

from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.rule import Page


class BuildError(Page):
    """The kernel does not build.

    ## What it does

    When a kernel is built, it shows what went wrong at the line that it is about: an exception of
    the module or of the builder, an error of TVM's parser, of its lowering, of the compiler. The
    message is one sentence; its quick fix "Show whole message" opens all that was said, with
    traceback and notes. An error inside a helper stands at its call, with the way there.

    Kernels are built when you ask for their CUDA, and on each save with `tirx-lens.build.onSave`.
    The error stays until the line is edited or the kernel is built again.

    ## Why it is bad

    Nothing is built: what follows of an older build does not belong to this text.

    ## References

    - TVM, `tirx/script` (the parser) and `tirx/build.py`.
    """

    code = "TX506"
    name = "build-error"
    levels = "error"
    symptoms = (Symptom.BUILD,)
