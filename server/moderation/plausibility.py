"""Plausibility warnings for moderators: results that are possible but unusual.

A warning refuses nothing. Most have an honest reason (a bug in the codec, an unusual clip), which the moderator can
ask for; one that an honest run hardly ever earns holds the submission until a moderator has looked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy.orm import Session

from codec_superb.base_codec.card import Card
from codec_superb.metrics.overall import normalise
from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.pipeline.submission.findings import UNUSUAL
from codec_superb.server.database.models import Result, Submission
from codec_superb.server.database.results import to_summary
from codec_superb.server.errors import NotFound
from codec_superb.server.moderation.damage import damage_doubts, is_beside_undamaged, noise_gain
from codec_superb.server.moderation.kept_warnings import PlausibilityWarning, cut, kept
from codec_superb.server.moderation.measurements import measurement_doubts
from codec_superb.server.moderation.neighbours import Twin, neighbours_of, twins_of
from codec_superb.server.moderation.score_deviation import BAND, deviation, votes
from codec_superb.server.moderation.score_envelope import (
    SPOKEN_KBPS,
    TOO_GOOD,
    ComparedResult,
    crowd,
    lead,
    likely,
    published_metrics,
    published_results,
    with_published,
)
from codec_superb.server.names import catalogue
from codec_superb.server.names.claims import STANDS_FOR, name_warnings
from codec_superb.web.text import kbps as kbps_text
from codec_superb.web.text import number, significant

Warnings = Iterator[tuple[str, str]]
"""Pairs of kind and text."""
LAG = 1
"""Largest residual lag in samples without a warning."""
CLIPPED_SHARE = 0.001
"""Largest fraction of clipped samples without a warning: loud music clips a little in any lossy codec."""
BITRATE_DEVIATION = 0.25
"""Largest relative deviation from the nominal bitrate without a warning; a larger tolerance of the card, up to 1, is
used instead."""
WEAKER = 0.98
"""Largest ratio of bitrates at which another setting counts as a lower one."""
SIGMAS = 3.0
"""Largest deviation from the median of the bitrate band, in robust standard deviations, without a warning."""
FASTEST = 1e-6
"""Seconds of computing for a second of sound that nothing takes: to copy the samples alone takes ten times as long."""
MOST_TWINS = 5
"""Codecs with the same values that are named."""
MOST_ENTRIES = 2**20
"""Entries of a codebook without a question; the largest of the catalogue has 250,047."""
BESIDE, BESIDE_A_CLIP = 4.0, 1 << 14
"""Times the bits of its tokens, and bits of each clip beside them, which a codec of tokens does not send both. Of the
catalogue Kanade sends the most, 128 numbers of 32 bits a clip: on three seconds nine times what its tokens have."""
COMPRESSION = 3.5
"""Largest ratio of a lossless codec to 16-bit PCM without a question: music needs 40 to 70 % of it (Hans and Schafer,
"Lossless Compression of Digital Audio", IEEE Signal Processing Magazine 18(4), 2001), FLAC on ``mini`` 38 to 46 %; what
needs less than 29 % is mostly digital silence."""
DECIBELS_A_BIT, GAIN = 20 * math.log10(2), 40.0
"""By how much a bit a sample lowers noise (Shannon, "Coding theorems for a discrete source with a fidelity criterion",
1959), and what prediction and transforms may add: at most 20 dB in the mean of 40 codecs from 0.7 to 576 kbps on
``mini``, 29 of G.711 where a telephone band at 48 kHz is the original."""
EXACT = 1e-6
"""Largest STFT distance of clips that were returned exactly, up to rounding."""
ROUNDED = 1e-3
"""How far from its best a metric may be of sound that was rounded to 24 bits: 1e-5 of STFT distances was measured."""


def warnings_for(session: Session, submission_id: str) -> list[PlausibilityWarning]:
    """Check a submission's results alone and against public ones; of very many warnings some are returned.

    The submission and its results must have been flushed. Raises NotFound for no submission.
    """
    return kept(all_warnings_for(session, submission_id))


def all_warnings_for(session: Session, submission_id: str) -> list[PlausibilityWarning]:
    """Check a submission, and return every warning.

    The submission and its results must have been flushed. Raises NotFound for no submission.
    """
    submission = session.get(Submission, submission_id)
    if submission is None:
        raise NotFound(f"no submission has the id {submission_id!r}")
    card = Card.model_validate(submission.card)
    rows = [row for row in submission.results if row.dataset]
    found = neighbours_of(session, submission)
    unusual = [note.removeprefix(UNUSUAL) for note in submission.notes if note.startswith(UNUSUAL)]
    warnings = [_warning(kind, "", text, holds=kind != STANDS_FOR) for kind, text in name_warnings(session, submission)]
    warnings += [_warning("unusual", "", text, holds=True) for text in unusual]
    warnings += [
        _warning(doubt.kind, doubt.dataset, doubt.text, holds=doubt.holds)
        for doubt in measurement_doubts(session, submission)
    ]
    warnings += [
        _warning("condition", where, text, holds=weight) for where, text, weight in damage_doubts(session, submission)
    ]
    twins = twins_of(session, submission)
    for row in rows:
        where = f"{row.dataset}, {row.category}"
        if (same := twins.get((row.category, row.dataset))) and not _is_exact(row) and not _is_lossless(card, row):
            earlier = [twin for twin in same if not twin.later]
            names = ", ".join(list(dict.fromkeys(twin.codec for twin in earlier or same))[:MOST_TWINS])
            text = f"has values of {names} to the last digit: rows that were copied, or the same codec"
            text += "" if earlier else "; here it was first"
            # a codec of the catalogue has no other values, whoever sent them before under a name that is not theirs
            own = card.name in catalogue.cards() and not any(map(_may_be_its, earlier))
            warnings.append(_warning("copied", where, text, holds=bool(earlier) and not own))
        near = found.get((row.category, row.dataset), ())
        for rule, weight in _RULES:
            warnings += [_warning(kind, where, text, holds=weight) for kind, text in rule(card, row, near)]
    return warnings


def holds(warnings: Iterable[PlausibilityWarning]) -> bool:
    """Whether a submission with these warnings waits for a moderator."""
    return any(warning["holds"] for warning in warnings)


def _warning(kind: str, where: str, text: str, *, holds: bool) -> PlausibilityWarning:
    return {"kind": kind, "where": where, "text": cut(text), "holds": holds}


def _weaker_setting(card: Card, row: Result, near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a score below that of a setting of the family with a lower bitrate, by more than both intervals."""
    if row.kbps is None or row.high is None or row.submission.condition:
        return
    better = [
        other for other in near
        if other.family == card.family and other.kbps < WEAKER * row.kbps and other.low is not None
        and other.low > row.high
    ]  # fmt: skip
    if better:
        other = max(better, key=lambda entry: entry.score)
        text = (
            f"scores {number(row.score, 3)} at {kbps_text(row.kbps)} kbps, below {other.codec} of the same family with "
            f"{number(other.score, 3)} at {kbps_text(other.kbps)} kbps, and the intervals do not meet"
        )
        yield "weaker setting", text


