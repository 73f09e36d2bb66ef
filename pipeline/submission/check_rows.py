"""Checks of single clip rows: the admitted values of a row, independent of the aggregates."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card
from codec_superb.metrics.table import METRICS, Metric
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.tables.stored_rows import StoredRows

_AGAIN = "run resynth and score again, then pack; rows are not edited by hand"
_ENTRY = "ok, undefined or failed, as another clip of its dataset and category has"
_ALL = "score all clips again by every metric of the file, then pack"
_COUNT = "count the bits of the tokens in the codec's wrapper; say in its card's bitrate_note what stands beside them"
LARGEST = 1e15
LONGEST = 2**31 - 1
"""Samples of a clip: below 2^31, the 32-bit integers of databases; over twelve hours at 48 kHz."""
_NUMBERS = ("sampling_rate", "samples", "bits", "tokens", "encode_s", "decode_s", "lag_samples", "clipped_samples")
_FASTEST, _HEADER = 768_000, 20_000
"""Samples a second of the fastest converters, and as many as a header may weigh: no sound is sent as more."""
MOST_SLICES = 200
"""Slices (recording conditions) of a dataset; of the published ones SVQ has most, 4."""
MOST_SLICES_IN_ALL = 1_000
"""Of all datasets; 60,000 of 200,000 rows took a check two minutes. SVQ has 104, of 26 locales."""
_SLACK = 1e-6
"""Metrics may leave their range by rounding."""


def check_magnitudes(rows: StoredRows, findings: Findings) -> bool:
    """Find numbers so large that sums over them would overflow; whether there are none."""
    faults = findings.count
    large = np.zeros(len(rows), np.bool_)
    for name in rows.numbers:
        large |= np.abs(rows.number(name)) > LARGEST
    for row in rows.those(large):
        fields = {name: getattr(row, name) for name in _NUMBERS}
        values = fields | {key: entry.value for key, entry in row.metrics.items()} | _probe_numbers(row)
        for name, value in values.items():
            if value is not None and abs(value) > LARGEST:
                findings.add(f"clips.parquet: {row.dataset}/{row.clip}: {name}", f"at most {LARGEST:g}", value, _AGAIN)
    return findings.count == faults


def check_slices(rows: StoredRows, findings: Findings) -> bool:
    """Find datasets of more slices than a check can bear: each costs a pass over all rows; whether there are none."""
    named: dict[str, set[str]] = {}
    for dataset, part in zip(rows.texts("dataset"), rows.texts("slice"), strict=True):
        named.setdefault(dataset, set()).add(part)
    many = {dataset: parts for dataset, parts in named.items() if len(parts) > MOST_SLICES}
    for dataset, parts in many.items():
        where = f"clips.parquet: {dataset}: slice"
        findings.add(where, f"at most {MOST_SLICES} slices of a dataset", len(parts), "name conditions, not clips")
    together = sum(len(parts - {""}) for parts in named.values())
    if together > MOST_SLICES_IN_ALL:
        wanted = f"at most {MOST_SLICES_IN_ALL:,} slices of all datasets"
        findings.add("clips.parquet: slice", wanted, together, "name conditions, not clips, or send fewer datasets")
    return not many and together <= MOST_SLICES_IN_ALL


def check_scored(dataset: str, rows: StoredRows, findings: Findings) -> None:
    """Expect of each clip of a dataset that is ok an entry for every metric that another of its category has.

    ``score`` writes one for all; what lacks it is counted nowhere, and a mean would rest on clips that somebody chose.
    """
    ok = rows.equals("status", "ok")
    for category in rows.unique("category"):
        own = ok & rows.equals("category", category)
        for key in rows.metrics:
            absent = own & rows.equals(f"{key}_status", None)
            if absent.any() and (own & ~absent).any():
                for clip in rows.table["clip"].take(np.flatnonzero(absent)).to_pylist():
                    findings.add(f"clips.parquet: {dataset}/{clip}: {key}", _ENTRY, "nothing", _ALL)


def _probe_numbers(row: ClipRow) -> dict[str, float]:
    return {
        f"{key}.{part}.{name}": number
        for key, entry in row.probes.items()
        for part in ("shared", "reference", "resynthesis")
        for name, number in getattr(entry, part).items()
    }


def check_rows(rows: StoredRows, submission: Submission, findings: Findings) -> None:
    """Check every row by itself and that no clip has two."""
    metrics = _table(submission)
    seen: set[tuple[str, str]] = set()
    # rows in which nothing can be wrong are known by their columns; of a million they take a second, as models a minute
    for row in rows if rows.has_repeated_clips() else rows.those(_questionable(rows, submission, metrics)):
        where = f"clips.parquet: {row.dataset}/{row.clip}"
        if (row.dataset, row.clip) in seen:
            findings.add(where, "one row for each clip", "another row of the same clip", "pack each run once")
        seen.add((row.dataset, row.clip))
        if row.status == "ok":
            _check_ok(row, where, findings)
            _check_source(row, submission.codec, where, findings)
            _check_tokens(row, submission.codec, where, findings)
        else:
            _check_failed(row, where, findings)
        _check_metrics(row, metrics, where, findings)


def _questionable(rows: StoredRows, submission: Submission, metrics: Mapping[str, Metric | None]) -> NDArray[np.bool_]:
    """Tell which rows may have something wrong: all failed ones, and all of a codec whose bits follow from more."""
    if submission.codec.codebooks is not None or submission.codec.bit_source != "measured":
        return np.ones(len(rows), np.bool_)
    rate, samples, bits, tokens, encode, decode, lag, clipped = map(rows.number, _NUMBERS)
    # what is not known (NaN) is in no range
    right = (rate >= 1) & (rate <= LONGEST) & (samples >= 1) & (samples <= LONGEST) & (bits >= 0) & (bits <= LARGEST)
    right &= ~(encode < 0) & ~(decode < 0) & ~(tokens < 0)
    right &= ~(tokens * rate > _FASTEST * samples + _HEADER * rate)
    right &= ~(np.abs(lag) > samples) & ~(clipped > samples) & ~(clipped < 0)
    for name, text in {"status": "ok", "stage": "", "error_type": "", "error": ""}.items():
        right &= rows.equals(name, text)
    for key in rows.metrics:
        known, value = metrics.get(key), rows.number(key)
        absent = rows.equals(f"{key}_status", None)
        if known is not None:
            least, most = known.admitted
            right &= absent | ((value >= least - _SLACK) & (value <= most + _SLACK))
        else:
            right &= absent | (np.isfinite(value) & (key in metrics))
    return ~right


def _check_ok(row: ClipRow, where: str, findings: Findings) -> None:
    """Expect a length and bits of a clip with a resynthesis, and no error."""
    limits: dict[str, tuple[int | None, int, float]] = {
        "sampling_rate": (row.sampling_rate, 1, LONGEST),
        "samples": (row.samples, 1, LONGEST),
    }
    for name, (size, least, most) in limits.items():
        if size is None or not least <= size <= most:
            findings.add(f"{where}: {name}", f"{least} to {most:g} for a clip that is ok", size, _AGAIN)
    for name, value in {"encode_s": row.encode_s, "decode_s": row.decode_s, "tokens": row.tokens}.items():
        if value is not None and value < 0:
            findings.add(f"{where}: {name}", "at least 0", value, _AGAIN)
    for name, value in {"lag_samples": row.lag_samples, "clipped_samples": row.clipped_samples}.items():
        if value is not None and (abs(value) > (row.samples or 0) or (value < 0 and name == "clipped_samples")):
            findings.add(f"{where}: {name}", f"no more than the {row.samples} samples of the clip", value, _AGAIN)
    if row.stage or row.error_type or row.error:
        findings.add(f"{where}: error", "no error for a clip that is ok", row.error or row.stage, _AGAIN)


def _check_source(row: ClipRow, card: Card, where: str, findings: Findings) -> None:
    """Expect bits where they are counted, those of the declared bitrate where it is declared, and none elsewhere."""
    if card.bit_source == "unknown":
        expected, right = "none, since the card says that its bits are not known", row.bits is None
    elif card.bit_source == "declared":
        declared = round((card.nominal_kbps or 0.0) * 1000 * (row.seconds or 0.0))
        expected, right = f"{declared}, from the {card.nominal_kbps} kbps that the card declares", row.bits == declared
    else:
        right = row.bits is not None and 0 <= row.bits <= LARGEST  # against the clip's length: facts/check_facts.py
        expected = f"0 to {LARGEST:g} for a clip that is ok"
    if not right:
        findings.add(f"{where}: bits", expected, row.bits, _AGAIN)
    most = _FASTEST * (row.seconds or 0.0) + _HEADER  # with more, a chart has no room for other codecs
    if row.tokens is not None and row.tokens > most:
        findings.add(f"{where}: tokens", f"at most {most:.0f}", row.tokens, _AGAIN)


def _check_tokens(row: ClipRow, card: Card, where: str, findings: Findings) -> None:
    """Tokens of a codebook of size S are log2(S) bits each, rounded up at most to whole bits a token.

    A codec may send something beside its tokens, a loudness or a voice; its card's ``bitrate_note`` then says so, and
    there may be more bits. Fewer there never are.
    """
    if row.tokens is None or card.codebooks is None or card.frame_bits is None or row.bits is None:
        return
    exact = row.tokens * card.frame_bits / card.codebooks
    sizes = card.codebook_sizes or (card.codebook_size or 1,)
    most = row.tokens * sum(math.ceil(math.log2(size)) for size in sizes) / len(sizes)
    limit = math.ceil(most) if card.bitrate_note is None else LARGEST
    if not math.floor(exact) <= row.bits <= limit:
        size = " and ".join(f"{size}" for size in dict.fromkeys(sizes))
        expected = f"{row.tokens} tokens × log2({size}) = {exact:.6g} bits"
        findings.add(f"{where}: bits", expected, row.bits, _COUNT)


def _check_failed(row: ClipRow, where: str, findings: Findings) -> None:
    scored = {key: entry.status for key, entry in row.metrics.items() if entry.status != "failed"}
    if scored:
        findings.add(f"{where}: metrics", "failed metrics, or none, for a clip that failed", scored, _AGAIN)
    if not (row.stage and row.error_type):
        findings.add(f"{where}: stage", "the stage and the type of error of a failed clip", "none", _AGAIN)


def _table(submission: Submission) -> dict[str, Metric | None]:
    """Return the rows of the file's metrics, None for one without a description."""
    custom = {key: found.row(key, "") for key, found in submission.custom_metrics.items()}
    return {key: METRICS.get(key, custom.get(key)) for key in submission.metrics}


def _check_metrics(row: ClipRow, metrics: Mapping[str, Metric | None], where: str, findings: Findings) -> None:
    for key, entry in row.metrics.items():
        if key not in metrics:
            findings.add(f"{where}: {key}", f"a metric of submission.json: {sorted(metrics)}", key, "pack again")
        if entry.status != "ok" and not entry.reason:
            findings.add(f"{where}: {key}_reason", f"a reason for {entry.status}", "none", _AGAIN)
        known = metrics.get(key)
        value = entry.value
        if known is None or value is None:
            continue
        least, most = known.admitted
        if not least - _SLACK <= value <= most + _SLACK:
            findings.add(f"{where}: {key}", f"{least} to {most}, the range of {key}", value, _AGAIN)
