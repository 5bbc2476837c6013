"""What a name stands for at one place of the program, as TVM's parser would find it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node


@dataclass
class Scope:
    """Names bound so far, with the enclosing scopes behind them. Filled in program order.

    `host` scopes belong to the Python around a kernel, the others to the kernel itself: a host
    value is the same in every thread.
    """

    parent: Scope | None = None
    host: bool = False
    names: dict[str, Expr] = field(default_factory=dict)

    def lookup(self, name: str) -> Expr | None:
        """Return what `name` is bound to, the innermost binding first."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def bind(self, name: str, value: Expr) -> None:
        """Bind a name in this scope."""
        self.names[name] = value

    def inner(self, *, host: bool | None = None) -> Scope:
        """Return a new scope inside this one."""
        return Scope(parent=self, host=self.host if host is None else host)

    def chain(self) -> Iterator[Scope]:
        """Yield this scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


@dataclass(frozen=True, slots=True, eq=False)
class Function(Expr):
    """A function of the file: a builder, a helper, or a `T.inline` whose body is a macro.

    `scope` is where it was defined; names are looked up in it when the function is called, so a
    name bound later in that scope is found, as in Python.
    """

    name: str
    node: Node
    scope: Scope
    inline: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table(Expr):
    """Host values by name: the constants of a class or of an instance of it, or a dictionary.

    `calls` says that calling it makes an instance, whose fields a call may set.
    """

    calls: bool
    names: Mapping[str, Expr]

    def __post_init__(self) -> None:
        self._weigh(*self.names.values())
