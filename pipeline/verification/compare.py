"""Compare rows of a submission with those of a run of the same clips: what must be equal, and what may differ.

Where the resynthesis is the submitted one to the last bit, bits and counts must be equal, and metrics lie within their
own tolerance. Where it is not, floating-point codecs of another processor or version may have rounded otherwise: then
:data:`~codec_superb.pipeline.verification.tolerances.OTHER_SOUND` says how far a clip, and the mean over all clips, may
be off.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping, Sequence
from math import isinf, sqrt
from statistics import fmean
from typing import NamedTuple

from codec_superb.applications.probe import Field
from codec_superb.applications.table import PROBES
from codec_superb.metrics.table import METRICS, Metric
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.tables.rows import ClipRow, ProbeValue
from codec_superb.pipeline.verification.statement import DIFFERENCES, ClipVerdict, Difference, Tolerance
from codec_superb.pipeline.verification.tolerances import FEWEST, OTHER_SOUND, SAME_SOUND, of_mean

Number = int | float


class Change(NamedTuple):
    """A number submitted and found, which counts for a mean."""

    submitted: float
    found: float
    scale: float
    """What a difference is a share of."""
    limits: Tolerance
    """How far the mean may be off, and the differences may spread."""


_TIPPING = tuple(OTHER_SOUND[name] for name in ("errors", "count", "answer", "value", "defined", "share", "drift"))
"""One word or answer of a model tips over as a whole, as does an entry of a codebook that one clip alone has, and
what is left after 25 codings: the differences are few and large, and only their mean tells."""
_TIPPED = 8.0
"""Errors of a clip that may come or go, however few there were."""
_LETTERS = 6.0
"""Characters of a word and the space behind it, where errors are counted in those."""
_ERRORS = frozenset({"substitutions", "deletions", "insertions"})
"""Kinds of word errors: one kind turns into another, and their sum stays nearly as it is."""
_NAMED = frozenset({"similarity", "value"})
"""Numbers of probes with limits of their own, whatever their range."""
_EQUAL = ("category", "sampling_rate", "samples", "tokens")
"""Follow from the dataset and from the codec's frames, whatever the processor."""
_OF_SOUND = ("bits", "lag_samples", "clipped_samples")
"""Equal where the sound is."""
_OF_PITCH = ("f0corr", "f0corr_praat")
"""Undefined where no pitch is found, which rounding decides; whether others are defined it changed on no clip."""
_DISTINCT_S = 0.02
"""Longest lag in seconds that a clip may have there where none is distinct here."""
_CLIPPED = 0.002
"""Share of the samples beside which clipped ones are counted."""


class FailedHere(PipelineError):
    """A clip has a result in the file and none here: nothing can be said about the file."""


class MachineFailed(FailedHere):
    """The clip was given up here for want of time or memory, or for a disk: its numbers may be true."""


class Compared(NamedTuple):
    """One clip, and the numbers of it that count for the means."""

    verdict: ClipVerdict
    changes: Mapping[str, Change]
    """By quantity."""


def compare_clip(
    there: ClipRow, here: ClipRow, *, exact: bool, probes: Collection[str] = (), alike: bool = True
) -> Compared:
    """Compare the submitted row of a clip with that of the run here.

    ``exact``: the sound must be the same to the last bit. ``probes`` are those whose numbers are compared; of those
    that take all resyntheses together as of other sound unless all clips are ``alike``. Raises FailedHere for a clip, a
    metric or a probe that failed here and has a value in the file; a clip on which the codec fails is a difference
    where the sound must be the same.
    """
    found = _Differences()
    for name in _EQUAL:
        found.equal(name, getattr(there, name), getattr(here, name))
    if there.status == "ok" and here.status == "failed":
        _expect_difference(here, exact=exact)
    found.equal("status", there.status, here.status)
    same = there.resynthesis_sha256 is not None and there.resynthesis_sha256 == here.resynthesis_sha256
    if there.status == here.status == "ok":
        _compare_sound(there, here, found, same=same, exact=exact)
        _compare_metrics(there, here, found, same=same)
        for key in sorted(set(probes) & there.probes.keys() & here.probes.keys()):
            its = same and (alike or not PROBES[key].of_all)
            _compare_probe(key, there.probes[key], here.probes[key], found, same=its)
    verdict = ClipVerdict(
        dataset=there.dataset, clip=there.clip, verdict="differs" if found.found else "agrees", same_sound=same,
        differences=tuple(found.found)[:DIFFERENCES],
    )  # fmt: skip
    return Compared(verdict, found.changes)


