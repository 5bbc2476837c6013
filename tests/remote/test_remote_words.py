"""One command line for every login shell: each hands on exactly the words that were meant."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.remote.pythons import old_python

from tirx_lens.compile.remote_words import remote_command, remote_words

SHELLS = ("sh", "bash", "dash", "zsh", "fish", "tcsh")
CODE = """
import json, os, sys
text = '"it\\'s" $HOME `x` \\\\ ! % ~ #'
os.write(1, json.dumps([sys.argv[1:], text]).encode())
"""
ODD = (
    "a b",
    "it's",
    '"double"',
    "$HOME",
    "`date`",
    "back\\slash",
    "two\\\\slashes",
    "ends\\",
    "hey!there!",
    "*",
    "a;b&c|d<e>f(g)",
    "{x,y}",
    "#comment",
    "=zsh",
    "%1",
    "^caret",
    "[ab]",
    "?",
    "~nobody-of-this-name",
    "ünïcode 核",
    "tab\there",
    "-c",
    "@",
)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    found = shutil.which(request.param)
    if found is None:
        pytest.skip(f"{request.param} is not installed")
    return found


def said_by(shell: str, command: str, home: Path) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    words = [shell, "-c", command]
    ran = subprocess.run(words, capture_output=True, env=environment, cwd=home, timeout=30)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.decode("utf-8")


def test_words_arrive_as_they_were(shell: str, tmp_path: Path) -> None:
    """A program takes each of them, one after the other."""
    show = "import json, sys; print(json.dumps(sys.argv[1:]))"
    said = said_by(shell, remote_words([sys.executable, "-c", show, *ODD]), tmp_path)
    assert json.loads(said) == list(ODD)


def test_code_arrives_as_it_was(shell: str, tmp_path: Path) -> None:
    said = said_by(shell, remote_command([sys.executable], CODE), tmp_path)
    assert json.loads(said) == [[], '"it\'s" $HOME `x` \\ ! % ~ #']


def test_a_home_is_that_of_the_host(shell: str, tmp_path: Path) -> None:
    folder = tmp_path / "my env" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    said = said_by(shell, remote_command(["~/my env/bin/python"], CODE), tmp_path)
    assert json.loads(said)[0] == []


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.9", "3.13"])
def test_old_pythons_read_the_code(version: str, tmp_path: Path) -> None:
    command = remote_command([old_python(version)], "import sys\nprint(sys.version_info[:2])")
    assert said_by("/bin/sh", command, tmp_path) == f"({version.replace('.', ', ')})\n"
