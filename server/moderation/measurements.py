"""Doubts about figures of applications by what others found with the same model: what does not depend on the codec.

How many clips have no label, how many words were said and how the model answers to the originals follow from dataset,
probe and model. Whoever changes them chooses among the clips, or lowers the loss.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from math import inf
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session

from codec_superb.applications.results import NEAR_SHARE, is_near
from codec_superb.applications.table import PROBE_METRICS, PROBES, near_of
from codec_superb.base_codec.card import Card
from codec_superb.server.database.models import COUNTED, Result, Submission
from codec_superb.server.database.run_again import not_run_again
from codec_superb.server.moderation.answers_too_good import Rival, too_good
from codec_superb.server.moderation.neighbours import FEWEST_EQUAL
from codec_superb.server.moderation.token_doubts import Sent, is_of_tokens, sent_of, token_doubts
from codec_superb.web.text import significant

MOST = 30
"""Other results of a figure that are looked at, verified ones and new ones first; each account has one vote."""
_MOST_READ = 300
"""Submissions with any figure of an application that are read for them."""
AGREEING = 2
"""Accounts, or results that were run again, that must agree before another one waits: one alone speaks for itself,
since ``verify`` may miss one clip of hundreds. A confirmed result has the weight of as many accounts."""
ENOUGH = 3
"""Accounts that must agree before another one is thought wrong, where fewer results than two were run again."""
ORIGINALS, LABELS = "originals", "labels"
"""Kinds of doubts. A run settles the first: it finds the value on the originals itself, within limits that may be wider
than the distance of those of others, while labels are the dataset's."""
Figure = Mapping[str, Any]
Said = TypeVar("Said", bound=Hashable)
Found = TypeVar("Found")
Key = tuple[str, str, str]
"""Dataset, figure, and how it was measured."""


Voter = tuple[str | None, int | None]
"""A submission of which a figure was run again, or an account."""


class Doubt(NamedTuple):
    """A figure that does not fit those of other accounts, or verified ones."""

    dataset: str
    text: str
    holds: bool = True
    kind: str = "application"


def measurement_doubts(session: Session, submission: Submission) -> Iterator[Doubt]:
    """Yield them; what one account alone says otherwise is a remark."""
    own = _figures(submission.document)
    if submission.custom or not own:
        return
    sent, card = sent_of(submission.results), Card.model_validate(submission.card)
    backends = {
        (dataset["name"], info["probe"]): info["backend"]
        for dataset in submission.document["datasets"] for info in dataset.get("probes", ())
    }  # fmt: skip
    for key, figure in sorted(own.items()):
        yield from (Doubt(key[0], text) for text in token_doubts(figure, sent.get(key[0], Sent()), card))
        yield from (Doubt(key[0], text) for text in _beyond(figure, backends[key[0], figure["probe"]]))
    if card.codebooks is None and (asked := sorted({key[:2] for key in own if is_of_tokens(key[1])})):
        yield Doubt(asked[0][0], f"{asked[0][1]}: the card of {submission.codec.name} has no codebooks")
    others = _others(session, submission, own)
    yield from _same_tokens(own, others)
    votes, rivals = _by_voter(others, _rates(session, [other.identity for other in others]))
    if card.kind != "lossless":
        for key, figure in sorted(own.items()):
            if not is_of_tokens(key[1]):
                rate = sent.get(key[0], Sent()).kbps
                yield from (Doubt(key[0], text) for text in too_good(figure, rate, [*rivals[key].values()]))
    found = (
        Doubt(key[0], *told)
        for key, figure in sorted(own.items())
        for told in _differences(figure, [*votes[key].values()], whole=submission.complete)
    )
    yield from dict.fromkeys(found)  # all figures of a probe have the same clips


class _Vote(NamedTuple):
    """What another submission says of a figure."""

    figure: Figure
    submission: str
    confirmed: bool
    """By a moderator, or run again."""
    account: int | None
    voter: Voter
    whole: bool
    """Of a complete submission."""

    @property
    def weight(self) -> int:
        """As how many accounts it counts."""
        return weight_of(confirmed=self.confirmed)


class _Other(NamedTuple):
    """A public submission that measured something in the same way."""

    identity: str
    kind: str
    votes: Mapping[Key, _Vote]


