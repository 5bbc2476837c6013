"""The worksheet as Markdown: tables that code hosts and editors show, with links to lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory
from tirx_lens.report.worksheet_cells import Cells, code, text
from tirx_lens.rules.facts.pool_layout import LARGEST as SMEM_BYTES
from tirx_lens.rules.facts.tmem import LARGEST as TMEM_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.protocol.worksheet.handoff import Arming, BarrierRow
    from tirx_lens.protocol.worksheet.lifetime import Held, LifeRow
    from tirx_lens.protocol.worksheet.meetings import MeetingRow
    from tirx_lens.protocol.worksheet.sheet import KernelSheet
    from tirx_lens.protocol.worksheet.skeleton import StepRow
    from tirx_lens.protocol.worksheet.storage import StorageRow
    from tirx_lens.report.worksheet_places import Sheets

_NONE = "—"


def as_markdown(sheets: Sheets) -> str:
    """Return the worksheets of a file."""
    name = text(sheets.path.name)
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
        self._cells = Cells(sheets, sheet)

    def kernel(self, sheet: KernelSheet) -> Iterator[str]:
        """Yield the lines of a kernel's worksheet."""
        of = f" of `{sheet.builder}`" if sheet.builder else ""
        yield from (f"## Kernel `{sheet.name}`{of}", "")
        yield from (f"{_size(sheet)} {self._cells.at((sheet.place,))}".strip(), "")
        if sheet.undecided:
            yield from ("Not decided:", "")
            yield from (
                f"- {text(s.text)} {self._cells.at(s.places)}".rstrip() for s in sheet.undecided
            )
            yield ""
        if sheet.runs:
            yield from ("Run in small:", "")
            yield from (
                f"- {text(run.text)} {self._cells.at(run.places)}".rstrip() for run in sheet.runs
            )
            yield ""
        if sheet.unfollowed is not None:
            why = f"{text(sheet.unfollowed.text)} {self._cells.at(sheet.unfollowed.places)}"
            yield from (f"Not run: {why}".rstrip(), "")
        yield from self._roles(sheet)
        yield from self._storage(sheet)
        yield from self._handoff(sheet)
        yield from self._lifetime(sheet)
        yield from self._skeleton(sheet)

    def _roles(self, sheet: KernelSheet) -> Iterator[str]:
        rows = [self._role(number, sheet) for number in range(1, len(sheet.roles) + 1)]
        head = ("#", "job", "threads", "what they do", "let through by")
        yield from _section("Roles", head, rows)

    def _role(self, number: int, sheet: KernelSheet) -> tuple[str, ...]:
        row, within = sheet.roles[number - 1], ""
        # That threads are some of all threads goes without saying.
        if row.within is not None and sheet.roles[row.within].guards:
            within = f", some of {row.within + 1}"
        guards = " and ".join(map(code, row.guards)) or "none"
        jobs = ", ".join(job.value for job in row.jobs) or _NONE
        return str(number), jobs, row.who.text + within, self._cells.said(row.does), guards

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
                at = self._cells.at((pool.stopped_at,)) if pool.stopped_at is not None else ""
                end = f"; what follows is not counted: {pool.undecided} {at}".rstrip() + "."
            yield from (said + end, "")
        for tmem in storage.tmem:
            columns = f"{tmem.columns} of {TMEM_COLUMNS}" if tmem.columns else "? (not known)"
            verb = "Takes" if tmem.takes else "Gives back"
            through = f" through `{tmem.pool}`" if tmem.pool is not None else ""
            said = f"{verb} {columns} TMEM columns{through}: {self._cells.by(tmem.by)}."
            yield from (said, "")

    def _stored(self, row: StorageRow) -> tuple[str, ...]:
        name = f"`{row.name}` {self._cells.at((row.place,))}"
        if row.is_words:
            written = read = "see Handoff"
        else:
            written = self._cells.uses([use for use in row.uses if use.writes]) or _NONE
            read = self._cells.uses([use for use in row.uses if use.writes is False]) or _NONE
        vague = [use for use in row.uses if use.writes is None]
        if vague:
            read += f"<br>reads or writes, not told: {self._cells.uses(vague)}"
        if row.stray:
            read += f"<br>also named {self._cells.at(row.stray)}: element accesses are not followed"
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
            self._cells.who(one) + (", only arriving" if one in row.arriving else "")
            for one in row.comers
        )
        all_of_them = "every thread" if _is_wide(row.name) else expected
        return row.name, all_of_them, comers, self._cells.at(row.places), text(row.undecided or "")

    def _barrier(self, row: BarrierRow) -> tuple[str, ...]:
        count = f"{row.count:,}" if row.count is not None else "?"
        arrivals = f"{count} arrival{'s' if row.count != 1 else ''}"
        ends = [f"{arrivals} {self._cells.at(row.inits)}".rstrip()]
        # A body that stands in several places of the kernel, for several slots, is shown once.
        armed, delivered = dict.fromkeys(row.armed), dict.fromkeys(row.delivered)
        ends += [f"and {_bytes(arm)} {self._cells.at((arm.place,))}" for arm in armed]
        if delivered:
            brought = " + ".join(f"`{one.written}` {_bytes(one)}" for one in delivered)
            ends.append(f"TMA brings {brought} {self._cells.at(one.place for one in delivered)}")
        if row.sums is not None and row.sums != (0, 0):
            expected, come = row.sums
            same = "as many" if come == expected else f"{come:,}"
            ends.append(f"over all known turns {expected:,} bytes expected, {same} brought")
        name = f"{code(row.name)} {self._cells.at((row.place,))}<br>{row.kind}"
        pair = _NONE
        if row.pair is not None:
            others = " or ".join(f"`{other}`" for other in row.pair.others)
            side = f"{row.pair.side.value} side, with " if row.pair.side is not None else "with "
            several = len(row.pair.others) > 1
            pair = side + others + (" (not decided which)" if several else "")
        waits = "<br>".join(map(self._cells.wait, row.waits)) or "nobody that is seen"
        if row.undecided:
            waits += "<br>not decided: " + "; ".join(
                f"{text(said.text)} {self._cells.at(said.places)}".rstrip()
                for said in row.undecided
            )
        signals = "<br>".join(map(self._cells.signal, row.signals)) or "nobody that is seen"
        slots = str(row.slots) if row.slots is not None else "?"
        return name, slots, "<br>".join(ends), signals, waits, pair

    def _lifetime(self, sheet: KernelSheet) -> Iterator[str]:
        rows = [self._life(row) for row in sheet.lifetimes.rows]
        head = ("storage", "filled, and valid behind", "free again behind", "not decided")
        yield from _section("Lifetime", head, rows)
        for held in sheet.lifetimes.tmem:
            yield from (self._held(held), "")

    def _life(self, row: LifeRow) -> tuple[str, ...]:
        freed = "<br>".join(map(self._cells.turn, row.freed))
        if not freed and row.filled:
            freed = "written once" if row.once else "not written again behind a read"
        filled = "<br>".join(map(self._cells.turn, row.filled)) or _NONE
        name = f"{row.memory.value} `{row.name}` {self._cells.at((row.place,))}"
        return name, filled, freed, self._cells.said(row.undecided)

    def _held(self, held: Held) -> str:
        columns = held.columns if held.columns is not None else "An unknown number of"
        through = f" through `{held.pool}`" if held.pool is not None else ""
        said = f"TMEM: {columns} columns, allocated{through} by {self._cells.by(held.allocated)}"
        said += (
            f"; their address is known behind {self._cells.one(held.known)}"
            if held.known is not None
            else "; no meeting of all that use them is seen between there and the first use"
        )
        if held.freed is None:
            return said + "; no deallocation is seen."
        said += f"; freed by {self._cells.by(held.freed)}"
        return said + (
            f", behind {self._cells.one(held.closed)}."
            if held.closed is not None
            else ", with no meeting seen between the last use and there."
        )

    def _skeleton(self, sheet: KernelSheet) -> Iterator[str]:
        rows = [self._step(number, row) for number, row in enumerate(sheet.skeleton, 1)]
        head = ("step", "of the reference", "here", "deviates")
        yield from _section("Skeleton", head, rows)

    def _step(self, number: int, row: StepRow) -> tuple[str, ...]:
        here = self._cells.said(row.found) or (row.absent or "nothing")
        if row.absent and row.found:
            here += f"<br>{row.absent}"
        marked = "<br>".join(f"⚠ {text(s.text)} {self._cells.at(s.places)}" for s in row.deviations)
        return str(number), row.step.value, here, marked


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
