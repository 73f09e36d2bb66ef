"""Checks against what this side knows of the datasets: clips, clusters, lengths, sound, and where metrics have values.

Nothing that follows from the reference alone is taken from the file. Of a custom dataset nobody here knows anything:
its numbers have absolute bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.table import METRICS, Category
from codec_superb.pipeline.submission.facts.clips import Known, KnownClip, KnownDataset
from codec_superb.pipeline.submission.facts.fingerprint import is_silent
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import CLIPS_NAME, SUBMISSION_NAME, Submission, SubmittedDataset
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.tables.stored_rows import StoredRows

_AGAIN = "run again with this dataset; rows are not edited by hand"
_PACK = "pack the runs again with this version"
_LABELS = "run again with this version, which takes both from the dataset; a table of an earlier layout lacks them"
RATES = (1_000, 1_000_000)
"""Hz that any clip may have."""
_PCM_BITS = 2 * 32
"""Bits of a sample of raw sound: two channels, for codecs that take no fewer, of 32 bits."""
_PCM_RATE = 48_000
"""A codec may work at a higher rate than that of the clip."""
_PADDING_BITS = 1 << 20
"""Of headers, and of a last block that silence fills."""
UNDEFINED_SHARE = 0.1
"""Of the clips of a category, on which a codec's own sound may leave a metric undefined without a question. Of 31
honest runs on ``mini``, the most were the pitch of 2 of 25 clips of music (GSM 06.10)."""
UNDEFINED_CLIPS = 3
"""As many are never too many."""
_EXACT = 1e-6
"""STFT distance of sound that was returned exactly: its ratios are infinite, and so undefined."""


def check_facts(submission: Submission, rows: StoredRows, known: Known, findings: Findings) -> None:
    """Compare with what this side knows about the datasets."""
    for row in rows.those(_beyond_bounds(rows)):
        _check_bounds(row, findings)
    for position, dataset in enumerate(submission.datasets):
        here = known(dataset.name) if submission.kind == "named" else None
        if submission.kind == "custom":
            findings.note(
                f"{dataset.name}: a custom dataset: shown as custom, never ranked or compared with a named one"
            )
        elif here is None:
            findings.note(f"{dataset.name}: not verified here, because the dataset is not prepared on this machine")
        else:
            _check_dataset(dataset, position, rows.where("dataset", {dataset.name}), here, submission, findings)


def _beyond_bounds(rows: StoredRows) -> NDArray[np.bool_]:
    """Tell which rows may be beyond the bounds of :func:`_check_bounds`."""
    rate, samples, bits = map(rows.number, ("sampling_rate", "samples", "bits"))
    with np.errstate(invalid="ignore", divide="ignore"):
        most = samples / rate * np.maximum(rate, _PCM_RATE) * _PCM_BITS + _PADDING_BITS - 1
    return (rate < RATES[0]) | (rate > RATES[1]) | (bits > most)


def _check_bounds(row: ClipRow, findings: Findings) -> None:
    """Expect what any sound and any codec can have: a rate of sound, and no more bits than raw sound takes."""
    if row.status != "ok" or not row.samples or not row.sampling_rate:
        return  # the check of rows says what is missing
    where = f"{CLIPS_NAME}: {row.dataset}/{row.clip}"
    if not RATES[0] <= row.sampling_rate <= RATES[1]:
        findings.add(f"{where}: sampling_rate", f"{RATES[0]} to {RATES[1]} Hz", row.sampling_rate, _AGAIN)
        return
    seconds = row.samples / row.sampling_rate
    most = round(seconds * max(row.sampling_rate, _PCM_RATE) * _PCM_BITS) + _PADDING_BITS
    if row.bits is not None and row.bits > most:
        expected = f"at most {most}, raw sound of {seconds:.4g} s in two channels of 32 bits and a container"
        findings.add(f"{where}: bits", expected, row.bits, "count the bits of the payload alone, and run again")


def _check_dataset(
    dataset: SubmittedDataset, position: int, rows: Sequence[ClipRow], here: KnownDataset, submission: Submission,
    findings: Findings,
) -> None:  # fmt: skip
    where = f"{SUBMISSION_NAME}: datasets.{position}"
    if here.manifest_hash != dataset.manifest_hash:
        fix = "prepare the current dataset and run again"
        expected = f"{here.manifest_hash}, the {dataset.name} known here"
        findings.add(f"{where}.manifest_hash", expected, dataset.manifest_hash, fix)
        return
    if dataset.clips != len(here.clips):
        findings.add(f"{where}.clips", f"the {len(here.clips)} clips of {dataset.name}", dataset.clips, _PACK)
    if any(clip.samples is None for clip in here.clips.values()):
        findings.note(f"{dataset.name}: the lengths of its clips are not known here, and not compared")
    # against the sound that a condition made, other metrics have a meaning
    clean = submission.condition is None or submission.condition.reference == "clean"
    for row in rows:
        clip = here.clips.get(row.clip)
        place = f"{CLIPS_NAME}: {dataset.name}/{row.clip}"
        if clip is None or clip.category != row.category:
            expected = f"a clip of {dataset.name}" if clip is None else f"category {clip.category}"
            findings.add(place, expected, row.category, "run again with this dataset")
            continue
        _check_labels(row, clip, place, findings)
        if row.status == "ok":
            _check_length(row, clip, place, findings)
            if clean:
                _check_meaning(row, clip, place, findings)
    if clean:
        _check_share(dataset.name, rows, here.clips, submission, findings)


def _check_labels(row: ClipRow, clip: KnownClip, place: str, findings: Findings) -> None:
    """Expect cluster and slice of the dataset, failed or not: with clusters split up, intervals are too narrow."""
    for name, want, got in (("cluster", clip.cluster, row.cluster), ("slice", clip.slice, row.slice)):
        if want is not None and got != want:
            findings.add(f"{place}: {name}", f"the {name} that the dataset gives its clip", got or "none", _LABELS)


def _check_length(row: ClipRow, clip: KnownClip, place: str, findings: Findings) -> None:
    """Expect rate and length of the reference, and some bits for whatever can be heard."""
    for name, want in (("sampling_rate", clip.sampling_rate), ("samples", clip.samples)):
        if want is not None and getattr(row, name) != want:
            findings.add(f"{place}: {name}", f"{want}, that of the clip", getattr(row, name), _AGAIN)
    if row.bits == 0 and clip.sound is not None and not is_silent(clip.sound):
        findings.add(f"{place}: bits", "at least 1 for a clip with sound in it", 0, "count the bits of the payload")


def _check_meaning(row: ClipRow, clip: KnownClip, place: str, findings: Findings) -> None:
    """Expect a metric that the reference alone defines to have a meaning where it has one, and none elsewhere."""
    if clip.undefined is None:
        return
    for key, entry in row.metrics.items():
        of = METRICS.get(key)
        if of is None or entry.status == "failed":
            continue
        if entry.status == "ok" and key in clip.undefined:
            expected = "no value: the metric is undefined by the reference"
            findings.add(f"{place}: {key}", expected, entry.value, _AGAIN)
        if entry.status == "undefined" and key not in clip.undefined and of.undefined_by == "reference":
            expected = "a value: the reference alone decides whether there is one, and there is"
            findings.add(f"{place}: {key}_status", expected, f"undefined: {entry.reason}", _AGAIN)


def _check_share(
    name: str, rows: Sequence[ClipRow], clips: Mapping[str, KnownClip], submission: Submission, findings: Findings
) -> None:
    """Count where the codec's own sound left a metric without a meaning: on many clips that would choose among them.

    Under a condition it may be the damage that did: no pitch is found in noise, nor anything in silence.
    """
    lossless = submission.codec.kind == "lossless"
    sizes: Counter[Category] = Counter()
    beyond: Counter[tuple[Category, str]] = Counter()
    for row in rows:
        clip = clips.get(row.clip)
        if row.status != "ok" or clip is None or clip.undefined is None:
            continue
        sizes[row.category] += 1
        exact = lossless or _is_exact(row)
        for key, entry in row.metrics.items():
            if entry.status == "undefined" and key in METRICS and key not in clip.undefined:
                beyond[row.category, key] += not (exact and key in {"sdr", "si_sdr"})
    for (category, key), count in sorted(beyond.items()):
        if not count:
            continue
        text = f"{name} ({category}): {key} undefined on {count} of {sizes[category]} clips whose reference defines it"
        if submission.condition is None and count > max(UNDEFINED_CLIPS, UNDEFINED_SHARE * sizes[category]):
            findings.doubt(f"{text}: a mean over the others says little of the codec")
        else:
            findings.note(text)


def _is_exact(row: ClipRow) -> bool:
    distance = row.metrics.get("stft")
    return distance is not None and distance.value is not None and distance.value <= _EXACT
