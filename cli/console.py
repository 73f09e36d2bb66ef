"""Terminal output: progress, tables, JSON and messages. Progress and messages go to stderr, results to stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.table import Table

    from codec_superb.data_manifests.progress import ProgressUpdate as Step

EVERY_SECONDS = 10.0
LOOK_SECONDS, LOOK_SHARE = 1.0, 0.02
"""Least time between two looks at a board, and the largest share of the time that they may take."""
ROOM_FOR_BARS = 4
"""Lines of a terminal that a board leaves to the bar of the step, those of finished ones being hidden meanwhile."""
LEAST_FOLDED = 30
"""Smallest width in characters of a column that wraps."""
MEGABYTE = 1_000_000


def stderr() -> Console:
    """Return the console for progress and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def note(text: str) -> None:
    """Print a message to stderr."""
    # soft_wrap: rich breaks lines at 80 columns where there is no terminal; markup: [..] in a name would be a style
    stderr().print(text, soft_wrap=True, markup=False)


def print_prose(text: str) -> None:
    """Print a paragraph to stdout: on a terminal broken to the indent of each line, elsewhere as it is."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        print(text)
        return
    for line in text.split("\n"):
        words = line.lstrip()
        console.print(Padding(Text(words), (0, 0, 0, len(line) - len(words)), expand=False))


def print_json(data: object) -> None:
    """Write strict JSON (RFC 8259) to stdout; NaN and Infinity, which it does not have, raise ValueError."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=_plain) + "\n")


