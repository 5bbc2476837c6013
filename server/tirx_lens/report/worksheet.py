"""The worksheet as Markdown: tables that code hosts and editors show, with links to lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory
from tirx_lens.protocol.worksheet.accesses import Engine
from tirx_lens.protocol.worksheet.words import Signal
from tirx_lens.report.paths import shown_text
from tirx_lens.report.worksheet_places import href
from tirx_lens.rules.facts.pool_layout import LARGEST as SMEM_BYTES
from tirx_lens.rules.facts.tmem import LARGEST as TMEM_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.worksheet.cells import By, Said, Who
    from tirx_lens.protocol.worksheet.handoff import Arming, BarrierRow, SignalSide, WaitSide
    from tirx_lens.protocol.worksheet.lifetime import Held, LifeRow, Party, Turn
    from tirx_lens.protocol.worksheet.links import Link
    from tirx_lens.protocol.worksheet.meetings import MeetingRow
    from tirx_lens.protocol.worksheet.sheet import KernelSheet
    from tirx_lens.protocol.worksheet.skeleton import StepRow
    from tirx_lens.protocol.worksheet.storage import StorageRow, Use
    from tirx_lens.report.worksheet_places import Sheets

_NONE = "—"
_PHASES = {
    0: "starts at phase 0: blocks",
    1: "starts at phase 1: passes",
    None: "first phase not known",
}


def as_markdown(sheets: Sheets) -> str:
    """Return the worksheets of a file."""
    name = _text(sheets.path.name)
    lines = [f"# Worksheet of {name}", ""]
    if sheets.worksheet.has_errors:
        lines += ["The file has syntax errors: kernels in it may be missing here.", ""]
    if not sheets.worksheet.kernels:
        lines += ["No TIRx kernel is found in it.", ""]
    for sheet in sheets.worksheet.kernels:
        lines += _Writer(sheets, sheet).kernel(sheet)
    return "\n".join(lines).rstrip() + "\n"


class _Writer:
    """Writes the worksheet of one kernel."""

    def __init__(self, sheets: Sheets, sheet: KernelSheet) -> None:
        self._sheets = sheets
        self._roles_by_who = {row.who: number for number, row in enumerate(sheet.roles, 1)}
        self._jobs = {row.who: row.jobs for row in sheet.roles}

    def kernel(self, sheet: KernelSheet) -> Iterator[str]:
        """Yield the lines of a kernel's worksheet."""
        of = f" of `{sheet.builder}`" if sheet.builder else ""
        yield from (f"## Kernel `{sheet.name}`{of}", "")
        yield from (f"{_size(sheet)} {self._at((sheet.place,))}".strip(), "")
        if sheet.undecided:
            yield from ("Not decided:", "")
            yield from (f"- {_text(s.text)} {self._at(s.places)}".rstrip() for s in sheet.undecided)
            yield ""
        for run in sheet.runs:
            yield f"- {_text(run)}"
        if sheet.unfollowed is not None:
            yield from (f"No run was followed: {_text(sheet.unfollowed)}", "")
        yield from self._roles(sheet)
        yield from self._storage(sheet)
        yield from self._handoff(sheet)
        yield from self._lifetime(sheet)
        yield from self._skeleton(sheet)

    def _roles(self, sheet: KernelSheet) -> Iterator[str]:
        rows = [
            (
                str(number),
                row.who.text + (f", some of {row.within + 1}" if row.within else ""),
                " and ".join(_code(guard) for guard in row.guards) or "none",
                ", ".join(job.value for job in row.jobs) or _NONE,
                self._said(row.does),
            )
            for number, row in enumerate(sheet.roles, 1)
        ]
        head = ("#", "threads", "let through by", "job", "what they do")
        yield from _section("Roles", head, rows)

    def _storage(self, sheet: KernelSheet) -> Iterator[str]:
        storage = sheet.storage
        rows = [self._stored(row) for row in storage.rows]
        head = ("storage", "offset", "size", "alignment", "holds", "written by", "read by")
        yield from _section("Storage", head, rows)
        for pool in storage.pools:
            free = SMEM_BYTES - pool.total
            spare = f"{free:,} left" if free >= 0 else f"{-free:,} too many"
            total = f"{pool.total:,} of the {SMEM_BYTES:,} bytes of SMEM that a CTA can have"
            said = f"`{pool.name}` takes {total}, {pool.aligned:,} of them skipped for alignment"
            end = f": {spare}."
            if pool.undecided is not None:
                at = self._at((pool.stopped_at,)) if pool.stopped_at is not None else ""
                end = f"; what follows is not counted: {pool.undecided} {at}".rstrip() + "."
            yield from (said + end, "")
        for tmem in storage.tmem:
            columns = f"{tmem.columns} of {TMEM_COLUMNS}" if tmem.columns else "? (not known)"
            verb = "Takes" if tmem.takes else "Gives back"
            through = f" through `{tmem.pool}`" if tmem.pool is not None else ""
            said = f"{verb} {columns} TMEM columns{through}: {self._by(tmem.by)}."
            yield from (said, "")

    def _stored(self, row: StorageRow) -> tuple[str, ...]:
        name = f"`{row.name}` {self._at((row.place,))}"
        if row.is_words:
            written = read = "see Handoff"
        else:
            written = self._uses([use for use in row.uses if use.writes]) or _NONE
            read = self._uses([use for use in row.uses if use.writes is False]) or _NONE
        vague = [use for use in row.uses if use.writes is None]
        if vague:
            read += f"<br>reads or writes, not told: {self._uses(vague)}"
        if row.stray:
            read += f"<br>also named {self._at(row.stray)}: element accesses are not followed"
        columns = row.memory is Memory.TENSOR
        unit = " columns" if columns else " bytes"
        start = "?"
        if row.offset is not None:
            start = f"column {row.offset}" if columns else f"{row.offset:,}"
        size = f"{row.size:,}{unit}" if row.size is not None else "?"
        align = f"{row.alignment:,}" if row.alignment is not None else _NONE
        return f"{row.memory.value} {name}", start, size, align, row.shape, written, read

    def _handoff(self, sheet: KernelSheet) -> Iterator[str]:
        rows = [self._barrier(row) for row in sheet.barriers]
        head = ("barrier", "slots", "a phase ends after", "signalled by", "waited for by", "pair")
        yield from _section("Handoff", head, rows)
        met = [self._meeting(row) for row in sheet.meetings]
        yield from _table(("meeting", "expects", "who comes", "lines", "not decided"), met)

    def _meeting(self, row: MeetingRow) -> tuple[str, ...]:
        expected = f"{row.expected} threads" if row.expected is not None else "?"
        comers = "<br>".join(
            self._who(one) + (", only arriving" if one in row.arriving else "")
            for one in row.comers
        )
        all_of_them = "every thread" if _is_wide(row.name) else expected
        return row.name, all_of_them, comers, self._at(row.places), _text(row.undecided or "")

    def _barrier(self, row: BarrierRow) -> tuple[str, ...]:
        count = f"{row.count:,}" if row.count is not None else "?"
        arrivals = f"{count} arrival{'s' if row.count != 1 else ''}"
        ends = [f"{arrivals} {self._at(row.inits)}".rstrip()]
        # A body that stands in several places of the kernel, for several slots, is shown once.
        armed, delivered = dict.fromkeys(row.armed), dict.fromkeys(row.delivered)
        ends += [f"and {_bytes(arm)} {self._at((arm.place,))}" for arm in armed]
        if delivered:
            brought = " + ".join(f"`{one.written}` {_bytes(one)}" for one in delivered)
            ends.append(f"TMA brings {brought} {self._at(one.place for one in delivered)}")
        if row.sums is not None and row.sums != (0, 0):
            expected, come = row.sums
            same = "as many" if come == expected else f"{come:,}"
            ends.append(f"over all known turns {expected:,} bytes expected, {same} brought")
        name = f"`{_plain(row.name)}` {self._at((row.place,))}<br>{row.kind}"
        pair = _NONE
        if row.pair is not None:
            others = " or ".join(f"`{other}`" for other in row.pair.others)
            side = f"{row.pair.side.value} side, with " if row.pair.side is not None else "with "
            several = len(row.pair.others) > 1
            pair = side + others + (" (not decided which)" if several else "")
        waits = "<br>".join(map(self._wait, row.waits)) or "nobody that is seen"
        if row.undecided:
            waits += "<br>not decided: " + "; ".join(
                f"{_text(said.text)} {self._at(said.places)}".rstrip() for said in row.undecided
            )
        signals = "<br>".join(map(self._signal, row.signals)) or "nobody that is seen"
        slots = str(row.slots) if row.slots is not None else "?"
        return name, slots, "<br>".join(ends), signals, waits, pair

    def _wait(self, side: WaitSide) -> str:
        return f"{self._who(side.who)} {self._at(side.places)}; {_PHASES[side.first_phase]}"

    def _signal(self, side: SignalSide) -> str:
        notes = "".join(f", {_text(note)}" for note in side.notes)
        return f"{side.how.value}: {self._who(side.who)}{notes} {self._at(side.places)}"

    def _who(self, who: Who) -> str:
        """Write threads as their row of the Roles table, where they have one."""
        number, jobs = self._roles_by_who.get(who), self._jobs.get(who, ())
        if number is None or who.text.startswith("the whole "):
            return who.text
        threads = who.text.partition(" (")[0]
        return f"role {number} ({jobs[0].value if len(jobs) == 1 else threads})"

    def _by(self, by: By) -> str:
        return f"{self._who(by.who)} {self._at(by.places)}"

    def _lifetime(self, sheet: KernelSheet) -> Iterator[str]:
        rows = [self._life(row) for row in sheet.lifetimes.rows]
        head = ("storage", "filled, and valid behind", "free again behind", "not decided")
        yield from _section("Lifetime", head, rows)
        for held in sheet.lifetimes.tmem:
            yield from (self._held(held), "")

    def _life(self, row: LifeRow) -> tuple[str, ...]:
        freed = "<br>".join(map(self._turn, row.freed))
        if not freed and row.filled:
            freed = "written once" if row.once else "not written again behind a read"
        filled = "<br>".join(map(self._turn, row.filled)) or _NONE
        name = f"{row.memory.value} `{row.name}` {self._at((row.place,))}"
        return name, filled, freed, self._said(row.undecided)

    def _turn(self, turn: Turn) -> str:
        """Write one way from an access to another: who, what tells the other, who then goes on."""
        first = f"{self._does(turn.first)} {self._at(turn.first.places)}"
        second = f"{self._does(turn.second)} {self._at(turn.second.places)}"
        return f"{first} → {self._links(turn)} → {second}"

    def _links(self, turn: Turn) -> str:
        if turn.links:
            return " or ".join(self._link(link, turn) for link in turn.links)
        differ = ", but the part may be another one each time" if turn.moves else ""
        return f"no direct handoff seen{differ}"

    def _link(self, link: Link, turn: Turn) -> str:
        fence = "no proxy fence seen, " if turn.crosses_proxies else ""
        if link.fence is not None:
            fence = f"proxy fence {self._at((link.fence,))}, "
        drained = f"bulk group waited for {self._at((link.drained,))}, " if link.drained else ""
        match link.signal:
            case Signal.ORDER:
                return f"{fence}the same threads, in program order"
            case Signal.GROUP:
                return f"bulk group waited for {self._at((link.waited,))}"
            case Signal.MEETING if link.signalled == link.waited:
                later = " of the turn before" if link.later else ""
                return f"{drained}{fence}{link.name}{later} {self._at((link.waited,))}"
        at = f"{self._at((link.signalled,))}, waited for {self._at((link.waited,))}"
        later = ", for the next turn" if link.later else ""
        return f"{drained}{fence}`{link.name}`: {link.signal.value} {at}{later}"

    def _held(self, held: Held) -> str:
        columns = held.columns if held.columns is not None else "An unknown number of"
        through = f" through `{held.pool}`" if held.pool is not None else ""
        said = f"TMEM: {columns} columns, allocated{through} by {self._by(held.allocated)}"
        said += (
            f"; their address is known behind {self._one(held.known)}"
            if held.known is not None
            else "; no meeting of all that use them is seen between there and the first use"
        )
        if held.freed is None:
            return said + "; no deallocation is seen."
        said += f"; freed by {self._by(held.freed)}"
        return said + (
            f", behind {self._one(held.closed)}."
            if held.closed is not None
            else ", with no meeting seen between the last use and there."
        )

    def _skeleton(self, sheet: KernelSheet) -> Iterator[str]:
        rows = [self._step(number, row) for number, row in enumerate(sheet.skeleton, 1)]
        head = ("step", "of the reference", "here", "deviates")
        yield from _section("Skeleton", head, rows)

    def _step(self, number: int, row: StepRow) -> tuple[str, ...]:
        here = self._said(row.found) or (row.absent or "nothing")
        if row.absent and row.found:
            here += f"<br>{row.absent}"
        marked = "<br>".join(f"⚠ {_text(s.text)} {self._at(s.places)}" for s in row.deviations)
        return str(number), row.step.value, here, marked

    def _said(self, said: Iterable[Said]) -> str:
        return "<br>".join(map(self._one, said))

    def _one(self, said: Said) -> str:
        return f"{_text(said.text)} {self._at(said.places)}".rstrip()

    def _uses(self, uses: Sequence[Use]) -> str:
        return "<br>".join(f"{self._engine(use)} {self._at(use.places)}" for use in uses)

    def _engine(self, use: Use) -> str:
        if use.engine is Engine.THREADS:
            return f"{self._who(use.who)}, {use.via.value}"
        return f"{use.engine.value} for {self._who(use.who)}, {use.via.value}"

    def _does(self, party: Party) -> str:
        verb = "writes" if party.writes else "reads"
        if party.engine is Engine.THREADS:
            return f"{self._who(party.who)} {verb}"
        return f"{party.engine.value} {verb} for {self._who(party.who)}"

    def _at(self, places: Iterable[Span | None]) -> str:
        """Write lines as links, each once, with the name of a file that is another one."""
        found: dict[str, None] = {}
        for place in places:
            if place is None:
                continue
            path, line = self._sheets.line(place)
            other = "" if path == self._sheets.path else f"{_text(path.name)}:"
            found.setdefault(f"[{other}{line}]({href(path, line)})")
        return ", ".join(found)


def _size(sheet: KernelSheet) -> str:
    if sheet.threads is None:
        return "Its number of threads is not known."
    cluster = (
        f"clusters of {sheet.ctas} CTAs, " if sheet.ctas is not None and sheet.ctas > 1 else ""
    )
    said = f"{cluster}{sheet.threads} threads a CTA."
    return said[0].upper() + said[1:]


def _bytes(arm: Arming) -> str:
    return f"{arm.bytes:,} bytes" if arm.bytes is not None else "bytes, how many is not known"


def _is_wide(name: str) -> bool:
    return name.startswith(("CTA", "cluster"))


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from (f"### {title}", "")
    if not rows:
        yield from ("Nothing that could be told.", "")
    yield from _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def _code(text: str) -> str:
    return f"`{_plain(text)}`"


def _plain(text: str) -> str:
    return shown_text(text).replace("`", "'")


def _text(text: str) -> str:
    """Return words as Markdown: what they quote in code spans stays as it is."""
    parts = shown_text(text).split("`")
    return "`".join(
        part if number % 2 else part.replace("&", "&amp;").replace("<", "&lt;")
        for number, part in enumerate(parts)
    )
