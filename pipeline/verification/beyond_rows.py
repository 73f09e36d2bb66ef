"""What a submission holds beside the rows of clips: scores of pairs of clips, and listening samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.dataset_access import dataset_of_run, load_mono
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.facts.check_sound import LENGTH_SLACK, SOUND_DB
from codec_superb.pipeline.submission.facts.fingerprint import distance, fingerprint, frames_of
from codec_superb.pipeline.submission.samples import OPUS_RATE, as_sample, coder_input, decoded, ogg_opus
from codec_superb.pipeline.submission.schema import Sample
from codec_superb.pipeline.tables.rows import ClipRow, CountsRow, KeptRow, PairRow
from codec_superb.pipeline.verification.compare import OTHER_SOUND, SAME_SOUND, Change
from codec_superb.pipeline.verification.statement import Difference, Tolerance

Sound = NDArray[np.float32]
Place = tuple[str, str, bool]
"""Left, right and target of a pair."""


class ComparedPairs(NamedTuple):
    """The pairs of one dataset."""

    differences: tuple[Difference, ...]
    """Of each probe and number the largest that does not pass."""
    changes: Sequence[Mapping[str, Change]]
    """What counts for the means, as of clips."""


def compare_pairs(
    there: Iterable[KeptRow], here: Iterable[KeptRow], changed: Mapping[str, Collection[str]]
) -> ComparedPairs:
    """Compare the pairs of probes of one dataset, submitted and found; frames are none.

    ``changed``: the clips of a probe whose sound is not the submitted one to the last bit. A trial depends on those of
    its own clips alone; a rank among clips, and a count of tokens, on all of the probe. Of a probe the same pairs must
    be there. A score is compared as a number of a probe is, on the range of the scores that were found here; counts by
    their names, since bits of a clip are thousands and the tokens that a disturbance leaves in a codebook are tens.
    """
    submitted, found = _by_probe(there), _by_probe(here)
    differences: list[Difference] = []
    changes: list[Mapping[str, Change]] = []
    for probe in sorted(submitted.keys() | found.keys()):
        one, other = submitted.get(probe, {}), found.get(probe, {})
        if one.keys() != other.keys():
            common = len(one.keys() & other.keys())
            differences.append(Difference(quantity=f"{probe}.pairs", submitted=len(one), found=common))
            continue
        kind = PROBES[probe].pairs
        limits = SAME_SOUND["trial" if kind == "trials" else "probe"]
        # targets raised and the others lowered would leave the mean of all of them as it is
        groups: dict[str, list[Place]] = {}
        for place in sorted(other):
            groups.setdefault(place[1] if kind == "counts" else "targets" if place[2] else "others", []).append(place)
        for side, (label, places) in product(("reference", "resynthesis", "enrol_clean"), groups.items()):
            name = f"{probe}.pairs.{side}, {label}"
            for same in (True, False):
                its = [place for place in places if _is_alike(place, side, kind, changed.get(probe, ())) == same]
                both = [(getattr(one[place], side), getattr(other[place], side)) for place in its]
                its_limits = limits if same else OTHER_SOUND["probe"]
                _compare_side(name, both, differences, changes, its_limits, counts=kind == "counts", same=same)
    return ComparedPairs(tuple(differences), changes)


def _is_alike(place: Place, side: str, kind: str, changed: Collection[str]) -> bool:
    """Whether what a score depends on is the submitted sound to the last bit; originals always are."""
    if side == "reference" and kind != "counts":  # what a count is a part of depends on the codec too
        return True
    if kind in ("ranks", "counts"):
        return not changed
    return place[1] not in changed and (side == "enrol_clean" or place[0] not in changed)


def _compare_side(
    name: str,
    both: Sequence[tuple[float | None, float | None]],
    differences: list[Difference],
    changes: list[Mapping[str, Change]],
    limits: Tolerance,
    *,
    counts: bool,
    same: bool,
) -> None:
    numbers = [(one, other) for one, other in both if one is not None and other is not None]
    if len(numbers) < sum(pair != (None, None) for pair in both):
        differences.append(Difference(quantity=name, submitted="some without a score", found="others"))
    if not numbers:
        return
    scores = [other for _, other in numbers]
    lowest = min(0.0, *scores) if counts else min(scores)
    scale = max(max(scores) - lowest, 1.0)  # a few scores that are nearly alike have no range
    if counts and same:  # a count of each clip, as other whole numbers of a probe
        one, other = max(numbers, key=lambda pair: abs(pair[1] - pair[0]) / (max(map(abs, pair)) + 1))
        allowed = limits.clip * (max(abs(one), abs(other)) + 1)
    else:
        one, other = max(numbers, key=lambda pair: abs(pair[1] - pair[0]))
        allowed = limits.clip * scale
    if abs(other - one) > allowed:
        differences.append(Difference(quantity=name, submitted=one, found=other, allowed=allowed))
    else:
        changes += [{name: Change(one, other, scale, limits)} for one, other in numbers]


def _each_pair(rows: Iterable[KeptRow]) -> Iterator[PairRow]:
    for row in rows:
        if isinstance(row, CountsRow):
            yield from row.pairs()
        elif isinstance(row, PairRow):
            yield row


def _by_probe(rows: Iterable[KeptRow]) -> dict[str, dict[Place, PairRow]]:
    pairs = sorted(_each_pair(rows), key=lambda row: row.probe)
    return {
        probe: {(row.left, row.right, row.target): row for row in its}
        for probe, its in groupby(pairs, key=lambda row: row.probe)
    }


def compare_samples(
    samples: Sequence[Sample],
    members: Mapping[str, bytes],
    submitted: Mapping[str, ClipRow],
    found: Mapping[str, ClipRow],
    run: RunFolder,
    *,
    rounds: bool,
) -> tuple[Difference, ...]:
    """Return the listening samples of one dataset that are not the sound of the codec that ran here.

    ``submitted`` and ``found`` are rows by clip, the latter those of ``run``; a clip that failed here, or has no row,
    says nothing.
    Of the same sound a sample is as far from it as the coder of samples takes it. Of another one its levels are
    compared, and, of a codec that ``rounds``, the median of that distance: rounding leaves most samples where they are,
    and the sound of another codec, however similar, is elsewhere in all of them.
    """
    differences, distances = [], []
    for sample in samples:
        row = found.get(sample.clip)
        if row is None or row.resynthesis_sha256 is None:
            continue
        audio = read_audio(run.audio_path(row.clip), row.resynthesis_sha256)
        same = submitted[sample.clip].resynthesis_sha256 == row.resynthesis_sha256
        heard = _played(members[sample.resynthesis], audio, f"listening sample of {sample.clip}, seconds")
        if isinstance(heard, Difference):
            differences.append(heard)
            continue
        apart = (_by_error if same else _by_levels)(audio, heard)
        limit = CODER_ERRORS if same else SOUND_DB
        if apart > limit:
            name = f"listening sample of {sample.clip}, {'errors of its coder' if same else 'dB of level'}"[:200]
            differences.append(Difference(quantity=name, submitted=apart, found=float(same), allowed=limit))
        if rounds and not same:
            distances.append(_by_error(audio, heard))
    limit = CODER_ERRORS if len(distances) >= SEVERAL else ERRORS_OF_FEW
    if distances and (middle := median(distances)) > limit:
        name = "listening samples, errors of their coder, median"
        differences.append(Difference(quantity=name, submitted=middle, found=1.0, allowed=limit))
    return tuple(differences)


def compare_references(
    samples: Sequence[Sample], members: Mapping[str, bytes], run: RunFolder
) -> tuple[Difference, ...]:
    """Return the listening samples of one dataset beside which another sound than their clip's is heard.

    A reference made worse flatters every codec that is heard beside it.
    """
    dataset = dataset_of_run(run.info().dataset)
    differences = []
    for sample in samples:
        audio = load_mono(dataset.clip(sample.clip))
        heard = _played(members[sample.reference], audio, f"reference beside {sample.clip}, seconds")
        if isinstance(heard, Difference):
            differences.append(heard)
        elif (apart := _by_error(audio, heard)) > REFERENCE_ERRORS:
            name = f"reference beside {sample.clip}, errors of its coder"[:200]
            differences.append(Difference(quantity=name, submitted=apart, found=1.0, allowed=REFERENCE_ERRORS))
    return tuple(differences)


CODER_ERRORS = 2.0
"""Error of a sample, in errors that the coder of samples makes here: other versions of it make others of that size."""
REFERENCE_ERRORS = 1.2
"""The same of a reference, which is the dataset's to the last bit: the coders of PyAV 12.3, 13.1, 15.1 and 18.1 make
errors that differ by 2.3 % at most on 15 clips of ``mini``, where they lie 12 to 27 dB below the sound."""
SEVERAL, ERRORS_OF_FEW = 4, 4.0
"""Samples of whose errors the median is taken; of fewer one may be that of a decision which rounding turned."""


def _played(data: bytes, audio: tuple[Sound, int], quantity: str) -> Sound | Difference:
    """Decode a sample; where it does not play, or is longer or shorter than what a sample holds, the difference."""
    length = as_sample(*audio).size / audio[1]
    try:
        heard = decoded(data)
    except ValueError:
        return Difference(quantity=quantity[:200], submitted=None, found=length)
    if abs(heard.size / OPUS_RATE - length) > LENGTH_SLACK:
        seconds = heard.size / OPUS_RATE
        return Difference(quantity=quantity[:200], submitted=seconds, found=length, allowed=LENGTH_SLACK)
    return heard


def _by_error(audio: tuple[Sound, int], heard: Sound) -> float:
    """Return the energy of what ``heard`` adds to the sound, as a ratio of amplitudes to what the coder adds here."""
    source, coded = coder_input(*audio), decoded(ogg_opus(*audio))
    size = min(source.size, coded.size, heard.size)
    own, its = (float(np.linalg.norm(sound[:size] - source[:size])) for sound in (coded, heard))
    return its / max(own, 1e-4 * float(np.sqrt(size)))  # digital silence is coded without an error


def _by_levels(audio: tuple[Sound, int], heard: Sound) -> float:
    own = fingerprint(coder_input(*audio), OPUS_RATE)
    return distance(own, fingerprint(heard, OPUS_RATE, frames_of(own)))
