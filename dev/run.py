"""Show TIRx Lens at work: on the terminal first, then in a real VS Code until Ctrl+C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from editor import ROOT, Editor

if TYPE_CHECKING:
    from types import FrameType

TIRX_LENS = ROOT / ".venv" / "bin" / "tirx-lens"
KERNELS = ROOT / "kernels"
SHOWN_KERNEL = "kernels/gemm_step7_warp_specialized.py"
SHOWN_LINES = 40


def main() -> int:
    """Print the results, serve the editor, and return the exit code."""
    show_check()
    show_cuda()
    signal.signal(signal.SIGTERM, interrupt)
    editor = Editor(int(os.environ.get("PORT", "0")))
    try:
        editor.wait_until_up()
        print("\nVS Code with TIRx Lens (Ctrl+C ends it). Open a file of broken/, or run")
        print(f'"TIRx Lens: Show Generated CUDA" in a kernel:\n\n    {editor.url(KERNELS)}\n')
        sys.stdout.flush()
        return editor.wait()
    except KeyboardInterrupt:
        print()
        return 0
    except RuntimeError as error:
        print(error)
        return 1
    finally:
        editor.stop()


def show_check() -> None:
    """Print what `tirx-lens check` says of the broken kernels."""
    print("\n$ tirx-lens check kernels/broken")
    sys.stdout.flush()
    subprocess.run([TIRX_LENS, "check", "kernels/broken"], cwd=ROOT, check=False)


def show_cuda() -> None:
    """Print the start of the kernel that `tirx-lens cuda` gives, without the helpers before it."""
    print(f"\n$ tirx-lens cuda {SHOWN_KERNEL}")
    sys.stdout.flush()
    result = subprocess.run(
        [TIRX_LENS, "cuda", SHOWN_KERNEL], cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True
    )
    lines = result.stdout.splitlines()
    first = start_of_body(lines)
    shown = lines[first : first + SHOWN_LINES]
    if shown:
        print("\n".join(shown))
        print(f"... (lines {first + 1} to {first + len(shown)} of {len(lines)})")


def start_of_body(lines: list[str]) -> int:
    """Return the index of the first `__global__` definition, a declaration being none."""
    for index, line in enumerate(lines):
        if "__global__" in line and not line.rstrip().endswith(";"):
            return index
    return 0


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Treat a request to end as Ctrl+C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
