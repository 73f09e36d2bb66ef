"""``check``: verifies that a submission file is well-formed and its numbers follow from its rows; the service uses it.

Nothing in the file is trusted: the zip is opened within limits, JSON and Parquet are read strictly, and every count
and aggregate is computed again from the rows. What cannot be verified (that the rows come from the codec, that the
dataset is the published one where it is not known here) is stated in the notes.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from codec_superb.applications.received import standing
from codec_superb.metrics.results import UNCOUNTED
from codec_superb.pipeline.aggregates.metrics import Aggregates
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.errors import ClipTableError, PartsError, PipelineError, SubmissionError
from codec_superb.pipeline.submission.archive import FILE_LIMIT, read_archive
from codec_superb.pipeline.submission.check_card import check_card
from codec_superb.pipeline.submission.check_numbers import check_aggregates, check_bitrates, check_counts, check_metrics
from codec_superb.pipeline.submission.check_origin import check_origin
from codec_superb.pipeline.submission.check_pairs import check_pairs
from codec_superb.pipeline.submission.check_probes import check_probes, check_tasks
from codec_superb.pipeline.submission.check_rows import check_magnitudes, check_rows, check_slices
from codec_superb.pipeline.submission.doubts import check_doubts
from codec_superb.pipeline.submission.facts.check_facts import check_facts
from codec_superb.pipeline.submission.facts.clips import Known
from codec_superb.pipeline.submission.findings import CheckReport, Findings
from codec_superb.pipeline.submission.parts.reading import (
    MAX_ROWS,
    MOST_ROWS,
    Limits,
    PartSource,
    beside,
    nowhere,
    tables,
)
from codec_superb.pipeline.submission.samples import is_ogg_opus
from codec_superb.pipeline.submission.schema import (
    CLIPS_NAME,
    PAIRS_NAME,
    SUBMISSION_NAME,
    VECTORS_NAME,
    Submission,
    clips_digest,
    format_of,
)
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.tables.pairs import MAX_PAIRS, read_pairs
from codec_superb.pipeline.tables.rows import KeptRow
from codec_superb.pipeline.tables.stored_rows import StoredRows
from codec_superb.pipeline.tables.vectors import read_vectors

_PACK = "pack the runs again with this version"


@dataclass(frozen=True, slots=True)
class OpenedSubmission:
    """Contents of a submission, as far as they could be read."""

    submission: Submission
    rows: StoredRows
    """Of all files; :meth:`~codec_superb.pipeline.tables.stored_rows.StoredRows.slim` where they were asked for so."""
    members: Mapping[str, bytes]
    """Of the file that describes it."""
    aggregates: Aggregates | None = None
    """Computed from the rows while they were checked; None where that was not possible."""
    pairs: tuple[KeptRow, ...] = ()
    """Trials, ranks and frames of probes."""


Further = Callable[[OpenedSubmission, Findings], None]
"""A check beyond those of every submission."""
Each = Callable[[Submission, StoredRows], None]
"""Is handed the rows of each file."""


def check(file: Path | BinaryIO, *, known: Known | None = None, parts: PartSource | None = None) -> CheckReport:
    """Check a submission; problems are in the report, never raised.

    ``known`` is asked about each named dataset (:mod:`codec_superb.pipeline.submission.known_datasets` knows what is
    prepared on this machine). ``parts`` as in :func:`check_and_open`. SubmissionError only for a path that is no file.
    """
    return check_and_open(file, known=known, parts=parts, slim=True)[0]


def check_and_open(
    file: Path | BinaryIO, *, known: Known | None = None, file_limit: int = FILE_LIMIT, more: Sequence[Further] = (),
    parts: PartSource | None = None, each: Each | None = None, slim: bool = False,
) -> tuple[CheckReport, OpenedSubmission | None]:  # fmt: skip
    """Check a submission and return its contents; None when it could not be read.

    ``file_limit`` is in bytes, of each file; ``more`` are further checks of what could be read. Rows that lie in parts
    are read from ``parts``, by default from the files beside it, one at a time, and handed to ``each``. With ``slim``
    what is returned of them has what numbers follow from, which is half of it.
    """
    if isinstance(file, Path):
        if not file.is_file():
            raise SubmissionError(f"expected a submission file at {file}, found none")
        parts = parts or beside(file)
    findings = Findings()
    known = known or _nothing
    reading = _Reading(known, parts or nowhere, file_limit, each or _nobody, slim=slim)
    with ExitStack() as tasks:
        opened = _open(file, findings, reading, tasks)
        if opened is not None:
            opened = replace(opened, aggregates=_check_contents(opened, known, findings))
            for further in more:
                further(opened, findings)
    report = CheckReport(
        ok=not findings.problems,
        codec=opened.submission.codec.name if opened else None,
        datasets=tuple(dataset.name for dataset in opened.submission.datasets) if opened else (),
        clips=len(opened.rows) if opened else 0,
        problems=tuple(findings.problems),
        more=findings.more,
        notes=tuple(findings.notes),
    )
    return report, opened


def _nothing(_name: str) -> None:
    """Know no dataset."""


def _nobody(_submission: Submission, _rows: StoredRows) -> None:
    """Take no rows."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a submission is read."""

    known: Known
    parts: PartSource
    file_limit: int
    each: Each
    slim: bool


