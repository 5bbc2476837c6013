"""Start the server that is bundled with the extension.

Usage: run_server.py useBundled|fromEnvironment [ARGUMENT ...]

`libs`, beside this file, holds the server and what it imports, the compiled parser once for each
CPython it supports. With `fromEnvironment` what the interpreter has installed comes first.
"""

import sys
from pathlib import Path


def main(strategy, arguments):
    """Put the bundled libraries on the import path and run `tirx-lens server`."""
    here = Path(__file__).resolve().parent
    search = [entry for entry in sys.path if Path(entry).resolve() != here]
    libraries = str(here / "libs")
    sys.path[:] = [*search, libraries] if strategy == "fromEnvironment" else [libraries, *search]
    try:
        from tirx_lens.cli.main import main as tirx_lens
    except ImportError as error:
        version = ".".join(map(str, sys.version_info[:3]))
        sys.stderr.write(f"cannot run on Python {version} ({sys.executable}): {error}\n")
        return 2
    return tirx_lens(["server", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