def _others(session: Session, submission: Submission, own: Collection[Key]) -> list[_Other]:
    """Read submissions until :data:`MOST` have each of the keys; most of a board's have no such figure, or none."""
    found: list[_Other] = []
    missing, heard = Counter(dict.fromkeys(own, MOST)), set[tuple[Key, Voter]]()
    # a document has up to megabytes: no more of them at a time
    with closing(session.execute(_with_figures(submission), execution_options={"yield_per": 10})) as rows:
        for some in rows.partitions():
            # the attestation of a verified one may not cover its figures of applications
            not_again = not_run_again(session, {row.id: row.datasets for row in some if row.verified})
            for row in some:
                votes = _votes(row, not_again.get(row.id, ()), submission)
                wanted = {key: vote for key, vote in votes.items() if missing[key] > 0}
                if wanted:
                    # verified ones stand in front: many of an account that were not run again are its one vote
                    again = {key for key, vote in wanted.items() if row.verified and (key, vote.voter) in heard}
                    missing -= Counter(wanted.keys() - again)
                    heard |= {(key, vote.voter) for key, vote in wanted.items()}
                    found.append(_Other(row.id, row.kind, wanted))
                if not missing:
                    return found
    return found


def _with_figures(submission: Submission) -> Any:
    same = select(Result.submission_id).where(Result.dataset.in_([d["name"] for d in submission.document["datasets"]]))
    of_others = or_(Submission.account_id.is_distinct_from(submission.account_id), Submission.status == "verified")
    verified = case((Submission.status == "verified", Submission.id), else_=None)
    account = case((Submission.status == "verified", None), else_=Submission.account_id)
    confirmed = or_(Submission.status == "verified", Submission.decided_by.is_not(None))
    newest = case((confirmed, 0), else_=1), Submission.received.desc()
    # the newest of each account, then the second: whoever sends many is not in front of others
    turn = func.row_number().over(partition_by=(verified, account), order_by=newest)
    return (
        select(
            Submission.id, Submission.account_id, verified.label("verified"), confirmed.label("confirmed"),
            Submission.card["kind"].as_string().label("kind"), Submission.document["datasets"].label("datasets"),
            Submission.document["applications"].label("applications"), Submission.complete.label("complete"),
        )
        .where(COUNTED, of_others, Submission.codec_id != submission.codec_id, Submission.id.in_(same))
        .where(Submission.document["applications"].as_string() != "[]")
        .order_by(case((Submission.status == "verified", 0), (confirmed, 1), else_=2), turn, *newest)
        .limit(_MOST_READ)
    )  # fmt: skip


def _votes(row: Any, not_again: Collection[tuple[str, str]], submission: Submission) -> dict[Key, _Vote]:
    """Return what a submission says; what nobody ran again of a verified one is its account's word."""
    found = {}
    for key, figure in _figures({"datasets": row.datasets, "applications": row.applications}).items():
        if row.verified is None:
            found[key] = _Vote(
                figure, row.id, bool(row.confirmed), row.account_id, (None, row.account_id), row.complete
            )
        elif (key[0], figure["probe"]) not in not_again:
            found[key] = _Vote(figure, row.id, True, row.account_id, (row.id, None), row.complete)
        elif row.account_id != submission.account_id:
            found[key] = _Vote(figure, row.id, False, row.account_id, (None, row.account_id), row.complete)
    return found


def _by_voter(
    others: Sequence[_Other], rates: Mapping[tuple[str, str], float | None]
) -> tuple[Mapping[Key, Mapping[Voter, _Vote]], Mapping[Key, Mapping[Voter, Rival]]]:
    """Count each voter once for a figure, by what was confirmed of it."""
    votes: dict[Key, dict[Voter, _Vote]] = defaultdict(dict)
    rivals: dict[Key, dict[Voter, Rival]] = defaultdict(dict)
    for other in others:
        for key, vote in other.votes.items():
            if vote.confirmed > votes[key].setdefault(vote.voter, vote).confirmed:
                votes[key][vote.voter] = vote
            if (kbps := rates.get((other.identity, key[0]))) and other.kind != "lossless":
                rivals[key].setdefault(vote.voter, Rival(kbps, vote.figure))
    return votes, rivals


