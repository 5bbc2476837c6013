"""Reading what CUDA compilers print: PTX and SASS by CUDA line, and the assembler's report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .gpu_code import FILE
from .messages import CodeLine, ResourceReport

if TYPE_CHECKING:
    from collections.abc import Iterator

# PTX: `.file 1 "kernel.cu"`, `.loc 1 42 7, function_name $L__info, inlined_at 1 80 3`
_PTX_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"')
_PTX_PLACE = re.compile(
    r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?"
)
_PTX_INSTRUCTION = re.compile(r"^\s*(?:\{\s*)?(?:@!?%?\w+\s+)?[a-z][\w.:]*[^\n]*;")

# nvdisasm: `//## File "kernel.cu", line 42 inlined at "kernel.cu", line 80`, then instructions
_SASS_PLACE = re.compile(
    r'^\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?'
)
_SASS_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
_SASS_FUNCTION = re.compile(r"^\s*\.text\.([\w$.]+):")
_SASS_LABEL = re.compile(r"^\s*(\.L_x_\d+):")

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SMEM = re.compile(r"(\d+) bytes smem")


def sass_lines(printed: str, inside: range) -> tuple[CodeLine, ...]:
    """Return the instructions of a disassembly, each with the line of the kernel it came from.

    `inside` are the lines, from 1, of the kernels in the CUDA text: of code inlined from a helper
    it is the line of the call there that counts.
    """
    lines: list[CodeLine] = []
    place: int | None = None
    begun = False  # the places before an instruction go from the innermost call outwards
    for text in printed.splitlines():
        if (function := _SASS_FUNCTION.match(text)) is not None:
            place, begun = None, False
            lines.append(CodeLine(f"{function[1]}:", None))
        elif (label := _SASS_LABEL.match(text)) is not None:
            lines.append(CodeLine(f"{label[1]}:", place))
        elif (found := _SASS_PLACE.match(text)) is not None:
            if not begun:
                place, begun = None, True
            place = _inside(found, inside) or place
        elif (found := _SASS_INSTRUCTION.match(text)) is not None:
            begun = False
            lines.append(CodeLine(f"    {found[1]}  {found[2]}", place))
    return tuple(lines)


def _inside(found: re.Match[str], inside: range) -> int | None:
    """Return the outermost of the two lines a remark names that lies in a kernel."""
    for file, line in ((found[3], found[4]), (found[1], found[2])):
        if file is not None and file.endswith(FILE) and int(line) in inside:
            return int(line)
    return None


def ptx_lines(text: str, inside: range) -> tuple[CodeLine, ...]:
    """Return the lines of a PTX text without their line directives, each with its CUDA line."""
    return tuple(_ptx_lines(text, inside))


def _ptx_lines(text: str, inside: range) -> Iterator[CodeLine]:
    files: dict[str, str] = {}
    for line in text.splitlines():
        if (found := _PTX_FILE.match(line)) is not None:
            files[found[1]] = found[2]
    ours = {number for number, name in files.items() if name.endswith(FILE)}
    callers: dict[tuple[str, str, str], tuple[str, str, str]] = {}
    place: int | None = None
    for line in text.splitlines():
        found = _PTX_PLACE.match(line)
        if found is None:
            if not _PTX_FILE.match(line) and not line.lstrip().startswith(("$L__tmp", "$L__func")):
                is_code = _PTX_INSTRUCTION.match(line) is not None
                yield CodeLine(line.expandtabs(4), place if is_code else None)
            if line.startswith("}"):
                place = None
            continue
        here = (found[1], found[2], found[3])
        if found[4] is not None:
            callers[here] = (found[4], found[5], found[6])
        place = _kernel_line(here, callers, ours, inside)


def _kernel_line(
    here: tuple[str, str, str],
    callers: dict[tuple[str, str, str], tuple[str, str, str]],
    ours: set[str],
    inside: range,
) -> int | None:
    seen: set[tuple[str, str, str]] = set()
    while here not in seen:
        seen.add(here)
        if here[0] in ours and int(here[1]) in inside:
            return int(here[1])
        here = callers.get(here, here)
    return None


def resource_report(log: str, kernel: str) -> ResourceReport | None:
    """Read what the assembler says of a kernel: registers, spills, stack, barriers, static SMEM."""
    _, found, rest = _after_entry(log, kernel)
    used = _USED.search(rest)
    if not found or used is None:
        return None
    spills, barriers, smem = (pattern.search(rest) for pattern in (_SPILLS, _BARRIERS, _SMEM))
    return ResourceReport(
        registers=int(used[1]),
        stack_bytes=int(spills[1]) if spills else 0,
        spill_store_bytes=int(spills[2]) if spills else 0,
        spill_load_bytes=int(spills[3]) if spills else 0,
        barriers=int(barriers[1]) if barriers else 0,
        static_smem_bytes=int(smem[1]) if smem else 0,
    )


def _after_entry(log: str, kernel: str) -> tuple[str, bool, str]:
    """Return what of a log is about a kernel: from its name to the next entry's."""
    entries = list(_ENTRY.finditer(log))
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        if entry[1] == kernel:
            end = following.start() if following is not None else len(log)
            return kernel, True, log[entry.end() : end]
    return kernel, False, ""
