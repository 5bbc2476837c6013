"""Reading what CUDA compilers print: PTX and SASS by CUDA line, and the assembler's report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .gpu_code import FILE, CompilerError, compile_cuda, disassemble
from .messages import CodeLine, MachineCode, ResourceReport
from .scratch import trouble
from .toolchain import NoToolchainError, find_toolchain

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
_COMPLAINT = re.compile(r"\b(?:error|fatal)\b")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SMEM = re.compile(r"(\d+) bytes smem")


def machine_code_of(cuda: str, arch: str, scratch: str | None = None) -> MachineCode:
    """Compile a generated text and read all that comes of it; why there is nothing, where so.

    Files that are needed meanwhile are made in `scratch`, or where the system has such files.
    """
    try:
        tools = find_toolchain()
    except NoToolchainError as error:
        return MachineCode(problem=str(error))
    starts = [m.start() for m in re.finditer(r'^extern "C" __global__', cuda, re.MULTILINE)]
    first = cuda.count("\n", 0, starts[0]) + 1 if starts else 1
    inside = range(first, cuda.count("\n") + 2)
    try:
        code = compile_cuda(cuda, arch, tools, scratch)
        printed = disassemble(code.cubin, tools, scratch)
    except OSError as error:
        return MachineCode(problem=trouble(error))
    except CompilerError as error:
        words = str(error)
        said = next((line for line in words.splitlines() if _COMPLAINT.search(line)), words)
        return MachineCode(problem=f"The CUDA does not compile: {said.strip()}", detail=words)
    return MachineCode(
        code.compiler,
        ptx_lines(code.ptx, inside),
        sass_lines(printed, inside),
        resource_reports(code.log),
    )


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


def resource_reports(log: str) -> tuple[ResourceReport, ...]:
    """Read what the assembler says of each kernel: registers, spills, stack, barriers, SMEM."""
    entries = list(_ENTRY.finditer(log))
    ends = [entry.start() for entry in entries[1:]] + [len(log)]
    reports = []
    for entry, end in zip(entries, ends, strict=True):
        about = log[entry.end() : end]
        used = _USED.search(about)
        if used is None:
            continue
        spills, barriers, smem = (p.search(about) for p in (_SPILLS, _BARRIERS, _SMEM))
        reports.append(
            ResourceReport(
                kernel=entry[1],
                registers=int(used[1]),
                stack_bytes=int(spills[1]) if spills else 0,
                spill_store_bytes=int(spills[2]) if spills else 0,
                spill_load_bytes=int(spills[3]) if spills else 0,
                barriers=int(barriers[1]) if barriers else 0,
                static_smem_bytes=int(smem[1]) if smem else 0,
            )
        )
    return tuple(reports)
