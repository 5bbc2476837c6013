"""Kernels registered by their file's `KERNEL_META`, `CONFIGS` and `get_kernel`, traced ones too."""

import json
from pathlib import Path

import pytest
from kernel_texts import kernel, request
from mapped import Mapped, mapped, spelled

from tirx_lens.cli.main import main
from tirx_lens.compile.builders import find_builder, find_builders
from tirx_lens.compile.prepare import prepare
from tirx_lens.compile.request import BuildRequest, Limits
from tirx_lens.compile.result import BuildResult, Launch, Via
from tirx_lens.compile.service import Compiler

CORPUS = Path(__file__).resolve().parents[2] / ".build" / "corpus" / "tirx_kernels"
STAND_INS = Path(__file__).parent / "stand_ins"
asynchronous = pytest.mark.asyncio(loop_scope="session")

REGISTERED = (
    kernel(parameters="N=128, M=1")
    + """
KERNEL_META = {"name": "copy", "category": "mine", "runtime_cuda_archs": ["sm_100a"]}
CONFIGS = [
    {"label": "one", "M": 1, "seed": 7},
    {"label": "two", "M": 2, "seed": 7},
]
CONFIGS += [{"label": f"many{m}", "M": m, "sizes": (m, m)} for m in (8, 16)]

def get_kernel(M, sizes=None):
    return {"main": build(M=M)}
"""
)


def test_what_a_text_registers() -> None:
    builders = {item.name: item for item in find_builders(REGISTERED)}
    assert list(builders) == ["build", "get_kernel"]
    found = builders["get_kernel"]
    assert found.is_registered
    assert found.configs == ("one", "two")
    assert found.missing({}) == ()
    assert not builders["build"].is_registered


@pytest.mark.parametrize(
    "text",
    [
        REGISTERED.replace("KERNEL_META", "META"),
        REGISTERED.replace("CONFIGS", "SHAPES"),
        REGISTERED.replace("get_kernel", "make"),
    ],
)
def test_what_registers_nothing(text: str) -> None:
    assert not any(item.is_registered for item in find_builders(text))


@pytest.mark.parametrize(
    "statement", ["from .kernel import get_kernel", "from .kernel import a, make as get_kernel"]
)
def test_a_builder_that_is_imported(statement: str) -> None:
    text = f"{statement}\nKERNEL_META = {{}}\nCONFIGS = [{{'label': 'a'}}]\n"
    (found,) = find_builders(text)
    assert (found.name, found.line, found.is_registered) == ("get_kernel", 1, True)
    assert found.configs == ("a",)
    assert find_builders(text.replace("CONFIGS", "SHAPES")) == ()


def test_half_typed_registrations_are_read() -> None:
    for end in range(0, len(REGISTERED), 7):
        find_builders(REGISTERED[:end])


@pytest.mark.tvm
@asynchronous
@pytest.mark.parametrize(
    ("config", "grid", "label"), [(None, 1, "one"), ("two", 2, "two"), ("many16", 16, "many16")]
)
async def test_a_configuration(
    compiler: Compiler, tmp_path: Path, config: str | None, grid: int, label: str
) -> None:
    asked = request(REGISTERED, tmp_path / "k.py", builder="get_kernel", config=config)
    made = mapped(await compiler.build(asked)).kernel
    assert made.launch == Launch((grid, 1, 1), (128, 1, 1), (1, 1, 1))
    assert made.config == label
    assert made.args["M"] == grid
    if label == "many16":
        assert made.args["sizes"] == "(16, 16)"


