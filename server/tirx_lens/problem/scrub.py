"""Takes out of a text what is nobody's business, and counts what it took."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from tirx_lens.problem.secrets import Secrets


class Kind(Enum):
    """What was left out; the value is what one of them is called."""

    WORKSPACE = "path of the workspace, made relative"
    HOME = "home folder"
    PATH = "other path, but for its last name"
    HOST = "host name"
    USER = "user name"
    ADDRESS = "address"
    VALUE = "value of an environment variable"


class Language(Enum):
    """What a text is: in programs only comments and strings may hold paths and addresses."""

    PROSE = "prose"
    PYTHON = "Python"
    CUDA = "CUDA"


# Words that name no one: as names of users and hosts they are looked for in paths only.
_COMMON = frozenset(
    (
        *("root", "user", "admin", "ubuntu", "debian", "home", "main", "test", "build", "runner"),
        *("dev", "gpu", "cuda", "local", "localhost", "host", "tile", "python", "kernel", "node"),
        *("server", "code", "work", "default"),
    )
)
_SHORTEST = 3
_QUOTED = re.compile(r"""(["'])((?:/|[A-Za-z]:[\\/]|\\\\)[^"'\n]*[\\/][^"'\n]*)\1""")
_POSIX = re.compile(r"(?:(?<![\w/.:~>)\]$}*\\<-])|(?<=-[BFIL]))/(?:[\w.@+~%=-]+/)+[\w.@+~%=-]*")
_WINDOWS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:(?:\\\\?|/)[^\s\"'<>|:*?()]+")
_SHARE = re.compile(r"(?<![\w\\])\\\\[\w.$-]+\\[^\s\"'<>|:*?()]+")
_URI = re.compile(r"(?:vscode-)?(?:file|remote)://[^\s\"'<>)\]]+")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_PACKAGES = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
_LEXEMES = {
    Language.PYTHON: re.compile(
        r"#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}"
        r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?",
        re.DOTALL,
    ),
    Language.CUDA: re.compile(
        r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"?|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE
    ),
}


class Scrubber:
    """Scrubs the texts of one report. Keeps counts, and nothing of what it took out."""

    def __init__(self, secrets: Secrets, reserved: Collection[str] = ()) -> None:
        """`reserved` are words that programs need: names that they call."""
        self._secrets = secrets
        self._reserved = {word.lower() for word in reserved}
        self.counts: Counter[Kind] = Counter()
        self.variables: set[str] = set()
        self._folders = tuple(_forms(secrets.folders))
        self._homes = tuple(_forms(secrets.homes))
        self._words = (
            *((Kind.HOST, name) for name in _host_names(secrets.hosts)),
            *((Kind.USER, name) for name in secrets.users),
        )

    def scrub(self, text: str, language: Language = Language.PROSE) -> str:
        """Return a text without what must not be told. Doing it again changes nothing."""
        if language is Language.PROSE:
            return self._prose(text)
        parts, end = [], 0
        for match in _LEXEMES[language].finditer(text):
            parts += [self._code(text[end : match.start()]), self._prose(match[0])]
            end = match.end()
        return "".join((*parts, self._code(text[end:])))

    def _prose(self, text: str) -> str:
        text = self._values(text)
        text = _URI.sub(lambda match: self._uri(match[0]), text)
        text = self._known_folders(text)
        text = _MAIL.sub(lambda match: self._mail(match[0]), text)
        text = _QUOTED.sub(lambda m: f"{m[1]}{self._path(m[2])}{m[1]}", text)
        for pattern in (_SHARE, _WINDOWS, _POSIX):
            text = pattern.sub(lambda match: self._path(match[0]), text)
        text = _IPV4.sub(lambda _: self._placeholder(Kind.ADDRESS, "<address>"), text)
        for kind, name in self._words:
            if len(name) >= _SHORTEST and name.lower() not in _COMMON:
                domain = r"(?:\.[A-Za-z][\w-]*)*" if kind is Kind.HOST else ""
                text = self._word(text, kind, name, f"<{kind.name.lower()}>", domain)
        return text

    def _code(self, text: str) -> str:
        """Scrub code outside of comments and strings: nothing there is a path or an address.

        What takes the place of a name is a name, everywhere the same: the program stays what it is.
        """
        text = self._known_folders(self._values(text))
        for kind, name in self._words:
            lower = name.lower()
            if len(name) >= _SHORTEST and lower not in _COMMON | self._reserved:
                text = self._word(text, kind, name, kind.name.lower())
        return text

    def _word(self, text: str, kind: Kind, name: str, instead: str, behind: str = "") -> str:
        pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9]){behind}"
        return re.sub(
            pattern, lambda _: self._placeholder(kind, instead), text, flags=re.IGNORECASE
        )

    def _values(self, text: str) -> str:
        by_length = sorted(self._secrets.values, key=lambda one: -len(one[1]))
        for name, value in by_length:
            if value in text:
                self.counts[Kind.VALUE] += text.count(value)
                self.variables.add(name)
                text = text.replace(value, f"<${name}>")
        return text

    def _known_folders(self, text: str) -> str:
        for form in self._folders:
            pattern = rf"{re.escape(form)}(?:(?P<below>[\\/]+)(?=[\w.])|(?![\w.-]))"
            text = re.sub(
                pattern,
                lambda match: self._placeholder(
                    Kind.WORKSPACE, "" if match["below"] else "<workspace>"
                ),
                text,
                flags=_flags(form),
            )
        for form in self._homes:
            text = re.sub(
                rf"{re.escape(form)}(?![\w.-])",
                lambda _: self._placeholder(Kind.HOME, "~"),
                text,
                flags=_flags(form),
            )
        # What is below a home tells of its user, too: but for the last name.
        return re.sub(r"~[\\/][^\s\"'<>|:*?()]+", lambda match: self._path(match[0]), text)

    def _uri(self, uri: str) -> str:
        path = unquote(uri.partition("://")[2])
        if re.match(r"/[A-Za-z]:", path):
            path = path[1:]
        known = self._known_folders(path)
        return known if known != path and not known.startswith("~") else self._path(known)

    def _path(self, path: str) -> str:
        known = self._known_folders(path) if not path.startswith("~") else path
        if known != path and not re.match(r"[~/\\]|[A-Za-z]:", known):
            return known
        self.counts[Kind.PATH] += 1
        inside = _PACKAGES.split(known)
        if len(inside) > 1:
            return f"<site-packages>/{inside[-1]}"
        names = [part for part in re.split(r"[\\/]+", known) if part]
        return f"<folder>/{names[-1]}" if names and not known.endswith(("/", "\\")) else "<folder>"

    def _mail(self, address: str) -> str:
        return self._placeholder(Kind.ADDRESS, "<address>") if address else address

    def _placeholder(self, kind: Kind, text: str) -> str:
        self.counts[kind] += 1
        return text


def _flags(form: str) -> re.RegexFlag:
    return re.IGNORECASE if re.match(r"/?[A-Za-z](?::|%3A)", form) else re.RegexFlag(0)


def _forms(paths: Iterable[str]) -> Iterator[str]:
    """Yield the ways in which texts spell a path, the longest path first."""
    for path in sorted(paths, key=len, reverse=True):
        plain = path.rstrip("/\\")
        if len(plain) < _SHORTEST:
            continue
        forward = plain.replace("\\", "/")
        forms = [plain, forward, plain.replace("\\", "\\\\"), quote(forward), quote(forward, "")]
        yield from dict.fromkeys(forms)


def _host_names(hosts: Iterable[str]) -> Iterator[str]:
    """Yield the names of hosts, whole first, then without their domain."""
    names = [name.strip(".") for name in hosts]
    short = [name.partition(".")[0] for name in names if not re.fullmatch(r"[\d.]+", name)]
    yield from dict.fromkeys(sorted((*names, *short), key=len, reverse=True))
