"""The outline of generated CUDA: landmarks under the roles and loops they stand in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generated import kernel

from tirx_lens.cuda.outline import outline_of
from tirx_lens.cuda.read import read_cuda
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from tirx_lens.cuda.outline import Mark

BODY = """
if (thread_rank() == 0) {
  init(pool[0], 1);
  init(pool[1], 1);
}
cta_sync();
if ((warp >> 2) == 1) {
  if (warp == 4) {
    if (elect_one_op()) {
      for (int k = 0; k < 8; ++k) { wait(pool, 1); arm(pool[0], 64); load(0, A, k, pool[0]); }
    }
  }
} else {
  for (int k = 0; k < 8; ++k) { wait(pool, 0); }
  int nothing = 0;
  if (nothing == 1) { nothing; }
}
cta_sync();
"""


def lines(mark: Mark, depth: int = 0) -> list[str]:
    inside = [line for child in mark.children for line in lines(child, depth + 1)]
    return ["  " * depth + mark.title, *inside]


def test_landmarks_stand_under_their_roles_and_loops() -> None:
    source = SourceText(kernel(BODY))
    (root,) = outline_of(read_cuda(source))
    assert lines(root) == [
        "k",
        "  thread 0 of the CTA",
        "    mbarrier init ×2",
        "  CTA barrier",
        "  warp 0 of warpgroup 1",
        "    for",
        "      mbarrier wait",
        "      mbarrier arrive with bytes",
        "      TMA load",
        "  warpgroup 0",
        "    for",
        "      mbarrier wait",
        "  CTA barrier",
    ]


def test_each_entry_lies_in_the_one_around_it() -> None:
    def held(mark: Mark) -> None:
        for child in mark.children:
            assert mark.span.contains(child.span), (mark, child)
            held(child)

    (root,) = outline_of(read_cuda(SourceText(kernel(BODY))))
    held(root)
