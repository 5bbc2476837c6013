"""Which targets of projects a user has confirmed, kept in the user's own folder.

A repository brings its `pyproject.toml`, and that may name hosts and programs. So what a project
says is used only after its user has seen it: by folder of the project and fingerprint of what it
says. The file is the user's own and lies in no project: nothing that a repository brings counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import tempfile
from pathlib import Path

from platformdirs import user_state_path

_NAME = "confirmed-targets.json"


def default_state_folder() -> Path:
    """Return where it is kept: the user's folder for state, or what TIRX_LENS_STATE names.

    Raises ValueError with a sentence where that is no path from the root: what it means would then
    depend on the folder, a project's own perhaps.
    """
    named = os.environ.get("TIRX_LENS_STATE")
    if not named:
        return user_state_path("tirx-lens")
    if not Path(named).is_absolute():
        raise ValueError(f"TIRX_LENS_STATE must be a path from the root, not {named!r}")
    return Path(named)


class Confirmations:
    """What was confirmed, in a file of one folder, which is read anew each time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME

    def holds(self, project: Path, fingerprint: str) -> bool:
        """Tell whether what a project says of its targets was confirmed as it is now."""
        return self._read().get(_identity(project)) == fingerprint

    def confirm(self, project: Path, fingerprint: str) -> None:
        """Remember that a user has confirmed them, in place of what they were before.

        Raises OSError where it cannot be written.
        """
        kept = {**self._read(), _identity(project): fingerprint}
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp makes it for its owner alone: mode 0600.
        handle, temporary = tempfile.mkstemp(dir=self._path.parent, prefix="new-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                json.dump(kept, file, indent=2, sort_keys=True)
            os.replace(temporary, self._path)  # noqa: PTH105 - from a name, not a Path
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise

    def _read(self) -> dict[str, str]:
        try:
            if not _is_ours_alone(self._path.lstat()):
                return {}
            kept = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(kept, dict):
            return {}
        return {project: one for project, one in kept.items() if isinstance(one, str)}


def _identity(project: Path) -> str:
    """Spell a folder as the one it is, whatever links lead to it; bytes that are no text too."""
    return os.fsencode(os.path.realpath(project)).decode("utf-8", "backslashreplace")


def _is_ours_alone(status: os.stat_result) -> bool:
    """Tell whether it is a plain file that nobody else can have written."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if sys.platform == "win32":
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
