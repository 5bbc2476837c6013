"""Texts that nobody writes by hand, by how large they are; none of them may stop an editor.

Each entry makes a text of about `n` of whatever it is about. `CONSTANTS` do not grow: what they
hold is small to write and too large to compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.rules.examples import in_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

IMPORT = "from tvm.script import tirx as T\n"
SYNC_IN_ROLE = "if wg_id == 0:\n    T.cuda.cta_sync()\n"
BUILDER = """\
def build(N):
    {host}
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        wg_id = T.warpgroup_id([2])
        if wg_id == 0:
            T.cuda.cta_sync()

    return kernel
"""
RING = """\
pool = T.SMEMPool()
full = TMABar(pool, {depth})
empty = MBarrier(pool, {depth})
full.init(1)
empty.init(128)
stages = pool.alloc((64,), "float16")
pool.commit()
T.ptx.fence.mbarrier_init.release.cluster()
T.cuda.cta_sync()
if wg_id == 1:
    if warp_id == 0:
        if T.cuda.elect_sync():
            load = PipelineState({depth}, phase=1)
            for k in range({trips}):
                empty.wait(load.stage, load.phase)
                full.arrive(load.stage, 128)
                Tx.copy_async(
                    stages[:],
                    A[k * 64 : k * 64 + 64],
                    dispatch="tma_auto",
                    mbar=full.ptr_to([load.stage]),
                )
                load.advance()
else:
    read = PipelineState({depth}, phase=0)
    for k in range({trips}):
        full.wait(read.stage, read.phase)
        empty.arrive(read.stage)
        read.advance()
