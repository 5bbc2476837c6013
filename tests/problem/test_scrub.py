"""No host, user, folder or value of the environment is left, in whatever a text spells it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_lens.compile.targets import LauncherKind, Origin, Target
from tirx_lens.problem.scrub import Kind, Language, Scrubber
from tirx_lens.problem.secrets import Secrets, secrets_of

if TYPE_CHECKING:
    from pathlib import Path

HOME = "/home/ada.lovelace"
WORKSPACE = f"{HOME}/engines/attention"
TOKEN = "hf_Zq7dEADBEEF99"
SECRETS = Secrets(
    folders=(WORKSPACE, "C:\\Users\\ada\\engines"),
    homes=(HOME, "C:\\Users\\ada"),
    hosts=("babbage-7.engines.example", "gpu-rack12"),
    users=("lovelace", "ada.lovelace"),
    values=(("HF_TOKEN", TOKEN), ("QUEUE", "priority+secret")),
)
NEVER = ("lovelace", "babbage", "gpu-rack12", "engines", TOKEN, "priority+secret", "/home/")

PROSE = [
    (f"{WORKSPACE}/kernels/gemm.py:12: no such file", "kernels/gemm.py:12: no such file"),
    (f'File "{WORKSPACE}/a b/gemm.py", line 3', 'File "a b/gemm.py", line 3'),
    (f"in {WORKSPACE}", "in <workspace>"),
    (f"file://{WORKSPACE}/gemm.py", "gemm.py"),
    ("file:///home/ada.lovelace/engines/attention/a%20b.py#L3", "a b.py#L3"),
    (f"[12]({WORKSPACE}/gemm.py#L12)", "[12](gemm.py#L12)"),
    ("cd ~/secret/things/now", "cd <folder>/now"),
    (f"{HOME}/.venv/lib/python3.11/site-packages/tvm/a.py", "<site-packages>/tvm/a.py"),
    ("C:\\Users\\ada\\engines\\gemm.py", "gemm.py"),
    ("C:\\\\Users\\\\ada\\\\engines\\\\gemm.py", "gemm.py"),
    ("c:/users/ada/engines/gemm.py", "gemm.py"),
    ("\\\\fileserver\\share\\deep\\gemm.py", "<folder>/gemm.py"),
    ("/opt/cuda-13/bin/nvcc failed", "<folder>/nvcc failed"),
    ("-I/opt/inc/tvm/x.h", "-I<folder>/x.h"),
    ("ssh lovelace@babbage-7.engines.example -p 22", "ssh <address> -p 22"),
    ("lovelace on babbage-7 said", "<user> on <host> said"),
    ("GPU-RACK12.engines.example did not answer", "<host> did not answer"),
    ("mail ada@engines.example", "mail <address>"),
    ("10.20.30.40:22 refused", "<address>:22 refused"),
    (f"token {TOKEN}!", "token <$HF_TOKEN>!"),
]


@pytest.mark.parametrize(("text", "clean"), PROSE, ids=[text for text, _ in PROSE])
def test_prose(text: str, clean: str) -> None:
    scrubber = Scrubber(SECRETS)
    assert scrubber.scrub(text) == clean
    assert scrubber.scrub(clean) == clean, "a second time changes nothing"
    assert sum(scrubber.counts.values())


INNOCENT = [
    "M // 128 rows, read/write, and/or, 1/2 of K",
    "`A[m : m + BM, k * BK : k * BK + BK]` by T.ptx.cp.async_.bulk.wait_group.read(0)",
    "TVM 0.27.0.post1, NVRTC 13.5, driver 580.65.06, sm_100a",
    "https://tvm.apache.org/docs/reference/api.html",
    "shared::cta.global.mbarrier::complete_tx::bytes",
    "| a | 1,024 bytes | x → y |",
]


@pytest.mark.parametrize("text", INNOCENT)
@pytest.mark.parametrize("language", Language)
def test_what_is_nobodys_stays(text: str, language: Language) -> None:
    scrubber = Scrubber(SECRETS)
    assert scrubber.scrub(text, language) == text
    assert not scrubber.counts


def test_programs_stay_programs() -> None:
    source = (
        f"# {WORKSPACE}/gemm.py by lovelace, see /mnt/nfs/ada/notes\n"
        "import os\n"
        f'CACHE = "{HOME}/cache/x"  # on gpu-rack12\n'
        "lovelace_tile = a /b/ c\n"
        "y = x@W.weight\n"
        f"KEY = '{TOKEN}'\n"
    )
    clean = Scrubber(SECRETS).scrub(source, Language.PYTHON)
    assert clean == (
        "# gemm.py by <user>, see <folder>/notes\n"
        "import os\n"
        'CACHE = "<folder>/x"  # on <host>\n'
        "user_tile = a /b/ c\n"
        "y = x@W.weight\n"
        "KEY = '<$HF_TOKEN>'\n"
    )
    compile(clean, "clean", "exec")
    cuda = (
        f'#include "{HOME}/inc/a.h"\n// {WORKSPACE}/gemm.py:12\nint i = a /b/ c; /* lovelace */\n'
    )
    clean = Scrubber(SECRETS).scrub(cuda, Language.CUDA)
    assert clean == '#include "<folder>/a.h"\n// gemm.py:12\nint i = a /b/ c; /* <user> */\n'


def test_names_that_programs_call_and_common_words_are_left_in_code() -> None:
    secrets = Secrets(users=("wait", "root"), hosts=("localhost",))
    scrubber = Scrubber(secrets, reserved=("wait", "T"))
    text = "full.wait(0)  # wait, root\n"
    assert scrubber.scrub(text, Language.PYTHON) == "full.wait(0)  # <user>, root\n"


@given(
    st.lists(st.sampled_from([text for text, _ in PROSE] + INNOCENT), max_size=6),
    st.sampled_from(list(Language)),
    st.sampled_from([" ", "\n", "\n// ", "\n# ", "\t"]),
)
def test_nothing_is_left_wherever_it_stands(parts: list[str], language: Language, by: str) -> None:
    scrubber = Scrubber(SECRETS)
    text = by + by.join(parts)
    clean = scrubber.scrub(text, language)
    if language is Language.PROSE:
        assert not [name for name in NEVER if name in clean.lower()]
    assert TOKEN not in clean
    assert scrubber.scrub(clean, language) == clean


def test_counts_tell_what_was_left_out_and_not_what_it_was() -> None:
    scrubber = Scrubber(SECRETS)
    scrubber.scrub(f"{WORKSPACE}/a.py {HOME} babbage-7 lovelace {TOKEN}")
    assert scrubber.counts == {
        Kind.WORKSPACE: 1, Kind.HOME: 1, Kind.HOST: 1, Kind.USER: 1, Kind.VALUE: 1,
    }  # fmt: skip
    assert scrubber.variables == {"HF_TOKEN"}


def test_secrets_of_this_machine_its_targets_and_its_environment(tmp_path: Path) -> None:
    target = Target(
        "rack", LauncherKind.SSH, "lovelace@babbage-7.example:2222", ("-J", "jump9.example"),
        env=(("CACHE_AT", "/mnt/x"), ("ONE", "1")), origin=Origin.SETTINGS,
    )  # fmt: skip
    pod = Target("pods", LauncherKind.COMMAND, argv=("kubectl", "exec", "-i", "trainer-7"))
    environment = {
        "HOME": HOME, "USER": "ada.lovelace", "API_KEY": "abcd", "LANG": "en_US.UTF-8",
        "SHLVL": "1", "EDITOR": "vim", "QUEUE": "priority+secret", "PATH": "/usr/bin:/bin",
    }  # fmt: skip
    found = secrets_of([tmp_path], [target, pod], ["gpu3"], environment)
    assert str(tmp_path) in found.folders
    assert os.path.realpath(tmp_path) in found.folders
    assert HOME in found.homes
    assert {"ada.lovelace", "lovelace"} <= set(found.users)
    assert {"babbage-7.example", "jump9.example", "trainer-7", "gpu3", "rack"} <= set(found.hosts)
    values = dict(found.values)
    assert values == {"API_KEY": "abcd", "QUEUE": "priority+secret", "CACHE_AT": "/mnt/x"}
    assert TOKEN not in repr(found)
