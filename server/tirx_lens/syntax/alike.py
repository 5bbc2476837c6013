"""Values that are what they were stay the same objects, at their new places.

So what was read with them is known to hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import NOWHERE, Expr
from tirx_lens.model.expr import Sequence as Items
from tirx_lens.model.objects import KernelObject
from tirx_lens.model.span import Span, move
from tirx_lens.syntax.scope import Class, Deferred, Function, Instance, Method, Module, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tirx_lens.syntax.scope import Scope

ONE_OF_A_KIND = frozenset({Class, Deferred, Function, Instance, Method, Module, Table})
"""What holds nodes, scopes or fields that change: such a value is like no other."""


def settle(
    names: dict[str, Expr], before: Mapping[str, Expr], own: Sequence[Span], places: list[Span]
) -> None:
    """Put old values in the place of new ones that differ by their places only.

    `own` are the places that the statement which binds the names had made: no others are its own to
    move. Those that were moved are added to `places`, its places now.
    """
    left: dict[int, Span] | None = None
    for name, old in before.items():
        new = names.get(name)
        moves = _moves_between(old, new) if new is not None and new is not old else None
        if moves is None:
            continue
        left = left if left is not None else {id(span): span for span in own}
        if all(id(span) in left for span, _ in moves):
            for span, now in moves:
                move(span, now)
                if left.pop(id(span), None) is not None:
                    places.append(span)
            names[name] = old


def settle_around(scope: Scope, before: Mapping[str, Expr]) -> None:
    """Do it for the parameters of a kernel, and for names of the host, which stay as they are.

    The kernel sees those in a scope between its own and the host's.
    """
    host = scope.parent
    if host is None:
        return
    scope.parent = host.inner()
    moved: dict[int, Span] = {}
    for name, old in before.items():
        is_parameter = name in scope.names
        new = scope.names[name] if is_parameter else host.lookup(name)
        if new is None or new is old or isinstance(new, Items):
            continue  # a list may be changed, under every name it has
        moves = _moves_between(old, new)
        if moves is None or any(moved.get(id(span), now) != now for span, now in moves):
            continue
        for span, now in moves:
            moved[id(span)] = now
            move(span, now)
        (scope if is_parameter else scope.parent).bind(name, old)


def _moves_between(old: Expr, new: Expr) -> list[tuple[Span, Span]] | None:
    """Return the places by which two values differ; None if they differ in anything else."""
    moves: list[tuple[Span, Span]] = []
    return moves if _is_alike(old, new, moves) else None


def _is_alike(old: object, new: object, moves: list[tuple[Span, Span]]) -> bool:
    if old is new:
        return True
    if type(old) is not type(new) or type(old) in ONE_OF_A_KIND:
        return False
    if isinstance(old, Span) and isinstance(new, Span):
        if NOWHERE in (old, new):
            return old == new
        moves.append((old, new))
        return True
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(
            _is_alike(one, other, moves) for one, other in zip(old, new, strict=True)
        )
    if isinstance(old, (Expr, KernelObject)):
        return all(
            _is_alike(getattr(old, name), getattr(new, name), moves)
            for name in old.__dataclass_fields__
        )
    return old == new
