"""Chooses whose figures of an application are ranked and make a front: those that one model answered, on one dataset.

Ranks and charts have one order, so that one upload by a model of its own takes neither from anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from codec_superb.web.application_rows import parts_of
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.rows import ApplicationRow, BoardRow, ProbeModel
from codec_superb.web.senders import largest, sent, sizes
from codec_superb.web.text import shortened

Kind = TypeVar("Kind")
_DIGITS = 8
_LETTERS = 30
_UNDATED = "~"
"""Behind all dates."""
OTHERWISE = "answered by another model or in another way, or run on another dataset"


class Answered(NamedTuple, Generic[Kind]):
    """A figure: what was asked of which model, and who sends it."""

    kind: Kind
    sender: str
    confirmed: bool
    """Run again here."""
    received: str | None
    codec: str


class Answer(NamedTuple):
    """On which datasets, in which state, which model answered."""

    datasets: tuple[str, ...]
    states: tuple[str | None, ...]
    model: ProbeModel


def most_answered(told: Iterable[Answered[Kind]]) -> Kind:
    """Return the kind of most senders; of as many one that was run again, the first to be public, that of most codecs.

    Where all were run again :func:`largest` chooses, that of the oldest account before others.

    Whoever invents a model, and sends many codecs by it, takes the ranks of nobody who was there before.
    """
    found: dict[Kind, list[Answered[Kind]]] = {}
    for one in told:
        found.setdefault(one.kind, []).append(one)

    def place(kind: Kind) -> tuple[object, ...]:
        its = found[kind]
        return min(one.received or _UNDATED for one in its), -len(its), min(one.codec for one in its)

    if all(one.confirmed for its in found.values() for one in its):
        # by accounts, since who sends a newer version is no younger
        age = {kind: sent((kind, one.sender) for one in its)[kind].first for kind, its in found.items()}
        known = sizes((kind, one.sender, one.codec) for kind, its in found.items() for one in its)
        return largest(known, lambda kind: (age[kind], *place(kind)))
    senders = {kind: len({one.sender for one in its}) for kind, its in found.items()}
    confirmed = {kind for kind, its in found.items() if any(one.confirmed for one in its)}
    return min(found, key=lambda kind: (-senders[kind], kind not in confirmed, *place(kind)))


def answer_of(row: BoardRow, key: str) -> Answer:
    """Say what a row's figure of an application rests on; of a table's the dataset alone."""
    found = row.applications[key]
    if found.published:
        return Answer((found.numbers.dataset,), (), found.model)
    names = tuple(sorted({name for name, _ in parts_of(found.numbers, row.result.summary.datasets)}))
    return Answer(names, tuple(map(row.result.states.get, names)), found.model)


def front_answer(rows: Sequence[BoardRow], key: str) -> Answer | None:
    """Choose what the front of a chart rests on: what a board ranks, else as it would, of complete results first."""
    asked = [row for row in rows if key in row.applications and row.applications[key].value.mean is not None]
    if (ranked := next((row for row in asked if row.result.usual), None)) is not None:
        return answer_of(ranked, key)
    counted = [row for row in asked if not row.result.uncounted] or asked
    whole = [row for row in counted if row.result.summary.complete] or counted
    return most_answered(_answered(row, row.applications[key], key) for row in whole) if whole else None


def _answered(row: BoardRow, found: ApplicationRow, key: str) -> Answered[Answer]:
    sender = row.result.sender or f"codec:{row.result.codec}"
    confirmed = row.source == "verified" and found.run_again is True
    return Answered(answer_of(row, key), sender, confirmed, row.received, row.result.codec)


def beside_front(rows: Sequence[BoardRow], key: str) -> list[BoardRow]:
    """Mark the results that are outside the front since they rest on something else, with the reason."""
    front = front_answer(rows, key)
    if front is None:
        return list(rows)
    labels = model_labels(row.applications[key].model for row in rows if key in row.applications)
    return [
        row if key not in row.applications or answer_of(row, key) == front
        else replace(row, result=replace(row.result, apart=_why(row, key, front, labels)))
        for row in rows
    ]  # fmt: skip


def _why(row: BoardRow, key: str, front: Answer, labels: dict[ProbeModel, str]) -> str:
    own, numbers = answer_of(row, key), row.applications[key].numbers
    if labels[own.model] != labels.get(front.model):
        why = f"answered by {labels[own.model]}; the front is of {labels.get(front.model, front.model.backend)}"
    elif own.model != front.model:
        why = f"{labels[own.model]} was asked in another way"
    else:
        why = "run on other datasets, or another state of them"
    original = numbers.reference.value
    return why if original is None else f"{why}; original sound {APPLICATIONS[key].write(original)}"


def model_labels(models: Iterable[ProbeModel]) -> dict[ProbeModel, str]:
    """Name models for a legend; with the beginning of the hash where a name occurs with more than one."""
    known = list(dict.fromkeys(models))
    names: dict[str, set[str]] = {}
    for model in known:
        names.setdefault(model.backend, set()).add(model.name)
    return {
        model: shortened(model.backend, _LETTERS) + (_hash(model) if len(names[model.backend]) > 1 else "")
        for model in known
    }


def _hash(model: ProbeModel) -> str:
    return f"{' remote' if model.remote else ''} {model.sha256[:_DIGITS] or 'hash not known'}"
