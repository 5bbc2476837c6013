"""Threads that come to one place of a kernel and to none of some others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.threads.reach import Reached


def left_out(here: Reached, there: Iterable[Reached]) -> int:
    """Return threads that come `here` and surely never `there`, whatever undecided guards do.

    Elections of one warp are taken to pick one lane, as they do. Empty when it is not known who
    comes here.
    """
    if here.participants.pick is Pick.SOME:
        return 0
    left = here.participants.typical
    for reached in there:
        left &= ~reached.participants.typical
    return left
