"""Reading the source map of a built kernel, for the tests of it."""

from dataclasses import dataclass
from pathlib import Path

from tirx_lens.compile.result import BuildResult, KernelResult, MapEntry, Via

BRACES = ("}", "} else {")


@dataclass(frozen=True)
class Mapped:
    """A kernel with its map, asked by CUDA line or by Python line."""

    kernel: KernelResult

    @property
    def lines(self) -> list[str]:
        return self.kernel.cuda.split("\n")

    @property
    def entries(self) -> dict[int, MapEntry]:
        return {entry.cuda_line: entry for entry in self.kernel.map}

    def body(self) -> list[int]:
        """The numbers of the lines inside the kernels' braces that hold code."""
        inside, found = False, []
        for number, line in enumerate(self.lines, 1):
            if "__global__" in line and line.endswith("{"):
                inside = True
            elif line == "}":
                inside = False
            elif inside and line.strip() and line.strip() not in BRACES:
                found.append(number)
        return found

    def coverage(self) -> float:
        body = self.body()
        return sum(number in self.entries for number in body) / len(body)

    def python_lines(self, file: Path) -> set[int]:
        """The lines of a file that some CUDA line came from, or was called from."""
        return {
            line
            for entry in self.kernel.map
            for frame in entry.frames
            if frame.file == str(file)
            for line in range(frame.line, frame.end_line + 1)
        }

    def stack(self, part: str) -> list[str]:
        """The frames of the one CUDA line that has a part, as `file:line` from the outermost in."""
        (number,) = [n for n in self.body() if part in self.lines[n - 1]]
        return spelled(self.entries[number])

    def stacks(self, part: str) -> list[list[str]]:
        """The frames of each CUDA line that has a part."""
        return [spelled(self.entries[n]) for n in self.body() if part in self.lines[n - 1]]


def spelled(entry: MapEntry) -> list[str]:
    """Return `name:line` of each frame, `name:first-last` where it has several lines."""
    return [
        f"{Path(frame.file).stem}:{frame.line}"
        + (f"-{frame.end_line}" if frame.end_line != frame.line else "")
        for frame in entry.frames
    ]


def mapped(result: BuildResult) -> Mapped:
    """Return the one kernel of a build that went well, with a map that is sound in itself."""
    assert not result.diagnostics, result.diagnostics
    (kernel,) = result.kernels
    numbers = [entry.cuda_line for entry in kernel.map]
    assert numbers == sorted(set(numbers))
    assert all(entry.frames for entry in kernel.map)
    return Mapped(kernel)


def guesses(kernel: Mapped) -> int:
    """Return how many lines have the place of a neighbour."""
    return sum(entry.via.is_guess for entry in kernel.kernel.map if entry.via is not Via.DEFINITION)
