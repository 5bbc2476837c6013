"""TX502: TVM has no such way to carry out a tile operation."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.api.surface import surface_of
from tirx_lens.model.expr import Const
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Severity
from tirx_lens.model.imported import is_elsewhere
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.keywords import argument_span
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.releases import NEWEST_FIRST, held
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.api.surface import Surface
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.span import Span

_NO_POSITION = 99
_REGISTERS = re.compile(rb"register_dispatch")
_RENAMED = {
    ("copy_async", "tma"): "tma_auto",
    ("copy", "gmem_smem"): "vec_auto",
    ("copy", "reg"): "vec_auto",
}
"""What 0.26 calls the ways that 0.25 had."""


class UnsupportedDispatch(Rule):
    """`dispatch=` names a way that TVM does not have for this operation.

    ## What it does
    Holds the name against those that the kernel's TVM registers for the operation. Where nobody
    says which TVM that is, only a name that no known release has is reported.

    When a kernel is built and TVM itself finds no variant of that name, it shows TVM's sentence at
    the operation, with the calls that led there.

    ## Why it is bad
    The kernel does not build. TVM says which operation failed, but not on which line.

    ## Example
    ```python
    Tx.copy_async(Ds[:, :], f32[:, :], dispatch="tma_fast")
    ```

    ## Use instead
    ```python
    Tx.copy_async(Ds[:, :], f32[:, :], dispatch="tma_auto")
    ```

    ## Fix
    Writes the name that a release calls it by now; else the nearest one, which is unsafe.

    ## When not to
    A file that registers ways of its own (`register_dispatch`) is left alone.

    ## References
    - TVM, `tirx/operator/tile_primitive/dispatcher.py`: `run_dispatch`.
    """

    code: ClassVar[str] = "TX502"
    name: ClassVar[str] = "unsupported-dispatch"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.BUILD,)
    fix_title: ClassVar[str | None] = "Write the name that TVM has"

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            As = pool.alloc((4096,), "float16")
            pool.commit()
            Tx.cta.copy(As[:], A[:], dispatch="vec_auto")
        """),
        # A release that is not known: it may be 0.25.
        in_kernel("""
            pool = T.SMEMPool()
            As = pool.alloc((4096,), "float16")
            pool.commit()
            Tx.cta.copy(As[:], A[:], dispatch="gmem_smem")
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                As = pool.alloc((4096,), "float16")
                pool.commit()
                Tx.cta.copy(As[:], A[:], dispatch="vec_128")  # <-
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                As = pool.alloc((4096,), "float16")
                pool.commit()
                Tx.cta.copy(As[:], A[:], dispatch="vec_128b")
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look up the dispatch of each tile operation."""
        found = view.once(held)
        if not found.is_judged or view.mentions(_REGISTERS):
            return
        surface = found.surface
        for operation in view.listing.operations:
            way = _way(operation)
            if way is None:
                continue
            name = operation.name.rpartition(".")[2]
            ways = surface.dispatches.get(name)
            if ways is None or way in ways:
                continue
            if not found.is_certain and any(_has(surface_of(v), name, way) for v in NEWEST_FIRST):
                continue
            span = argument_span(view.source, operation.span, _NO_POSITION, "dispatch")
            message = (
                f'{found.name} has no way `dispatch="{way}"` to carry out a '
                f"`{name}`: it has {', '.join(f'`{one}`' for one in ways)}."
            )
            fix = _fix(name, way, ways, span) if span is not None else None
            yield self.finding(Severity.ERROR, message, span or operation.span, fix=fix)


def _way(operation: Operation) -> str | None:
    if not operation.name.startswith("Tx."):
        return None
    value = operation.argument(_NO_POSITION, "dispatch")
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


def _has(surface: Surface, name: str, way: str) -> bool:
    return way in surface.dispatches.get(name, ())


def _fix(name: str, way: str, ways: tuple[str, ...], span: Span) -> Fix | None:
    renamed = _RENAMED.get((name, way))
    near = get_close_matches(way, ways, n=1)
    new = renamed if renamed in ways else near[0] if near else None
    if new is None or is_elsewhere(span):
        return None
    safety = Applicability.SAFE if new == renamed else Applicability.UNSAFE
    return Fix(f'Write "{new}"', safety, (Edit(span, f'"{new}"'),))