@pytest.mark.tvm
@asynchronous
async def test_arguments_change_a_configuration(compiler: Compiler, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    asked = request(REGISTERED, path, builder="get_kernel", config="two", arguments={"M": 5})
    made = mapped(await compiler.build(asked)).kernel
    assert made.launch is not None
    assert made.launch.grid == (5, 1, 1)
    wrong = request(REGISTERED, path, builder="get_kernel", arguments={"Q": 5})
    (diagnostic,) = (await compiler.build(wrong)).diagnostics
    assert diagnostic.message == "get_kernel has no parameter 'Q'"


@pytest.mark.tvm
@asynchronous
async def test_a_configuration_that_is_not_there(compiler: Compiler, tmp_path: Path) -> None:
    asked = request(REGISTERED, tmp_path / "k.py", builder="get_kernel", config="three")
    (diagnostic,) = (await compiler.build(asked)).diagnostics
    assert diagnostic.message == (
        "get_kernel has no configuration 'three'; it has one, two, many8, many16"
    )
    plain = request(kernel(), tmp_path / "k.py", config="one")
    (diagnostic,) = (await compiler.build(plain)).diagnostics
    assert "build has no configurations" in diagnostic.message


@pytest.mark.tvm
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(REGISTERED)
    options = ["--label", "two", "--output-format", "json"]
    assert main(["cuda", "k.py:get_kernel", *options]) == 0
    (made,) = json.loads(capsys.readouterr().out)["kernels"]
    assert made["config"] == "two"
    entry = made["map"][-2]
    assert entry == {
        "cuda_line": entry["cuda_line"],
        "frames": [{"file": str(tmp_path / "k.py"), "cell": None, "line": 12, "end_line": 12}],
        "via": "statement",
    }


SAMPLE = [
    "gemm/fp16_bf16_gemm.py",
    "gemm/nvfp4_gemm.py",
    "norm/rmsnorm.py",
    "ported/cudnn/bsa/block_sparse_attention_forward_combine_sm100_blk64.py",
    "ported/cudnn/csa/compressor_fwd_sm100.py",
    "ported/deepgemm/fp8_bmm.py",
    "ported/deepgemm/fp8_gemm_1d1d.py",
    "ported/deepgemm/m_grouped_fp8_gemm_masked.py",
    "ported/deepgemm/mqa_logits_fp8.py",
    "ported/deepgemm/k_grouped_fp8_gemm_contiguous.py",
    "ported/flashinfer/activation/act_and_mul.py",
    "ported/flashinfer/activation/silu_and_mul_nvfp4_experts_quantize.py",
    "ported/flashinfer/cascade/merge_state.py",
    "ported/flashinfer/gemm/bmm_fp8_rubin.py",
    "ported/flashinfer/gdn_decode/gdn_decode_bf16_ilp4.py",
    "ported/flashinfer/kda/recurrent_kda_decode_grouped.py",
    "ported/flashinfer/mamba/selective_state_update_stp_simple.py",
    "ported/flashinfer/norm/add_rmsnorm_fp4quant.py",
    "ported/flashinfer/norm/fused_dit_layernorm.py",
    "ported/flashinfer/norm/layernorm.py",
    "ported/flashinfer/norm/qk_rmsnorm.py",
    "ported/flashinfer/norm/rmsnorm_quant.py",
    "ported/flashinfer/quantization/mxfp8_quantize.py",
    "ported/flashinfer/quantization/nvfp4_quantize.py",
    "ported/flashinfer/topk/fast_topk_clusters.py",
    "ported/flashinfer/topk/radix_topk_multi_cta.py",
    "ported/flashinfer/topk/stable_sort_topk_by_value.py",
    "ported/msa/sparse_atten_fwd_combine.py",
    "ported/msa/sparse_prepare_flat_schedule.py",
    "ported/msa/sparse_prepare_fwd_split_atomic.py",
]


def registered(name: str, *, source_map: bool = True) -> BuildRequest:
    path = CORPUS / name
    text = path.read_text("utf-8")
    builder = find_builder(text, "get_kernel")
    assert builder is not None
    assert builder.is_registered
    return prepare(
        path, text, builder, source_map=source_map, workspace=[STAND_INS], limits=Limits(120)
    )


def test_the_sample_is_thirty_kernels() -> None:
    assert len(set(SAMPLE)) == 30


@pytest.mark.tvm
@asynchronous
@pytest.mark.parametrize("name", SAMPLE)
async def test_traced_kernels(compiler: Compiler, name: str) -> None:
    result: BuildResult = await compiler.build(registered(name))
    assert not result.diagnostics, result.diagnostics
    for made in map(Mapped, result.kernels):
        assert made.coverage() >= 0.98
        vias = [made.entries[number].via for number in made.body()]
        assert vias.count(Via.STATEMENT) / len(vias) > 0.75
        files = {frame.file for entry in made.kernel.map for frame in entry.frames}
        assert all(file.startswith(str(CORPUS)) and "/tirx_lite/" not in file for file in files)
    without = await compiler.build(registered(name, source_map=False))
    assert [item.cuda for item in without.kernels] == [item.cuda for item in result.kernels]


@pytest.mark.tvm
@asynchronous
async def test_each_ptx_instruction_stands_where_it_was_written(compiler: Compiler) -> None:
    """The statement that a line is mapped to names the line's instruction."""
    name = "norm/rmsnorm.py"
    made = Mapped((await compiler.build(registered(name))).kernels[0])
    lines = (CORPUS / name).read_text("utf-8").split("\n")
    wanted = {"ld_vec_global": "LD_G_V4", "st_vec_global": "ST_G_V4"}
    for part, written in wanted.items():
        numbers = [n for n in made.body() if part in made.lines[n - 1]]
        assert numbers, part
        for number in numbers:
            inner = made.entries[number].frames[-1]
            text = "\n".join(lines[inner.line - 1 : inner.end_line])
            assert written in text, (made.lines[number - 1], spelled(made.entries[number]))
    deep = [entry for entry in made.kernel.map if len(entry.frames) > 1]
    assert len(deep) > 20