def _plain(value: object) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"expected plain data for JSON, got {type(value).__name__}")


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers_from: int = 1,
    spare: Sequence[str] = (),
    folds: bool = False,
) -> None:
    """Print a table without truncated cells; columns from ``numbers_from`` on are aligned to the right.

    Where it is wider than the terminal, the columns ``spare`` are omitted, the last first, and named below; with
    ``folds`` the last column wraps. Without a terminal all columns are printed.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    cells = [tuple(columns), *map(tuple, rows)]
    room = console.width if console.is_terminal else sys.maxsize
    left_out = _spared(cells, spare, room)
    kept = [index for index, column in enumerate(columns) if column not in left_out]
    table = Table(
        title=escape(title) or None, title_justify="left", title_style="bold", header_style="bold", box=None,
        pad_edge=False, show_header=any(columns),
    )  # fmt: skip
    for index in kept:
        last = folds and index == kept[-1]
        align: Literal["left", "right"] = "right" if index >= numbers_from else "left"
        table.add_column(escape(columns[index]), justify=align, no_wrap=not last, overflow="fold")
    for row in cells[1:]:
        table.add_row(*(escape(row[index]) for index in kept))
    needed = _width(cells, kept[:-1] if folds else kept) + (LEAST_FOLDED if folds else 0)
    console.width = max(min(room, _width(cells, kept)), needed, len(title))
    with console.capture() as capture:
        console.print(table)
    # rich fills each line with blanks up to the width of the table
    sys.stdout.write("\n".join(line.rstrip() for line in capture.get().split("\n")))
    if left_out:
        typer.echo(f"no space for {', '.join(left_out)}: widen the terminal, or add --json")


def _spared(cells: Sequence[Sequence[str]], spare: Sequence[str], room: int) -> list[str]:
    """Choose the columns to omit so that the others fit into ``room`` characters."""
    left_out: list[str] = []
    for column in reversed(spare):
        if _width(cells, [index for index, name in enumerate(cells[0]) if name not in left_out]) <= room:
            break
        left_out.insert(0, column)
    return left_out


def _width(cells: Sequence[Sequence[str]], kept: Sequence[int]) -> int:
    """Width in characters of a line without truncation, with two characters of padding between columns."""
    from rich.cells import cell_len  # a Chinese character takes two columns of a terminal

    return sum(max(cell_len(part) for row in cells for part in row[index].split("\n")) + 2 for index in kept) - 2


class Board(Protocol):
    """Something that changes while work goes on, shown with its progress."""

    def refresh(self) -> None:
        """Look for what is new."""
        ...

    def table(self, height: int) -> Table | None:
        """Return it as a table of at most ``height`` lines, for a terminal; None while there is nothing to show."""
        ...

    def lines(self) -> Sequence[str]:
        """Return it as plain lines."""
        ...


class TerminalProgress:
    """Progress bars with rate and remaining time on a terminal; otherwise a plain line every ten seconds."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = stderr()
        self._quiet = quiet
        self._board: Board | None = None
        self._due = 0.0
        self._bars = None if quiet or not self._console.is_terminal else _make_bars(self._console, self._table)
        self._task: Any = None
        self._label, self._total, self._done = "", 0, 0
        self._began = self._spoke = time.monotonic()
        self._began_with = 0

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last state of each bar on the screen."""
        self.watch(None)
        if self._bars is not None:
            self._bars.stop()

    def watch(self, board: Board | None) -> None:
        """Show ``board`` above the bars, or in lines after those of the progress; None takes it away."""
        self._board, self._due = board, 0.0

    def _refresh(self, now: float) -> None:
        """Look at the board where that is due: work is not held up by more than a fiftieth."""
        if self._board is not None and now >= self._due:
            self._board.refresh()
            after = time.monotonic()
            self._due = after + max(LOOK_SECONDS, (after - now) / LOOK_SHARE)

    def _table(self) -> Table | None:
        board = self._board  # the thread that draws calls this, and another takes the board away
        return None if board is None else board.table(self._console.height - ROOM_FOR_BARS)

    def start(self, label: str, total: int, done: int = 0) -> None:
        """Begin a step of ``total`` items, 0 if nobody knows, of which ``done`` were finished before."""
        self._label, self._total, self._done, self._began_with = label, total, done, done
        self._began = self._spoke = time.monotonic()
        if self._bars is not None:
            from rich.markup import escape

            self._task = self._bars.add_task(escape(label), total=total or None, completed=done)
        elif not self._quiet and done < total:
            self._line(f"{label}: {total - done} to do" + (f", {done} done before" if done else ""))

    def advance(self, count: int = 1) -> None:
        """Count finished items."""
        self._done += count
        now = time.monotonic()
        if self._bars is not None:
            self._refresh(now)
            self._bars.advance(self._task, count)
            return
        if not self._quiet and (now - self._spoke >= EVERY_SECONDS or self._done >= self._total > 0):
            self._spoke = now
            self._line(self._state(now))
            self._refresh(now)
            for line in () if self._board is None else self._board.lines():
                self._line(line)

    def _state(self, now: float) -> str:
        rate = (self._done - self._began_with) / max(now - self._began, 1e-9)
        if not self._total:
            return f"{self._label}: {self._done}, {rate:.1f}/s"
        left = (self._total - self._done) / rate if rate > 0 else 0.0
        return f"{self._label}: {self._done}/{self._total}, {rate:.1f}/s, {left:.0f} s left"

    def message(self, text: str) -> None:
        """Print a message above the bar."""
        if not self._quiet:
            self._line(text)

    def _line(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False)


def _make_bars(console: Console, above: Callable[[], Table | None]) -> Progress:
    """Make bars with a task's label, its items and their rate, and the time that is left, below what changes."""
    from rich import progress
    from rich.text import Text

    class Rate(progress.ProgressColumn):
        """Items per second since the step began."""

        def render(self, task: progress.Task) -> Text:
            """Return the rate, or nothing before there is one."""
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    class Bars(progress.Progress):
        """The bars, and what stands above them at that moment."""

        def get_renderables(self) -> Iterable[RenderableType]:
            """Return both."""
            table = above()
            if table is None:
                return [self.make_tasks_table(self.tasks)]
            return [table, self.make_tasks_table([task for task in self.tasks if not task.finished])]

    return Bars(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        Rate(),
        progress.TimeRemainingColumn(),
        console=console,
        refresh_per_second=4,  # a table of 17 lines takes 5 ms to draw
    )


class DatasetProgress:
    """Shows the steps of preparing, indexing and checking a dataset on the same bars."""

    LABELS = MappingProxyType({
        "download": "downloading, MB", "unpack": "unpacking, MB", "cut": "cutting clips", "check": "checking clips",
    })  # fmt: skip
    BYTES = frozenset({"download", "unpack"})

    def __init__(self, progress: TerminalProgress) -> None:
        self._progress = progress
        self._stage = ("", "")
        self._done = 0

    def __call__(self, step: Step) -> None:
        """Show the progress of a step; what is fetched or unpacked has a bar of its own for each file."""
        scale = MEGABYTE if step.stage in self.BYTES else 1
        total = -(-step.total // scale)
        done = total if step.done >= step.total > 0 else step.done // scale
        stage = (step.stage, step.item if step.stage in self.BYTES and step.alone else "")
        if stage != self._stage or done < self._done:
            self._stage, self._done = stage, 0
            label = self.LABELS.get(step.stage, step.stage)
            self._progress.start(f"{stage[1]}: {label}" if stage[1] else label, total)
        if done > self._done:
            self._progress.advance(done - self._done)
            self._done = done
