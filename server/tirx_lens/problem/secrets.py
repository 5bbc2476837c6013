"""What a report must not tell: folders, hosts, users and values of the environment."""

from __future__ import annotations

import getpass
import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tirx_lens.compile.targets import Target

_SHORTEST_VALUE = 8
_SHORTEST_SECRET = 4
_TELLING = re.compile(
    r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|ACCOUNT|EMAIL|LICEN[CS]E", re.I
)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_.-]*(?:\d[\w.-]*)?|[\d.,:+-]+|\W*")
_NAMES = ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME", "HOME", "USERPROFILE")
_TELLING_WORD = re.compile(r"[\w.-]*[\d.-][\w.-]*")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What is to be left out of texts.

    `folders` are paths of the workspace, which become relative; `homes` those of users. `values`
    are of environment variables, by their names.
    """

    folders: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def secrets_of(
    folders: Iterable[Path],
    targets: Iterable[Target] = (),
    hosts: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Secrets:
    """Gather what this machine, its user and the targets are called.

    `hosts` are names that hosts gave themselves. `environment` is that of this process where it is
    not given.
    """
    variables = dict(os.environ if environment is None else environment)
    targets = tuple(targets)
    homes = [*_home_folders(variables)]
    users = [*_own_users(variables), *(Path(home).name for home in homes)]
    names = [*_own_hosts(variables), *hosts]
    values = [*_values(variables)]
    for target in targets:
        user, host = _login(target.host or "")
        users.append(user)
        names += [host, *_words(target), *([target.name] if target.is_remote else [])]
        values += target.env
    return Secrets(
        _both_spellings(str(folder) for folder in folders),
        _both_spellings(homes),
        tuple(dict.fromkeys(name for name in names if name)),
        tuple(dict.fromkeys(name for name in users if name)),
        tuple(dict.fromkeys((name, value) for name, value in values if len(value) > 1)),
    )


def _home_folders(variables: Mapping[str, str]) -> Iterator[str]:
    yield from (variables[name] for name in ("HOME", "USERPROFILE") if variables.get(name))
    try:
        yield str(Path.home())
    except RuntimeError:  # nobody knows
        return


def _both_spellings(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths as they are, and with their links followed."""
    found = [one for path in paths for one in (path, os.path.realpath(path))]
    return tuple(dict.fromkeys(path for path in found if len(path) > 1))


def _own_users(variables: Mapping[str, str]) -> Iterator[str]:
    yield from (variables[n] for n in ("USER", "LOGNAME", "USERNAME") if variables.get(n))
    try:
        yield getpass.getuser()
    except (OSError, KeyError):
        return


def _own_hosts(variables: Mapping[str, str]) -> Iterator[str]:
    yield from (variables[n] for n in ("HOSTNAME", "COMPUTERNAME") if variables.get(n))
    yield socket.gethostname()


def _values(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables with a value that tells something: no plain words and versions.

    Of lists of paths nothing is taken: paths are found as such.
    """
    for name, value in variables.items():
        if name in _NAMES:  # known as what they are
            continue
        is_path = os.pathsep in value or value.startswith(("/", "~"))
        is_told = len(value) < _SHORTEST_VALUE or is_path or _PLAIN.fullmatch(value)
        is_secret = _TELLING.search(name) and len(value) >= _SHORTEST_SECRET
        if is_secret or not is_told:
            yield name, value


def _login(host: str) -> tuple[str, str]:
    """Split `user@host:port`, as OpenSSH takes it."""
    user, at, rest = host.removeprefix("ssh://").rpartition("@")
    return (user if at else ""), rest.partition(":")[0]


def _words(target: Target) -> Iterator[str]:
    """Yield the words of a target's command that may name a host: a pod, a jump host."""
    for word in (*target.ssh_args, *target.argv[1:]):
        for part in re.split(r"[=,@:]", word):
            if not part.startswith(("-", "/")) and _TELLING_WORD.fullmatch(part):
                yield part
