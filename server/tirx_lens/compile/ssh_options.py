"""Which arguments for ssh a target may have: those that leave host keys and the session alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.compile.targets import Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

_FLAGS = frozenset("246AaCgKkMqTvXxY")
_WITH_VALUE = frozenset("BbcDeFIiJLlmopPRSw")

_NOT_A_SESSION = {
    "E": "writes what ssh says into a file, where nobody can tell you of it",
    "f": "sends ssh to the background",
    "G": "prints the configuration in place of connecting",
    "N": "runs no command, so there is no worker",
    "n": "closes the worker's input",
    "O": "speaks to a control master in place of connecting",
    "Q": "prints what ssh knows in place of connecting",
    "s": "asks for a subsystem in place of a worker",
    "t": "makes a terminal, which changes what a worker sends",
    "V": "prints the version in place of connecting",
    "W": "forwards the streams in place of running a worker",
    "y": "writes what ssh says into the system's log, where nobody can tell you of it",
}

_KEYS_CHECKED = "host keys are always checked"

# Of these options, the values that leave things as they are.
_HARMLESS: dict[str, tuple[frozenset[str], str]] = {
    "stricthostkeychecking": (frozenset({"yes", "true", "ask"}), _KEYS_CHECKED),
    "nohostauthenticationforlocalhost": (frozenset({"no", "false"}), _KEYS_CHECKED),
    "verifyhostkeydns": (frozenset({"no", "false", "ask"}), _KEYS_CHECKED),
    "batchmode": (frozenset({"yes", "true"}), "nobody is there to answer ssh"),
    "requesttty": (frozenset({"no", "false", "auto"}), f"it {_NOT_A_SESSION['t']}"),
    "remotecommand": (frozenset({"none"}), "the worker is the command"),
    "sessiontype": (frozenset({"default"}), f"it {_NOT_A_SESSION['N']}"),
    "stdinnull": (frozenset({"no", "false"}), f"it {_NOT_A_SESSION['n']}"),
    "forkafterauthentication": (frozenset({"no", "false"}), f"it {_NOT_A_SESSION['f']}"),
}

_KEY_FILES = frozenset(
    {"userknownhostsfile", "globalknownhostsfile", "revokedhostkeys", "knownhostscommand"}
)
_NO_FILE = frozenset({"none", "/dev/null"})

_OPTION = re.compile(r"\s*(?P<key>[A-Za-z0-9]+)(?:\s*=\s*|\s+|$)(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RefusedArgument:
    """Which of the arguments cannot be taken, and why, as a sentence."""

    index: int
    message: str


def refused_argument(words: Sequence[str], origin: Origin) -> RefusedArgument | None:
    """Return the first argument that a target of that origin may not have.

    The words are read as OpenSSH reads them: letters may stand together, and a value may stand in
    the word of its letter or in the next one.
    """
    index = 0
    while index < len(words):
        word, at = words[index], index
        index += 1
        if not word.startswith("-") or word in ("-", "--"):
            said = f"`{word}` is no option of ssh: the host belongs into `host`, and options here"
            return RefusedArgument(at, f"{said} begin with `-`.")
        for position, letter in enumerate(word[1:], 2):
            if letter in _NOT_A_SESSION:
                return RefusedArgument(at, f"`-{letter}` of ssh {_NOT_A_SESSION[letter]}.")
            if letter in _FLAGS:
                continue
            if letter not in _WITH_VALUE:
                return RefusedArgument(
                    at, f"`-{letter}` is no option of ssh that a target can use."
                )
            value = word[position:]
            if not value:
                if index == len(words):
                    return RefusedArgument(at, f"`-{letter}` of ssh needs a value after it.")
                value = words[index]
                index += 1
            said = _why_not(letter, value, origin)
            if said:
                return RefusedArgument(index - 1, said)
            break
    return None


def _why_not(letter: str, value: str, origin: Origin) -> str:
    of_project = origin is Origin.PROJECT
    if letter == "F" and of_project:
        return (
            "A project cannot bring a configuration of ssh (`-F`), since nobody would see what it "
            "says: put the host into your own ~/.ssh/config."
        )
    if letter != "o":
        return ""
    option = _OPTION.fullmatch(value)
    if option is None:
        return f"`{value}` is no option of ssh: write it as Name=value."
    key, said = option["key"], option["value"].strip()
    if key.lower() in _HARMLESS:
        harmless, why = _HARMLESS[key.lower()]
        if said.strip('"').lower() not in harmless:
            return f"`{key}` cannot be `{said}` for a target: {why}."
    if key.lower() in _KEY_FILES:
        if of_project:
            return (
                f"A project cannot say which host keys are known (`{key}`): that is for your own "
                "~/.ssh/config."
            )
        if {part.strip('"').lower() for part in said.split()} & _NO_FILE:
            return f"`{key}` cannot be `{said}` for a target: {_KEYS_CHECKED}."
    return ""
