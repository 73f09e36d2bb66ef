"""Rows that were made up are doubted, each for its own reason; drawn ones, which are like honest runs, never."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import card, draw_rows, ok, write_run
from support.profile import examples

from codec_superb.base_codec.card import Card
from codec_superb.pipeline.runs.info import Provenance
from codec_superb.pipeline.submission.doubts import check_doubts
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.rows import ClipRow, ProbeValue
from codec_superb.pipeline.tables.stored_rows import StoredRows

_NO_ERROR = {"substitutions": 0.0, "deletions": 0.0, "insertions": 0.0}
HEARD = ProbeValue(status="ok", shared={"words": 3.0, "characters": 0.0}, reference=_NO_ERROR, resynthesis=_NO_ERROR)
Change = Callable[[int, ClipRow], ClipRow]


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Submission:
    """Pack a plain run, for its description."""
    from codec_superb.pipeline.submission.archive import read_archive

    folder = tmp_path_factory.mktemp("doubts")
    file = pack([write_run(folder, draw_rows(1, 3), card=card())], folder / "a.zip")
    return Submission.model_validate_json(read_archive(file)["submission.json"])


def drawn(seed: int = 1, quality: float = 0.0) -> list[ClipRow]:
    """Draw eighteen clips of one category, of one to nearly three seconds, with times as they are measured."""
    rows = draw_rows(seed, 18, quality=quality, categories=("speech",))
    return [
        row.model_copy(
            update={
                "samples": 16000 + 1600 * number, "bits": 16000 + 1607 * number,
                "encode_s": 0.01 + 0.0013 * (number * 7 % 5), "decode_s": 0.02 + 0.0017 * (number * 5 % 7),
            }
        )
        for number, row in enumerate(rows)
    ]  # fmt: skip


def doubts(rows: list[ClipRow], submission: Submission) -> list[str]:
    """Return what is doubted."""
    findings = Findings()
    check_doubts(StoredRows.of(rows), submission, findings)
    assert findings.problems == []
    return findings.unusual


def values(row: ClipRow, **found: float) -> ClipRow:
    """Replace values of a row."""
    return row.model_copy(update={"metrics": row.metrics | {key: ok(value) for key, value in found.items()}})


@given(seed=st.integers(0, 10**6), quality=st.floats(-1, 1))
@examples(30)
def test_drawn_rows_are_believed(submission: Submission, seed: int, quality: float) -> None:
    """Whatever their noise, also where PESQ or the pitch reach the end of their scale on many clips."""
    assert doubts(drawn(seed, quality), submission) == []


CHANGES: dict[str, Change] = {
    "at the best value": lambda _number, row: values(row, pesq=4.6438885),
    "mel, stft at the best value": lambda _number, row: values(row, mel=0.0, stft=0.0),
    "the same value": lambda number, row: values(row, mel=1.512345678 + number // 2, stft=2.512345678 + number // 2),
    "stoi 17 times": lambda _number, row: values(row, stoi=0.912345678912),
    "rounded to 4 decimals": lambda _number, row: values(row, mel=round(row.metrics["mel"].value or 0, 3)),
    "encoding took the same time for each clip": lambda _number, row: row.model_copy(update={"encode_s": 0.5}),
    "decoding took the same time for each second": lambda _number, row: row.model_copy(
        update={"decode_s": 0.01 * (row.seconds or 0)}
    ),
    "asr failed on 4 of 18 resyntheses": lambda number, row: row.model_copy(
        update={"probes": {"asr": ProbeValue(status="failed", reason="no answer") if number < 4 else HEARD}}
    ),
    "16000 bits for every clip": lambda _number, row: row.model_copy(update={"bits": 16000}),
}


@pytest.mark.parametrize("words", CHANGES)
def test_what_was_made_up_is_doubted(submission: Submission, words: str) -> None:
    """For its own reason alone, which names dataset and category."""
    (doubt,) = doubts([CHANGES[words](number, row) for number, row in enumerate(drawn())], submission)
    assert words in doubt
    assert doubt.startswith("mini (speech): ")


def _with_card(submission: Submission, **fields: object) -> Submission:
    return submission.model_copy(update={"codec": Card(**(submission.codec.model_dump() | fields))})


def test_what_has_an_honest_reason(submission: Submission) -> None:
    """A lossless codec is perfect, a batch shares its time out, tokens fill a block, and three clips say nothing."""
    perfect = [values(row, mel=0.0, stft=0.0, pesq=4.6438885, stoi=1.0, f0corr=1.0) for row in drawn()]
    assert doubts(perfect, _with_card(submission, kind="lossless", nominal_kbps=None)) == []
    called = [values(row, mel=1.5 + number // 2, stft=2.5 + number // 2) for number, row in enumerate(drawn())]
    assert any("the same value" in each for each in doubts(called, _with_card(submission, kind="lossless")))
    silent = [values(row, estoi=0.0, sdr=0.0) if number < 2 else row for number, row in enumerate(drawn())]
    assert doubts(silent, submission) == []  # nothing of the two arrived
    shared = [row.model_copy(update={"encode_s": 0.01 * (row.seconds or 0)}) for row in drawn()]
    stamps: tuple[Provenance, ...] = submission.datasets[0].provenance
    batch = tuple(stamp.model_copy(update={"batch_seconds": 60.0}) for stamp in stamps)
    batched = submission.datasets[0].model_copy(update={"provenance": batch})
    assert doubts(shared, submission)
    assert doubts(shared, submission.model_copy(update={"datasets": (batched,)})) == []
    assert doubts(perfect[:3], submission) == []
    unlabelled = ProbeValue(status="left_out", reason="no label")
    assert doubts([row.model_copy(update={"probes": {"asr": unlabelled}}) for row in drawn()], submission) == []
