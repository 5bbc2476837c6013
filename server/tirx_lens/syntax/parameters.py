"""What the parameters of a kernel are: buffers, scalars the host passes, compile-time constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Call, Expr, Path, Ref, Symbol, Variable
from tirx_lens.model.objects import KernelObject, ObjectKind

if TYPE_CHECKING:
    from tirx_lens.syntax.expressions import ExpressionReader
    from tirx_lens.syntax.signature import Parameter


def kernel_parameter(
    parameter: Parameter, reader: ExpressionReader, given: Expr | None = None
) -> Expr:
    """Return what a parameter stands for in its kernel. A scalar is the same in every thread.

    `given` is the value of a compile-time constant, where one is named.
    """
    annotation = parameter.annotation
    kind = reader.read(annotation) if annotation is not None else None
    if isinstance(kind, Path) and kind.dotted == "T.constexpr":
        if given is not None:
            return given
        return reader.read(parameter.default) if parameter.default else Symbol(parameter.name)
    if annotation is not None and isinstance(kind, Call) and isinstance(kind.callee, Path):
        made = KernelObject(
            serial=-reader.span(annotation).start
            - 1,  # apart from those the body makes, which count from 1
            kind=ObjectKind.BUFFER,
            name=parameter.name,
            span=reader.span(annotation),
            arguments=kind.arguments,
            keywords=kind.keywords,
        )
        return Ref(made)
    return Variable(parameter.name, uniform=True)
