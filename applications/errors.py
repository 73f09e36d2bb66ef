"""Errors of applications: each text says what was expected, what came, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_FEW = 60
"""Names that are told at once; there are hundreds of figures."""


class ApplicationError(Exception):
    """Base of every error of this package that a user can act on; its text is shown without a traceback."""


class UnknownApplication(ApplicationError):
    """No application or probe has this name; the text names near matches, or all that exist where they are few."""

    def __init__(self, name: str, known: Iterable[str], kind: str = "application") -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        there = (
            f"There are: {', '.join(names)}."
            if len(names) <= _FEW
            else f"There are {len(names)}: `codec-superb applications --json` lists them."
        )
        super().__init__(f"There is no {kind} {name!r}.{hint} {there}")


class MissingPackage(ApplicationError):
    """A backend's packages are not installed; the text is the command that installs them."""


class MissingModel(ApplicationError):
    """A model is not installed and cannot be fetched; the text names what to download, where to put it, and how."""


class ModelUnusable(ApplicationError):
    """The model's process dies on several clips in a row; the run stops, finished clips are kept."""


class MissingLabels(ApplicationError):
    """The dataset has none of the labels that the probe needs; raised before any model is loaded."""


class OutOfMemory(ApplicationError):
    """The batch did not fit; the caller halves it and goes on."""


class PredictionFailed(ApplicationError):
    """The model cannot answer for this clip, which counts as failed."""


class AnswerBroken(PredictionFailed):
    """What came for this clip is no answer, as of a proxy in a server's place; the next call asks again."""
