"""`[tool.tirx-lens]`: what is read, what is refused and where, and what it means for a file."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tirx_lens.compile import target_table
from tirx_lens.compile.targets import LauncherKind, Origin, Target
from tirx_lens.configuration.find import Configurations, read_file, read_named_file
from tirx_lens.configuration.options import FileOptions, Overrides, options_for
from tirx_lens.configuration.patterns import PathPattern
from tirx_lens.configuration.places import TomlPlaces
from tirx_lens.configuration.read import _KEYS, Read, read_configuration
from tirx_lens.configuration.table import Configuration, ConfigurationFile
from tirx_lens.model.given import BuilderArguments, TvmVersion
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span

FOLDER = Path("/project")


def read(table: str) -> Read:
    return read_configuration(SourceText("[tool.tirx-lens]\n" + dedent(table)))


def options(table: str, path: str = "kernels/gemm.py", **overrides) -> FileOptions:
    """Return what a table without problems means for a file of its project."""
    text = read(table)
    assert text.problems == ()
    assert text.configuration is not None
    file = ConfigurationFile(FOLDER / "pyproject.toml", SourceText(""), text.configuration)
    return options_for(FOLDER / path, file, Overrides(**overrides))


def reporting(table: str, path: str = "kernels/gemm.py", **overrides) -> set[str]:
    """Return which of some rules report in a file."""
    selection = options(table, path, **overrides).selection
    return {code for code in ("TX101", "TX102", "TX201", "TX401") if selection.admits(code)}


ALL = {"TX101", "TX102", "TX201", "TX401"}


@pytest.mark.parametrize(
    ("table", "overrides", "expected"),
    [
        ("", {}, ALL),
        ("select = []", {}, set()),
        ('select = ["TX1", "TX201"]', {}, {"TX101", "TX102", "TX201"}),
        ('ignore = ["TX1"]', {}, {"TX201", "TX401"}),
        ('select = ["TX1"]\nignore = ["TX102"]', {}, {"TX101"}),
        # `select` from outside takes the place of both, `ignore` is added.
        ('select = ["TX1"]\nignore = ["TX102"]', {"select": ("TX",)}, ALL),
        ('select = ["TX1"]\nignore = ["TX102"]', {"select": ("TX102", "TX4")}, {"TX102", "TX401"}),
        ('select = ["TX1"]\nignore = ["TX102"]', {"ignore": ("TX101",)}, set()),
        ('ignore = ["TX102"]', {"ignore": ("TX2",)}, {"TX101", "TX401"}),
        ("", {"select": ("TX1",), "ignore": ("TX101",)}, {"TX102"}),
        # What is ignored in certain files stays so.
        ('per-file-ignores = { "kernels/*" = ["TX1"] }', {"select": ("TX",)}, {"TX201", "TX401"}),
        ('per-file-ignores = { "gemm.py" = ["TX1"] }', {}, {"TX201", "TX401"}),
        ('per-file-ignores = { "tests/**" = ["TX1"] }', {}, ALL),
        (
            """
            [tool.tirx-lens.per-file-ignores]
            "kernels/" = ["TX101", "TX2"]
            "*.py" = ["TX4"]
            "/kernels/gemm.py" = ["TX102"]
            """,
            {},
            {"TX102"},
        ),
    ],
)
def test_which_rules_report(table: str, overrides: dict, expected: set[str]) -> None:
    assert reporting(table, **overrides) == expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("gemm.py", "a/b/gemm.py", True),
        ("gemm", "a/b/gemm.py", False),
        ("*.py", "a/b/gemm.py", True),
        ("a/*.py", "a/gemm.py", True),
        ("a/*.py", "a/b/gemm.py", True),  # as in Ruff: a star goes on over folders
        ("a/*.py", "b/a/gemm.py", False),
        ("a/", "a/b/gemm.py", True),
        ("a/", "b/a/gemm.py", False),
        ("./a/**", "a/b/gemm.py", True),
        ("**/old/*", "old/gemm.py", True),
        ("**/old/*", "a/b/old/gemm.py", True),
        ("**/old/*", "a/bold/gemm.py", False),
        ("a/**/gemm.py", "a/gemm.py", True),
        ("a/**/gemm.py", "a/b/c/gemm.py", True),
        ("a/**/gemm.py", "a/b/cgemm.py", False),
        ("step_?.py", "step_7.py", True),
        ("step_?.py", "step_10.py", False),
        ("step_[1-3].py", "step_2.py", True),
        ("step_[!1-3].py", "step_2.py", False),
        ("step_[3-1].py", "step_2.py", False),
        ("a[b", "a[b", True),
        ("内*.py", "内核.py", True),
        ("", "a.py", False),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert PathPattern(pattern).matches(path) == expected


def test_a_hostile_pattern_costs_a_bounded_time() -> None:
    assert not PathPattern("*a" * 200 + "b").matches("a" * 2000)


@pytest.mark.parametrize(
    ("patterns", "path", "expected"),
    [
        ('["old"]', "kernels/old/gemm.py", True),
        ('["kernels/old"]', "kernels/old/gemm.py", True),
        ('["kernels/old/"]', "kernels/old/gemm.py", True),
        ('["old/gemm.py"]', "kernels/old/gemm.py", False),
        ('["*_wip.py", "kernels/gemm*"]', "kernels/gemm_wip.py", True),
        ("[]", "kernels/gemm.py", False),
    ],
)
def test_exclude(patterns: str, path: str, expected: bool) -> None:
    assert options(f"exclude = {patterns}", path).is_excluded == expected


def test_versions_and_the_report() -> None:
    assert options("").given.tvm_version is None
    table = 'tvm-version = "0.26"\nreport-unused-suppressions = true'
    assert options(table).given.tvm_version is TvmVersion.V0_26
    assert options(table, tvm_version=TvmVersion.V0_27).given.tvm_version is TvmVersion.V0_27
    assert options(table).selection.unused_suppressions
    assert not options(table, unused_suppressions=False).selection.unused_suppressions
    assert options("", unused_suppressions=True).selection.unused_suppressions
    assert not options("").selection.unused_suppressions


ARGUMENTS = """
    [tool.tirx-lens.arguments.gemm]
    M = 1024
    dtype = "float16"
    scale = 0.5
    causal = true

    [tool.tirx-lens.arguments]
    "kernels/*.py::gemm" = { M = 2048 }
    "gemm.py::gemm" = { M = 4096 }
    "tests/**::gemm" = { M = 1 }
    copy = { N = 64 }
