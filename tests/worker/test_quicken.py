"""The faster stack: TVM sees what `inspect` would show it, everyone else the real one."""

import inspect
import sys
import types

import pytest

from tirx_lens.worker import quicken


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect, "stack", inspect.stack)  # put back afterwards
    quicken._quicken_stack()


def asked_by(name: str) -> types.FunctionType:
    """Return a function of a module of that name that gives its stack and the real one."""
    code = "def ask(real):\n    return inspect.stack(), real()\n"
    module = {"__name__": name, "inspect": inspect}
    exec(compile(code, __file__, "exec"), module)
    found = module["ask"]
    assert isinstance(found, types.FunctionType)
    return found


def real() -> list[inspect.FrameInfo]:
    return inspect.getouterframes(sys._getframe(1))


def test_what_tvm_reads_of_a_stack_is_what_inspect_says() -> None:
    lazy, known = asked_by("tvm.tirx.script")(real)
    assert len(lazy) == len(known)
    assert all(isinstance(item, quicken.LazyFrame) for item in lazy)
    for mine, theirs in zip(lazy[1:], known[1:], strict=True):
        assert mine.frame is theirs.frame
        assert (mine.filename, mine.function) == (theirs.filename, theirs.function)
        assert (mine.lineno, mine.index) == (theirs.lineno, theirs.index)
        assert mine.code_context == theirs.code_context
        assert mine.positions == getattr(theirs, "positions", None)


def test_others_get_the_stack_of_python() -> None:
    given, known = asked_by("users.module")(real)
    assert all(isinstance(item, inspect.FrameInfo) for item in given)
    assert [item.frame for item in given] == [item.frame for item in known]


def test_a_frame_without_source_has_no_context() -> None:
    scope: dict[str, types.FrameType] = {}
    exec(compile("import sys\nframe = sys._getframe()", "<nothing>", "exec"), scope)
    lazy = quicken.LazyFrame(scope["frame"], 1)
    assert (lazy.code_context, lazy.index) == (None, None)
