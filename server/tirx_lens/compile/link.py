"""How a worker is spoken to: on this machine over a pipe, elsewhere over a link that may fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.compile.targets import Target


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What keeps a remote link known to be alive. All times are in seconds.

    Both ends send a sign of life every `interval`. A link on which nothing has come for `silence`
    is given up; while TVM is imported, which may hold up the worker's signs of life for as long as
    its libraries load, for `importing`. A worker that has heard nothing for `orphaned` ends itself.
    """

    interval: float = 5.0
    silence: float = 30.0
    importing: float = 120.0
    orphaned: float = 120.0


@dataclass(frozen=True, slots=True)
class Link:
    """The terms of a conversation with a worker.

    A remote one has a heartbeat, compresses what is large, and is made again once when it breaks.
    `env` is set in the worker before it imports TVM. `start_limit` are the seconds from starting
    the process to its first sign: a scheduler may let one wait. `greeting_limit` are those from
    there to the answer to `hello`, in which the worker is sent.
    """

    remote: bool = False
    env: tuple[tuple[str, str], ...] = ()
    heartbeat: Heartbeat = Heartbeat()
    start_limit: float = 30.0
    greeting_limit: float = 30.0


REMOTE_START_LIMIT = 300.0
REMOTE_GREETING_LIMIT = 60.0


def link_of(target: Target) -> Link:
    """Return the terms on which the worker of a target is spoken to."""
    if target.is_remote:
        return Link(
            remote=True,
            env=target.env,
            start_limit=REMOTE_START_LIMIT,
            greeting_limit=REMOTE_GREETING_LIMIT,
        )
    return Link(env=target.env)
