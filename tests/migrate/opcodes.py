"""The PTX of a generated CUDA text, in the order in which the kernel comes to it."""

from __future__ import annotations

import re

_HELPER = re.compile(r"__device__[^;{]*?\b(\w+)\([^)]*\)\s*\{(.*?)\n\}", re.DOTALL)
_ASM = re.compile(r"\basm\b[^;]*?\((.*?)\);", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_OPCODE = re.compile(r"(?:^|[;{}]|@!?%?\w+)\s*([a-z][a-z0-9_]*(?:(?:\.|::)[A-Za-z0-9_]+)+)")
_CALL = re.compile(r"\b(\w+)\(")
_DEFAULTS = ".acquire.cta"
"""What a wait means that names no order and no scope (PTX ISA, mbarrier.try_wait); 0.27 says it."""

_PLUMBING = ("setp.", "selp.", "mov.", "cvta.")
"""What the helpers need around the instruction, which each release writes in its own way."""


def opcodes(cuda: str) -> list[str]:
    """Return the opcodes of a kernel's instructions, each as often as its text has it."""
    helpers = {name: _in(body) for name, body in _HELPER.findall(cuda)}
    body = cuda[cuda.rindex("__global__") :]
    found: list[str] = []
    for name in _CALL.findall(body):
        found += helpers.get(name, [])
    return found


def _in(body: str) -> list[str]:
    found = []
    for code in _ASM.findall(body):
        text = " ".join(_STRING.findall(code)).replace("\\n", ";").replace("\\t", " ")
        for one in _OPCODE.findall(text):
            if not one.startswith(_PLUMBING):
                found.append(one.replace(_DEFAULTS, "") if "try_wait" in one else one)
    return found
