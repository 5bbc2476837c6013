"""Whatever is done to a text, one edit after another, what is remembered changes nothing."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tirx_lens.analysis import analyse
from tirx_lens.incremental import Analyser
from tirx_lens.model.source import Encoding, Position, SourceText
from tirx_lens.syntax.reparse import Reparser, parse_text

from .profiles import LONG, examples
from .texts import CORPUS, EXAMPLES, KERNELS, ODD, WORDS

STARTS = [*KERNELS, *(a + "\n\n" + b for a, b in zip(EXAMPLES, EXAMPLES[7:], strict=False))]
INSERTED = st.one_of(ODD, st.sampled_from(WORDS), st.text(max_size=5))


class Editing(RuleBasedStateMachine):
    """One document being edited: each version is analysed as an editor would ask for it."""

    @initialize(text=st.sampled_from(STARTS + CORPUS[:5]))
    def open(self, text: str) -> None:
        self.reparser, self.analyser = Reparser(), Analyser()
        self.versions = [text]

    def become(self, text: str) -> None:
        self.versions.append(text)

    @property
    def text(self) -> str:
        return self.versions[-1]

    @rule(at=st.floats(0, 1), length=st.integers(0, 40), new=INSERTED)
    def replace(self, at: float, length: int, new: str) -> None:
        start = int(at * len(self.text))
        self.become(self.text[:start] + new + self.text[start + length :])

    @rule(line=st.floats(0, 1), column=st.integers(0, 90), new=INSERTED)
    def type_at_position(self, line: float, column: int, new: str) -> None:
        """Insert where an editor says, in its own units."""
        source = SourceText(self.text)
        position = Position(int(line * len(source.line_starts)), column)
        start = source.offset(position, Encoding.UTF16)
        data = source.data[:start] + new.encode(errors="replace") + source.data[start:]
        self.become(data.decode())

    @rule(at=st.floats(0, 1), by=st.floats(0, 1), length=st.integers(1, 400))
    def move(self, at: float, by: float, length: int) -> None:
        """Cut a piece, which may hold parts of several definitions, and paste it elsewhere."""
        start = int(at * len(self.text))
        piece, rest = (
            self.text[start : start + length],
            self.text[:start] + self.text[start + length :],
        )
        target = int(by * len(rest))
        self.become(rest[:target] + piece + rest[target:])

    @rule(line=st.floats(0, 1), count=st.integers(1, 3))
    def double_lines(self, line: float, count: int) -> None:
        lines = self.text.splitlines(keepends=True) or [""]
        first = int(line * (len(lines) - 1))
        self.become("".join([*lines[: first + count], *lines[first:]]))

    @rule(back=st.integers(1, 6))
    def undo(self, back: int) -> None:
        self.become(self.versions[max(0, len(self.versions) - 1 - back)])

    @rule(text=st.sampled_from(STARTS))
    def replace_all(self, text: str) -> None:
        self.become(text)

    @invariant()
    def nothing_is_remembered_wrongly(self) -> None:
        if not hasattr(self, "versions"):
            return
        source = SourceText(self.text)
        full = analyse(source)
        assert not full.failures, full.failures
        assert self.analyser.analyse(source) == full
        assert outline(self.reparser.parse(source.data)) == outline(parse_text(source.data))


def outline(roots) -> list[tuple[object, ...]]:
    pending, found = list(roots), []
    while pending:
        one = pending.pop()
        found.append((one.type, one.start_byte, one.end_byte, one.start_point, one.is_missing))
        pending.extend(one.children)
    return found


TestEditing = Editing.TestCase
TestEditing.settings = examples(4, 150)
if LONG:
    TestEditing.settings = type(TestEditing.settings)(TestEditing.settings, stateful_step_count=40)
