"""Write the table of the TVM of this interpreter: `PYTHON dev/api_tables.py`, once a release.

    .venv/bin/python dev/api_tables.py              # 0.27
    .venv-tvm-0.26/bin/python dev/api_tables.py     # 0.26

0.25 needs an environment of its own: `apache-tvm==0.25.0.post1` with `apache-tvm-ffi==0.1.12`; so
does `apache-tvm-tirx==0.1.0a4`: `PYTHON dev/api_tables.py tvm_tirx`. One
entry stands on each line, so that a new release shows as a readable difference.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "server/tirx_lens/worker"))  # it imports nothing of the rest

from api_surface import surface  # noqa: E402


def main() -> None:
    """Ask TVM and write."""
    package = sys.argv[1] if len(sys.argv) > 1 else "tvm"
    found = surface(package)
    release = ".".join(found["version"].split(".")[:2])
    name = release if package == "tvm" else f"tirx-{found['version']}"
    target = ROOT / "server/tirx_lens/api/data" / f"{name}.json"
    target.write_text(_lines(found) + "\n", "utf-8")
    print(f"{target.relative_to(ROOT)}: {len(found['functions'])} names")


def _lines(table: dict[str, object]) -> str:
    parts = []
    for name, value in table.items():
        if isinstance(value, dict):
            rows = ",\n".join(f"  {json.dumps(key)}: {_row(one)}" for key, one in value.items())
            parts.append(f'"{name}": {{\n{rows}\n}}')
        else:
            parts.append(f'"{name}": {_row(value)}')
    return "{\n" + ",\n".join(parts) + "\n}"


def _row(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


main()
