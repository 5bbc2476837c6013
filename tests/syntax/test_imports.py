"""Helpers and constants of other files of the workspace: followed where known, silent where not."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens import incremental
from tirx_lens.analysis import Selection, analyse, check_kernels
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.incremental import Analyser
from tirx_lens.model.expr import constant_int
from tirx_lens.model.given import BuilderArguments, Given
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.registry import RULES
from tirx_lens.syntax.read import open_library, read_kernels
from tirx_lens.workspace import SourceCache, WorkspaceModules

if TYPE_CHECKING:
    from tirx_lens.rules.rule import Rule

KERNELS = Path(__file__).parents[2] / "kernels"


class Workspace:
    """A folder of files, some of them open with other texts than on disk."""

    def __init__(self, root: Path, files: dict[str, str]) -> None:
        self.root = root
        self.opened: dict[str, str] = {}
        self.write(files)

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    def library(self, entry: str = "main.py"):
        path = self.root / entry
        modules = WorkspaceModules(path, SourceCache(), [self.root], self._opened)
        return open_library(modules, str(path))

    def _opened(self, path: Path) -> SourceText | None:
        text = self.opened.get(path.name)
        return SourceText(text) if text is not None else None


def kernel(body: str, *, imports: str = "", inside: str = "") -> str:
    """Return a module with a kernel of `GROUPS` warpgroups in a builder."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"""\
from tvm.script import tirx as T
{imports}

def build():
    {inside or "pass"}

    @T.prim_func
    def kernel(A: T.Buffer((4096,), "float16")):
        T.device_entry()
        bx = T.cta_id([4])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])
{lines}
    return kernel
