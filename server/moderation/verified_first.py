"""Which of several verified results of a name that nobody owns, under one condition, stands for it on the board.

What was run again is true, whoever sent it: the one that says more stands, not the one that came last.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from sqlalchemy import distinct, func, select, update
from sqlalchemy.orm import Session

from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.verification.statement import SAMPLES
from codec_superb.server.database.models import Codec, Result, Submission
from codec_superb.server.database.run_again import not_run_again
from codec_superb.server.names.standing import place_reported

Probe = tuple[str, str, str, str, str]
"""Dataset, probe, model, hash of the model, settings: figures of other models or settings take none's place."""


_MOST_ORDERED = 20
"""Accounts behind each other whose order is kept; it costs the cube of them."""


class Verified(NamedTuple):
    """A verified submission, by what it has."""

    id: str
    version: int
    account: int | str
    """An anonymous upload is its own: nobody knows of whom."""
    whole: bool
    """Complete; under a condition also where clips failed that were asked for, since damage makes clips fail."""
    ok: int
    datasets: Mapping[str, str]
    """Names and states."""
    metrics: Mapping[str, str]
    """Keys and versions of definitions."""
    probes: Mapping[Probe, str] = {}
    """Those that were run again, and versions of their definitions."""
    samples: Collection[tuple[str, str]] = frozenset()
    """Datasets and clips that can be heard as the coder of samples makes them here."""
    lacks: tuple[int, int] = (0, 0)
    """Categories without an overall score, and usual metrics of its categories that nobody computed."""
    senders: tuple[int, int] = (0, 0)
    """Accounts with verified complete results on that of its datasets which most have, and how old the oldest is: its
    number, negated."""


def stands(group: Sequence[Verified]) -> Verified:
    """Choose from the verified results of one name under one condition.

    Of an account the newest. Then whatever another one covers falls out; of those that cover each other a newer state
    of a dataset or version of a definition goes first. Of those that neither covers, a complete one goes before a
    partial one, then one with the overall scores and the usual metrics before one without, then that with the dataset
    on which most accounts have verified complete results; of partial ones that with more clips; then that of which more
    clips can be heard; then the first one.
    """
    newest = {one.account: one for one in sorted(group, key=lambda one: one.version)}.values()
    best = [one for one in newest if not any(_has_more(other, one) for other in newest)]
    return reduce(lambda one, other: _first_of(one, other, group), best)


def order(group: Sequence[Verified]) -> list[Verified]:
    """Order the verified results of one name under one condition: the one that stands, then the one that would without.

    So whoever is behind another one for what that has more is in front of all whom he was in front of before. Versions
    that their account has replaced have no place, nor has what comes behind many others.
    """
    found: list[Verified] = []
    left = list(group)
    while left and len(found) < _MOST_ORDERED:
        found.append(stands(left))
        left = [one for one in left if one.account != found[-1].account]
    return found


def _covers(one: Verified, other: Verified) -> bool:
    """Whether nothing that is on the board is lost where ``one`` takes the place of ``other``."""
    return (
        one.datasets.keys() >= other.datasets.keys()
        and one.metrics.keys() >= other.metrics.keys()
        and one.probes.keys() >= other.probes.keys()
        and set(one.samples) >= set(other.samples)
        and (one.whole or (not other.whole and one.ok >= other.ok))
    )


def _has_more(one: Verified, other: Verified) -> bool:
    return _covers(one, other) and not _covers(other, one)


def _since(one: Verified, other: Verified, group: Sequence[Verified]) -> int:
    """Return since which version an account has something that ``other`` has not outdone, and has it still.

    So who sends again goes behind nobody, and who was outdone is in front of nobody for having been there.
    """
    own = (each for each in group if each.account == one.account)
    return min(each.version for each in own if _covers(one, each) and not _has_more(other, each))


def _first_of(one: Verified, other: Verified, group: Sequence[Verified]) -> Verified:
    """Choose from two, neither of which has all of the other and more."""
    early, late = (one, other) if _since(one, other, group) < _since(other, one, group) else (other, one)
    if _covers(early, late):
        same = (early.datasets, early.metrics, early.probes) == (late.datasets, late.metrics, late.probes)
        return early if same else max(early, late, key=lambda one: one.version)
    for whole, partial in ((early, late), (late, early)):
        if whole.whole and not partial.whole:
            return whole
    if early.lacks != late.lacks:
        return min(early, late, key=lambda one: one.lacks)
    if early.senders != late.senders:
        return max(early, late, key=lambda one: one.senders)
    if not (early.whole or late.whole) and early.ok != late.ok:
        return max(early, late, key=lambda one: one.ok)
    return late if len(late.samples) > len(early.samples) else early


def hold_name(session: Session, submission: Submission) -> None:
    """Keep others from a verdict about the same name until the transaction ends: each has to see the one before.

    Called before a submission's row is changed, since :func:`place_anew` changes those of others.
    """
    session.execute(select(Codec.id).where(Codec.id == submission.codec_id).with_for_update(key_share=True))