def _outlier(card: Card, row: Result, near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a score far from those of codecs of similar bitrate."""
    band = _band(card, row, near)
    found = None if row.score is None else deviation(row.score, votes((other.sender, other.score) for other in band))
    if found is not None and abs(found.sigmas) > SIGMAS:
        side = "above" if found.sigmas > 0 else "below"
        text = (
            f"scores {number(row.score, 3)}, {significant(abs(found.sigmas))} robust standard deviations {side} the "
            f"median {number(found.median, 3)} of {_described(row, band)}"
        )
        yield "outlier", text


def _too_good(card: Card, row: Result, near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a score far above what codecs with as many bits, or the next ones with more or fewer, leave likely.

    Clean results say so of one under a condition too, which leaves no more of a sound.
    """
    kbps = row.kbps
    if row.score is None or not kbps or _is_lossless(card, row):
        return
    lossy = [other for other in near if other.kind != "lossless"]
    rivals = crowd(kbps, lossy)
    if not row.submission.condition and not row.submission.custom:
        rivals = with_published(kbps, _category(row), rivals, lossy)
    if rivals and row.score > (best := likely(kbps, rivals, row.category)) + lead(row.score):
        rates = [other.kbps for other in rivals]
        described = f"{len(rivals)} codecs at {kbps_text(min(rates))} to {kbps_text(max(rates))} kbps"
        yield "too good", f"scores {number(row.score, 3)}; {described} leave {number(best, 3)} likely at its bitrate"


def _metric_too_good(card: Card, row: Result, near: Sequence[ComparedResult]) -> Warnings:
    """Warn of one metric far above what published codecs leave likely: first by it, whatever the score.

    Where codecs of ten senders here reach more than published ones do, it may lie as much higher.
    """
    kbps = row.kbps
    if not kbps or row.submission.condition or row.submission.custom or _is_lossless(card, row):
        return
    category = _category(row)
    rivals = crowd(kbps, [other for other in near if other.kind != "lossless"])
    # by the same slopes, or the same results would exceed themselves
    known = [replace(other, kind="") for other in published_results(category)]
    here = likely(kbps, rivals, category) - likely(kbps, known, category) if rivals else 0.0
    metrics = to_summary(row).metrics
    for key, published in published_metrics(category).items():
        mean = metrics[key].mean if key in metrics else None
        if mean is None or not math.isfinite(mean):
            continue
        value = float(normalise(key, np.asarray(max(0.0, mean) if METRICS[key].best == 0 else mean)))
        best = likely(kbps, published, category)
        if value > best + TOO_GOOD + max(0.0, here):
            told = f"{METRICS[key].label} is {significant(mean, 3)}, {number(value, 3)} of the score's scale"
            yield "too good", f"{told}; published codecs leave {number(best, 3)} likely at its bitrate"


def _category(row: Result) -> Category:
    return next(each for each in CATEGORIES if each == row.category)


def _too_few_bits(_card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of fewer bits than words have, whatever the score: no codec is lower, so it would stand on the front."""
    if row.kbps is not None and row.kbps < SPOKEN_KBPS:
        told = (
            f"has {significant(1000 * row.kbps)} bit/s; what is said in speech alone is {1000 * SPOKEN_KBPS:.0f} bit/s"
        )
        yield "too few bits", f"{told}, and no codec that is known has fewer"


def _codebooks(card: Card, _row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a codebook that no codec has: with enough entries any bitrate is a few tokens a second."""
    entries = max(card.codebook_entries or (0,))
    if entries > MOST_ENTRIES:
        yield "beyond", f"a codebook of {entries:,} entries; codecs have up to 250,047"


def _beside_tokens(card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of bits that the tokens hardly have a share in: what is sent beside them is on no axis of tokens."""
    tokens = card.tokens_per_second if row.tokens_per_second is None else row.tokens_per_second
    if card.codebooks is None or tokens is None or not row.kbps or not row.ok:
        return
    bits = math.log2(MOST_ENTRIES) if card.frame_bits is None else card.frame_bits / card.codebooks
    worth = tokens * bits
    beside = (1000 * row.kbps - worth) * row.seconds / row.ok
    if 1000 * row.kbps > BESIDE * worth and beside > BESIDE_A_CLIP:
        told = f"{kbps_text(row.kbps)} kbps were sent, of which tokens are {significant(worth / 1000)}"
        yield "beside tokens", f"{told}; codecs send up to 4,096 bits a clip beside them"


def _ends(card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a metric whose mean is beyond what codecs have."""
    for key, estimate in to_summary(row).metrics.items():
        if key not in METRICS or estimate.mean is None:
            continue
        metric, mean = METRICS[key], estimate.mean
        (least, most), exact = metric.usual, _is_lossless(card, row)
        most *= 1.0 if metric.higher_is_better else noise_gain(row.submission)
        if (mean < least or mean > most) and not (exact and (mean > most) == metric.higher_is_better):
            yield "beyond", f"{metric.label} is {significant(mean, 3)}; codecs have {number(least, 0)} to {most:.0f}"


def _band(card: Card, row: Result, near: Sequence[ComparedResult]) -> list[ComparedResult]:
    """Return the lossy codecs of similar bitrate, for a clean result of a lossy one."""
    kbps = row.kbps
    if not kbps or row.submission.condition or _is_lossless(card, row):
        return []
    limit = math.log(BAND)
    return [other for other in near if other.kind != "lossless" and abs(math.log(other.kbps / kbps)) <= limit]


def _described(row: Result, band: Sequence[ComparedResult]) -> str:
    kbps = row.kbps or 0.0
    return f"{len(band)} codecs at {kbps_text(kbps / BAND)} to {kbps_text(kbps * BAND)} kbps"


def _lag(_card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a delay that the codec's wrapper did not remove; it lowers STOI."""
    if row.largest_lag is not None and row.largest_lag > LAG:
        yield "lag", f"a clip is {row.largest_lag} samples early or late; more than {LAG} changes scores"


def _clipping(_card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of many samples beyond full scale."""
    samples = _samples(row)
    if samples and row.clipped_samples > CLIPPED_SHARE * samples:
        yield "clipping", f"{significant(100 * row.clipped_samples / samples)} % of the samples are clipped"
    elif samples is None and row.clipped_samples:
        yield "clipping", f"{row.clipped_samples} samples are clipped; their fraction is unknown without the bitrate"


def _samples(row: Result) -> float | None:
    """Compute the samples of all clips: 16-bit PCM in bits is the payload times the compression ratio."""
    if row.kbps is None or row.compression_ratio is None:
        return None
    # The ratio is that to PCM of 16 bits a sample.
    return row.compression_ratio * 1000 * row.kbps * row.seconds / 16


def _may_be_its(twin: Twin) -> bool:
    """Whether values may be those of the codec of the catalogue under whose name they are: confirmed, at its bitrate.

    By its word alone an account sends a codec's values under another name of its bitrate first, and all others waited.
    """
    card = catalogue.cards().get(twin.codec)
    return card is not None and twin.confirmed and (twin.kbps is None or not _is_far(card, twin.kbps))


def _is_far(card: Card, kbps: float) -> bool:
    """Whether a bitrate is farther from the nominal one than the card allows."""
    if card.nominal_kbps is None:
        return False
    tolerance = 1.0 if card.nominal_tolerance is None else card.nominal_tolerance
    allowed = min(max(BITRATE_DEVIATION, tolerance), 1.0)
    ratio = kbps / card.nominal_kbps if card.nominal_kbps > 0 else math.inf
    return max(ratio, 1 / ratio if ratio else math.inf) > 1 + allowed


def _bitrate(card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a measured bitrate far from the nominal one."""
    if card.nominal_kbps is not None and row.kbps is not None and _is_far(card, row.kbps):
        note = f"; the card says: {card.bitrate_note}" if card.bitrate_note else ""
        yield "bitrate", f"measured {kbps_text(row.kbps)} kbps, nominal {kbps_text(card.nominal_kbps)} kbps{note}"


def _speed(_card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of encoding or decoding times of zero or nearly so: not measured, or nothing was computed."""
    for name, factor in (("encoding", row.encode_rtf), ("decoding", row.decode_rtf)):
        if factor is not None and factor < FASTEST:
            told = f"{name} took {factor:.2g} s for a second of sound"
            yield "speed", f"{told}: it was not measured, or not done"


def _exactness(card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a codec that is exact and does not call itself lossless."""
    if card.kind != "lossless" and _is_exact(row):
        distance = significant(_distance(row) or 0.0)
        yield "exact", f"a {card.kind} codec returned its input exactly: the STFT distance is {distance}"


def _lossiness(card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a lossless codec that is not exact; nothing is that beside the sound before it was damaged."""
    if card.kind == "lossless" and not is_beside_undamaged(row.submission) and (short := _short_of_best(row)):
        yield "not lossless", f"a lossless codec returns its input exactly, which {', '.join(short)} say it does not"


def _is_lossless(card: Card, row: Result) -> bool:
    """Whether a codec is what it says: what is lossless alone is compared with no other.

    Beside the sound before it was damaged nothing is exact: there the bits must be those of lossless coding.
    """
    if card.kind != "lossless":
        return False
    if is_beside_undamaged(row.submission):
        return row.compression_ratio is not None and row.compression_ratio <= COMPRESSION
    return not _short_of_best(row)


def _short_of_best(row: Result) -> list[str]:
    """Name the metrics that are not at their best on all clips: since nothing is better, their mean tells."""
    means = {METRICS[key]: estimate.mean for key, estimate in to_summary(row).metrics.items() if key in METRICS}
    short = [
        metric.label for metric, mean in means.items()
        if mean is not None and (metric.best_end - mean) * (1 if metric.higher_is_better else -1) > ROUNDED
    ]  # fmt: skip
    return sorted(short)


def _is_exact(row: Result) -> bool:
    distance = _distance(row)
    return distance is not None and distance <= EXACT


def _distance(row: Result) -> float | None:
    estimate = to_summary(row).metrics.get("stft")
    return None if estimate is None else estimate.mean


def _distortion(card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of less noise than that many bits leave; a waveform that nobody sent is not met by chance."""
    if not row.compression_ratio or _is_lossless(card, row):
        return
    bits = 16 / row.compression_ratio
    for key, estimate in to_summary(row).metrics.items():
        if key in METRICS and METRICS[key].unit == "dB" and (estimate.mean or 0.0) > DECIBELS_A_BIT * bits + GAIN:
            told = f"{METRICS[key].label} is {significant(estimate.mean or 0.0, 3)} dB"
            usual = f"{DECIBELS_A_BIT * bits:.0f} dB, to which coding adds less than {GAIN:.0f}"
            yield "beyond", f"{told}; {significant(bits)} bits a sample are worth {usual}"


def _compression(card: Card, row: Result, _near: Sequence[ComparedResult]) -> Warnings:
    """Warn of a lossless codec that needs far fewer bits than any does; a sound that is faint or narrow takes few."""
    ratio = row.compression_ratio
    if card.kind == "lossless" and not row.submission.condition and ratio is not None and ratio > COMPRESSION:
        yield "compression", f"a lossless codec at {significant(ratio)} times fewer bits than 16-bit PCM"


_RULES: tuple[tuple[Callable[[Card, Result, Sequence[ComparedResult]], Warnings], bool], ...] = (
    (_weaker_setting, False), (_outlier, False), (_too_good, True), (_metric_too_good, True), (_too_few_bits, True),
    (_ends, True),
    (_codebooks, True), (_beside_tokens, True), (_lag, False), (_clipping, False), (_bitrate, False), (_speed, True),
    (_exactness, True), (_lossiness, True), (_compression, True), (_distortion, True),
)  # fmt: skip
"""Each with whether it holds a submission back: the others are remarks, which honest codecs may earn."""