def _open(file: Path | BinaryIO, findings: Findings, how: _Reading, tasks: ExitStack) -> OpenedSubmission | None:
    """Read the zip, the document and the rows; None after noting why one of them cannot be read.

    The tasks that the file defines stand in the table of probes until ``tasks`` is closed.
    """
    where = "zip"
    try:
        members = read_archive(file, file_limit=how.file_limit)
        where = SUBMISSION_NAME
        # before pydantic, which takes NaN and, of repeated names, the last
        strict_json.loads(members[SUBMISSION_NAME])
        submission = Submission.model_validate_json(members[SUBMISSION_NAME], strict=True)
        if not check_tasks(submission, findings):
            return None
        tasks.enter_context(standing(info for dataset in submission.datasets for info in dataset.probes))
        where = CLIPS_NAME
        rows = _read_rows(submission, members, how, findings)
        if rows is None:
            return None
        where = PAIRS_NAME
        pairs: list[KeptRow] = []
        if PAIRS_NAME in members:
            pairs += read_pairs(io.BytesIO(members[PAIRS_NAME]), name=PAIRS_NAME, max_rows=MAX_PAIRS)
        where = VECTORS_NAME
        if VECTORS_NAME in members:
            pairs += read_vectors(io.BytesIO(members[VECTORS_NAME]), name=VECTORS_NAME)
        return OpenedSubmission(submission, rows, members, pairs=tuple(pairs))
    except ValidationError as error:
        for fault in error.errors():
            place = ".".join(map(str, fault["loc"]))
            findings.add(f"{where}: {place}", fault["msg"], repr(fault["input"])[:80], _PACK)
    except PartsError as error:
        wanted = "the file that describes a submission, and beside it all parts that pack wrote with it"
        findings.add("parts", wanted, str(error), "put its parts beside it and give its name, or pack the runs again")
    except (SubmissionError, ClipTableError) as error:
        findings.add(where, "a submission as pack writes it", f"a file that cannot be read: {error}", _PACK)
    return None


def _read_rows(
    submission: Submission, members: Mapping[str, bytes], how: _Reading, findings: Findings
) -> StoredRows | None:
    """Read and check the rows of each file by themselves; None after noting that they have other columns."""
    declared = {info.probe for dataset in submission.datasets for info in dataset.probes}
    kept: list[StoredRows] = []
    for rows in tables(
        submission, members, how.parts, Limits(how.file_limit, _most_rows(submission, how.known)), findings
    ):
        for kind, expected, got in (
            ("metrics", set(submission.metrics), rows.metrics),
            ("probes", declared, rows.probes),
        ):
            if set(got) != expected:
                wanted = f"columns for {sorted(expected)}, the {kind} of {SUBMISSION_NAME}"
                findings.add(CLIPS_NAME, wanted, list(got), _PACK)
                return None
        check_rows(rows, submission, findings)
        how.each(submission, rows)
        # what is computed of probes reads whole rows
        kept.append(rows.slim() if how.slim and not rows.probes else rows)
        del rows  # before the next are read
    return StoredRows.chained(kept)


def _most_rows(submission: Submission, known: Known) -> int:
    """More rows than the datasets have clips are refused unread: reading is what costs."""
    most = MAX_ROWS if any(dataset.probes for dataset in submission.datasets) else MOST_ROWS
    here = [known(name) for name in {dataset.name for dataset in submission.datasets}]
    if submission.kind == "custom" or None in here:
        return most
    # a run cannot have more rows than its dataset has clips: a bomb of rows is refused by the footer
    return min(most, sum(len(dataset.clips) for dataset in here if dataset is not None))