def place_anew(session: Session, submission: Submission, before: str, *, accepted: bool = False) -> Collection[str]:
    """Choose which stands, where a submission that was ``before`` became public, is no longer, or is run again.

    Return the ids of those whose place changed. A name with an owner has nothing to choose: its newest one stands.
    ``accepted`` by a moderator, it goes in front of what nobody looked at.
    """
    if submission.codec.owner_id is not None or submission.custom:
        return ()
    was = submission.place if before == "self-reported" else None
    moved: list[str] = []
    if "verified" in (before, submission.status):
        moved = _placed(session, submission, _places_of_verified(session, submission))
    # these need to know which verified one stands
    return [*moved, *_placed(session, submission, place_reported(session, submission, was=was, accepted=accepted))]


def _places_of_verified(session: Session, submission: Submission) -> Mapping[str, int]:
    rows = session.execute(
        select(
            Submission.id, Submission.version, Submission.account_id, Submission.complete, Submission.ok,
            Submission.metrics, Submission.document["datasets"].label("datasets"),
            Submission.document["samples"].label("samples"),
        )
        .where(Submission.codec_id == submission.codec_id, Submission.condition == submission.condition)
        .where(Submission.status == "verified", Submission.custom.is_(False))
    ).all()  # fmt: skip
    ordered = order(_read(session, rows, damaged=submission.condition != ""))
    places = {submission.id: 0, **dict.fromkeys((row.id for row in rows), len(ordered))}  # it may be verified no longer
    return places | {one.id: place for place, one in enumerate(ordered)}


def _placed(session: Session, submission: Submission, places: Mapping[str, int]) -> list[str]:
    """Write down places, and return whose is another one now."""
    found = select(Submission.id, Submission.place, Submission.behind)
    # not by their ids, which may be more than a statement takes
    found = found.where(Submission.codec_id == submission.codec_id, Submission.condition == submission.condition)
    before = {row.id: (row.place, row.behind) for row in session.execute(found)}
    moved = [identity for identity, place in places.items() if (place, place > 0) != before[identity]]
    for identity in moved:
        told = {"place": places[identity], "behind": places[identity] > 0}
        session.execute(update(Submission).where(Submission.id == identity).values(told))
    return moved


def _read(session: Session, rows: Sequence[Any], *, damaged: bool) -> list[Verified]:
    own_word = not_run_again(session, {row.id: row.datasets for row in rows})
    senders = _senders(session, {part["name"] for row in rows for part in row.datasets}) if len(rows) > 1 else {}
    lacks = _lacks(session, rows) if len(rows) > 1 else {}
    return [
        _of(row, own_word.get(row.id, ()), senders, damaged=damaged)._replace(lacks=lacks.get(row.id, (0, 0)))
        for row in rows
    ]


def _of(
    row: Any, own_word: Collection[tuple[str, str]], senders: Mapping[str, tuple[int, int]], *, damaged: bool
) -> Verified:
    cut = any(part["selected"] < part["clips"] for part in row.datasets)
    return Verified(
        id=row.id,
        version=row.version,
        account=row.id if row.account_id is None else row.account_id,
        whole=not cut if damaged else row.complete,
        ok=row.ok,
        datasets={part["name"]: part["manifest_hash"] for part in row.datasets},
        metrics=row.metrics,
        probes={
            (part["name"], *_run(probe)): probe["version"]
            for part in row.datasets
            for probe in part.get("probes", ())
            if (part["name"], probe["probe"]) not in own_word
        },
        samples={
            (sample["dataset"], sample["clip"])
            for sample in row.samples or ()
            if (sample["dataset"], SAMPLES) not in own_word
        },
        senders=max((senders.get(part["name"], (0, 0)) for part in row.datasets), default=(0, 0)),
    )


def _lacks(session: Session, rows: Sequence[Any]) -> Mapping[str, tuple[int, int]]:
    """Count the categories of each without an overall score, and the usual metrics that it lacks."""
    unscored: dict[str, int] = defaultdict(int)
    usual: dict[str, set[str]] = defaultdict(set)
    found = select(Result.submission_id, Result.category, Result.score)
    for identity, category, score in session.execute(
        found.where(Result.submission_id.in_([row.id for row in rows]), Result.dataset == "")
    ):
        unscored[identity] += score is None
        usual[identity].update(
            key for key, metric in METRICS.items() if metric.default and category in metric.categories
        )
    return {row.id: (unscored[row.id], len(usual[row.id] - row.metrics.keys())) for row in rows}


def _run(probe: Mapping[str, Any]) -> tuple[str, str, str, str]:
    settings = json.dumps(probe.get("settings", {}), sort_keys=True)
    return probe["probe"], probe["backend"], probe["model_sha256"], settings


def _senders(session: Session, datasets: Collection[str]) -> Mapping[str, tuple[int, int]]:
    """Count the accounts with verified complete results on each dataset, and name the oldest; clean ones are ranked.

    Those of now: a verdict about another name has nothing chosen anew here.
    """
    found = (
        select(Result.dataset, func.count(distinct(Submission.account_id)), func.min(Submission.account_id))
        .join(Submission, Submission.id == Result.submission_id)
        .where(Submission.status == "verified", Submission.custom.is_(False), Submission.condition == "")
        .where(Result.complete, Result.dataset.in_(datasets))
        .group_by(Result.dataset)
    )
    return {dataset: (accounts, -(oldest or 0)) for dataset, accounts, oldest in session.execute(found)}
