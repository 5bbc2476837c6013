"""The invariants of ARCHITECTURE.md, read off the imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "server" / "tirx_lens"
MODULES = sorted(PACKAGE.rglob("*.py"))

# What each layer may import of the project, besides itself.
LAYERS = {
    "model": set(),
    "notebook": {"model"},
    "syntax": {"model"},
    "threads": {"model"},
    "api": {"model"},
    "rules": {"model", "threads", "syntax", "protocol", "api"},
    "protocol": {"model", "threads", "syntax", "rules"},
    "explain": {"model", "threads", "syntax", "rules", "api"},
    "cuda": {"model", "threads", "syntax", "compile", "worker"},  # the types of a build's result
    "suspects": {"model", "threads", "syntax", "rules", "protocol", "explain", "cuda", "analysis"},
    "report": {"model", "rules", "cuda", "protocol", "suspects", "problem", "compile"},
    "problem": {"model", "syntax", "protocol", "analysis", "compile"},
    "configuration": {"model", "rules", "analysis", "compile"},  # what reads and holds targets
    # The worker's wire types, never the other way.
    "compile": {"syntax", "model", "worker", "workspace"},
    "worker": set(),
}
PURE = (
    *("model", "syntax", "threads", "rules", "protocol", "explain", "cuda", "api", "notebook"),
    "suspects",
)
READ_SYNTAX = ("compile/builders.py", "compile/registered.py")
EFFECTS = {"subprocess", "socket", "asyncio", "os", "pathlib", "threading", "multiprocessing"}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_keep_to_the_layers(path: Path) -> None:
    layer = layer_of(path)
    for module in imports_of(path):
        top, _, rest = module.partition(".")
        if top in ("pygls", "lsprotocol"):
            assert layer == "lsp", f"{module}: only lsp/ speaks the protocol"
        if top in ("tvm", "tvm_tirx"):
            assert layer == "worker", f"{module}: only worker/ imports TVM"
        if top in ("tree_sitter", "tree_sitter_python"):
            assert layer in ("syntax", "cuda") or named(path) in READ_SYNTAX
        if top == "tirx_lens" and layer in LAYERS:
            allowed = {layer, *LAYERS[layer]}
            assert rest.partition(".")[0] in allowed or not rest, f"{layer} imports {module}"
        if layer == "configuration" and rest.startswith("compile"):
            assert rest in ("compile.targets", "compile.target_table"), module
        if layer in PURE:
            assert top not in EFFECTS, f"{layer}/ knows nothing of files and processes: {module}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "worker").rglob("*.py")), ids=named)
def test_worker_is_standard_library_and_tvm(path: Path) -> None:
    for module in imports_of(path):
        top = module.partition(".")[0]
        assert top in sys.stdlib_module_names or top in ("tvm", "tvm_tirx", "tirx_lens"), module
        if top == "tirx_lens":
            assert module.startswith("tirx_lens.worker")


def test_the_server_does_without_what_the_extension_does_not_carry() -> None:
    program = """if True:
        import sys
        for name in ("pygments", "rich"):
            sys.modules[name] = None  # importing it raises
        import tirx_lens.lsp.server, tirx_lens.cli.server, tirx_lens.cli.main
        from tirx_lens.analysis import analyse
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_most_modules_are_short() -> None:
    long = [named(path) for path in MODULES if len(path.read_text("utf-8").splitlines()) > 600]
    assert not long


@pytest.mark.parametrize("path", sorted((PACKAGE / "rules").glob("*.py")), ids=named)
def test_rules_ask_the_view_what_they_want_of_the_whole_text(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        if "view.source.data" in line or "view.source.text" in line:
            assert path.name == "edits.py", f"{line.strip()}: use KernelView.of_text or mentions"
