"""Why a kernel cannot be followed: said to the reader of a worksheet, and else silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.model.span import Span


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """What stands in the way, in a few words, and where; None where it is no one place."""

    reason: str
    at: Span | None = None


class NotFollowed(Exception):  # noqa: N818  (it is no error: the kernel may be right)
    """Raised where following ends; never leaves this package."""

    def __init__(self, reason: str, at: Span | None = None) -> None:
        super().__init__(reason)
        self.unfollowed = Unfollowed(reason, at)
