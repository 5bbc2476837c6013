"""The modules that a text imports, read when something in them is asked for.

What a module holds depends on its own text and on the modules that it asked for in turn, so each is
kept with those questions and their answers, and read again when one of them is answered otherwise.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tirx_lens.model.imported import STRETCH, ImportedText, ModuleText, TextWithImports
from tirx_lens.syntax import names
from tirx_lens.syntax.imports import EVERYTHING, Import
from tirx_lens.syntax.recent import KEPT, Recent
from tirx_lens.syntax.scope import Deferred, Module, Scope, forget_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tirx_lens.model.expr import Expr, Path
    from tirx_lens.model.source import SourceText

    ReadModule = Callable[[ImportedText, "Library", Scope], Sequence[Scope]]

_MOST_MODULES = 64  # read for one version of a text; what more are asked for stay unknown
_DEEPEST_CHAIN = 16  # of modules that hand a name on


class Modules(Protocol):
    """Finds modules of the workspace, wherever their texts come from."""

    def find(self, importer: str, level: int, module: tuple[str, ...]) -> ModuleText | None:
        """Return the module of an import statement in the file `importer`, as Python finds it.

        `level` counts the dots before the name, of which `module` has the parts. A folder without
        `__init__.py` is a package with an empty text. None when it is no module of the workspace.
        """


@dataclass(frozen=True, slots=True)
class Question:
    """Which module an import means: the arguments of `Modules.find`."""

    importer: str
    level: int
    module: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, and the module that answered it when it was asked."""

    question: Question
    answer: ModuleText | None


@dataclass
class _Shelved:
    """A module that was read: its names, and what they depend on besides its own text."""

    text: ImportedText
    scope: Scope
    asked: dict[Question, ModuleText | None]
    is_being_read: bool = True
    is_complete: bool = True  # all that it asked for had been read to the end
    defining: Sequence[Scope] = ()  # where its functions look names up

    def drop(self) -> None:
        """Forget its names: another version of the module is read in its place."""
        forget_names((self.scope, *self.defining))


