"""Typed objects: what a construction makes, and what their members are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Expr, Ref, Variable
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.syntax.calls import Arguments
from tirx_lens.syntax.names import LANG_CLASSES

if TYPE_CHECKING:
    from tirx_lens.model.span import Span
    from tirx_lens.syntax.gathered import Gathered

# What their members are called tells them apart.
_NAMED_BY_MEMBERS = (ObjectKind.PIPELINE, ObjectKind.PIPELINE_STATE)
_PIPELINE_TAGS = {
    "tma": ObjectKind.TMA_BARRIER,
    "tcgen05": ObjectKind.TCGEN05_BARRIER,
    "mbar": ObjectKind.MBARRIER,
}


@dataclass
class ObjectTable:
    """Makes the objects of one kernel, each once the barriers inside its pipelines."""

    gathered: Gathered
    _alike: dict[tuple[str, int], int] = field(default_factory=dict)

    def construct(self, class_name: str, name: str, span: Span, given: Arguments) -> KernelObject:
        """Make the object that a class of `lang` constructs, bound to `name`."""
        return self._make(LANG_CLASSES[class_name], name or class_name, span, class_name, given)

    def buffer(self, name: str, span: Span, maker: str, given: Arguments) -> KernelObject:
        """Make the buffer that `maker` allocates or declares: `alloc`, `T.decl_buffer`."""
        return self._make(ObjectKind.BUFFER, name or "buffer", span, maker, given)

    def member(self, target: KernelObject, name: str) -> Expr | None:
        """Return a member of an object, if its meaning is known."""
        if target.kind is ObjectKind.PIPELINE and name in ("full", "empty"):
            return Ref(self._pipeline_barrier(target, name))
        if target.kind is ObjectKind.PIPELINE_STATE and name in ("stage", "phase"):
            return Variable(f"{target.name}.{name}", target.span)
        return None

    def _pipeline_barrier(self, pipeline: KernelObject, side: str) -> KernelObject:
        key = (pipeline.serial, side)
        barriers = self.gathered.barriers
        self.gathered.asked.append(key)
        if key not in barriers:
            tag = pipeline.argument(99, side)
            kind = _PIPELINE_TAGS.get(str(tag.value)) if isinstance(tag, Const) else None
            leader = pipeline.argument(99, "leader")
            keywords = (("leader", leader),) if leader is not None else ()
            given = Arguments(keywords=keywords)
            name = f"{pipeline.name}.{side}"
            made = self._make(kind or ObjectKind.MBARRIER, name, pipeline.span, "", given)
            barriers[key] = made
        return barriers[key]

    def _make(
        self, kind: ObjectKind, name: str, span: Span, class_name: str, given: Arguments | None
    ) -> KernelObject:
        if kind in _NAMED_BY_MEMBERS:
            # One line may make several, in a comprehension or a function that is called twice.
            number = self._alike[name, span.start] = self._alike.get((name, span.start), 0) + 1
            name = f"{name} #{number}" if number > 1 else name
        made = KernelObject(
            serial=len(self.gathered.objects) + 1,
            kind=kind,
            name=name,
            span=span,
            class_name=class_name,
            arguments=given.positional if given is not None else (),
            keywords=given.keywords if given is not None else (),
        )
        self.gathered.objects.append(made)
        return made