"""


def test_arguments_of_builders_and_of_builders_in_certain_files() -> None:
    given = options(ARGUMENTS).given
    expected = {"M": 4096, "dtype": "float16", "scale": 0.5, "causal": True}
    assert given.arguments_of("gemm") == expected
    assert options(ARGUMENTS, "kernels/other.py").given.arguments_of("gemm")["M"] == 2048
    assert options(ARGUMENTS, "other.py").given.arguments_of("gemm")["M"] == 1024
    assert given.arguments_of("copy") == {"N": 64}
    assert given.arguments_of("none") == {}


SETS = """
    [tool.tirx-lens.arguments]
    gemm = [{ M = 1, N = 2 }, { M = 3 }, {}]
    "kernels/*.py::gemm" = [{ N = 4 }, { M = 5 }]
"""


def test_several_sets_of_arguments() -> None:
    """The rules read the first; each of the others has of it what it leaves out."""
    given = options(SETS, "kernels/gemm.py").given
    assert given.arguments_of("gemm") == {"M": 1, "N": 4}
    first, *others = given.sets_of("gemm")
    assert first == {"M": 1, "N": 4}
    assert others == [{"M": 3, "N": 4}, {"M": 1, "N": 4}, {"M": 5, "N": 4}]
    assert options(SETS, "other.py").given.sets_of("gemm")[1] == {"M": 3, "N": 2}
    assert options(ARGUMENTS).given.sets_of("copy") == ({"N": 64},)
    assert given.sets_of("none") == ()


TARGETS = """
    [tool.tirx-lens.targets.gpu1]
    launcher = "ssh"
    host = "me@gpu1.example.org"
    ssh_args = ["-p", "2222", "-oCompression=yes"]
    python = "~/kernels/.venv/bin/python"
    arch = "sm_100a"
    env = { CUDA_VISIBLE_DEVICES = "0" }
    time_limit = 300
    concurrency = 4

    [tool.tirx-lens.targets]
    cluster = { launcher = "command", argv = ["srun", "-n1"], python = ["uv", "run", "py"] }
    here = {}