def _rates(session: Session, identities: Sequence[str]) -> dict[tuple[str, str], float | None]:
    """Return the bitrate of submissions on each of their datasets."""
    found = select(Result.submission_id, Result.dataset, Result.kbps).where(Result.submission_id.in_(identities))
    return {(identity, dataset): kbps for identity, dataset, kbps in session.execute(found.order_by(Result.kbps))}


def _figures(document: Mapping[str, Any]) -> dict[Key, Figure]:
    """Return the figures of all clips of a dataset, by what makes two of them the same measurement."""
    measured: dict[tuple[str, str], str] = {}
    for dataset in document["datasets"] or ():
        for info in dataset.get("probes", ()):
            model = info["model_sha256"] or info["backend"]  # one that was asked elsewhere has its name alone
            conditions = [dataset["manifest_hash"], info["version"], model, info.get("settings", {})]
            measured[dataset["name"], info["probe"]] = json.dumps(conditions, sort_keys=True)
    return {
        (entry["dataset"], entry["figure"], how): entry
        for entry in document["applications"] or ()
        if not entry.get("slice") and (how := measured.get((entry["dataset"], entry["probe"]))) is not None
    }


def _beyond(figure: Figure, backend: str) -> Iterator[str]:
    """Doubt what no codec has, which would leave a chart no room for the others."""
    metric, probe = PROBE_METRICS.get(figure["figure"]), PROBES.get(figure["probe"])
    usual = inf if metric is None else metric.usual
    if metric is not None and probe is not None and backend != probe.backend:
        usual *= metric.others
    for side in ("resynthesis", "reference"):
        value = figure[side]["value"]
        if value is not None and value > usual:
            yield f"{figure['figure']}: {significant(value)} on the {side}; codecs have up to {usual:g}"


def _same_tokens(own: Mapping[Key, Figure], others: Sequence[_Other]) -> Iterator[Doubt]:
    """Remark on datasets on which half of the figures of tokens, two or more, are another's to the last digit.

    What is as on the originals, or nothing, may be so of any two codecs.
    """
    mine = {key: figure["resynthesis"]["value"] for key, figure in own.items() if is_of_tokens(key[1])}
    told = {key: value for key, value in mine.items() if value not in (None, 0.0, own[key]["reference"]["value"])}
    of_all = Counter(key[0] for key in told)
    for other in others:
        there = {key: vote.figure["resynthesis"]["value"] for key, vote in other.votes.items()}
        for dataset, number in Counter(key[0] for key, value in told.items() if there.get(key) == value).items():
            if number >= FEWEST_EQUAL and 2 * number >= of_all[dataset]:
                whose = f"those of {other.identity} to the last digit: copied, or of the same encoder"
                yield Doubt(dataset, f"figures of tokens are {whose}", holds=False)


def _differences(own: Figure, votes: Sequence[_Vote], *, whole: bool) -> Iterator[tuple[str, bool, str]]:
    """Compare with what most of the others found who asked about as many clips; yield text, whether it holds, and kind.

    Complete ones asked about all: where nobody asked about as many, another number is a choice of clips.

    Where two are confirmed those alone are asked, and hold; else it is a remark: two accounts whose codecs nobody can
    run would hold everybody. Nor does one alone, though confirmed: whoever sends first would decide what others find.
    """
    alike = [vote for vote in votes if _asked(vote.figure) == _asked(own)]
    votes = alike or [vote for vote in votes if whole and vote.whole]
    sure = [vote for vote in votes if vote.confirmed]
    holds = _speakers(sure) >= AGREEING
    votes = sure if holds else votes
    if not votes:
        return
    usual, agreeing = _usual(own["left_out"], votes, [vote.figure["left_out"] for vote in votes])
    if own["left_out"] != usual:
        text = f"{own['probe']}: {own['left_out']} clips without a label, {usual} {_whose(agreeing)}"
        yield text, holds and _are_enough(agreeing, votes), LABELS
        return
    # the words of failed clips are not counted, and which clips fail may differ
    heard = [] if own["failed"] else [vote for vote in votes if not vote.figure["failed"]]
    for unit in ("words", "characters") if heard else ():
        mine = own["totals"].get(unit)
        said, agreeing = _usual(mine, heard, [vote.figure["totals"].get(unit) for vote in heard])
        if mine != said:
            text = f"{own['probe']}: {mine or 0:g} {unit} in the labels, {said or 0:g} {_whose(agreeing)}"
            yield text, holds and _are_enough(agreeing, heard), LABELS
    ceiling = None if is_of_tokens(own["figure"]) else own["reference"]["value"]
    votes = [vote for vote in votes if vote.figure["reference"]["value"] is not None]
    if ceiling is None or not votes:
        return
    if 2 * _weight([vote for vote in votes if _agrees(own, ceiling, vote.figure)]) < _weight(votes):
        value = middle([(vote.figure["reference"]["value"], vote.weight, vote) for vote in votes]).figure["reference"]
        least = near_of(own["figure"])
        agreeing = [vote for vote in votes if is_near(value["value"], vote.figure["reference"], least=least)]
        told = f"{significant(ceiling)} on the originals, {significant(value['value'])} with the same model"
        enough = holds and _are_enough(agreeing, votes)
        yield f"{own['figure']}: {told} {_whose(agreeing)}", enough, ORIGINALS


