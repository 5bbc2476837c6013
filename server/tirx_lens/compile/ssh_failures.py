"""Why ssh gave no worker: from its exit code and standard error to one sentence.

OpenSSH writes English whatever the locale, and its exit code 255 is an error of its own; any other
is that of the host's shell or of what the shell ran.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tirx_lens.compile.launcher import NOT_EXECUTABLE, NOT_FOUND, ending, printable

SSH_FAILED = 255


@dataclass(frozen=True, slots=True)
class SshAttempt:
    """What was tried: the host, the Python there, and two commands that a user can try by hand."""

    host: str
    python: str
    login: str
    version: str


@dataclass(frozen=True, slots=True)
class _Failure:
    """What a line of ssh's looks like, and the sentence that says it.

    A sentence may name `{host}`, the command `{login}`, and the groups of the pattern.
    """

    pattern: re.Pattern[str]
    sentence: str


def _failure(pattern: str, sentence: str) -> _Failure:
    return _Failure(re.compile(pattern, re.MULTILINE), sentence)


# A connection through another program, as ProxyJump and ProxyCommand make it, has no address.
_FROM_NOWHERE = re.compile(r"\bUNKNOWN port \d+")

_TRY = "try `{login}` in a terminal"

_TIMEOUT = r"Timeout, server .* not responding\."
_HUNG_UP = (
    r"Connection (?:to .+ )?closed by remote host|Connection closed by .+ port \d+"
    r"|Connection reset by .+|client_loop: .+|Broken pipe"
)
_LINK_ENDED = re.compile(rf"^(?:{_TIMEOUT}|{_HUNG_UP})", re.MULTILINE)

# The more telling come first: ssh goes on to complain about what follows from a first mistake.
_FAILURES = (
    _failure(
        r"WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!",
        "The host key of {host} is not the one that is known: ask those who run the host whether "
        "it has a new one, and run `{login}` in a terminal, which says how to remove the old one",
    ),
    _failure(
        r"WARNING: REVOKED HOST KEY DETECTED!",
        "The host key of {host} is marked as revoked: ask those who run the host for its new one, "
        "and then " + _TRY,
    ),
    _failure(
        r"^(?:No \S+ host key is known for |Host key verification failed\.)",
        "The host key of {host} is not known here: run `{login}` in a terminal, compare the "
        "fingerprint that it shows with that of the host, and accept it there",
    ),
    _failure(
        r"Permission denied \((?P<methods>[^)]+)\)\.$",
        "{host} refuses the login ({methods}): put a key that it accepts into your ssh agent, and "
        "try `{login}` in a terminal until it asks for nothing",
    ),
    _failure(
        r"Too many authentication failures",
        "{host} refuses the login after too many keys: name the right one with IdentityFile and "
        "IdentitiesOnly in your ssh configuration, and " + _TRY,
    ),
    _failure(
        r"^ssh: Could not resolve hostname (?P<name>\S+): (?P<why>.+)$",
        "There is no host of the name {name} ({why}): correct the name, or add the host to your "
        "ssh configuration, and " + _TRY,
    ),
    _failure(
        r"^ssh: connect to host (?P<where>\S+) port (?P<port>\d+): Connection refused$",
        "{where} refuses connections at port {port}: start its ssh server or correct the port, "
        "and " + _TRY,
    ),
    _failure(
        r"^ssh: connect to host (?P<where>\S+) port (?P<port>\d+): (?P<why>.+)$",
        "{where} cannot be reached at port {port} ({why}): see that the host is up and your "
        "network leads to it, and " + _TRY,
    ),
    _failure(
        r"(?P<why>Connection timed out during banner exchange|^Connection to .* timed out)",
        "{host} does not answer as an ssh server ({why}): see what listens there, and " + _TRY,
    ),
    _failure(
        r"^Unable to negotiate with .*?: (?P<why>no matching [a-z ]+ found)",
        "{host} and this ssh have too little in common ({why}): name what the host offers in your "
        "ssh configuration, or update one of them, and " + _TRY,
    ),
    _failure(
        r"^Cannot execute command-line and remote command\.",
        "Your ssh configuration has a RemoteCommand for {host}, which leaves no room for a worker: "
        'add "-oRemoteCommand=none" to `ssh_args` of the target, and try `{login}` in a terminal',
    ),
    _failure(
        r"^(?P<why>(?:unknown|illegal) option -- .+|command-line: line \d+: .+)$",
        "ssh does not take an option ({why}): correct `ssh_args` of the target, and " + _TRY,
    ),
    _failure(
        r"^(?P<why>Bad owner or permissions on .+"
        r"|Can't open user config file .+"
        r"|(?!.*: terminating, ).*\bline \d+: .+)$",
        "ssh cannot read its configuration ({why}): mend it, and " + _TRY,
    ),
    _Failure(
        _FROM_NOWHERE,
        "The way that your ssh configuration names (ProxyJump or ProxyCommand) ends before "
        "{host} ({first}): " + _TRY,
    ),
    _failure(
        rf"^(?P<why>{_TIMEOUT})$",
        "The link to {host} is lost ({why}): see that your network is up, and " + _TRY,
    ),
    _failure(
        rf"(?P<why>{_HUNG_UP})",
        "{host} closed the connection before a worker had started ({why}): " + _TRY,
    ),
)


def why_ssh_failed(attempt: SshAttempt, exit_code: int | None, errors: str) -> str:
    """Say in one sentence why ssh gave no worker, and what to do.

    `exit_code` is that of ssh, None where it still runs and sent something else than a worker.
    """
    lines = [clean for line in errors.splitlines() if (clean := _clean(line))]
    if exit_code == SSH_FAILED and lines:
        return _said_by_ssh(attempt, lines)
    host, python, last = attempt.host, attempt.python, _in_brackets(lines)
    see = f"try `{attempt.version}` in a terminal"
    if exit_code is None:
        return f"{host} sends other text in place of a worker{last}: {see}"
    if exit_code < 0:
        return f"ssh to {host} ended with {ending(exit_code)} before the worker had started"
    if exit_code == SSH_FAILED:
        return (
            f"ssh to {host} ended without a word: the host may have killed `{python}`, or `-q` or "
            f"a LogLevel keeps ssh silent; try `{attempt.login}` in a terminal"
        )
    set_python = "set `python` of the target to the full path of the Python that your kernels run"
    if exit_code == NOT_FOUND or (lines and re.search("command not found", lines[-1], re.I)):
        return f"{host} finds no `{python}`{last}: {set_python} with, and {see}"
    if exit_code == NOT_EXECUTABLE:
        return f"{host} cannot run `{python}`{last}: {set_python} with, and {see}"
    if exit_code == 0:
        return (
            f"{host} did not run `{python}`{last}: a forced command, or an `exit` in what its "
            f"shell reads at the start, stands before it; {see}"
        )
    did = f"ended with {ending(exit_code)} before the worker had started"
    return f"`{python}` at {host} {did}{last}: {see}"


def why_link_ended(exit_code: int, errors: str) -> str:
    """Return what ssh said of the end of a connection that was good, "" where it said nothing."""
    lines = filter(None, map(_clean, errors.splitlines()))
    ended = [line for line in lines if _LINK_ENDED.match(line)]
    return ended[-1].rstrip(".") if ended and exit_code == SSH_FAILED else ""


def _said_by_ssh(attempt: SshAttempt, lines: list[str]) -> str:
    text = "\n".join(lines)
    host = attempt.host
    for failure in _FAILURES:
        found = failure.pattern.search(text)
        if found is not None:
            if failure.pattern is not _FROM_NOWHERE and _FROM_NOWHERE.search(text):
                host = f"a host on the way to {host}"
            said = failure.sentence.format(
                host=host, login=attempt.login, first=lines[0], **found.groupdict()
            )
            return said[:1].upper() + said[1:] if said.startswith("a host ") else said
    return f"ssh to {attempt.host} failed ({lines[-1]}): try `{attempt.login}` in a terminal"


def _in_brackets(lines: list[str]) -> str:
    return f" ({lines[-1]})" if lines else ""


def _clean(line: str) -> str:
    """Return a line as it may stand in a sentence; nothing of one that only `-v` writes."""
    if re.match(r"debug\d: |Transferred: |Bytes per second: |OpenSSH_|Authenticated to ", line):
        return ""
    return printable(line)
