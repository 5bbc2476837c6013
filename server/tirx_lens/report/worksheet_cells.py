"""The cells of a worksheet in Markdown: threads by their row, places as links to lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.protocol.worksheet.accesses import Engine
from tirx_lens.protocol.worksheet.words import Signal
from tirx_lens.report.paths import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.worksheet.cells import By, Said, Who
    from tirx_lens.protocol.worksheet.handoff import SignalSide, WaitSide
    from tirx_lens.protocol.worksheet.lifetime import Party, Turn
    from tirx_lens.protocol.worksheet.links import Link
    from tirx_lens.protocol.worksheet.sheet import KernelSheet
    from tirx_lens.protocol.worksheet.storage import Use
    from tirx_lens.report.worksheet_places import Sheets

_PHASES = {
    0: "starts at phase 0: blocks",
    1: "starts at phase 1: passes",
    None: "first phase not known",
}


class Cells:
    """Writes what stands in the cells of one kernel's tables."""

    def __init__(self, sheets: Sheets, sheet: KernelSheet) -> None:
        self._sheets = sheets
        self._roles = {row.who: number for number, row in enumerate(sheet.roles, 1)}
        self._jobs = {row.who: row.jobs for row in sheet.roles}

    def at(self, places: Iterable[Span | None]) -> str:
        """Write lines as links, each once, with the name of a file that is another one."""
        found: dict[str, None] = {}
        for place in places:
            if place is None:
                continue
            line, link = self._sheets.linked_line(place)
            found.setdefault(f"[{text(line)}]({link})")
        return ", ".join(found)

    def who(self, who: Who) -> str:
        """Write threads as their row of the Roles table, where they have one."""
        number, jobs = self._roles.get(who), self._jobs.get(who, ())
        if number is None or who.text.startswith("the whole "):
            return who.text
        threads = who.text.partition(" (")[0]
        return f"role {number} ({jobs[0].value if len(jobs) == 1 else threads})"

    def by(self, by: By) -> str:
        """Write threads, and where they do it."""
        return f"{self.who(by.who)} {self.at(by.places)}"

    def said(self, said: Iterable[Said]) -> str:
        """Write what is said, a line each."""
        return "<br>".join(map(self.one, said))

    def one(self, said: Said) -> str:
        """Write words and their places."""
        return f"{text(said.text)} {self.at(said.places)}".rstrip()

    def uses(self, uses: Sequence[Use]) -> str:
        """Write who accesses storage, a line each."""
        return "<br>".join(f"{self._engine(use)} {self.at(use.places)}" for use in uses)

    def turn(self, turn: Turn) -> str:
        """Write one way from an access to another: who, what tells the other, who then goes on."""
        first = f"{self._does(turn.first)} {self.at(turn.first.places)}"
        second = f"{self._does(turn.second)} {self.at(turn.second.places)}"
        return f"{first} → {self._links(turn)} → {second}"

    def wait(self, side: WaitSide) -> str:
        """Write who waits, and what the first wait asks for."""
        return f"{self.who(side.who)} {self.at(side.places)}; {_PHASES[side.first_phase]}"

    def signal(self, side: SignalSide) -> str:
        """Write who signals, and how."""
        notes = "".join(f", {text(note)}" for note in side.notes)
        return f"{side.how.value}: {self.who(side.who)}{notes} {self.at(side.places)}"

    def _links(self, turn: Turn) -> str:
        if turn.links:
            return " or ".join(self._link(link, turn) for link in turn.links)
        differ = ", but the part may be another one each time" if turn.moves else ""
        return f"no direct handoff seen{differ}"

    def _link(self, link: Link, turn: Turn) -> str:
        fence = "no proxy fence seen, " if turn.crosses_proxies else ""
        if link.fence is not None:
            fence = f"proxy fence {self.at((link.fence,))}, "
        drained = f"bulk group waited for {self.at((link.drained,))}, " if link.drained else ""
        match link.signal:
            case Signal.ORDER:
                return f"{fence}the same threads, in program order"
            case Signal.GROUP:
                return f"bulk group waited for {self.at((link.waited,))}"
            case Signal.MEETING if link.signalled == link.waited:
                later = " of the turn before" if link.later else ""
                return f"{drained}{fence}{link.name}{later} {self.at((link.waited,))}"
        at = f"{self.at((link.signalled,))}, waited for {self.at((link.waited,))}"
        later = ", for the next turn" if link.later else ""
        return f"{drained}{fence}`{link.name}`: {link.signal.value} {at}{later}"

    def _engine(self, use: Use) -> str:
        if use.engine is Engine.THREADS:
            return f"{self.who(use.who)}, {use.via.value}"
        return f"{use.engine.value} for {self.who(use.who)}, {use.via.value}"

    def _does(self, party: Party) -> str:
        verb = "writes" if party.writes else "reads"
        if party.engine is Engine.THREADS:
            return f"{self.who(party.who)} {verb}"
        return f"{party.engine.value} {verb} for {self.who(party.who)}"


def text(words: str) -> str:
    """Return words as Markdown: what they quote in code spans stays as it is."""
    parts = shown_text(words).split("`")
    return "`".join(
        part if number % 2 else part.replace("&", "&amp;").replace("<", "&lt;")
        for number, part in enumerate(parts)
    )


def code(quoted: str) -> str:
    """Return a piece of source as a code span."""
    return f"`{shown_text(quoted).replace('`', chr(39))}`"