"""


def nested(header: str, n: int, innermost: str = "pass") -> str:
    """Put a header under itself, a column a level."""
    return "".join(" " * i + header + "\n" for i in range(n)) + " " * n + innermost + "\n"


def chain(count: int, body: str, *, last: str, first: str) -> str:
    """Write `T.inline` functions of which each calls the next; `{next}` is its name."""
    functions = "".join(
        f"@T.inline\ndef f{i}():\n" + body.format(next=f"f{i + 1}") + "\n" for i in range(count)
    )
    return in_kernel(f"{functions}@T.inline\ndef f{count}():\n    {last}\n\n{first}\n")


def doubled(count: int, first: str, step: str) -> str:
    """Write assignments of which each holds the one before twice, `{x}`."""
    lines = [f"x0 = {first}"]
    lines += [f"x{i + 1} = " + step.format(x=f"x{i}") for i in range(count)]
    return "\n".join(lines) + "\n"


def host(lines: str) -> str:
    """Put lines into the builder of a kernel."""
    return IMPORT + BUILDER.format(host=lines.strip("\n").replace("\n", "\n    "))


def repeated(line: str) -> Callable[[int], str]:
    return lambda n: in_kernel(line * n)


def expression(before: str, each: str, last: str, after: str = "") -> Callable[[int], str]:
    return lambda n: in_kernel(f"y = {before}{each * n}{last}{after * n}\nif y == 1:\n    x = y\n")


NESTED: dict[str, Callable[[int], str]] = {
    "ifs": lambda n: in_kernel(nested("if wg_id == 0:", n)),
    "ifs without end": lambda n: in_kernel("".join(" " * i + "if wg_id:\n" for i in range(n))),
    "loops": lambda n: in_kernel(nested("for i in range(2):", n)),
    "while loops": lambda n: in_kernel(nested("while tiles.valid():", n)),
    "with": lambda n: in_kernel(nested("with T.filter(wg_id, wg_id == 0):", n)),
    "try": lambda n: in_kernel(nested("try:", n)),
    "functions": lambda n: in_kernel(nested("def f():", n)),
    "host functions": lambda n: IMPORT + nested("def f():", n, "T.prim_func"),
    "host ifs": lambda n: IMPORT + nested("if A:", n, "T.prim_func"),
    "host classes": lambda n: IMPORT + nested("class A:", n, "T.prim_func"),
}

DEEPEST = {name: NESTED[name] for name in ("ifs", "functions")}

GROWING: dict[str, Callable[[int], str]] = {
    "parentheses": expression("", "(", "1", ")"),
    "lists": expression("", "[", "", "]"),
    "dictionaries": expression("", "{1:", "1", "}"),
    "calls in calls": expression("", "f(", "", ")"),
    "walruses": expression("", "(z := ", "1", ")"),
    "minus": expression("", "-", "wg_id"),
    "not": expression("", "not ", "wg_id"),
    "tilde": expression("", "~", "wg_id"),
    "lambdas": expression("", "lambda: ", "1"),
    "ternaries": expression("", "1 if wg_id else ", "2"),
    "powers": expression("", "2 ** ", "2"),
    "comparisons": expression("", "wg_id == ", "0"),
    "ands": expression("", "wg_id == 0 and ", "wg_id == 0"),
    "sums": expression("", "wg_id + ", "1"),
    "members": expression("T", ".a", ""),
    "instruction words": expression("T.ptx", ".a", "()"),
    "items": expression("A", "[0]", ""),
    "called again": expression("f", "()", ""),
    "strings in a row": expression("", "'a' ", ""),
    "fields of an f-string": expression("f'", "{wg_id}", "'"),
    "assignments in a row": expression("", "x = ", "1"),
    "arguments": expression("f(", "wg_id, ", ")"),
    "continued lines": lambda n: in_kernel("x = 1 + \\\n" * n + "    1\n"),
    "brackets left open": lambda n: in_kernel("f(" * n),
    "quotes left open": lambda n: in_kernel("'''" * n + "'"),
    "lines of errors": repeated("$ % ^\n"),
    "form feeds": lambda n: in_kernel("\x0c" * n + SYNC_IN_ROLE),
    "tabs": lambda n: in_kernel("if wg_id == 0:\n" + "\t" * n + "T.cuda.cta_sync()\n"),
    "definitions without end": lambda n: "def f(:\n    T.prim_func(\n" * n,
    "decorators": lambda n: "@T.prim_func\n" * n + "def f():\n    pass\n",
    "undefined names": lambda n: in_kernel("".join(f"x{i} = u{i} + 1\n" for i in range(n))),
    "one name bound again": lambda n: in_kernel("".join(f"x = {i}\n" for i in range(n))),
    "comments that silence": repeated("x = 1  # tirx-lens: ignore[TX102]\n"),
    "comments of arguments": lambda n: "# tirx-lens: args N=1\n" * n + host(""),
    "calls of the builder": lambda n: host("") + "build(N=2)\n" * n,
    "parameters": lambda n: (
        IMPORT
        + "@T.prim_func\ndef kernel("
        + ", ".join(f"a{i}: T.Buffer((64,), 'float16')" for i in range(n))
        + "):\n    T.device_entry()\n"
    ),
    "defaults": lambda n: host("").replace("N)", ", ".join(f"a{i}={i}" for i in range(n)) + ")"),
    "imports": lambda n: "".join(f"from tvm.script import tirx as T{i}\n" for i in range(n)),
    "match cases": lambda n: in_kernel(
        "match wg_id:\n" + "".join(f"    case {i}:\n        pass\n" for i in range(n))
    ),
    "syncs": repeated("T.cuda.cta_sync()\nT.cuda.warpgroup_sync(1)\n"),
    "guarded syncs": repeated(SYNC_IN_ROLE + "else:\n    T.cuda.warpgroup_sync(1)\n"),
    "loops in a row": repeated("for i in range(10):\n    T.cuda.cta_sync()\n"),
    "unknown ifs in a row": repeated("if A[0] == 1:\n    T.cuda.cta_sync()\n"),
    "register budgets": repeated("T.ptx.setmaxnreg.inc.sync.aligned.u32(232)\n"),
    "barriers": lambda n: in_kernel(
        "pool = T.SMEMPool()\n"
        + "".join(f"b{i} = MBarrier(pool, 1)\nb{i}.init(1)\nb{i}.wait(0, 0)\n" for i in range(n))
    ),
    "arrivals": lambda n: in_kernel(
        "pool = T.SMEMPool()\nb = MBarrier(pool, 4)\nb.init(1)\n"
        + "b.arrive(0)\nb.wait(0, 0)\n" * n
    ),
    "allocations": lambda n: in_kernel(
        "pool = T.SMEMPool()\n"
        + "".join(f"b{i} = pool.alloc((64,), 'float16')\n" for i in range(n))
        + "pool.commit()\n"
    ),
    "copies": lambda n: in_kernel(
        "pool = T.SMEMPool()\ns = pool.alloc((64,), 'float16')\nb = TMABar(pool, 4)\nb.init(1)\n"
        "pool.commit()\n"
        + "Tx.copy_async(s[:], A[0:64], dispatch='tma_auto', mbar=b.ptr_to([0]))\n" * n
        + "Tx.copy_async(A[0:64], s[:], dispatch='tma_auto')\n" * n
    ),
    "kernels": lambda n: "".join(
        in_kernel(SYNC_IN_ROLE).replace("def kernel", f"def kernel_{i}") + "\n\n"
        for i in range(n // 20)
    ),
}

WIDE: dict[str, Callable[[int], str]] = {
    "elif": lambda n: in_kernel(
        "if wg_id == 0:\n    pass\n"
        + "".join(f"elif wg_id == {i}:\n    pass\n" for i in range(10 * n))
    ),
    "host elif": lambda n: (
        "if A == 0:\n    pass\n"
        + "".join(f"elif A == {i}:\n    pass\n" for i in range(10 * n))
        + in_kernel(SYNC_IN_ROLE)
    ),
    "statements": lambda n: in_kernel("x = 1\n" * (20 * n)),
    "host statements": lambda n: "x = 1\n" * (20 * n) + in_kernel(SYNC_IN_ROLE),
    "one line": lambda n: in_kernel("x = '" + "a" * (500 * n) + "'\n" + SYNC_IN_ROLE),
    "one line of statements": lambda n: in_kernel("x = 1; " * (70 * n) + "\n"),
    "wide characters": lambda n: in_kernel("x = '" + "🚀" * (100 * n) + "'\n" + SYNC_IN_ROLE),
}

CONSTANTS: dict[str, str] = {
    "a chain of helpers": chain(1000, "    {next}()\n", last="T.cuda.warp_sync()", first="f0()"),
    "helpers that call twice": chain(
        40, "    {next}()\n    {next}()\n", last="T.cuda.warp_sync()", first="f0()"
    ),
    "helpers that call each other": in_kernel(
        "@T.inline\ndef f():\n    g()\n    T.cuda.cta_sync()\n\n"
        "@T.inline\ndef g():\n    f()\n    f()\n\nf()\n"
    ),
    "host functions that call twice": doubled(0, "1", "")
    + "".join(f"def f{i}(n):\n    return f{i + 1}(n) + f{i + 1}(n)\n\n" for i in range(40))
    + "def f40(n):\n    return n\n\nN = f0(1)\n"
    + in_kernel("x = N\n"),
    "host functions that call each other": "def f(n):\n    return g(n)\n\n"
    "def g(n):\n    return f(n) + f(n)\n\nN = f(3)\n" + in_kernel("x = N\n"),
    "symbols that double": host(doubled(60, "N", "{x} + {x}")),
    "symbols that square": host(doubled(60, "N", "{x} * {x}")),
    "choices that double": host(doubled(60, "N", "({x} if N else {x})")),
    "items that double": host(doubled(60, "N", "A[{x}, {x}]")),
    "calls that double": host(doubled(60, "N", "g({x}, {x})")),
    "tuples that double": host(doubled(60, "(1, N)", "({x}, {x})")),
    "tuples that grow": host(doubled(60, "(1, N)", "{x} + {x}")),
    "lists that are spread": host(doubled(60, "[1, N]", "list((*{x}, *{x}))")),
    "dictionaries that double": host(doubled(60, "dict(a=1)", "dict(b={x}, c={x})")),
    "strings that double": host(doubled(60, "'ab'", "{x} + {x}")),
    "f-strings that double": host(doubled(60, "'ab'", "f'{{{x}}}{{{x}}}'")),
    "numbers that square": host(doubled(60, "9", "{x} * {x}")),
    "values that double": in_kernel(doubled(60, "wg_id", "T.meta_var({x} * {x})")),
    "calls of values that double": in_kernel(doubled(60, "wg_id", "T.meta_var(T.max({x}, {x}))")),
    "items of values that double": in_kernel(doubled(60, "wg_id", "T.meta_var(A[{x}, {x}])")),
    "sides that double alike": host(
        "if N:\n"
        + "".join("    " + line + "\n" for line in doubled(60, "(N, 1)", "({x}, {x})").split("\n"))
        + "else:\n"
        + "".join("    " + line + "\n" for line in doubled(60, "(N, 1)", "({x}, {x})").split("\n"))
    ),
    "a power of powers": in_kernel("y = 10**10**10\nif wg_id == 10**10**10:\n    x = 1\n"),
    "a long shift": in_kernel("y = 1 << 10**9\nif (1 << (wg_id * 10**9)) == 1:\n    x = 1\n"),
    "a power of each thread": in_kernel("if (10 ** (wg_id * 10**9)) == 1:\n    x = 1\n"),
    "a long string": in_kernel("y = 'a' * 10**9\nif 'a' * (wg_id * 10**9) == '':\n    x = 1\n"),
    "a long range": in_kernel("y = range(10**12)\nz = [i for i in range(10**12)]\nlist(y)\n"),
    "a range beyond lengths": in_kernel("y = range(10**19)\nz = range(-(10**19), 10**19)\n"),
    "a loop beyond lengths": in_kernel(
        "for i in range(10**19):\n    float4 = 1\n    T.cuda.cta_sync()\n"
    ),
    "a long list": in_kernel("y = [0] * 10**9\nz = (0,) * 10**9\n"),
    "host constants": "A = 10**10**10\nB = 1 << 10**9\nC = 'a' * 10**9\nD = [0] * 10**9\n"
    "E = [i for i in range(10**12)]\n" + in_kernel("y = A + B\n"),
    "a million digits": in_kernel(f"y = {'9' * 1_000_000}\nif wg_id == {'9' * 5000}:\n    x = 1\n"),
    "a million hexadecimal digits": in_kernel(f"y = 0x{'f' * 1_000_000}\n"),
    "numbers that cannot be shown": in_kernel(
        f"b = T.SMEMPool()\nx = f'{{0x{'f' * 4000}}}'\nif wg_id == 0x{'f' * 4000}:\n    x = 1\n"
        "if ((wg_id + 2) ** 64 << 64 << 64) ** 64 == 1:\n    x = 1\n"
    ),
    "infinite numbers": in_kernel("y = 1e999\nif wg_id == 1e999 // 1 % 2 - 1e999:\n    x = 1\n"),
    "extents of ids": in_kernel("c = T.thread_id([10**9])\nT.cuda.cta_sync()\n")
    + in_kernel("c = T.cta_id_in_cluster([10**9])\nT.cuda.cluster_sync()\n")
    + in_kernel("T.cuda.cta_sync()\n").replace("([4])", "([10**9])").replace("([2])", "([10**9])"),
    "a deep ring": in_kernel(RING.format(depth="10**9", trips="16")),
    "a ring of many rounds": in_kernel(RING.format(depth="4", trips="10**12")),
    "a ring of more rounds": in_kernel(RING.format(depth="4", trips="10**19")),
    "a ring without end": in_kernel(RING.format(depth="10**100", trips="10**100")),
    "a ring of parts": in_kernel(RING.format(depth="4.5", trips="1e300")),
    "a ring of none": in_kernel(RING.format(depth="0", trips="0")),
    "a ring of less": in_kernel(RING.format(depth="-4", trips="-10")),
    "a ring of words": in_kernel(RING.format(depth="'a'", trips="'b'")),
    "a ring of nothing": in_kernel(RING.format(depth="None", trips="None")),
}
