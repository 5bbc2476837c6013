"""Start the server that is bundled with the extension.

Usage: run_server.py useBundled|fromEnvironment [ARGUMENT ...]

`libs`, beside this file, holds the server and what it imports, the compiled parser once for each
CPython it supports. With `fromEnvironment` what the interpreter has installed comes first. An
interpreter that cannot run it is told so in one sentence, so this file has words that any has.
"""

import os
import re
import sys

OLDEST = (3, 10)
INSTALL = "choose another interpreter (tirx-lens.interpreter), or install tirx-lens for this one"


def main(strategy, arguments):
    """Put the bundled libraries on the import path and run `tirx-lens server`."""
    here = os.path.dirname(os.path.realpath(__file__))
    libraries = os.path.join(here, "libs")
    if sys.version_info[:2] < OLDEST:
        return refuse("it needs Python 3.10 or newer: choose another interpreter")
    search = [entry for entry in sys.path if os.path.realpath(entry) != here]
    sys.path[:] = search + [libraries] if strategy == "fromEnvironment" else [libraries] + search
    try:
        import tree_sitter  # noqa: F401 - there is one for some interpreters and none for others
    except ImportError as error:
        return refuse("its parser is here for %s (%s): %s" % (built_for(libraries), error, INSTALL))
    try:
        from tirx_lens.cli.main import main as tirx_lens
    except ImportError as error:
        return refuse("%s: %s" % (error, INSTALL))
    return tirx_lens(["server"] + arguments)


def refuse(reason):
    """Say why the server does not run on this interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    name = getattr(getattr(sys, "implementation", None), "name", "python")
    known = {"cpython": "CPython", "pypy": "PyPy"}.get(name, name)
    what = "TIRx Lens cannot run on %s %s (%s)" % (known, version, sys.executable)
    sys.stderr.write(what + ": " + reason + "\n")
    return 2


def built_for(libraries):
    """Return the interpreters that the bundled parser is compiled for."""
    folder = os.path.join(libraries, "tree_sitter")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = [re.search(r"\.(?:cpython-|cp)3(\d+)-", name) for name in names]
    minors = sorted({int(one.group(1)) for one in found if one})
    return "CPython " + ", ".join("3.%d" % minor for minor in minors) if minors else "no Python"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
