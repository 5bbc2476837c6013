"""Where the page of a rule is."""

from __future__ import annotations

_PAGES = "https://github.com/tirx-lens/tirx-lens/blob/main/docs/rules"


def rule_url(code: str, name: str) -> str:
    """Return the address of a rule's page, such as `.../TX102-cta-sync-divergent.md`."""
    return f"{_PAGES}/{code}-{name}.md"