"""


def test_targets_are_those_of_the_project() -> None:
    found = read(TARGETS)
    assert found.problems == ()
    assert found.configuration is not None
    gpu, cluster, here = found.configuration.targets
    assert gpu == Target(
        "gpu1",
        LauncherKind.SSH,
        host="me@gpu1.example.org",
        ssh_args=("-p", "2222", "-oCompression=yes"),
        python=("~/kernels/.venv/bin/python",),
        arch="sm_100a",
        env=(("CUDA_VISIBLE_DEVICES", "0"),),
        time_limit=300.0,
        concurrency=4,
        origin=Origin.PROJECT,
    )
    assert cluster.argv == ("srun", "-n1")
    assert cluster.python == ("uv", "run", "py")
    assert here == Target("here", origin=Origin.PROJECT)


def test_a_target_with_a_problem_is_none_and_the_others_stay() -> None:
    found = read("targets = { bad = { host = 3 }, good = {} }")
    assert found.configuration is not None
    assert [target.name for target in found.configuration.targets] == ["good"]
    assert len(found.problems) == 1


def test_only_targets_cost_what_reads_them() -> None:
    program = """if True:
        import sys
        from tirx_lens.configuration.read import read_configuration
        from tirx_lens.model.source import SourceText
        read_configuration(SourceText("[tool.tirx-lens]\\nselect = ['TX1']"))
        # The folder's name alone is imported with it.
        print(*(name for name in sys.modules if name.startswith("tirx_lens.compile.")))
        read_configuration(SourceText("[tool.tirx-lens.targets.here]"))
        print(*(name for name in sys.modules if name == "tirx_lens.compile.targets"))
    """
    words = [sys.executable, "-c", program]
    said = subprocess.run(words, check=True, timeout=60, capture_output=True, text=True).stdout
    assert said == "\ntirx_lens.compile.targets\n"


@pytest.mark.parametrize(
    ("table", "place", "message"),
    [
        ("selct = []", "selct", "[tool.tirx-lens] has no key `selct`: did you mean `select`?"),
        ("per_file_ignores = {}", "per_file_ignores", "did you mean `per-file-ignores`?"),
        ("interpreter = 'x'", "interpreter", "the keys are select, ignore,"),
        ("select = 'TX1'", "'TX1'", 'must be a list of codes or their beginnings, such as'),
        ("select = 'TX1'", "'TX1'", 'not the string "TX1"'),
        ("ignore = ['TX1', 3]", "3", "`ignore` must be a list of codes"),
        ("ignore = ['TX1', 'TX1O2']", "'TX1O2'", "In `ignore`: no rule has a code that"),
        ("ignore = ['TX1', 'TX1O2']", "'TX1O2'", "did you mean TX102?"),
        ("ignore = ['E501']", "'E501'", "no rule has a code that begins with E501"),
        ("per-file-ignores = ['TX1']", "['TX1']", "must be a table of patterns and codes"),
        ('per-file-ignores."a*" = "TX1"', '"TX1"', '`per-file-ignores."a*"` must be a list'),
        ('per-file-ignores."a*" = ["TX999"]', '"TX999"', "no rule has a code"),
        ("exclude = 'old'", "'old'", "`exclude` must be a list of patterns"),
        ("exclude = ['old', true]", "true", "`exclude` must hold patterns only, not true."),
        ("tvm-version = 0.27", "0.27", 'one of "0.25", "0.26" or "0.27", not the number 0.27'),
        ("tvm-version = '0.28'", "'0.28'", 'not the string "0.28".'),
        ("report-unused-suppressions = 1", "1", "must be true or false, not the number 1."),
        ("arguments = 3", "3", "`arguments` must be a table with a table for each builder"),
        ("arguments.gemm = 3", "3", "`arguments.gemm` must be a table of arguments"),
        ("arguments.gemm = []", "[]", "or a list of such tables, not a list."),
        ("arguments.gemm = [{ M = 1 }, 3]", "3", "`arguments.gemm` must be a table of arguments"),
        ("arguments.gemm = [{ M = [] }]", "[]", "must be a number, a string, true or false"),
        ("arguments.gemm.M = [1]", "[1]", "`arguments.gemm.M` must be a number, a string, true or"),
        ("arguments.gemm.M = nan", "nan", "not the number nan."),
        ("arguments.gemm.M = 1979-05-27", "1979-05-27", "not a date or time."),
        ("arguments.gemm.'2M' = 1", "1", '`arguments.gemm.2M` is not the name of a parameter.'),
        ("arguments.'a.py' = { M = 1 }", "{ M = 1 }", "names no builder"),
        ("arguments.'::gemm' = { M = 1 }", "{ M = 1 }", "names no builder"),
        ("targets = 'x'", "'x'", "`targets` must be a table with a table for each target, such as"),
        ("targets.gpu1 = 3", "3", "In `targets.gpu1`: A target must be a table, not 3."),
        ("targets.local = {}", "{}", "'local' is the interpreter chosen on this machine: use"),
        ("targets.'a b' = {}", "{}", 'In `targets."a b"`: \'a b\' is no name: use letters'),
        ("targets.a = { hots = 'x' }", "hots", "A target has no key `hots`: did you mean `host`?"),
        ("targets.a = { x = 1 }", "x", "A target has no key `x`: the keys are launcher, host,"),
        ("targets.a.launcher = 'slurm'", "'slurm'", '`launcher` must be "local", "ssh" or "comm'),
        ("targets.a.launcher = 'ssh'", "'ssh'", 'The launcher "ssh" needs `host`.'),
        ("targets.a.launcher = 'command'", "'command'", 'The launcher "command" needs `argv`.'),
        ("targets.a.host = 'x'", "'x'", '`host` is for the launcher "ssh", and this one is'),
        ("targets.a = { launcher = 'ssh', host = '-oX' }", "'-oX'", '`host` must be a host as ssh'),
        ("targets.a = { launcher = 'ssh', host = 'a;b' }", "'a;b'", 'not "a;b".'),
        ("targets.a = { launcher = 'command', argv = [] }", "[]", "`argv` must be a list of words"),
        ("targets.a.python = '-c'", "'-c'", "`python` must be the path of a Python or a list of"),
        ("targets.a.python = 'bin/py'", "'bin/py'", "`python` must begin with a name on PATH, `/"),
        ("targets.a = { launcher = 'command', argv = ['./x'] }", "['./x']", 'not "./x".'),
        ("targets.a.arch = 'sm_1'", "'sm_1'", '`arch` must be an architecture such as "sm_100a"'),
        ("targets.a.env = { A = 1 }", "{ A = 1 }", '`env` must be a table of strings, such as'),
        ("targets.a.time_limit = 0", "0", "`time_limit` must be a number of seconds above 0"),
        ("targets.a.concurrency = true", "true", "`concurrency` must be a whole number from 1 to"),
        (
            "targets.a = { launcher = 'ssh', host = 'x', ssh_args = ['-v', '-N'] }",
            "'-N'",
            "In `targets.a`: `-N` of ssh runs no command, so there is no worker.",
        ),
        ("x = [\n 1,\n", "", "It is no TOML: "),
        ("select = [", "", "It is no TOML: "),
        ("select == 3", "= 3", "It is no TOML: "),
    ],
)  # fmt: skip
def test_problems_say_what_is_wrong_and_where(table: str, place: str, message: str) -> None:
    text = f"# 内核 'TX1' 3\r\n[tool.tirx-lens]\r\n{table}"
    source = SourceText(text)
    found = read_configuration(source)
    (problem,) = found.problems
    assert message in problem.message
    assert problem.message.endswith((".", "?"))
    assert "\n" not in problem.message
    start = source.position(problem.span.start)
    if place and "TOML" not in message:
        assert source.slice(problem.span) == place
        assert start.line >= 2
    elif place:
        assert source.data[problem.span.start :].decode().startswith(place)


def test_what_is_valid_counts_beside_what_is_not() -> None:
    table = """
        select = ["TX1", "nonsense"]
        ignore = 3
        unknown = 1
        per-file-ignores = { "a.py" = ["TX2", "none"], "b.py" = 3 }
        tvm-version = "0.26"
        exclude = [1, "old"]
        arguments = { gemm = { M = 1, N = [] }, copy = 3, "::" = {} }
    """
    found = read(table)
    assert len(found.problems) == 9
    configuration = found.configuration
    assert configuration is not None
    assert configuration.select == ("TX1",)
    assert configuration.ignore == ()
    assert [one.codes for one in configuration.per_file_ignores] == [("TX2",)]
    assert configuration.tvm_version is TvmVersion.V0_26
    assert configuration.exclude == (PathPattern("old"),)
    (arguments,) = configuration.arguments
    assert arguments.arguments == BuilderArguments("gemm", (("M", 1),))


def test_a_list_of_which_nothing_is_valid_does_not_silence_every_rule() -> None:
    configuration = read('select = ["nonsense"]').configuration
    assert configuration is not None
    assert configuration.select is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[project]\nname = 'tirx-lens'\n",
        "[tool.other]\nx = 'tirx-lens'\n",
        "tool = 3 # tirx-lens",
        "not TOML at all [",
    ],
)
def test_a_text_without_a_table_of_ours(text: str) -> None:
    assert read_configuration(SourceText(text)) == Read(None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool]\ntirx-lens = 3", "[tool.tirx-lens] must be a table, not the number 3."),
        ("[[tool.tirx-lens]]\nselect = []", "[tool.tirx-lens] must be a table, not a list."),
        ("tirx-lens = " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_table_that_is_none(text: str, message: str) -> None:
    found = read_configuration(SourceText(text))
    assert found.configuration == Configuration()
    assert message in found.problems[0].message


def test_places_in_every_form_toml_has() -> None:
    text = """\
