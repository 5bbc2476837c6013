"""Guards made at random let through exactly the threads for which Python finds them true."""

from __future__ import annotations

import random

import pytest

from tirx_lens.model.source import SourceText
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.reach import reach

THREADS = 256
HEAD = """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    wg = T.warpgroup_id([2])
    warp = T.warp_id([8])
    inner = T.warp_id_in_wg([4])
    lane = T.lane_id([32])
    tid = T.thread_id([256])
    if {guard}:
        T.cuda.warp_sync()
"""


def number(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.4:
        return rng.choice(["wg", "warp", "inner", "lane", "tid", str(rng.randrange(0, 9))])
    left, right = number(rng, depth - 1), number(rng, depth - 1)
    sign = rng.choice(["+", "-", "*", "//", "%", "&", "^"])
    if sign in ("//", "%"):
        right = str(rng.choice([1, 2, 4, 32, 128]))
    return f"({left} {sign} {right})"


def guard(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        parts = [number(rng, 2), number(rng, 2)]
        signs = [rng.choice(["==", "!=", "<", "<=", ">", ">="])]
        if rng.random() < 0.2:
            parts.append(number(rng, 1))
            signs.append(rng.choice(["<", "<="]))
        words = [parts[0]]
        for sign, part in zip(signs, parts[1:], strict=True):
            words += [sign, part]
        return " ".join(words)
    match rng.randrange(4):
        case 0:
            return f"not ({guard(rng, depth - 1)})"
        case 1:
            return f"(({guard(rng, depth - 1)}) if {number(rng, 1)} > 2 else ({guard(rng, 0)}))"
        case _:
            word = rng.choice(["and", "or"])
            return f"(({guard(rng, depth - 1)}) {word} ({guard(rng, depth - 1)}))"


def environment(tid: int) -> dict[str, int]:
    lane, warp = tid % 32, tid // 32
    return {"wg": warp // 4, "warp": warp, "inner": warp % 4, "lane": lane, "tid": tid}


@pytest.mark.parametrize("seed", range(150))
def test_guard(seed: int) -> None:
    text = guard(random.Random(seed), 3)
    (kernel,) = read_kernels(SourceText(HEAD.format(guard=text))).kernels
    found = reach(kernel, compute)
    assert found is not None
    syncs = [r for r in found.reached if r.operation.name == "T.cuda.warp_sync"]
    truth = {tid for tid in range(THREADS) if eval(text, {}, environment(tid))}
    if not syncs:  # a guard of constants, decided when the kernel is built
        assert not truth
        return
    (who,) = (r.participants for r in syncs)
    assert {t for t in range(THREADS) if who.possible >> t & 1} == truth, text
    assert who.typical == who.possible
    assert who.pick is Pick.ALL
    assert not who.conditional