def _check_contents(opened: OpenedSubmission, known: Known, findings: Findings) -> Aggregates | None:
    submission, rows = opened.submission, opened.rows
    _check_hashes(opened, findings)
    _check_condition(submission, findings)
    check_metrics(submission, findings)
    check_counts(rows, submission, findings)
    check_card(submission, rows, findings)
    check_probes(rows, submission, findings, opened.pairs)
    sound = check_pairs(rows, opened.pairs, findings)
    sound &= check_magnitudes(rows, findings) & check_slices(rows, findings)
    computed = check_aggregates(rows, submission, findings, opened.pairs) if sound else None
    check_bitrates(submission, findings)
    _check_samples(opened, findings)
    check_origin(rows, submission, findings)
    check_doubts(rows, submission, findings)
    check_facts(submission, rows, known, findings)
    card, weights = submission.codec, submission.codec.weights
    if told := UNCOUNTED.get(card.bit_source):
        findings.note(f"{card.name}: {told}: shown, never ranked with measured ones")
    if card.delay_source == "found":
        findings.note(f"{card.name}: its delay of {card.delay_samples:g} samples was found on its clips, not declared")
    if weights is not None and weights.source == "random":
        findings.add(f"{SUBMISSION_NAME}: codec.weights.source", "trained weights", "random", "score a trained model")
    return computed


def _check_hashes(opened: OpenedSubmission, findings: Findings) -> None:
    submission = opened.submission
    found = {name: hashlib.sha256(data).hexdigest() for name, data in opened.members.items()}
    expected = {
        "clips_sha256": (found.get(CLIPS_NAME) or clips_digest(submission.parts), submission.clips_sha256),
        "pairs_sha256": (found.get(PAIRS_NAME), submission.pairs_sha256),
        "vectors_sha256": (found.get(VECTORS_NAME), submission.vectors_sha256),
        "format": (format_of(opened.members), submission.format),
        "content_sha256": (submission.content_hash(), submission.content_sha256),
    }
    for name, (want, got) in expected.items():
        if want != got:
            findings.add(f"{SUBMISSION_NAME}: {name}", want, got, "the file was changed after packing: pack again")


def _check_condition(submission: Submission, findings: Findings) -> None:
    """Expect a condition of this version's table, written as the program writes it."""
    condition = submission.condition
    if condition is None:
        return
    where = f"{SUBMISSION_NAME}: condition"
    try:
        known = parse_condition(condition.name, condition.reference)
    except PipelineError as error:
        findings.add(where, "a condition of `codec-superb conditions`", str(error), "run with a program of one version")
        return
    if known != condition:
        fix = "run again with this version"
        findings.add(where, known.model_dump_json(), condition.model_dump_json(), fix)
    findings.note(f"made under the condition {condition.label}: shown apart, never ranked")


def _check_samples(opened: OpenedSubmission, findings: Findings) -> None:
    """Every sample is there, is Ogg Opus, is of a clip of its own that is ok, and nothing else lies beside them."""
    named = opened.rows.where("clip", {sample.clip for sample in opened.submission.samples})
    ok = {(row.dataset, row.clip): row.category for row in named if row.status == "ok"}
    listed = {SUBMISSION_NAME, CLIPS_NAME, PAIRS_NAME, VECTORS_NAME}
    heard: set[tuple[str, str]] = set()
    for position, sample in enumerate(opened.submission.samples):
        where = f"{SUBMISSION_NAME}: samples.{position}"
        if (sample.dataset, sample.clip) in heard:
            findings.add(where, "a clip that no other sample is of", f"{sample.dataset}/{sample.clip}", _PACK)
        heard.add((sample.dataset, sample.clip))
        if ok.get((sample.dataset, sample.clip)) != sample.category:
            findings.add(where, "a clip that is ok, in its category", f"{sample.dataset}/{sample.clip}", _PACK)
        for name, sha256 in (
            (sample.reference, sample.reference_sha256),
            (sample.resynthesis, sample.resynthesis_sha256),
        ):
            data = opened.members.get(name, b"")
            if name in listed or hashlib.sha256(data).hexdigest() != sha256 or not is_ogg_opus(data):
                findings.add(f"{where}: {name}", "an Ogg Opus file of its own, with the SHA-256 given", "not so", _PACK)
            listed.add(name)
    for name in sorted(set(opened.members) - listed):
        findings.add(name, "only members that submission.json lists", name, _PACK)