# [tool.x] y = 1
title = "a = [1] # no comment"   # a = 2
[ a . "b c" . 'd\\e' ] # here
k."q.r" = { x = 1, "y" = [ 'z', # one
  [2, 3], ], }
multi = \"\"\"
k = "3\\\"\"\"
\"\"\"\"
after = -1_000.5e3  # end
[[list]]
name = 'one'
"""
    data = text.encode()
    places = TomlPlaces(data)
    path = ("a", "b c", "d\\e")

    def at(*key: str | int) -> str:
        span = places.value(key)
        assert span is not None
        return data[span.start : span.end].decode()

    assert at("title") == '"a = [1] # no comment"'
    assert at(*path) == "'d\\e'"
    assert at(*path, "k", "q.r", "x") == "1"
    assert at(*path, "k", "q.r", "y", 0) == "'z'"
    assert at(*path, "k", "q.r", "y", 1, 1) == "3"
    assert at(*path, "after") == "-1_000.5e3"
    assert at("list", "name") == "'one'"
    key = places.key((*path, "multi"))
    assert key is not None
    assert data[key.start : key.end] == b"multi"
    assert places.value(("none",)) is None


HOSTILE = """\
[tool.tirx-lens]
select = ["TX1", 'TX2'] # 内核
per-file-ignores = { "a*" = ["TX1"], b."c" = 1 }
[tool.tirx-lens.arguments."*.py::gemm"]
M = 1.5
text = \"\"\"
x = [ \"\"\"
[[tool.other]]
"""


@pytest.mark.parametrize("seed", range(8))
def test_any_text_is_read_and_every_place_is_in_it(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        text = HOSTILE
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text))
            piece = rng.choice(
                ("", "=", "[", "]", "{", "}", "'", '"', ".", ",", "\n", "#", "3", "é")
            )
            text = text[:at] + piece + text[at + rng.randrange(3) :]
        source = SourceText(text)
        for problem in read_configuration(source).problems:
            assert 0 <= problem.span.start <= problem.span.end <= len(source.data)


@pytest.mark.parametrize("key", [".".join("a" * 100_000), "[" * 10_000, "x = " + "{a=" * 10_000])
def test_places_in_hostile_texts_cost_a_bounded_time(key: str) -> None:
    assert TomlPlaces(f"first = 1\n{key} = 1".encode()).value(("first",)) == Span(8, 9)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "pyproject.toml": '[tool.tirx-lens]\nignore = ["TX1"]\n',
        "kernels/gemm.py": "",
        "kernels/deep/er/gemm.py": "",
        "library/pyproject.toml": "[project]\nname = 'x'\n",
        "library/gemm.py": "",
        "other/pyproject.toml": '[tool.tirx-lens]\nignore = ["TX2"]\n',
        "other/src/gemm.py": "",
        "broken/pyproject.toml": "tirx-lens [",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("kernels", "pyproject.toml"),
        ("kernels/deep/er", "pyproject.toml"),
        ("library", "pyproject.toml"),  # the nearer one has no table of ours
        ("other/src", "other/pyproject.toml"),
        ("broken", "broken/pyproject.toml"),
        ("..", None),
    ],
)
def test_the_nearest_configuration_holds(project: Path, folder: str, expected: str | None) -> None:
    place = project.parent if folder == ".." else project / folder
    found = Configurations().nearest(place)
    assert (found.path if found else None) == (project / expected if expected else None)


def test_each_folder_is_looked_into_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configurations = Configurations()
    first = configurations.nearest(project / "kernels" / "deep")
    read_paths: list[Path] = []
    monkeypatch.setattr(
        "tirx_lens.configuration.find.read_file", lambda path: read_paths.append(path)
    )
    assert configurations.nearest(project / "kernels" / "deep") is first
    assert configurations.nearest(project / "kernels" / "deep" / "er") is first
    assert read_paths == [project / "kernels" / "deep" / "er" / "pyproject.toml"]
    assert list(configurations.files) == [project / "pyproject.toml"]


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(b"[tool.tirx-lens]\n# caf\xe9\n")
    found = read_file(path)
    assert found is not None
    (problem,) = found.problems
    assert problem.message == "It is no TOML: it is not in UTF-8."
    assert found.source.position(problem.span.start).line == 1
    path.write_bytes(b"# caf\xe9\n")
    assert read_file(path) is None
    path.write_bytes(b"\xef\xbb\xbf[tool.tirx-lens]\nselect = []\n")
    assert read_file(path).configuration.select == ()  # type: ignore[union-attr]


def test_the_page_names_every_key_and_its_examples_are_right() -> None:
    page = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text("utf-8")
    first, second = (
        read_configuration(SourceText(example))
        for example in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    )
    assert first.problems == second.problems == ()
    assert first.configuration is not None
    assert first.configuration.arguments[1].files == PathPattern("kernels/small.py")
    assert second.configuration is not None
    assert [target.name for target in second.configuration.targets] == ["gpu1", "cluster"]
    for key in _KEYS:
        assert f"### {key}\n" in page
    for key in target_table._KEYS:
        assert f"\n| `{key}` | " in page


def test_a_named_file_must_be_one(project: Path) -> None:
    assert str(read_named_file(project / "none.toml")).endswith(
        "cannot be read: no such file or directory"
    )
    assert str(read_named_file(project / "library/pyproject.toml")).endswith(
        "has no table [tool.tirx-lens]"
    )
    assert isinstance(read_named_file(project / "pyproject.toml"), ConfigurationFile)