class Library:
    """The modules around one text. Keeps what it read from one version of the text to the next."""

    def __init__(self, modules: Modules, path: str, read: ReadModule) -> None:
        """`path` is the file of the text; `read` fills a scope with the names of a module.

        It returns the scopes that functions of the module look names up in.
        """
        self._modules = modules
        self._path = path
        self._read = read
        self._shelf: dict[str, _Shelved] = {}
        self._checked: set[str] = set()  # on the shelf, and known to be right for this version
        self._noted: set[str] = set()  # on the shelf, and all it depends on is in `_asked`
        self._answers: dict[Question, ModuleText | None] = {}
        # One version longer than what was found with a text, which has places in it.
        self._placed: Recent[ModuleText, ImportedText] = Recent(KEPT + 1)
        self._end = 0
        self._open: list[_Shelved] = []
        self._asked: dict[Question, ModuleText | None] = {}

    def begin_version(self) -> None:
        """Forget which texts the modules had: they may have been edited."""
        self._checked.clear()
        self._noted.clear()
        self._answers.clear()
        self._asked = {}
        self._placed.begin_version()
        for path in [path for path, one in self._shelf.items() if not one.is_complete]:
            self._shelf.pop(path).drop()

    @property
    def asked(self) -> tuple[Answered, ...]:
        """All that was asked in this version, and so all that may have been depended on."""
        return tuple(Answered(*item) for item in self._asked.items())

    def holds(self, asked: tuple[Answered, ...]) -> bool:
        """Tell whether questions of an earlier version have the same answers still."""
        return all(self._answer(one.question) == one.answer for one in asked)

    def joined(self, source: SourceText) -> SourceText:
        """Return the text with those of the modules, in which places of either can be read."""
        placed = self._placed.values()
        return TextWithImports(source.text, placed) if placed else source

    def bindings(self, item: Import, text: ImportedText | None) -> Iterator[tuple[str, Expr]]:
        """Yield the names that an import in a text binds (None: the text itself), with values."""
        plain = names.path_of(item)
        if not item.level and item.module[:1] in names.PACKAGES:
            if item.bound:
                yield item.bound, plain
            return
        question = Question(text.module.path if text else self._path, item.level, item.module)
        if item.name == EVERYTHING:
            module = self._module(question)
            for name in _public(module.scope) if module is not None else ():
                taken = Import(item.level, item.module, name, name)
                yield name, self._deferred(question, taken)
        elif item.bound:
            yield item.bound, self._deferred(question, item)

    def _deferred(self, question: Question, item: Import) -> Deferred:
        plain = names.path_of(item)
        if item.name is None:
            return Deferred(lambda: self._as_value(question, plain))
        return Deferred(lambda: self._taken(question, item.name or "", plain))

    def _as_value(self, question: Question, plain: Path) -> Expr:
        module = self._module(question)
        return self._value(module, plain) if module is not None else plain

    def _value(self, module: _Shelved, plain: Path) -> Expr:
        return Module(lambda name: self._member(module, name, names.member(plain, name)))

    def _taken(self, question: Question, name: str, plain: Path) -> Expr:
        module = self._module(question)
        return self._member(module, name, plain) if module is not None else plain

    def _member(self, module: _Shelved, name: str, plain: Path) -> Expr:
        """Return what a name of a module stands for, a module below it included."""
        if name in module.scope.names:
            if len(self._open) < _DEEPEST_CHAIN:
                with self._noting(module):
                    value = module.scope.lookup(name)
                    return value if value is not None else plain
            return plain
        if module.text.module.is_package:
            below = self._module(Question(module.text.module.path, 1, (name,)))
            if below is not None:
                return self._value(below, plain)
        return plain

    @contextmanager
    def _noting(self, module: _Shelved) -> Iterator[None]:
        """Note what is asked meanwhile as what the module depends on, too."""
        self._open.append(module)
        try:
            yield
        finally:
            self._open.pop()

    def _module(self, question: Question) -> _Shelved | None:
        """Return the module that an import means, read as far as its own import statements let."""
        answer = self._answer(question)
        self._note(question, answer)
        if answer is None:
            return None
        known = self._shelf.get(answer.path)
        if known is not None and known.text.module == answer and self._is_current(known):
            self._placed.put(answer, known.text)
            if known.is_being_read:  # a cycle: it has the names bound so far
                for one in self._open:
                    one.is_complete = False
            elif self._open or answer.path not in self._noted:
                for item in known.asked.items():
                    self._note(*item)
                self._noted.add(answer.path)
            return known
        if len(self._checked) >= _MOST_MODULES or len(self._open) >= _DEEPEST_CHAIN:
            return None
        return self._read_anew(answer)

    def _read_anew(self, module: ModuleText) -> _Shelved:
        text = self._placed.get(module)
        if text is None:
            self._end += STRETCH
            text = ImportedText(module, self._end)
            self._placed.put(module, text)
        shelved = _Shelved(text, Scope(host=True, text=text), {})
        if (before := self._shelf.get(module.path)) is not None:
            before.drop()
        self._shelf[module.path] = shelved
        self._checked.add(module.path)
        with self._noting(shelved):
            try:
                shelved.defining = self._read(text, self, shelved.scope)
            except RecursionError:  # modules that need one another, deeper than Python goes
                shelved.scope.names.clear()
                shelved.is_complete = False
        shelved.is_being_read = False
        return shelved

    def _is_current(self, shelved: _Shelved) -> bool:
        path = shelved.text.module.path
        if path not in self._checked:
            if any(self._answer(question) != answer for question, answer in shelved.asked.items()):
                return False
            self._checked.add(path)
        return True

    def _answer(self, question: Question) -> ModuleText | None:
        if question not in self._answers:
            found = self._modules.find(question.importer, question.level, question.module)
            self._answers[question] = found
            if found is not None:
                self._placed.get(found)  # still in use
        return self._answers[question]

    def _note(self, question: Question, answer: ModuleText | None) -> None:
        self._asked[question] = answer
        for one in self._open:
            one.asked[question] = answer


def _public(scope: Scope) -> list[str]:
    """Return the names that `*` takes from a module."""
    listed = scope.lookup("__all__")
    if listed is None:
        return [name for name in scope.names if not name.startswith("_")]
    items = getattr(listed, "items", ())
    return [value for item in items if isinstance(value := getattr(item, "value", None), str)]