def drifts(compared: Sequence[Mapping[str, Change]]) -> tuple[Difference, ...]:
    """Return the quantities whose mean over clips, or pairs, differs by more than rounding does.

    The mean may be off by its tolerance and two standard errors of honest runs, and the differences may
    spread no further than theirs: both are data here, as those of the file are the submitter's to choose.
    Fewer than :data:`~codec_superb.pipeline.verification.tolerances.FEWEST` count as so many: a forger would else raise
    nine by all that a single one may move.
    """
    alike: dict[tuple[str, Tolerance], list[Change]] = {}
    for entry in compared:
        for quantity, change in entry.items():
            alike.setdefault((quantity, change.limits), []).append(change)
    found = []
    for (quantity, limits), changes in sorted(alike.items(), key=lambda item: item[0][0]):
        number = max(len(changes), FEWEST)
        submitted, here, scale = (fmean(column) for column in list(zip(*changes, strict=True))[:3])
        allowed = of_mean(limits, number) * scale * number / len(changes)
        if abs(here - submitted) > allowed:
            found.append(Difference(quantity=quantity, submitted=submitted, found=here, allowed=allowed))
            continue
        if limits in _TIPPING:
            continue
        spread = sqrt(sum((of.found - of.submitted) ** 2 for of in changes) / number)
        if spread > limits.spread * scale:
            name = f"{quantity}, spread of the differences"
            found.append(Difference(quantity=name, submitted=spread, found=0.0, allowed=limits.spread * scale))
    return tuple(found)


def _expect_difference(failed: ClipRow, *, exact: bool) -> None:
    """Raise FailedHere for a clip that failed for another reason than that a codec fails on it everywhere."""
    told = f"{failed.clip}: {failed.stage} fails here: {failed.error_type}: {failed.error}"
    of_machine = issubclass(getattr(builtins, failed.error_type, Exception), (OSError, MemoryError))
    if failed.stage == "worker" or of_machine:
        raise MachineFailed(told)
    if not exact or failed.stage not in ("encode", "decode"):
        raise FailedHere(told)


class _Differences:
    def __init__(self) -> None:
        self.found: list[Difference] = []
        self.changes: dict[str, Change] = {}

    def equal(self, quantity: str, there: Number | str | None, here: Number | str | None) -> None:
        """Note two values that are not equal."""
        if there != here:
            self.found.append(Difference(quantity=quantity, submitted=there, found=here))

    def near(self, quantity: str, there: Number, here: Number, allowed: float) -> None:
        """Note two values that are further apart than ``allowed``."""
        if not abs(here - there) <= allowed:
            self.found.append(Difference(quantity=quantity, submitted=there, found=here, allowed=allowed))

    def may_move(self, quantity: str, there: Number, here: Number, scale: float, name: str = "") -> None:
        """Compare a number of :data:`OTHER_SOUND`, and count it for the mean."""
        limits = OTHER_SOUND[quantity]
        self.near(name or quantity, there, here, limits.clip * scale)
        self.changes[name or quantity] = Change(float(there), float(here), scale, limits)


def _compare_sound(there: ClipRow, here: ClipRow, found: _Differences, *, same: bool, exact: bool) -> None:
    if exact and not same:
        found.equal("resynthesis_sha256", there.resynthesis_sha256, here.resynthesis_sha256)
    if same or exact:
        for name in _OF_SOUND:
            found.equal(name, getattr(there, name), getattr(here, name))
        return
    if there.bits is None or here.bits is None:
        found.equal("bits", there.bits, here.bits)
    else:
        found.may_move("bits", there.bits, here.bits, float(there.bits))
    _compare_lag(there, here, found)
    one, other = there.clipped_samples or 0, here.clipped_samples or 0
    found.may_move("clipped", one, other, max(one, other) + _CLIPPED * (here.samples or 0))


def _compare_lag(there: ClipRow, here: ClipRow, found: _Differences) -> None:
    """Compare the lags, in seconds, and whether there is one: two peaks of nearly one height may change places."""
    one, other = (
        None if row.lag_samples is None else row.lag_samples / (row.sampling_rate or 1) for row in (there, here)
    )
    found.changes["lag is distinct"] = Change(
        float(one is not None), float(other is not None), 1.0, OTHER_SOUND["answer"]
    )
    if one is not None and other is not None:
        found.may_move("lag", one, other, 1.0)
    elif one is not None:
        found.near("lag", one, 0.0, _DISTINCT_S)


def _compare_metrics(there: ClipRow, here: ClipRow, found: _Differences, *, same: bool) -> None:
    for key, submitted in sorted(there.metrics.items()):
        made = here.metrics.get(key)
        if key not in METRICS:
            continue
        if made is None:
            raise FailedHere(f"{here.clip}: {key} is in the file and was not computed here")
        if made.status == "failed" and submitted.status == "ok":
            raise FailedHere(f"{here.clip}: {key} fails here: {made.reason}")
        _compare_definedness(METRICS[key], submitted.status, made.status, found, same=same)
        if submitted.value is not None and made.value is not None:
            _compare_values(METRICS[key], submitted.value, made.value, found, same=same)


def _compare_definedness(metric: Metric, submitted: str, made: str, found: _Differences, *, same: bool) -> None:
    if same or metric.key not in _OF_PITCH or "failed" in (submitted, made):
        found.equal(metric.key, submitted, made)
    else:  # the pitch of a voice that can hardly be heard is found, or is not
        one, other = (float(status == "ok") for status in (submitted, made))
        found.changes[f"{metric.key} is defined"] = Change(one, other, 1.0, OTHER_SOUND["defined"])


