"""Whether a long session leaves the server as it was: memory, versions, and what it says.

Opens the kernels of `kernels/` and files of the corpus (`make corpus`) in one server over its pipes
and makes random edits, one document after another: words typed letter by letter, pieces taken out,
doubled, moved and put back, so that the texts together stay as large as they are. Each publication
must be of the newest version. In the end a second server opens the final texts, and both must have
published the same.

Prints a Markdown table of the memory, taken twenty times with the server at rest: what is in use
(see `live.py`), and what Linux says is held. Medians in the last quarter of the session are held
against those in the second; the first fills what is kept of each document. What is in use may grow
by 2 %, and what is held by 5 %: an allocator does not give all back that one long analysis took.
Exit status 1 says that something is stale, differs, or grows. Linux only.

`python benchmarks/soak.py [--edits 10000] [--seed 0]`
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import live
from listening import LONG_REST, Listener

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / ".build" / "corpus"
MOST_OF_CORPUS = 40  # files: most edits go to kernels
LIMIT = 7200  # seconds that the session may last
MOMENTS = 20  # at which memory is taken
FEWEST = 2_000  # edits of a session that says whether memory grows
MOST_IN_USE, MOST_HELD = 1.02, 1.05  # of the last quarter over the second
BACK = 12  # edits after which a text is put back, as one does who tries something
WORDS = re.compile(r"[\w.]+|\n +|[^\w\s]")


@dataclass(slots=True)
class Text:
    """An open document: as it is on disk, as it is now, and its version."""

    uri: str
    original: str
    now: str
    version: int = 1
    edits: int = 0
    words: list[str] = field(default_factory=list)


def texts() -> list[Text]:
    """Return the documents of the session."""
    paths = sorted((ROOT / "kernels").rglob("*.py"))
    corpus = sorted(CORPUS.rglob("*.py"), key=lambda path: (path.stat().st_size, path))
    paths += corpus[:: max(1, len(corpus) // MOST_OF_CORPUS)]
    found = [(path.absolute().as_uri(), path.read_text("utf-8")) for path in paths]
    return [Text(uri, text, text, words=WORDS.findall(text)) for uri, text in found]


def position(text: str, offset: int) -> dict[str, int]:
    """Convert an offset in characters to a position of the protocol's."""
    line = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return {"line": line, "character": len(before.encode("utf-16-le")) // 2}


def replaced(text: Text, start: int, end: int, new: str) -> dict:
    """Replace a part of a text; return the change as the protocol has it."""
    span = {"start": position(text.now, start), "end": position(text.now, end)}
    text.now = text.now[:start] + new + text.now[end:]
    return {"range": span, "text": new}


def edits_of(text: Text, rng: random.Random) -> list[dict]:
    """Edit a text at random; return the changes, each to be sent by itself."""
    text.edits += 1
    if text.edits % BACK == 0:
        text.now = text.original
        return [{"text": text.now}]
    lines = [match.start() for match in re.finditer("^", text.now, re.MULTILINE)]
    at = rng.randrange(len(text.now) + 1)
    line = rng.randrange(len(lines))
    start, end = lines[line], lines[line + 1] if line + 1 < len(lines) else len(text.now)
    match rng.randrange(6):
        case 0:  # a word, letter by letter
            word = rng.choice(text.words)
            return [replaced(text, at + n, at + n, letter) for n, letter in enumerate(word)]
        case 1:
            return [replaced(text, at, min(len(text.now), at + rng.randrange(1, 40)), "")]
        case 2:  # a line twice
            return [replaced(text, end, end, text.now[start:end])]
        case 3:  # a line elsewhere
            piece = text.now[start:end]
            cut = replaced(text, start, end, "")
            to = rng.randrange(len(text.now) + 1)
            to = text.now.rfind("\n", 0, to) + 1
            return [cut, replaced(text, to, to, piece)]
        case 4:  # a word for a word
            words = list(WORDS.finditer(text.now))
            old = rng.choice(words) if words else None
            span = old.span() if old is not None else (at, at)
            return [replaced(text, *span, rng.choice(text.words))]
    return [replaced(text, at, at, rng.choice(["(", ")", '"', "#", "\n", ":", "é", "\t", "😀"]))]


def edit(client: Listener, text: Text, rng: random.Random) -> int:
    """Send one edit, wait for what it gives, and return how many versions it was."""
    changes = edits_of(text, rng)
    for change in changes:
        text.version += 1
        identifier = {"uri": text.uri, "version": text.version}
        params = {"textDocument": identifier, "contentChanges": [change]}
        client.send(method="textDocument/didChange", params=params)
    client.until_analysed(text.uri)
    shown = client.published[text.uri]
    # Of a file that says nothing of TIRx it is said once that there is nothing.
    if shown["version"] != text.version and (shown["diagnostics"] or mentions_tirx(text.now)):
        raise SystemExit(
            f"stale: version {shown['version']} of {text.uri} is shown, {text.version} was sent"
        )
    return len(changes)


def mentions_tirx(text: str) -> bool:
    return "tirx" in text or "prim_func" in text


def said(client: Listener, documents: list[Text]) -> dict[str, list[str]]:
    """Return what is shown of each document."""
    return {
        text.uri: sorted(
            json.dumps(diagnostic, sort_keys=True)
            for diagnostic in client.published[text.uri]["diagnostics"]
        )
        for text in documents
    }


def opened(documents: list[Text], folder: Path) -> Listener:
    """Start a server and open the texts as they are now."""
    os.environ[live.FILE] = str(folder / "live")
    client = Listener(live.COMMAND, LIMIT)
    client.initialize(folder)
    client.send(method="initialized", params={})
    for text in documents:
        client.open(text.uri, text.now, text.version)
        client.until_analysed(text.uri)
    client.come_to_rest()
    return client


def soak(documents: list[Text], edits: int, rng: random.Random, folder: Path) -> bool:
    """Edit, compare with a fresh server, and print what was measured; tell whether all is well."""
    client = opened(documents, folder)
    print("| edits | versions | texts, MB | blocks | malloc, MB | held, MB |")
    print("|---|---|---|---|---|---|")
    print(moment(client, folder).row(0, 0, documents), flush=True)
    versions, moments_taken = 0, []
    moments = MOMENTS if edits >= FEWEST else 1
    taken = {edits * moment // moments for moment in range(1, moments + 1)}
    for number in range(1, edits + 1):
        versions += edit(client, rng.choice(documents), rng)
        if number in taken:
            client.come_to_rest(LONG_REST)
            moments_taken.append(moment(client, folder))
            print(moments_taken[-1].row(number, versions, documents), flush=True)
    shown = said(client, documents)
    client.stop()
    fresh = opened(documents, folder)
    expected = said(fresh, documents)
    print(f"\nA fresh server with the final texts holds {fresh.megabytes():.0f} MB.")
    fresh.stop()
    differing = [uri for uri, found in expected.items() if shown[uri] != found]
    print(
        f"{len(documents)} documents, {len(differing)} of which a fresh server says other things."
    )
    for uri in differing:
        print(f"  {uri}: {len(shown[uri])} diagnostics, fresh {len(expected[uri])}")
    return not differing and not grew(moments_taken)


@dataclass(frozen=True, slots=True)
class Moment:
    """What the server had in use and held, at rest."""

    live: live.Live
    held: float

    def row(self, number: int, versions: int, documents: list[Text]) -> str:
        """Return a row of the table."""
        size = sum(len(text.now.encode()) for text in documents) / 1e6
        used = f"{self.live.blocks:,} | {self.live.megabytes:.1f}"
        return f"| {number:,} | {versions:,} | {size:.2f} | {used} | {self.held:.1f} |"


def moment(client: Listener, folder: Path) -> Moment:
    return Moment(live.ask(client, folder / "live"), client.megabytes())


def grew(moments: list[Moment]) -> bool:
    """Tell whether the memory at the moments of a session grows, and say by how much."""
    if len(moments) < MOMENTS:
        return False
    series = (
        ("Blocks in use", MOST_IN_USE, [one.live.blocks for one in moments]),
        ("Megabytes of malloc in use", MOST_IN_USE, [one.live.megabytes for one in moments]),
        ("Megabytes held", MOST_HELD, [one.held for one in moments]),
    )
    quarter = MOMENTS // 4
    is_more = False
    for name, most, values in series:
        early = statistics.median(values[quarter : 2 * quarter])
        late = statistics.median(values[-quarter:])
        print(f"{name}: {early:,.1f} in the second quarter, {late:,.1f} in the last (medians).")
        is_more |= late > early * most
    return is_more


def main() -> int:
    """Run the session."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    documents = texts()
    print(
        f"{len(documents)} files, seed {arguments.seed}, Python {platform.python_version()}, "
        f"load {os.getloadavg()[0]:.1f}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        is_well = soak(documents, arguments.edits, random.Random(arguments.seed), Path(folder))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
