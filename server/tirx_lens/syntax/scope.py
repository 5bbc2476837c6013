"""What a name stands for at one place of the program, as TVM's parser would find it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Expr, Unknown
from tirx_lens.model.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tree_sitter import Node

    from tirx_lens.model.imported import ImportedText


@dataclass
class Scope:
    """Names bound so far, with the enclosing scopes behind them. Filled in program order.

    `host` scopes belong to the Python around a kernel, the others to the kernel itself: a host
    value is the same in every thread. `text` is the imported text that the code of the scope stands
    in, None for the text being read; `base` is where places of it begin.
    """

    parent: Scope | None = None
    host: bool = False
    names: dict[str, Expr] = field(default_factory=dict)
    text: ImportedText | None = None
    base: int = field(init=False)

    def __post_init__(self) -> None:
        """Count places from where the text begins."""
        self.base = self.text.base if self.text is not None else 0

    def lookup(self, name: str) -> Expr | None:
        """Return what `name` is bound to, the innermost binding first."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                value = scope.names[name]
                return value.value() if isinstance(value, Deferred) else value
            scope = scope.parent
        return None

    def bind(self, name: str, value: Expr) -> None:
        """Bind a name in this scope."""
        self.names[name] = value

    def inner(self, *, host: bool | None = None) -> Scope:
        """Return a new scope inside this one."""
        host = self.host if host is None else host
        return Scope(parent=self, host=host, text=self.text)

    def chain(self) -> Iterator[Scope]:
        """Yield this scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


def forget_names(scopes: Iterable[Scope]) -> None:
    """Empty scopes that nothing is looked up in any more.

    A function holds its scope and the scope its functions, with the tree of the text: without this
    they would all stay until Python next looks for cycles, which may be many versions later.
    """
    for scope in scopes:
        scope.names.clear()


@record(eq=False)
class Function(Expr):
    """A function of a text: a builder, a helper, or a `T.inline` whose body is a macro.

    `scope` is where it was defined; names are looked up in it when the function is called, so a
    name bound later in that scope is found, as in Python. Those of one that `is_late` are looked up
    where it is called: `T.macro(hygienic=False)`.
    """

    name: str
    node: Node
    scope: Scope
    inline: bool = False
    is_late: bool = False


@record(eq=False)
class Table(Expr):
    """Host values by name: the constants of a class or of an instance of it, or a dictionary.

    `calls` says that calling it makes an instance, whose fields a call may set.
    """

    calls: bool
    names: Mapping[str, Expr]

    def __post_init__(self) -> None:
        self._weigh(*self.names.values())


@record(eq=False)
class Deferred(Expr):
    """A name that an import binds; `value` finds out what it stands for.

    A module is read when something in it is first asked for.
    """

    value: Callable[[], Expr]


@record(eq=False)
class Module(Expr):
    """A module of the workspace; `member` gives what a name in it stands for.

    What is not known there is the dotted path of the name, as it is of modules from elsewhere.
    """

    member: Callable[[str], Expr]


@record(eq=False)
class Class(Expr):
    """A class for kernels, `T.meta_class` or not: calling it in a kernel makes an `Instance`.

    `names` are its members, those of its base classes included. `is_whole` says that no other base
    may have members that are not known.
    """

    name: str
    names: Mapping[str, Expr]
    is_whole: bool = True

    def member(self, name: str) -> Expr | None:
        """Return a member by its name."""
        return self.names.get(name)


@record(eq=False)
class Instance(Expr):
    """An object of a `Class`, `name` in the kernel. Its fields are those assigned so far."""

    cls: Class
    name: str
    fields: dict[str, Expr] = field(default_factory=dict)

    def member(self, name: str) -> Expr | None:
        """Return a field, a method bound to the object, or a constant of its class."""
        if name in self.fields:
            return self.fields[name]
        member = self.cls.member(name)
        return Method(member, self) if isinstance(member, Function) else member

    def forget(self) -> None:
        """Take every field for unknown: what ran on the object was not followed."""
        for name in self.fields:
            self.fields[name] = Unknown("a field that something not followed may have set")
        self.fields.update(
            (name, Unknown("a member that something not followed may have set"))
            for name, value in self.cls.names.items()
            if not isinstance(value, Function)
        )


@record(eq=False)
class Method(Expr):
    """A method together with the object it is called on."""

    function: Function
    instance: Instance
