"""A custom metric or task, one that the benchmark does not have, as a row of a page: shown, never ranked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CustomRow:
    """One custom metric on one dataset, in one category of it."""

    key: str
    version: str
    label: str
    unit: str
    higher_is_better: bool
    definition: str
    origin: str
    """Distribution with its version, or name of a file."""
    dataset: str
    category: str
    mean: float | None
    low: float | None
    """Ends of the 95 % interval of the mean; None for fewer than two clusters of clips."""
    high: float | None
    n: int
    """Clips with a value."""
    undefined: int
    failed: int


@dataclass(frozen=True, slots=True)
class CustomTaskRow:
    """One figure of a task that the board does not ship, on one dataset."""

    key: str
    label: str
    unit: str
    higher_is_better: bool
    decimals: int
    dataset: str
    chat: str
    """Model that answered."""
    prompt: str
    """SHA-256 of the prompt's templates; '' where it is not stated."""
    task: str
    """SHA-256 of the definition."""
    version: str
    reference: float | None
    """On the original sound, the ceiling."""
    resynthesis: float | None
    loss: float | None
    n: int
    left_out: int
    failed: int

    @property
    def numbers(self) -> list[str]:
        """Return ceiling, value and loss as text."""
        shown = (self.reference, self.resynthesis, self.loss)
        return ["–" if value is None else f"{value:.{self.decimals}f}" for value in shown]


@dataclass(frozen=True, slots=True)
class ListedTask:
    """The main figure of a custom task, in the list of all submissions."""

    row: CustomTaskRow
    codec: str
    """Its title."""
    submission: str
    source: str
    """Who says so."""
