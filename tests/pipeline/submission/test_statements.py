"""Cards that leave something open: marked and apart in files and ranks, and completed from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import card as full_card
from support.pipeline.stats import draw_rows, stamp, write_run
from support.pipeline.submissions import edit_document, edit_rows

from codec_superb.base_codec.card import Card
from codec_superb.metrics.results import BitSource
from codec_superb.pipeline.comparison.codecs import rank_results
from codec_superb.pipeline.comparison.results import load_results
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import TakenOver
from codec_superb.pipeline.submission.admission import check_admission
from codec_superb.pipeline.submission.check import check, check_and_open
from codec_superb.pipeline.submission.findings import UNUSUAL
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submitter
from codec_superb.pipeline.tables.rows import ClipRow

STATEMENTS = """
version: "1.0"
kind: neural
standard: none
year: 2026
causal: false
licence: MIT
paper: none yet
homepage: "https://example.org"
title: Mine
"""


def own_run(root: Path, name: str, source: BitSource) -> RunFolder:
    """Write a run of a codec that states a name and a rate, whose delay was found."""
    kbps = 6.0 if source == "declared" else None
    card = Card(
        name=name, sampling_rate=16000, bit_source=source, nominal_kbps=kbps, delay_samples=40, delay_source="found"
    )
    rows = [
        row.model_copy(update={"bits": round(6000 * (row.seconds or 0)) if kbps else None})
        for row in draw_rows(2, 30, quality=1.0)
    ]
    return write_run(root, rows, card=card)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """Write runs of a measured, a declared and an unknown bitrate."""
    root = tmp_path_factory.mktemp("runs")
    return {
        "measured": write_run(root, draw_rows(1, 30), card=full_card("opus_16k")),
        "declared": own_run(root, "mine_declared", "declared"),
        "unknown": own_run(root, "mine_unknown", "unknown"),
    }


def test_codecs_whose_bits_nobody_counted_are_apart(runs: dict[str, RunFolder]) -> None:
    """They are never ranked among measured ones, though they score higher; alone they are ranked among their like."""
    measured, declared, unknown = (load_results(runs[name].path) for name in ("measured", "declared", "unknown"))
    for ranking in rank_results([declared, measured, unknown]).values():
        assert [rank.codec for rank in ranking.ranks] == ["opus_16k"]
        assert ranking.unranked == {
            "mine_declared": "its bitrate is declared, not measured",
            "mine_unknown": "its bitrate is not stated",
        }
    for ranking in rank_results([declared, unknown]).values():
        assert [rank.codec for rank in ranking.ranks] == ["mine_declared"]
        assert ranking.unranked == {"mine_unknown": "its bitrate is not stated"}


@pytest.mark.parametrize("source", ["declared", "unknown"])
def test_a_file_says_where_bits_and_delay_come_from(
    tmp_path: Path, runs: dict[str, RunFolder], source: BitSource
) -> None:
    """It passes its check with notes; bits that are not those of its card do not, and the delay stays found."""
    file = pack([runs[source]], tmp_path / "mine.zip")
    report, opened = check_and_open(file)
    assert report.ok
    assert opened
    assert (opened.submission.codec.bit_source, opened.submission.codec.delay_source) == (source, "found")
    assert any("never ranked with measured ones" in note for note in report.notes)
    assert any("delay of 40 samples was found" in note for note in report.notes)
    kbps = opened.submission.aggregates.categories[0].kbps
    assert kbps == (pytest.approx(6, abs=1e-3) if source == "declared" else None)

    def count(rows: list[ClipRow]) -> None:
        rows[0] = rows[0].model_copy(update={"bits": 77})

    assert any(problem.path.endswith(": bits") for problem in edit_rows(file, count).problems)


def test_a_board_asks_for_what_is_missing_in_one_message(tmp_path: Path, runs: dict[str, RunFolder]) -> None:
    """Fields with their meaning and an example that answers it, taken from a file; admission says the same."""
    who, file, statements = Submitter(name="me"), tmp_path / "mine.zip", tmp_path / "card.yaml"
    with pytest.raises(SubmissionError) as raised:
        pack([runs["declared"]], file, submitter=who, public=True)
    said = str(raised.value)
    assert said.startswith("mine_declared: a public board shows what a codec is, and its card does not state version (")
    assert "validation" not in said
    assert not file.exists()
    statements.write_text(said.partition("--card card.yaml:\n")[2])
    assert check(pack([runs["declared"]], file, submitter=who, public=True, card=statements)).ok

    pack([runs["declared"]], file, submitter=who)
    report, _ = check_and_open(file, more=[check_admission])
    (problem,) = [found for found in report.problems if found.path == "submission.json: codec"]
    assert problem.got == "no version, no kind, no standard, no year, no causal, no licence, no paper, no homepage"
    assert "pack --card FILE.yaml" in problem.how_to_fix
    statements.write_text(STATEMENTS)
    pack([runs["declared"]], file, submitter=who, card=statements)
    report, opened = check_and_open(file, more=[check_admission])
    assert report.problems == ()
    assert opened
    assert (opened.submission.codec.title, opened.submission.codec.name) == ("Mine", "mine_declared")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("licence: [", "cannot be read as YAML"),
        ("- licence", "expected fields of a card, such as `licence: MIT`, a line each"),
        ("5: 6", "expected fields of a card"),
        ("license: MIT", "license is no field of a card; it takes bitrate_note, causal, "),
        ("sampling_rate: 48000", "sampling_rate is 16000 on the card of the run, got 48000: a file completes a card"),
        ("delay_samples: 0", "delay_samples is 40 on the card of the run, got 0"),
        ("nominal_kbps: 3", "nominal_kbps is 6.0 on the card of the run, got 3"),
        ("bit_source: measured", "bit_source is declared on the card of the run"),
        ("year: soon", "year: expected a valid integer.* got 'soon'"),
        ("causal: true", "expected latency_ms as a number, for a causal codec"),
    ],
)
def test_a_file_completes_a_card_and_changes_nothing(
    tmp_path: Path, runs: dict[str, RunFolder], text: str, said: str
) -> None:
    """What was run stays as it was run; each mistake is one sentence that names the file."""
    (tmp_path / "card.yaml").write_text(text)
    with pytest.raises(SubmissionError, match=said) as raised:
        pack([runs["declared"]], tmp_path / "mine.zip", card=tmp_path / "card.yaml")
    assert "\n" not in str(raised.value)
    assert "card.yaml" in str(raised.value)


def test_imported_sound_has_no_delay_to_state(tmp_path: Path) -> None:
    """No delay was removed from it here: none is asked for, and one that is stated is refused in true words."""
    made = stamp("imported").model_copy(
        update={"taken_over": TakenOver(files=30, fitted=0, longest_ms=0.0, resampled=0)}
    )
    card = Card(name="theirs", sampling_rate=16000, bit_source="unknown")
    rows = [
        row.model_copy(update={"bits": None, "encode_s": None, "decode_s": None}) for row in draw_rows(2, 30, quality=1)
    ]
    run = write_run(tmp_path / "runs", rows, card=card)
    run.write_info(run.info().model_copy(update={"provenance": (made, stamp())}))
    who, file, statements = Submitter(name="me"), tmp_path / "theirs.zip", tmp_path / "card.yaml"
    with pytest.raises(SubmissionError) as raised:
        pack([run], file, submitter=who, public=True)
    assert "delay_samples" not in str(raised.value)
    statements.write_text(str(raised.value).partition("--card card.yaml:\n")[2])
    report, _ = check_and_open(pack([run], file, submitter=who, public=True, card=statements), more=[check_admission])
    assert report.ok
    assert not any(note.startswith(UNUSUAL) for note in report.notes)
    statements.write_text("delay_samples: 0")
    with pytest.raises(SubmissionError, match=r"delay_samples is not stated on the card of the run, got 0: .*leave it"):
        pack([run], file, card=statements)

    def forge(document: dict[str, Any]) -> None:
        document["datasets"][0]["provenance"][0]["stage"] = "resynth"

    forged = edit_document(file, forge, seal=True)
    assert [(problem.path, problem.got) for problem in forged.problems] == [
        ("submission.json: datasets.0.provenance.0.stage", "resynth")
    ]
    assert any("no clip has a time of encoding or decoding" in note for note in forged.notes)


@pytest.mark.parametrize(("kbps", "rate", "noted"), [(6.0, 16000, True), (64.0, 16000, False)])
def test_bits_that_were_computed_are_noted(tmp_path: Path, kbps: float, rate: int, noted: bool) -> None:
    """Fractions of a bit are rounded where bits are a product; a codec of whole bits a sample is exact by nature."""
    rows = [
        row.model_copy(update={"bits": round(kbps * 1000 * row.samples / rate)})
        for row in draw_rows(2, 30)
        if row.samples
    ]
    run = write_run(tmp_path, rows, card=full_card("mine", nominal_kbps=kbps, frame_rate=None))
    notes = check(pack([run], tmp_path / "mine.zip")).notes
    assert any("computed, not counted?" in note for note in notes) == noted
