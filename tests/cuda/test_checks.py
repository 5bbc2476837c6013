"""What is wrong in generated CUDA is found there, and nothing is where nothing is wrong."""

from __future__ import annotations

import pytest
from generated import kernel

from tirx_lens.cuda.checks import check_cuda
from tirx_lens.cuda.read import read_cuda
from tirx_lens.model.source import SourceText

RING = """
if ((warp >> 2) == 1) {{
  alignas(64) int s[1];
  s[0] = 0;
  for (int k = 0; k < {produced}; ++k) {{
    arm(cvta((&(((uint64_t*)pool)[(s[0] + 1)]))), 64);
    s[0] = s[0] + 1;
  }}
}} else {{
  alignas(64) int c[1];
  c[0] = 0;
  for (int k = 0; k < {consumed}; ++k) {{
    {guard}wait((&(((uint64_t*)pool)[(c[0] + 1)])), 0);
    c[0] = c[0] + 1;
  }}
}}
"""


def found(body: str) -> list[tuple[str, str]]:
    text = read_cuda(SourceText(kernel(body)))
    return [(finding.code, finding.severity.value) for finding in check_cuda(text)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if ((warp >> 2) == 1) { if (thread_rank() == 0) { init(pool[0], 1); } }",
         [("TX101", "error")]),
        ("if (thread_rank() == 0) { init(pool[0], 1); }", []),
        ("if (warp == 0) { if (lane == 0) { init(pool[0], 1); } wait(pool, 0); }",
         [("TX101", "information")]),
        ("if ((warp >> 2) == 0) { cta_sync(); }", [("TX102", "error")]),
        ("if ((warp >> 2) == 0) { cta_sync(); } else { cta_sync(); }", []),
        ("if (elect_one_op()) { cluster_sync(); }", [("TX102", "error")]),
        ("if ((warp >> 2) == 0) { named_sync(1); }", []),
        ("if (warp == 0) { alloc(pool[0], 64); }", []),
        ("if (((int)threadIdx.x) < 32) { alloc(pool[0], 64); }", []),
        ("if (((int)threadIdx.x) == 0) { alloc(pool[0], 64); }", [("TX202", "error")]),
        ("if (warp == 0 && elect_one_op()) { alloc(pool[0], 64); }", [("TX202", "error")]),
        (RING.format(produced=8, consumed=8, guard=""), []),
        (RING.format(produced=8, consumed=9, guard=""), [("TX106", "error")]),
        (RING.format(produced=8, consumed=9, guard="if (A[k] > 0) "), []),  # not known how often
        # The second wait passes at once: the phase that it waits for is over.
        (RING.format(produced=8, consumed=8, guard="wait((&(((uint64_t*)pool)[(c[0] + 1)])), 0); "),
         []),
        (RING.format(produced="n", consumed=9, guard=""), []),
        # Parameters of the kernel are the same numbers in every thread.
        (RING.format(produced="tiles", consumed="tiles", guard=""), []),
        (RING.format(produced="tiles", consumed="tiles + 1", guard=""), [("TX106", "error")]),
        (RING.format(produced="(tiles * 2) + 3", consumed="tiles * 2", guard=""),
         [("TX106", "error")]),
        (RING.format(produced="tiles", consumed="(tiles - 1) + 1", guard=""), []),
        (RING.format(produced="tiles", consumed="flag", guard=""), []),
        (RING.format(produced="tiles", consumed="tiles * 2", guard=""), []),  # 0 tiles: as often
        (RING.format(produced="tiles >> 1", consumed="(tiles + 1) >> 1", guard=""), []),
        (RING.format(produced="tiles", consumed="tiles + 1", guard="") + "\ntiles = 3;\n", []),
        # One of two ways is gone, and it is not known which: the rounds of both do not add up.
        (RING.format(produced=8, consumed=8, guard="").replace("  for (int k = 0; k < 8; ++k) {\n"
            "    arm", "  if (flag) { for (int i = 0; i < 8; ++i) { "
            "arm(cvta((&(((uint64_t*)pool)[(s[0] + 1)]))), 64); } } "
            "else for (int k = 0; k < 8; ++k) {\n    arm"), []),
        (RING.format(produced="tiles", consumed="tiles", guard="").replace(
            "  for (int k = 0; k < tiles; ++k) {\n    wait",
            "  if (flag) { wait((&(((uint64_t*)pool)[(c[0] + 1)])), 0); }\n"
            "  for (int k = 0; k < tiles; ++k) {\n    wait"), []),
    ],
)  # fmt: skip
def test_findings(body: str, expected: list[tuple[str, str]]) -> None:
    assert found(body) == expected


def test_a_finding_shows_the_guards_that_keep_threads_out() -> None:
    source = SourceText(kernel("if ((warp >> 2) == 1) { cta_sync(); }"))
    (finding,) = check_cuda(read_cuda(source))
    assert source.slice(finding.span) == "cta_sync()"
    assert [(source.slice(r.span), r.message) for r in finding.related] == [
        ("((warp >> 2) == 1)", "This guard lets warpgroup 1 through.")
    ]
