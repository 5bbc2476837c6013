"""Where this project and the pages of its rules are."""

from __future__ import annotations

HOME = "https://github.com/tirx-lens/tirx-lens"

_PAGES = f"{HOME}/blob/main/docs/rules"


def rule_url(code: str, name: str) -> str:
    """Return the address of a rule's page, such as `.../TX102-cta-sync-divergent.md`."""
    return f"{_PAGES}/{code}-{name}.md"
