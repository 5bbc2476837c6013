"""Import statements, taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.syntax.tree import children_of, field_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

STATEMENTS = frozenset({"import_statement", "import_from_statement"})
EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Import:
    """One name that an import statement binds.

    `level` counts the dots before the module, of which `module` has the parts. `name` is what is
    taken out of it: `EVERYTHING` for `*`, None where the module itself is bound. `bound` is the
    name it gets here; `import a.b` binds `a`.
    """

    level: int
    module: tuple[str, ...]
    name: str | None
    bound: str

    @property
    def dotted(self) -> str:
        """The path of what is bound, as it would be written out."""
        parts = self.module if self.name is None else (*self.module, self.name)
        return "." * self.level + ".".join(parts)


def imports_of(statement: Node) -> Iterator[Import]:
    """Yield what an import statement binds, in order."""
    if statement.type == "import_statement":
        for item in children_of(statement):
            name, alias = _aliased(item)
            parts = _parts(name)
            if not parts:
                continue
            yield Import(0, parts if alias else parts[:1], None, alias or parts[0])
            if (
                not alias and len(parts) > 1
            ):  # bound by no name: it can be reached through the first
                yield Import(0, parts, None, "")
        return
    module = field_of(statement, "module_name")
    written = text_of(module) if module is not None else ""
    dotted = written.lstrip(".")
    level, parts = len(written) - len(dotted), _parts(dotted)
    for item in statement.children_by_field_name("name"):
        name, alias = _aliased(item)
        yield Import(level, parts, name, alias or name)
    if any(child.type == "wildcard_import" for child in statement.children):
        yield Import(level, parts, EVERYTHING, "")


def _aliased(item: Node) -> tuple[str, str]:
    """Return the name that an item of an import names, and the one it gets, if it gets another."""
    if item.type != "aliased_import":
        return text_of(item), ""
    name, alias = field_of(item, "name"), field_of(item, "alias")
    return text_of(name) if name is not None else "", text_of(alias) if alias is not None else ""


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in dotted.split(".")) if dotted.strip() else ()
