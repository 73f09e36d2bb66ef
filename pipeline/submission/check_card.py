"""Checks of what a card and its sender declare and no row measures: what arithmetic excludes is a problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from codec_superb.metrics.results import Operations
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission
from codec_superb.pipeline.tables.stored_rows import StoredRows

_ROUNDED = 0.99
"""Share of a frame that its length may lack after rounding: 13.333 ms at 75 Hz."""
FASTEST_MACHINE = 1e16
"""Operations a second above which a count or a time is doubted: those of an H200 do 2e15 (data sheet, FP8)."""
USED = 0.1
"""Share of the parameters that a clip uses once at least: codebooks, of which entries are chosen, may be most."""
_FIX = "correct the codec's card"


def check_card(submission: Submission, rows: StoredRows, findings: Findings) -> None:
    """Check declared figures against each other, and operations against the clips that were timed."""
    for name, expected, got in _excluded(submission):
        findings.add(f"{SUBMISSION_NAME}: codec.{name}", expected, got, _FIX)
    for number, dataset in enumerate(submission.datasets):
        if dataset.operations is not None:
            own = rows.where("dataset", {dataset.name}).where("status", {"ok"})
            _check_operations(submission, dataset.operations, own, number, findings)


def _excluded(submission: Submission) -> Iterator[tuple[str, str, float]]:
    """Yield the fields that cannot be so, with what was expected and what came."""
    card, next_year = submission.codec, int(submission.created[:4]) + 1  # there is no 30th of February, but a year
    fastest = max(card.sampling_rate, *card.encoder_rates, 0)
    if card.year is not None and card.year > next_year:
        yield "year", f"a year up to {next_year}, that after the run", card.year
    if card.parameters and card.kind == "classical":
        yield "parameters", "none of a classical codec, which is not trained", card.parameters
    bits = 8 * sum(file.size for file in card.weights.files) if card.weights else 0
    if bits and (card.parameters or 0) > bits:
        yield "parameters", f"at most one for each of the {bits:,} bits of the weights", card.parameters or 0
    if card.frame_rate is None:
        return
    if card.frame_rate > fastest:
        yield "frame_rate", f"at most a frame for each of the {fastest:,} samples a second", card.frame_rate
    if card.latency_ms is not None and card.latency_ms < _ROUNDED * 1000 / card.frame_rate:
        yield "latency_ms", f"at least the {1000 / card.frame_rate:.6g} ms of a frame", card.latency_ms


def _check_operations(
    submission: Submission, found: Operations, rows: StoredRows, number: int, findings: Findings
) -> None:
    """Expect operations of a neural codec alone, counted on a clip that has a resynthesis."""
    where, fix = f"{SUBMISSION_NAME}: datasets.{number}.operations", "pack the runs again with this version"
    card, name = submission.codec, submission.datasets[number].name
    if card.kind != "neural":
        findings.add(where, f"none of a {card.kind} codec", found.backend, fix)
    if not rows.equals("clip", found.clip).any():
        findings.add(f"{where}.clip", "a clip that has a resynthesis", found.clip, fix)
    heard = float(np.nansum(rows.number("samples") / rows.number("sampling_rate")))
    for step, counted, times in (("encoding", found.encode, "encode_s"), ("decoding", found.decode, "decode_s")):
        taken = float(np.nansum(rows.number(times)))
        if counted.per_second and taken and counted.per_second * heard / taken > FASTEST_MACHINE:
            done = counted.per_second * heard / taken
            findings.doubt(f"{name}: {step} does {done:.2g} operations a second, more than any one machine")
    both = [each.per_second for each in (found.encode, found.decode) if each.per_second and not each.unseen]
    if len(both) == 2 and sum(both) * found.seconds < 2 * USED * (card.parameters or 0):  # noqa: PLR2004 - both steps
        findings.doubt(
            f"{name}: {sum(both) * found.seconds:.2g} operations on {found.seconds:g} s of sound use a tenth of the "
            f"{card.parameters:,} parameters less than once"
        )
