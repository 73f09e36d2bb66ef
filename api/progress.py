"""Progress of the Python interface: bars in a notebook and in a terminal, lines elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from codec_superb.cli.console import TerminalProgress

EVERY_S = 0.2
"""Seconds between two states of a bar."""


class NotebookProgress(TerminalProgress):
    """A bar for each step, drawn by the browser, of which the last state stays; needs no widgets."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self._steps: list[str] = []
        self._messages: list[str] = []
        self._drawn = 0.0
        self._handle: Any = None

    def start(self, label: str, total: int, done: int = 0) -> None:
        """Begin a step of ``total`` items of which ``done`` were finished before."""
        super().start(label, total, done)
        self._steps.append("")
        self._draw()

    def advance(self, count: int = 1) -> None:
        """Count finished items."""
        super().advance(count)
        if self._done >= self._total or time.monotonic() - self._drawn > EVERY_S:
            self._draw()

    def message(self, text: str) -> None:
        """Show a message below the bars."""
        self._messages.append(html.escape(text))
        self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        if self._steps:
            bar = f'<progress value="{self._done}" max="{max(self._total, 1)}"></progress>'
            self._steps[-1] = f"{bar} {html.escape(self._state(self._drawn))}"
        notebook: Any = import_module("IPython.display")
        shown = notebook.HTML("<br>".join([*self._steps, *self._messages]))
        if self._handle is None:
            self._handle = notebook.display(shown, display_id=True)
        else:
            self._handle.update(shown)


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this process, which shows what IPython displays."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    # IPython in a terminal has a shell too, without a kernel
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def bars(*, shown: bool) -> Iterator[TerminalProgress]:
    """Give what shows the progress of a call."""
    with NotebookProgress() if shown and in_notebook() else TerminalProgress(quiet=not shown) as progress:
        yield progress
