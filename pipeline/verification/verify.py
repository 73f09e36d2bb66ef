"""Verify a submission: check the file, draw clips, run them again, compare, and state what came out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from codec_superb.applications.table import PROBES
from codec_superb.base_codec.card import Card
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.runs.info import Provenance
from codec_superb.pipeline.runs.provenance import stamp
from codec_superb.pipeline.submission.check import OpenedSubmission, check_and_open
from codec_superb.pipeline.submission.parts.reading import PartSource
from codec_superb.pipeline.submission.schema import SubmittedDataset
from codec_superb.pipeline.tables.rows import ClipRow, FramesRow
from codec_superb.pipeline.verification.again import CannotRun, Made, NothingSaid, Rerun, run_again
from codec_superb.pipeline.verification.attestation import AttestationError
from codec_superb.pipeline.verification.compare import Change, Compared, FailedHere, MachineFailed, compare_clip, drifts
from codec_superb.pipeline.verification.draw import draw, seed_of
from codec_superb.pipeline.verification.drawn import check_drawn
from codec_superb.pipeline.verification.figures import compare_figures
from codec_superb.pipeline.verification.pairs import compare_pairs
from codec_superb.pipeline.verification.sounds import WANDERING, compare_references, compare_samples, made_elsewhere
from codec_superb.pipeline.verification.statement import (
    DIFFERENCES,
    SAMPLES,
    ClipVerdict,
    DatasetVerdict,
    Difference,
    Machine,
    Statement,
    beside_rows,
)
from codec_superb.pipeline.verification.tolerances import OTHER_SOUND, SAME_SOUND
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import Progress, SilentProgress

_TIMES = "times of encoding and decoding, and counted operations: they are the machine's, and the submitter's"
SAME_EVERYWHERE = frozenset({
    "alac", "amrnb", "aptx", "flac", "g711", "g722", "g723_1", "g726", "gsm", "ima_adpcm", "lc3", "mp2", "mp3", "opus",
    "ra144", "sbc", "wavpack",
})  # fmt: skip
"""Families whose sound does not depend on the processor: 18 clips of ``mini`` came out the same to the last bit with
FFmpeg's and NumPy's AVX and FMA code switched off. aac, ac3, eac3, nellymoser, vorbis and wma did not; codec2 rounds
otherwise, and libraries of the system have no version in a stamp."""
ERRATIC = frozenset({"aac"})
"""Families whose sound on another processor is another by more than a forger would change: nothing is said of it.
FFmpeg's AAC with its AVX and FMA code switched off, at 16 to 64 kbps on the 75 clips of ``mini``: single clips 16 % of
bits, 15 % of mel distance and 9 dB of SDR off, a root mean square of 5 %, 3 % and 2.2 dB of a category."""
ERRATIC_DAMAGED = frozenset({"mp2"})
"""Of :data:`SAME_EVERYWHERE` the same under bit errors: FFmpeg's decoder leaves parts of a damaged frame to what the
memory held. Of 15 clips with 0.02 % of the bits inverted, decoded three times in two processes, 7 were not the same
each time. Those of the others were, and which clips fail was the same of all."""
WHOLE = 200
"""Clips up to which a dataset with joint numbers, or scores of pairs, is run whole, unless a number is asked for."""
_PACKAGES = (
    "av", "ffmpeg libavcodec", "ffmpeg libavutil", "ffmpeg libswresample", "lc3py", "numpy", "soundfile", "soxr",
)  # fmt: skip
"""Packages whose version decides on the sound of :data:`SAME_EVERYWHERE`."""


class Asked(NamedTuple):
    """Which clips are run again."""

    nonce: str
    """64 hexadecimal digits that the submitter could not know."""
    clips: int | None = None
    """Of each dataset; 0 for all, None for as many as catch a cheat on a twentieth."""


def verify(
    file: Path, asked: Asked, how: Rerun, *, pool: Executor, progress: Progress | None = None,
    parts: PartSource | None = None,
) -> Statement:  # fmt: skip
    """Run clips of a submission again, and state whether they come out as submitted.

    Its ``parts`` lie beside it, unless somebody says where.

    Raises CannotRun where nothing can be said (:mod:`~codec_superb.pipeline.verification.again`), FailedHere for a clip
    that fails here alone, SubmissionError for a path that is no file.
    """
    report, opened = check_and_open(file, parts=parts)
    if opened is None or not report.ok:
        problem = report.problems[0]
        raise CannotRun(
            f"{file.name} does not pass its check, which `codec-superb check` shows: {problem.path}: expected "
            f"{problem.expected}, got {problem.got}"
        )
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    drawn = draw(opened.rows, seed_of(digest, asked.nonce), asked.clips)
    if missing := [of.name for of in opened.submission.datasets if not drawn.get(of.name)]:
        raise CannotRun(f"{', '.join(missing)}: the file has no clips of it")
    if asked.clips is None:
        drawn |= _whole(opened, seed_of(digest, asked.nonce))
    ran = {name: tuple(sorted({*clips, *_sampled(opened, name)})) for name, clips in drawn.items()}
    made = run_again(opened.submission, _chosen(opened.rows, drawn), ran, how, pool, progress or SilentProgress())
    return _statement(opened, digest, asked.nonce, drawn, made)


def _whole(opened: OpenedSubmission, seed: str) -> dict[str, tuple[str, ...]]:
    """Draw all clips of the datasets of which a part says nothing.

    These are small ones with joint numbers, or scores of pairs, which the whole alone has; and what is believed for its
    sound alone, where nothing is said of another sound: false clips would be such, and files be sent until a draw
    misses them.
    """
    datasets = opened.submission.datasets
    joint = {key for key, row in PROBES.items() if row.joint}
    needing = {pair.dataset for pair in opened.pairs if not isinstance(pair, FramesRow)}
    needing |= {of.name for of in datasets if joint & {info.probe for info in of.probes}}
    clips = draw(opened.rows, seed, 0)
    erratic = is_erratic(opened.submission.codec.family, opened.submission.condition)
    by_sound = {of.name for of in datasets if erratic or _is_of_other_build(opened.submission.codec.family, of)}
    return {name: clips[name] for name in needing | by_sound if name in by_sound or len(clips[name]) <= WHOLE}


def is_erratic(family: str, condition: Condition | None) -> bool:
    """Whether nothing is said of another sound of a codec under a condition, whatever its libraries are.

    Nor of codecs that round under any: of another payload another part is damaged, and what is coded again differs the
    more. With half an LSB of noise at the encoder, of 30 honest runs of seven codecs 14 lay beyond the limits, of which
    those of AMR-WB under each of three conditions, of Lyra, Codec2 and Speex coded three times.
    """
    if condition is None:
        return family in ERRATIC
    return family not in SAME_EVERYWHERE or (condition.kind.key == "bits" and family in ERRATIC_DAMAGED)


def _is_of_other_build(family: str, dataset: SubmittedDataset) -> bool:
    """Whether a codec that sounds the same everywhere was built otherwise: nothing is said of another sound."""
    return family in SAME_EVERYWHERE and not _is_same_build(dataset.provenance, stamp("resynth", "cpu"))


def _sampled(opened: OpenedSubmission, dataset: str) -> set[str]:
    """Return the clips with a listening sample: they are run too, for its sound alone where they were not drawn."""
    return {sample.clip for sample in opened.submission.samples if sample.dataset == dataset}


def check_of_file(statement: Statement, file: Path) -> None:
    """Raise AttestationError where a statement is not of this file's rows, or of other clips than its seed draws.

    The file's own hash may be another: a board's download lacks the submitter's contact.
    How many were drawn is the maintainer's choice; which ones is not.
    """
    report, opened = check_and_open(file)
    if opened is None or not report.ok:
        raise AttestationError(f"{file.name}: it does not pass its check; `codec-superb check` says why")
    of = opened.submission
    if (of.clips_sha256, of.codec.name) != (statement.rows_sha256, statement.codec):
        raise AttestationError(
            f"{file.name}: expected {statement.codec} with the rows {statement.rows_sha256[:16]}…, of which the "
            f"attestation is, got {of.codec.name} with {of.clips_sha256[:16]}…"
        )
    if of.condition != statement.condition:
        raise AttestationError(
            f"{file.name}: expected a run under {_told(statement.condition)}, of which the attestation is, got one "
            f"under {_told(of.condition)}"
        )
    same = hashlib.sha256(file.read_bytes()).hexdigest() == statement.file_sha256
    if not same and beside_rows(of.model_dump(mode="json")) != statement.beside_sha256:
        raise AttestationError(
            f"{file.name}: expected the pairs, frames and listening samples of which the attestation is, got others"
        )
    check_drawn(statement, {of.name: of.manifest_hash for of in opened.submission.datasets}, opened.rows)


def _told(condition: Condition | None) -> str:
    return "no condition" if condition is None else f"{condition.label}, version {condition.version}"


def _statement(
    opened: OpenedSubmission, digest: str, nonce: str, drawn: Mapping[str, Collection[str]], made: Made
) -> Statement:
    submission = opened.submission
    failures: list[FailedHere] = []
    alike = {name: _alike(opened, name, clips, made) for name, clips in drawn.items()}
    _leave_clusters(opened.rows, made, alike)
    compared = {
        of.name: _compare(opened, of, drawn[of.name], made, failures, alike=alike[of.name])
        for of in submission.datasets
    }
    clips = tuple(entry.verdict for name in sorted(compared) for entry in compared[name])
    datasets = tuple(_dataset(opened, of, compared[of.name], made) for of in submission.datasets if compared[of.name])
    # of an erratic codec's other sound no number tells, nor does one of all clips
    erratic = is_erratic(made.card.family, submission.condition)
    telling = not erratic or all(of.same_sound for of in clips)
    differs = any(of.verdict == "differs" and (telling or of.same_sound) for of in clips)
    differs = differs or (telling and any(of.differences for of in datasets))
    if not differs:
        # a row that names no hash of its sound has other sound too: to leave them out would buy the limits of rounding
        sounding = {(row.dataset, row.clip) for row in opened.rows if row.status == "ok"}
        _refuse_untold(made.card, [of for of in clips if (of.dataset, of.clip) in sounding], erratic=erratic)
    if failures and not differs:  # what differs elsewhere counts, whatever failed
        # what the codec, a metric or a model fails on says more than what this machine could not do
        raise min(failures, key=lambda failure: isinstance(failure, MachineFailed))
    probes = sorted(set().union(*made.probes.values()))
    metrics = sorted(_metrics(_chosen(opened.rows, drawn), made))
    return Statement(
        file_sha256=digest, rows_sha256=submission.clips_sha256, codec=submission.codec.name,
        beside_sha256=beside_rows(submission.model_dump(mode="json")),
        condition=submission.condition, nonce=nonce, seed=seed_of(digest, nonce), datasets=datasets, clips=clips,
        tolerances={**OTHER_SOUND, **{f"{name}, same sound": of for name, of in SAME_SOUND.items()}},
        compared=("bits", "tokens", "resynthesis_sha256", *metrics, *probes),
        left_out=(_TIMES, *made.left_out, *(str(failure)[:1000].replace("\0", "\ufffd") for failure in failures[:20])),
        machine=_machine(next(iter(made.stamps.values()))), made=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict="differs" if differs else "agrees",
    )  # fmt: skip


def _alike(opened: OpenedSubmission, dataset: str, drawn: Collection[str], made: Made) -> bool:
    """Whether all drawn clips of a dataset sound the same to the last bit."""
    submitted = {clip: row.resynthesis_sha256 for clip, row in _of(opened.rows, dataset).items()}
    found = {clip: row.resynthesis_sha256 for clip, row in _of(made.rows.values(), dataset).items()}
    return all(submitted[clip] == found.get(clip) for clip in drawn)


def _leave_clusters(rows: Iterable[ClipRow], made: Made, alike: Mapping[str, bool]) -> None:
    """Leave out probes that keep names alone where clusters found anew are others: then nothing can be said.

    Of equal sound too: vectors off by 1e-6, as of another processor, give k-means other clusters for one seed of ten.
    """
    there = list(rows)
    for dataset, keys in made.probes.items():
        for key in sorted(keys):
            if not PROBES[key].sided or not all(field.names for field in PROBES[key].sided):
                continue
            others = _other_clusters(key, _of(there, dataset), _of(made.rows.values(), dataset))
            if others or not alike[dataset]:
                made.probes[dataset] = made.probes[dataset] - {key}
                found = f"found anew, clusters of the same sound are others on {others} clips"
                why = found if alike[dataset] else "its clusters are those of another sound"
                made.left_out.append(f"{dataset}, {key}: {why}")


def _other_clusters(key: str, there: Mapping[str, ClipRow], here: Mapping[str, ClipRow]) -> int:
    """Count the clips that have clusters of other names."""
    pairs = [(there[clip].probes.get(key), row.probes.get(key)) for clip, row in here.items() if clip in there]
    return sum(
        (one.reference, one.resynthesis) != (other.reference, other.resynthesis)
        for one, other in pairs
        if one and other
    )


def _compare(
    opened: OpenedSubmission,
    dataset: SubmittedDataset,
    drawn: Collection[str],
    made: Made,
    failures: list[FailedHere],
    *,
    alike: bool,
) -> list[Compared]:
    """Compare the drawn clips of a dataset; those that fail here alone go to ``failures``."""
    erratic = is_erratic(made.card.family, opened.submission.condition)
    exact = not erratic and is_exact(made.card, dataset.provenance, made.stamps[dataset.name])
    chosen = set(drawn)
    rows = (row for row in opened.rows if row.dataset == dataset.name and row.clip in chosen)
    compared = []
    for row in sorted(rows, key=lambda row: row.clip):
        if (here := made.rows.get((row.dataset, row.clip))) is None:
            continue
        try:
            compared.append(compare_clip(row, here, exact=exact, probes=made.probes[dataset.name], alike=alike))
        except FailedHere as failure:
            failures.append(failure)
    return compared


def is_deterministic(card: Card) -> bool:
    """Whether a codec gives the same sound to the last bit wherever its libraries are the same.

    ``card`` is the one here: what a file says of the codec's library is not compared.
    """
    return card.family in SAME_EVERYWHERE and card.kind in ("classical", "lossless") and card.system is None


def is_exact(card: Card, submitted: Sequence[Provenance], here: Provenance) -> bool:
    """Whether another sound is a difference: a deterministic codec, built for the same kind of machine.

    The processor's name does not count: a submitter could claim another one.
    """
    return is_deterministic(card) and _is_same_build(submitted, here)


def _is_same_build(submitted: Sequence[Provenance], here: Provenance) -> bool:
    there = [stamp for stamp in submitted if stamp.stage == "resynth"]
    return bool(there) and all(_build(stamp) == _build(here) for stamp in there)


def _build(stamp: Provenance) -> tuple[object, ...]:
    """Return what compiled code a stamp was made with: system, kind of processor, versions."""
    kind = re.search("x86_64|AMD64|aarch64|arm64", stamp.platform)
    return stamp.platform.partition("-")[0], kind and kind[0], *(stamp.packages.get(name) for name in _PACKAGES)


def _refuse_untold(card: Card, clips: Sequence[ClipVerdict], *, erratic: bool) -> None:
    """Raise NothingSaid where a deterministic codec sounds otherwise, as of other versions, or an erratic one."""
    same = sum(clip.same_sound for clip in clips)
    if same == len(clips):
        return
    if erratic:
        raise NothingSaid(
            f"{card.name}: expected the same sound of every clip, got {same} of {len(clips)}; of another processor, or "
            "of damaged bits, it may differ by more than a forged number would, so nothing can be said: verify it on a "
            "machine of the submitter's kind"
        )
    if is_deterministic(card):
        raise NothingSaid(
            f"{card.name}: expected the same sound of every clip, as this codec does not depend on the processor, got "
            f"{same} of {len(clips)}; the file names another system or other versions of libraries than those here, so "
            "nothing can be said: verify it with those"
        )


def _dataset(
    opened: OpenedSubmission, dataset: SubmittedDataset, compared: Sequence[Compared], made: Made
) -> DatasetVerdict:
    name, run, probes = dataset.name, made.folders[dataset.name], made.probes[dataset.name]
    there = [pair for pair in opened.pairs if pair.dataset == name and pair.probe in probes]
    here = [pair for pair in run.pairs() if pair.probe in probes]
    other = _chosen(opened.rows, {name: [of.verdict.clip for of in compared if not of.verdict.same_sound]})
    changed = {key: {row.clip for row in other if _takes(row, key)} for key in probes}
    pairs = compare_pairs(there, here, changed)
    chosen = {name: [of.verdict.clip for of in compared]}
    sides = (_chosen(opened.rows, chosen), there), (_chosen(made.rows.values(), chosen), here)
    figures = [of for key in sorted(probes) for of in compare_figures(PROBES[key], *sides, alike=not changed[key])]
    listed = [sample for sample in opened.submission.samples if sample.dataset == name]
    samples = made_elsewhere(listed, opened.members, _of(made.rows.values(), name), run)
    if samples:
        number = f"{len(samples)} of {len(listed)}"
        made.left_out.append(f"{name}, {SAMPLES}: {number} are not as they are made here, held to limits")
    differences = (
        *_drifts(compared, _of(opened.rows, name), pairs.changes), *pairs.differences, *figures,
        *compare_samples(samples, opened.members, _of(opened.rows, name), _of(made.rows.values(), name), run,
                         rounds=not is_deterministic(made.card), wanders=made.card.family in WANDERING),
        *compare_references(samples, opened.members, run),
    )  # fmt: skip
    return DatasetVerdict(
        name=name, manifest_hash=dataset.manifest_hash, drawn=len(compared), differences=differences[:DIFFERENCES],
        clips=sum(row.dataset == name for row in opened.rows),
    )  # fmt: skip


def _drifts(
    compared: Sequence[Compared], rows: Mapping[str, ClipRow], pairs: Sequence[Mapping[str, Change]]
) -> list[Difference]:
    """Compare the means over all clips, and over those of each category, each of which has a score of its own."""
    found = list(drifts([*(of.changes for of in compared), *pairs]))
    whole = {of.quantity for of in found}
    by_category: dict[str, list[Mapping[str, Change]]] = {}
    for of in compared:
        by_category.setdefault(rows[of.verdict.clip].category, []).append(of.changes)
    for category, changes in sorted(by_category.items()):
        found += [
            of.model_copy(update={"quantity": f"{of.quantity}, {category}"})
            for of in drifts(changes) if of.quantity not in whole
        ]  # fmt: skip
    return found


def _of(rows: Iterable[ClipRow], dataset: str) -> dict[str, ClipRow]:
    return {row.clip: row for row in rows if row.dataset == dataset}


def _takes(row: ClipRow, probe: str) -> bool:
    """Whether a clip takes part in a probe."""
    return probe in row.probes and row.probes[probe].status == "ok"


def _chosen(rows: Iterable[ClipRow], drawn: Mapping[str, Collection[str]]) -> list[ClipRow]:
    chosen = {(name, clip) for name, clips in drawn.items() for clip in clips}
    return [row for row in rows if (row.dataset, row.clip) in chosen]


def _metrics(rows: Sequence[ClipRow], made: Made) -> set[str]:
    """Return the metrics that are here wherever the file has them."""
    stated = {key for row in rows for key in row.metrics.keys() & METRICS.keys()}
    here = {place: row.metrics.keys() for place, row in made.rows.items()}
    return stated - {key for row in rows for key in row.metrics.keys() - here.get((row.dataset, row.clip), set())}


def _machine(resynth: Provenance) -> Machine:
    now = stamp("score", resynth.device)
    return Machine.model_validate({name: getattr(now, name) for name in Machine.model_fields})