def _agrees(own: Figure, ceiling: float, other: Figure) -> bool:
    """Whether a value on the originals is another's: a clip more or less, on which a model failed, moves it."""
    slack = NEAR_SHARE if own["failed"] or other["failed"] else 0.0
    return is_near(ceiling, other["reference"], slack, least=near_of(own["figure"]))


def _usual(own: Any, votes: Sequence[_Vote], values: Sequence[Any]) -> tuple[Any, list[_Vote]]:
    """Return the value of most votes, of equals the own one, and whose it is."""
    counts: Counter[Any] = Counter()
    for vote, value in zip(votes, values, strict=True):
        counts[value] += vote.weight
    usual = max(counts, key=lambda value: (counts[value], value == own))
    return usual, [vote for vote, value in zip(votes, values, strict=True) if value == usual]


def _weight(votes: Iterable[_Vote]) -> int:
    return sum(vote.weight for vote in votes)


def _speakers(votes: Sequence[_Vote]) -> int:
    """Count the accounts, or the results that were run again, since one account may run all codecs for everybody."""
    return max(len({vote.account for vote in votes}), _run_again(votes))


def _run_again(votes: Sequence[_Vote]) -> int:
    return sum(vote.voter[0] is not None for vote in votes)


def _are_enough(agreeing: Sequence[_Vote], votes: Sequence[_Vote]) -> bool:
    return _speakers(agreeing) >= AGREEING and 2 * _weight(agreeing) > _weight(votes)


def _whose(agreeing: Sequence[_Vote]) -> str:
    """Say who found a value; fewer than :data:`ENOUGH` that nobody confirmed are named, since they may be wrong."""
    if _speakers(agreeing) >= ENOUGH or _run_again(agreeing) >= AGREEING:
        return "in results of others"
    named = ", ".join(sorted(vote.submission for vote in agreeing))
    return f"in {named} (too few to say who is right)"


def _asked(figure: Figure) -> int:
    return int(figure["n"] + figure["left_out"] + figure["failed"])


def weight_of(*, confirmed: bool) -> int:
    """As how many accounts a result counts for what it says of the originals."""
    return AGREEING if confirmed else 1


def agreed(told: Iterable[tuple[Said, int]]) -> Said | None:
    """Return what more than half say, by the weights of :func:`weight_of`; None where it is one account, or nothing."""
    weights: Counter[Said] = Counter()
    for said, weight in told:
        weights[said] += weight
    usual = max(weights, key=lambda said: weights[said], default=None)
    enough = usual is not None and weights[usual] >= AGREEING and 2 * weights[usual] > weights.total()
    return usual if enough else None


def middle(told: Iterable[tuple[float, int, Found]]) -> Found:
    """Return what has the middle value, by the weights of :func:`weight_of`, of at least one."""
    by_value = sorted(told, key=lambda each: each[0])
    repeated = [found for _, weight, found in by_value for _ in range(weight)]
    return repeated[(len(repeated) - 1) // 2]
