"""The documentation pages of the rules, made from the rules themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.rules.registry import ALL

if TYPE_CHECKING:
    from tirx_lens.rules.rule import Page

_LEVELS = """\
| level | means |
|---|---|
| error | proved from the text: every run of the kernel is broken |
| warning | very likely broken |
| information | worth a look: right today, or right by luck |
| hint | a remark |
"""


def file_name(rule: type[Page]) -> str:
    """Return the name of a rule's page."""
    return f"{rule.code}-{rule.name}.md"


def page(rule: type[Page]) -> str:
    """Return a rule's page."""
    heading, _, rest = rule.documentation().partition("\n")
    shows = ", ".join(symptom.title for symptom in rule.symptoms)
    facts = f"Level: {rule.levels}. Symptoms: {shows}."
    if rule.fix_title:
        facts += f" Fix: {rule.fix_title}."
    return f"# {rule.name} ({rule.code})\n\n{heading}\n\n{facts}\n{rest}\n"


def index() -> str:
    """Return the page that lists the rules and says what the levels mean."""
    rows = "\n".join(
        f"| [{rule.code}]({file_name(rule)}) | {rule.name} | {rule.summary()} |" for rule in ALL
    )
    return (
        "# Rules\n\n"
        "Each page is made from the docstring of the rule's class by `tirx-lens rules --write`.\n\n"
        f"| code | name | what is wrong |\n|---|---|---|\n{rows}\n\n"
        f"## Levels\n\n{_LEVELS}\n"
        "A rule that cannot decide stays silent. `# tirx-lens: ignore[TX102]` at the end of a line "
        "silences a rule there.\n"
    )


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    return {"README.md": index(), **{file_name(rule): page(rule) for rule in ALL}}
