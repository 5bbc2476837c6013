"""Classes of the protocol that are made when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EVERY_TYPE = str(Path(__file__).with_name("every_type.py"))


def output_of(*command: str) -> str:
    ran = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_each_is_what_attrs_makes_at_once_and_converts_the_same():
    served, published = (
        re.sub("0x[0-9a-f]+", "", output_of(EVERY_TYPE, kind)).splitlines()
        for kind in ("as-served", "as-published")
    )
    assert len(served) > 5000
    assert sum("equal=True" in line for line in served) > 2000
    assert [pair for pair in zip(served, published, strict=True) if pair[0] != pair[1]] == []


def test_attrs_is_left_as_it_was_and_few_classes_are_made():
    said = output_of(
        "-c",
        "import attrs\n"
        "before = attrs.define\n"
        "from tirx_lens.lsp.protocol_types import _Made, _Unmade, load_protocol_types\n"
        "load_protocol_types()\n"
        "assert attrs.define is before\n"
        "from lsprotocol import types\n"
        "from tirx_lens.lsp.server import create_server\n"
        "create_server()\n"
        "kinds = [type(kind) for kind in types.ALL_TYPES_MAP.values()]\n"
        "print(kinds.count(_Made), kinds.count(_Unmade))\n",
    )
    made, unmade = map(int, said.split())
    assert 0 < made < 40
    assert unmade > 500


def test_threads_that_need_the_same_class_at_once_get_it_whole():
    said = output_of(
        "-c",
        "import threading\n"
        "from tirx_lens.lsp import protocol_types\n"
        "protocol_types.load_protocol_types()\n"
        "from lsprotocol.types import Position\n"
        "define, calls, again = protocol_types._define, [], threading.Event()\n"
        "other = threading.Thread(target=lambda: places.append(Position(3, 4)))\n"
        "def slow_define(*arguments, **options):\n"
        "    calls.append(arguments)\n"
        "    if len(calls) == 1:\n"
        "        other.start()\n"
        "        again.wait(0.5)  # for a second call that must not come\n"
        "    else:\n"
        "        again.set()\n"
        "    return define(*arguments, **options)\n"
        "protocol_types._define = slow_define\n"
        "places = []\n"
        "places.append(Position(1, 2))\n"
        "other.join()\n"
        "print(len(calls), *sorted(places))\n",
    )
    assert said.strip() == "1 1:2 3:4"


def test_other_classes_are_made_at_once():
    output_of(
        "-c",
        "import attrs\n"
        "from tirx_lens.lsp.protocol_types import _define_later\n"
        "@_define_later\n"
        "class Later: field: int\n"
        "@_define_later(frozen=True)\n"
        "class Frozen: field: int\n"
        "@_define_later\n"
        "class Derived(Frozen): other: int\n"
        "assert '__attrs_attrs__' not in vars(Later)\n"
        "assert '__attrs_attrs__' in vars(Frozen)\n"
        "assert [one.name for one in attrs.fields(Derived)] == ['field', 'other']\n",
    )