"""


FILES = {
    "shapes.py": (
        "from __future__ import annotations\n"
        "import math\n"
        "WIDTH = 64\nGROUPS = WIDTH // 32\nPAIR = (1, GROUPS)\n_HIDDEN = 3\n"
        "class Config:\n    groups = GROUPS\n"
        "def groups_of(width):\n    return width // 32\n"
    ),
    "again.py": "from shapes import GROUPS as G\nimport shapes\n",
    "everything.py": "from shapes import *\n",
    "listed.py": "from shapes import *\n__all__ = ['GROUPS']\n",
    "lib/__init__.py": "from .inner import GROUPS\n",
    "lib/inner.py": "from . import sizes\nGROUPS = sizes.TWO\n",
    "lib/sizes.py": "TWO = 2\n",
    "plain/inner.py": "GROUPS = 2\n",
    "cyclic_a.py": "GROUPS = 2\nfrom cyclic_b import TWICE\n",
    "cyclic_b.py": "from cyclic_a import GROUPS\nTWICE = GROUPS\n",
    "broken.py": "def f(:\n\nGROUPS = 2\n",
    "maybe.py": "import os\nGROUPS = 2\nif os.environ.get('X'):\n    GROUPS = 3\n",
}

KNOWN = [
    ("from shapes import GROUPS", "GROUPS"),
    ("from shapes import GROUPS as G", "G"),
    ("from shapes import (\n    WIDTH,\n    GROUPS,\n)", "GROUPS"),
    ("import shapes", "shapes.GROUPS"),
    ("import shapes as s", "s.GROUPS"),
    ("import shapes as s", "s.PAIR[1]"),
    ("import shapes as s", "s.Config.groups"),
    ("from shapes import Config", "Config.groups"),
    ("from shapes import groups_of\nGROUPS = groups_of(64)", "GROUPS"),
    ("from shapes import *", "GROUPS"),
    ("from everything import *", "GROUPS"),
    ("from listed import *", "GROUPS"),
    ("import again", "again.G"),
    ("import again", "again.shapes.GROUPS"),
    ("from lib import GROUPS", "GROUPS"),
    ("import lib", "lib.GROUPS"),
    ("import lib", "lib.sizes.TWO"),
    ("import lib.sizes", "lib.sizes.TWO"),
    ("import lib.sizes as s", "s.TWO"),
    ("from lib import sizes", "sizes.TWO"),
    ("from .lib.sizes import TWO", "TWO"),
    ("from . import shapes", "shapes.GROUPS"),
    ("import plain.inner", "plain.inner.GROUPS"),
    ("from plain import inner", "inner.GROUPS"),
    ("from plain.inner import GROUPS", "GROUPS"),
    ("from cyclic_a import TWICE", "TWICE"),
    ("from cyclic_b import TWICE", "TWICE"),
    ("from broken import GROUPS", "GROUPS"),
    ("try:\n    from shapes import GROUPS\nexcept ImportError:\n    raise", "GROUPS"),
]

UNKNOWN = [
    ("from nowhere import GROUPS", "GROUPS"),
    ("import nowhere", "nowhere.GROUPS"),
    ("from nowhere import *", "GROUPS"),
    ("from shapes import NOTHING", "NOTHING"),
    ("from shapes import *", "_HIDDEN"),
    ("from listed import *", "WIDTH"),
    ("import plain", "plain.GROUPS"),
    ("from maybe import GROUPS", "GROUPS"),
    ("import os", "os.GROUPS"),
    ("from ... import shapes", "shapes.GROUPS"),
    ("try:\n    from shapes import GROUPS\nexcept ImportError:\n    GROUPS = 1", "GROUPS"),
]


def extent_of(text: str, workspace: Workspace) -> int | None:
    (found,) = read_kernels(SourceText(text), library=workspace.library()).kernels
    (given,) = [one for one in found.scope_ids if one.kind.value == "cluster_id"]
    return constant_int(given.extents[0]) if len(given.extents) == 1 else None


@pytest.mark.parametrize(("imports", "value"), KNOWN)
def test_constants_of_other_files_are_known(tmp_path: Path, imports: str, value: str) -> None:
    text = kernel(f"extent = T.cluster_id([{value}])", imports=imports)
    assert extent_of(text, Workspace(tmp_path, FILES)) == 2


@pytest.mark.parametrize(("imports", "value"), UNKNOWN)
def test_what_is_not_found_stays_unknown(tmp_path: Path, imports: str, value: str) -> None:
    text = kernel(f"extent = T.cluster_id([{value}])", imports=imports)
    assert extent_of(text, Workspace(tmp_path, FILES)) is None


def test_an_import_inside_the_builder_counts(tmp_path: Path) -> None:
    text = kernel("extent = T.cluster_id([GROUPS])", inside="from shapes import GROUPS")
    assert extent_of(text, Workspace(tmp_path, FILES)) == 2


def test_the_dsl_itself_may_come_through_another_file(tmp_path: Path) -> None:
    files = {"common.py": "from tvm.script import tirx as T\n"}
    text = kernel("if wg_id == 0:\n    T.cuda.cta_sync()")
    text = text.replace("from tvm.script import tirx as T", "from common import T")
    (found,) = analyse(SourceText(text), library=Workspace(tmp_path, files).library()).findings
    assert found.code == "TX102"


def test_a_file_of_a_package_is_found_from_above_it_and_beside_it(tmp_path: Path) -> None:
    files = {"lib/__init__.py": "", "lib/beside.py": "GROUPS = 2\n", "above.py": "GROUPS = 2\n"}
    workspace = Workspace(tmp_path, files)
    for imports in ("import above as m", "import beside as m", "from . import beside as m"):
        text = kernel("extent = T.cluster_id([m.GROUPS])", imports=imports)
        library = workspace.library("lib/main.py")
        (found,) = read_kernels(SourceText(text), library=library).kernels
        assert constant_int(found.scope_ids[-1].extents[0]) == 2, imports


HELPERS = """\
from tvm.script import tirx as T

WAITING = 0


@T.inline
def sync(group):
    if group == WAITING:
        T.cuda.cta_sync()


@T.inline
def nested(group):
    sync(group)


def plain(x):
    return x * 2


def opaque(x):
    T.cuda.cta_sync()
