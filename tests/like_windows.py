"""Run `tirx-lens` as it runs on Windows, so far as a POSIX system can: like_windows.py ARGUMENT ...

What CPython has on POSIX systems alone is taken away: modules cannot be imported, functions of `os`
and names of `signal` are gone, and `sys.platform` says so. The standard library itself goes by the
platform when it is imported, so what the project uses of it is imported before.
"""

from __future__ import annotations

import ast
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import tirx_lens

MODULES = frozenset(
    [
        "crypt",
        "curses",
        "fcntl",
        "grp",
        "nis",
        "ossaudiodev",
        "pty",
        "pwd",
        "readline",
        "resource",
        "spwd",
        "syslog",
        "termios",
        "tty",
    ]
)
FUNCTIONS = [
    "WEXITSTATUS",
    "WIFEXITED",
    "WIFSIGNALED",
    "WTERMSIG",
    "chown",
    "chroot",
    "fchown",
    "fork",
    "forkpty",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getpgid",
    "getpgrp",
    "getuid",
    "initgroups",
    "killpg",
    "lchown",
    "mkfifo",
    "nice",
    "posix_spawn",
    "sched_getaffinity",
    "set_blocking",
    "setegid",
    "seteuid",
    "setgid",
    "setpgid",
    "setsid",
    "setuid",
    "statvfs",
    "sysconf",
    "ttyname",
    "uname",
    "wait",
    "wait3",
    "wait4",
]
SIGNALS = [
    "SIGALRM",
    "SIGCHLD",
    "SIGCONT",
    "SIGHUP",
    "SIGKILL",
    "SIGPIPE",
    "SIGQUIT",
    "SIGSTOP",
    "SIGUSR1",
    "SIGUSR2",
    "SIG_BLOCK",
    "SIG_SETMASK",
    "alarm",
    "pthread_sigmask",
    "setitimer",
]
PACKAGE = Path(tirx_lens.__file__).parent


class Missing:
    """A finder that has none of the modules that Windows lacks."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def imported() -> set[str]:
    """Return the modules of the standard library that anything but the worker imports."""
    found: set[str] = {"encodings.idna", "_strptime"}
    for file in PACKAGE.rglob("*.py"):
        if file.relative_to(PACKAGE).parts[0] == "worker":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
    return {name for name in found if name.partition(".")[0] in sys.stdlib_module_names} - MODULES


def become_windows() -> None:
    for name in sorted(imported()):
        try:
            importlib.import_module(name)
        except ImportError:  # of another version of Python
            continue
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Missing())  # type: ignore[arg-type]
    for name in FUNCTIONS:
        if hasattr(os, name):
            delattr(os, name)
    for name in SIGNALS:
        delattr(signal, name)
    subprocess.CREATE_NO_WINDOW = 0x0800_0000  # type: ignore[attr-defined]
    sys.platform = "win32"


if __name__ == "__main__":
    become_windows()
    from tirx_lens.cli.main import main

    sys.exit(main(sys.argv[1:]))