def _compare_values(metric: Metric, submitted: float, made: float, found: _Differences, *, same: bool) -> None:
    scale = _scale(metric, submitted)
    one, other = (_on_scale(metric, value) for value in (submitted, made))
    allowed = _allowed(metric, submitted, scale, same=same)
    if same or abs(other - one) > allowed:
        found.near(metric.key, submitted, made, allowed)
    if same:
        return
    found.changes[metric.key] = Change(one, other, scale, _other_sound(metric.key))
    below, under = submitted - one, made - other
    if below or under:
        found.may_move("beyond", below, under, scale, f"{metric.key} beyond its scale")


def _allowed(metric: Metric, value: float, scale: float, *, same: bool) -> float:
    if not same:
        return _other_sound(metric.key).clip * scale
    return metric.tolerance * (abs(value) if isinf(metric.worst) else 1.0)


def _scale(metric: Metric, value: float) -> float:
    """Return what a difference is a share of: the metric's scale, or the value where that has no end."""
    return abs(value) if isinf(metric.worst) else abs(metric.best - metric.worst)


def _compare_probe(key: str, there: ProbeValue, here: ProbeValue, found: _Differences, *, same: bool) -> None:
    if here.status == "failed" and there.status == "ok":
        raise FailedHere(f"{key} fails here: {here.reason}")
    found.equal(f"{key}.status", there.status, here.status)
    if there.status != "ok" or here.status != "ok":
        return
    row = PROBES[key]
    fields = {"shared": row.shared, "reference": row.sided, "resynthesis": row.sided}
    for side, its in fields.items():
        for field in its:
            one, other = getattr(there, side).get(field.name), getattr(here, side).get(field.name)
            name = f"{key}.{side}.{field.name}"
            of_labels = side == "shared" and field.whole and not field.name.startswith(_OF_MODELS)
            if one is None or other is None or of_labels:
                found.equal(name, one, other)
            elif same or side != "resynthesis":
                _compare_alike(name, field, one, other, found)
            else:
                _compare_other(name, field, one, other, found)
    if not same and {field.name for field in row.sided} >= _ERRORS:
        one, other = (sum(of.resynthesis[name] for name in _ERRORS) for of in (there, here))
        found.changes[f"{key}.resynthesis.errors"] = Change(one, other, max(one, other) + 1, OTHER_SOUND["errors"])


_OF_MODELS = "oracle_"
"""Shared numbers that a model finds for the true transcript; others are counted in labels."""


def _compare_alike(name: str, field: Field, one: float, other: float, found: _Differences) -> None:
    """Compare what a model found in the same sound: the codec's, or the original, which no codec changes."""
    limits, scale = SAME_SOUND["similarity" if field.name == "similarity" else "probe"], _range(field, one, other)
    exact = field.names or (field.whole and field.maximum == 1)  # another class is no nearer one; right is not wrong
    found.near(name, one, other, 0.0 if exact else limits.clip * scale)
    found.changes[name] = Change(one, other, scale, limits)


def _compare_other(name: str, field: Field, one: float, other: float, found: _Differences) -> None:
    """Compare what a model found in sounds that were rounded otherwise: a single answer may tip over, no mean may."""
    if field.names:
        return  # another class, or row, is no larger one; the rank beside it says how good it is
    if field.name == "rank":
        one, other = (1.0 / rank if rank else 0.0 for rank in (one, other))
    answer = field.name == "rank" or (field.minimum, field.maximum) == (0, 1)
    limits = OTHER_SOUND["answer" if answer else _quantity(field)]
    scale = 1.0 if answer else _range(field, one, other)
    tipped = _TIPPED * (_LETTERS if field.name.startswith("character") else 1.0) if field.whole else 0.0
    found.near(name, one, other, max(limits.clip * scale, tipped))
    found.changes[name] = Change(one, other, scale, limits)


def _quantity(field: Field) -> str:
    if field.name in _NAMED:
        return field.name
    if field.whole:
        return "errors" if field.name == "word_errors" else "count"
    return "amount" if isinf(field.maximum) else "probe"


def _range(field: Field, one: float, other: float) -> float:
    """Return what a difference of a probe's number is a share of."""
    if field.whole or isinf(field.maximum) or field.name == "value":  # captions have 50 of CIDEr's 1,000
        return max(abs(one), abs(other)) + 1
    return field.maximum - field.minimum


def _on_scale(metric: Metric, value: float) -> float:
    """Cut a value at the worst end of its scale: 30 dB below, one rounding moves it by tens of decibels."""
    if isinf(metric.worst):
        return value
    return max(value, metric.worst) if metric.best > metric.worst else min(value, metric.worst)


def _other_sound(quantity: str) -> Tolerance:
    return OTHER_SOUND.get(quantity) or OTHER_SOUND["metric"]
