"""Where this project and the pages of its rules are."""

from __future__ import annotations

HOME = "https://github.com/tirx-lens/tirx-lens"

_DOCS = f"{HOME}/blob/main/docs"


def rule_url(code: str, name: str) -> str:
    """Return the address of a rule's page, such as `.../TX102-cta-sync-divergent.md`.

    What is found in suppression comments has its name for a code, and a section of another page.
    """
    if code == name:
        return f"{_DOCS}/configuration.md#{name}"
    return f"{_DOCS}/rules/{code}-{name}.md"