"""


def findings(text: str, workspace: Workspace):
    analysis = analyse(SourceText(text), library=workspace.library())
    assert not analysis.failures
    return analysis.findings


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from helpers import sync", "sync(wg_id)"),
        ("from helpers import nested", "nested(wg_id)"),
        ("import helpers as h", "h.nested(wg_id)"),
    ],
)
def test_a_finding_in_a_helper_stands_at_the_call(tmp_path: Path, imports: str, call: str) -> None:
    text = kernel(call, imports=imports)
    (found,) = findings(text, Workspace(tmp_path, {"helpers.py": HELPERS}))
    assert found.code == "TX102"
    assert SourceText(text).slice(found.span) == call
    assert "line 8 of helpers.py" in found.message
    assert found.fix is None, "no fix edits another file"
    itself, *others = found.related
    assert itself.module is not None
    assert itself.module.path == str(tmp_path / "helpers.py")
    assert itself.module.source.slice(itself.span) == "T.cuda.cta_sync()"
    assert all(SourceText(text).slice(one.span) != call for one in others)


def test_each_call_of_a_helper_has_its_own_finding(tmp_path: Path) -> None:
    text = kernel("sync(wg_id)\nsync(group=wg_id)", imports="from helpers import sync")
    found = findings(text, Workspace(tmp_path, {"helpers.py": HELPERS}))
    assert [SourceText(text).slice(one.span) for one in found] == [
        "sync(wg_id)",
        "sync(group=wg_id)",
    ]


def test_a_correct_helper_is_quiet(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, {"helpers.py": HELPERS.replace("group == WAITING", "True")})
    assert not findings(kernel("sync(wg_id)", imports="from helpers import sync"), workspace)


def test_a_comment_silences_a_finding_at_the_call_and_at_the_place(tmp_path: Path) -> None:
    ignore = "  # tirx-lens: ignore[TX102]"
    workspace = Workspace(tmp_path, {"helpers.py": HELPERS})
    imports = "from helpers import sync"
    assert findings(kernel("sync(wg_id)", imports=imports), workspace)
    assert not findings(kernel("sync(wg_id)" + ignore, imports=imports), workspace)
    workspace.write({"helpers.py": HELPERS.replace("cta_sync()", "cta_sync()" + ignore, 1)})
    assert not findings(kernel("sync(wg_id)", imports=imports), workspace)


@pytest.mark.parametrize("comment", ["ignore-file[TX102]", "ignore-file"])
def test_a_comment_silences_a_whole_file_of_helpers(tmp_path: Path, comment: str) -> None:
    text = kernel("sync(wg_id)\nT.cuda.cta_sync()", imports="from helpers import sync")
    workspace = Workspace(tmp_path, {"helpers.py": f"# tirx-lens: {comment}\n{HELPERS}"})
    assert not findings(text, workspace)
    workspace.write({"helpers.py": "# tirx-lens: ignore-file[TX2]\n" + HELPERS})
    assert [one.code for one in findings(text, workspace)] == ["TX102"]


def test_fixes_of_other_findings_are_still_made(tmp_path: Path) -> None:
    body = "sync(wg_id)\nif wg_id == 0:\n    T.cuda.cta_sync()"
    text = kernel(body, imports="from helpers import sync")
    library = Workspace(tmp_path, {"helpers.py": HELPERS}).library()
    fixed = apply_safe_fixes(SourceText(text), lambda s: analyse(s, library=library))
    assert fixed.applied == 1
    assert [one.code for one in fixed.remaining] == ["TX102"]
    assert (tmp_path / "helpers.py").read_text("utf-8") == HELPERS


@pytest.mark.parametrize("call", ["opaque(wg_id)", "unknown(wg_id)", "h.missing(wg_id)"])
def test_what_a_call_may_do_is_not_guessed(tmp_path: Path, call: str) -> None:
    """A call whose body is not read may hold the missing barrier: nothing is said."""
    body = f"if wg_id == 0:\n    T.cuda.cta_sync()\nelse:\n    {call}"
    imports = "import helpers as h\nfrom helpers import opaque\nfrom elsewhere import unknown"
    assert not findings(kernel(body, imports=imports), Workspace(tmp_path, {"helpers.py": HELPERS}))


def test_a_helper_that_only_computes_hides_no_barrier(tmp_path: Path) -> None:
    body = "if wg_id == 0:\n    T.cuda.cta_sync()\nelse:\n    x = plain(wg_id)"
    text = kernel(body, imports="from helpers import plain")
    (found,) = findings(text, Workspace(tmp_path, {"helpers.py": HELPERS}))
    assert found.code == "TX102"


@pytest.mark.parametrize(
    "name",
    ["gemm_step7_warp_specialized.py", "gemm_step9_two_consumers.py", "tma_ring_copy.py"],
)
def test_a_kernel_gives_the_same_with_its_constants_in_another_file(
    tmp_path: Path, name: str
) -> None:
    """The constants above the first definition, with the imports, move to a file of their own."""
    text = (KERNELS / name).read_text("utf-8")
    start = text.index("# tirx-lens: args")
    workspace = Workspace(tmp_path, {"parts.py": text[:start]})
    moved = "from parts import *\n\n\n" + text[start:]
    broken = moved.replace("pool.commit()", "pass", 1)
    assert not findings(moved, workspace)
    whole = analyse(SourceText(text.replace("pool.commit()", "pass", 1))).findings
    assert [one.code for one in findings(broken, workspace)] == [one.code for one in whole]


def test_an_open_file_wins_over_the_disk(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, {"helpers.py": HELPERS})
    text = kernel("sync(wg_id)", imports="from helpers import sync")
    assert findings(text, workspace)
    workspace.opened["helpers.py"] = HELPERS.replace("group == WAITING", "True")
    assert not findings(text, workspace)


# Versions of an edited text.


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def noting(source, kernels, *others, **options):
        names.extend(kernel.name for kernel in kernels)
        return check_kernels(source, kernels, *others, **options)

    monkeypatch.setattr(incremental, "check_kernels", noting)
    return names


def test_an_edit_of_a_helper_is_seen_and_any_other_costs_nothing(
    tmp_path: Path, read: list[str]
) -> None:
    files = {"helpers.py": "from values import WAITING\n" + HELPERS.replace("WAITING = 0\n", "")}
    workspace = Workspace(tmp_path, files | {"values.py": "WAITING = 0\n"})
    text = kernel("sync(wg_id)", imports="from helpers import sync")
    analyser = Analyser(workspace.library())
    first = analyser.analyse(SourceText(text))
    assert [one.code for one in first.findings] == ["TX102"]
    assert first.imported == {str(tmp_path / name) for name in ("helpers.py", "values.py")}
    read.clear()
    moved = analyser.analyse(SourceText("# above\n" + text))
    assert not read, "nothing that the kernel depends on has changed"
    assert moved == analyse(SourceText("# above\n" + text), library=workspace.library())
    assert moved.imported == first.imported
    for waiting, expected in (("5", []), ("1", ["TX102"]), ("wg()", []), ("0", ["TX102"])):
        workspace.opened["values.py"] = f"WAITING = {waiting}\n"  # two imports away
        now = analyser.analyse(SourceText(text))
        assert [one.code for one in now.findings] == expected
        assert now == analyse(SourceText(text), library=workspace.library())
    assert read


def test_what_one_pair_of_selection_and_given_gave_is_asked_about_modules_too(
    tmp_path: Path, read: list[str]
) -> None:
    workspace = Workspace(tmp_path, {"helpers.py": HELPERS})
    body = "sync(wg_id)\nif wg_id == WHERE:\n    T.cuda.cta_sync()"
    text = kernel(body, imports="from helpers import sync").replace("build()", "build(WHERE)")
    given = [
        Given((BuilderArguments("build", (("WHERE", where),)),)) if where is not None else Given()
        for where in (None, 7, 0)
    ]
    pairs = [(Selection(select), one) for select in (("TX",), ("TX2",)) for one in given]
    analyser, numbers = Analyser(workspace.library()), {}
    for helper in (HELPERS, HELPERS.replace("group == WAITING", "True")):
        workspace.opened["helpers.py"] = helper
        for pair in pairs * 2:
            now = analyser.analyse(SourceText(text), *pair)
            assert now == analyse(SourceText(text), *pair, library=workspace.library())
            assert now.imported == {str(tmp_path / "helpers.py")}
            numbers[helper, pair] = len(now.findings)
    assert list(numbers.values()) == [1, 1, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert len(read) == len(numbers), "each pair was read once for each text of the helper"


def test_a_module_that_appears_or_goes_is_seen(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, {})
    text = kernel("sync(wg_id)", imports="from helpers import sync")
    analyser = Analyser(workspace.library())
    none = analyser.analyse(SourceText(text))
    assert not none.findings
    assert none.lacks_modules
    workspace.write({"helpers.py": HELPERS})
    assert [one.code for one in analyser.analyse(SourceText(text)).findings] == ["TX102"]
    (tmp_path / "helpers.py").unlink()
    assert not analyser.analyse(SourceText(text)).findings


def test_a_constant_of_the_module_that_is_computed_from_an_import_counts(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, {"values.py": "A = 0\n"})
    imports = "from values import A\nWAITING = A + 0\n"
    text = kernel("if wg_id == WAITING:\n    T.cuda.cta_sync()", imports=imports)
    analyser = Analyser(workspace.library())
    assert analyser.analyse(SourceText(text)).findings
    workspace.opened["values.py"] = "A = 7\n"
    assert analyser.analyse(SourceText(text)) == analyse(
        SourceText(text), library=workspace.library()
    )
    assert not analyser.analyse(SourceText(text)).findings


# Hostile workspaces.


HOSTILE = {
    "chain": {f"m{i}.py": f"from m{i + 1} import sync\n" for i in range(400)},
    "sums": {f"m{i}.py": f"import m{i + 1}\nsync = m{i + 1}.sync + 1\n" for i in range(400)},
    "pair": {"m0.py": "from m1 import sync\n", "m1.py": "from m0 import sync\n"},
    "itself": {"m0.py": "from m0 import sync\n"},
    "stars": {"m0.py": "from m1 import *\n", "m1.py": "from m0 import *\n"},
    "package": {"m0/__init__.py": "from . import sync\n"},
    "deep": {"m0.py": "sync = " + "(" * 30_000 + "1" + ")" * 30_000},
    "large": {"m0.py": "sync = 1\n" + "#" * (2 << 20)},
    "binary": {"m0.py": "\x00\x01"},
    "names": {"m0.py": f"from {'m' * 300} import sync\nimport {'m.' * 3000}m\n"},
    "calls": {
        f"m{i}.py": (
            f"from m{i + 1} import sync as f{i + 1}\n"
            f"def sync(x):\n    return f{i + 1}(f{i + 1}(x))\n"
        )
        for i in range(90)
    },
}


@pytest.mark.parametrize("files", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_of_a_workspace_stops_it(tmp_path: Path, files: dict[str, str]) -> None:
    body = "if wg_id == 0:\n    T.cuda.cta_sync()\nsync(wg_id)\nx = y"
    text = kernel(body, imports="from m0 import sync\ny = sync(1)\n")
    started = time.monotonic()
    analysis = analyse(SourceText(text), library=Workspace(tmp_path, files).library())
    assert not analysis.failures
    assert time.monotonic() - started < 10


# The examples of every rule, with the whole body of the kernel in a helper of another file.

HEAD = in_kernel("").rstrip() + "\n"
IMPORTS = HEAD.split("@T.prim_func", maxsplit=1)[0]
MARK = re.compile(r"[ ]*# <-$", re.MULTILINE)
# They speak of names, which belong to the file that writes them: a helper's are not this file's.
OF_ONE_FILE = ("TX504", "TX505")


def moved(code: str) -> tuple[str, str] | None:
    """Return an example in two files, the helper's and the kernel's, if it is made so."""
    if not code.startswith(HEAD):
        return None
    rest = code[len(HEAD) :]
    after = re.search(r"^\S", rest, re.MULTILINE)
    end = after.start() if after else len(rest)
    names = "A, bx, wg_id, warp_id, lane_id"
    helper = f"{IMPORTS}\n@T.inline\ndef rest({names}):\n{rest[:end]}"
    return helper, f"from helpers import rest\n{HEAD}    rest({names})\n\n\n{rest[end:]}"


SILENT = [
    pytest.param(parts, id=f"{rule.code}-valid-{index}")
    for rule in RULES
    for index, code in enumerate(rule.VALID)
    if (parts := moved(code)) is not None
]
FOUND = [
    pytest.param(rule, MARK.sub("", one.code), parts, id=f"{rule.code}-invalid-{index}")
    for rule in RULES
    if rule.code not in OF_ONE_FILE
    for index, one in enumerate(rule.INVALID)
    if (parts := moved(MARK.sub("", one.code))) is not None
]


def in_two_files(tmp_path: Path, parts: tuple[str, str], selection: Selection | None = None):
    library = Workspace(tmp_path, {"helpers.py": parts[0]}).library()
    analysis = analyse(SourceText(parts[1]), selection, library=library)
    assert not analysis.failures
    return analysis.findings


@pytest.mark.parametrize("parts", SILENT)
def test_a_valid_example_is_silent_in_two_files(tmp_path: Path, parts: tuple[str, str]) -> None:
    assert [(one.code, one.message) for one in in_two_files(tmp_path, parts)] == []


@pytest.mark.parametrize(("rule", "code", "parts"), FOUND)
def test_an_invalid_example_is_found_in_two_files(
    tmp_path: Path, rule: type[Rule], code: str, parts: tuple[str, str]
) -> None:
    selection = Selection((rule.code,))
    whole = analyse(SourceText(code), selection).findings
    found = in_two_files(tmp_path, parts, selection)
    helper, text = map(SourceText, parts)
    places = sorted(helper.slice(one.related[0].span) for one in found)
    assert places == sorted(SourceText(code).slice(one.span) for one in whole)
    assert {text.slice(one.span) for one in found} == {"rest(A, bx, wg_id, warp_id, lane_id)"}
    assert {one.related[0].module.path for one in found} == {str(tmp_path / "helpers.py")}
    assert not [one for one in found if one.fix is not None], "no fix edits another file"
