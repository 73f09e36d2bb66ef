"""Eight spokes, heat maps and bitrate: what is drawn where, and that what is missing is missing."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.web.results import changed, changed_numbers

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.metrics.results import ResultSummary, Score
from codec_superb.web.applications import APPLICATION_METRICS, APPLICATIONS
from codec_superb.web.mseb.choose import SPOKES, main_rows, oracle_of, place_of, scale_words, spokes_of
from codec_superb.web.mseb.heat import heat_chart, heat_maps
from codec_superb.web.mseb.rate import mseb_rate_chart
from codec_superb.web.mseb.spokes import spokes_chart
from codec_superb.web.rows import ApplicationRow, CodecResult, ProbeModel

MRR, ORACLE = "mseb_retrieval_passage_mrr", "mseb_retrieval_passage_oracle_mrr"
WER, V, FAD = "mseb_transcription_wer_pct", "mseb_clustering_speaker_v", "mseb_reconstruction_yamnet_fad"
MODEL = ProbeModel("faster-whisper:tiny.en+minilm", "ab" * 32)


def row(
    figure: str, value: float | None, *, ceiling: float | None = 0.6, dataset: str = "stamps", part: str = "",
    n: int = 60, codec: str = "opus_6k", model: ProbeModel = MODEL, kbps: float = 6.0,
) -> ApplicationRow:  # fmt: skip
    """Give one figure of one codec."""
    probe = APPLICATION_METRICS[figure].probe
    assert probe is not None
    lost = None if value is None or ceiling is None else ceiling - value
    ends = (None, None) if value is None else (value - 0.05, value + 0.05)
    numbers = ApplicationAggregate(
        probe=probe.key, figure=figure, dataset=dataset, slice=part, n=n, left_out=0, failed=1, pairs=0,
        reference=Score(value=ceiling, low=None, high=None), resynthesis=Score(value=value, low=ends[0], high=ends[1]),
        loss=Score(value=lost, low=None, high=None),
    )  # fmt: skip
    return ApplicationRow(codec, numbers, model, kbps)


def test_every_super_task_has_its_spoke_and_a_missing_one_is_a_gap() -> None:
    """Two of eight are measured: eight spokes, two points, and no 0 anywhere."""
    chart = spokes_chart("Opus", spokes_of([row(MRR, 0.3), row(V, 0.9, ceiling=0.92)]))
    labels = chart["layout"]["polar"]["angularaxis"]["categoryarray"]
    assert [label.split("<br>")[0].lower() for label in labels] == list(SPOKES)
    assert sum("not<br>measured" in label for label in labels) == 6
    by_role = {trace["meta"]["role"]: trace for trace in chart["data"]}
    own, ceiling = by_role["codec"], by_role["ceiling"]
    assert own["r"] == [0.3, None, None, None, None, None, 0.9, None, 0.3]
    assert ceiling["r"] == [0.6, None, None, None, None, None, 0.92, None, 0.6]
    assert own["connectgaps"] is ceiling["connectgaps"] is False
    assert by_role["intervals"]["r"] == pytest.approx([0.25, 0.35, None, 0.85, 0.95, None], nan_ok=True)
    assert "oracle" not in by_role


def test_nothing_measured_is_said_and_not_drawn() -> None:
    """A word stands where the chart would be."""
    chart = spokes_chart("Opus", spokes_of([]))
    assert chart["data"] == []
    assert chart["layout"]["annotations"][0]["text"] == "No super task was measured"


def test_the_oracle_stands_beside_its_figure() -> None:
    """That of the same clips and the same model alone."""
    own, other = row(ORACLE, 1.0, ceiling=1.0), row(ORACLE, 0.9, ceiling=0.9, model=ProbeModel("another"))
    mine = row(MRR, 0.3)
    assert oracle_of(mine, [mine, other]) is None
    assert oracle_of(mine, [mine, other, own]) == own.numbers.reference
    (oracle,) = [t for t in spokes_chart("x", spokes_of([mine, own]))["data"] if t["meta"]["role"] == "oracle"]
    assert (oracle["r"], oracle["theta"]) == ([1.0], ["Retrieval"])


def test_a_figure_over_all_locales_stands_for_its_super_task() -> None:
    """Then, of one task, the dataset with the most clips; conditions and figures without a value never do."""
    everywhere, large, small = (
        row(MRR, value, dataset=dataset, n=n)
        for value, dataset, n in ((0.5, "", 10), (0.4, "svq_en_us", 90), (0.3, "stamps", 60))
    )
    sliced, none = row(MRR, 0.9, n=999, part="clean"), row(MRR, None, n=999, dataset="x")
    assert main_rows([sliced, none, small, large, everywhere], "retrieval") == [everywhere, large, small]
    assert spokes_of([small, sliced, none, large])[0].row == large
    assert main_rows([row("mseb_retrieval_passage_em", 0.3)], "retrieval") == []


@pytest.mark.parametrize(
    ("figure", "value", "place"),
    [
        (MRR, 0.0, 0.0),
        (MRR, 1.0, 1.0),
        (WER, 0.0, 1.0),
        (WER, 40.0, 0.6),
        (WER, 141.9, 0.0),
        (FAD, 0.0, 1.0),
        (FAD, 20.0, 0.5),
    ],
)
def test_places_on_the_spokes(figure: str, value: float, place: float) -> None:
    """Each figure has its own scale, which is told."""
    assert place_of(APPLICATIONS[figure], value) == pytest.approx(place)
    assert "rim" in scale_words(APPLICATIONS[figure])


@given(st.sampled_from([MRR, WER, V, FAD]), st.floats(0, 1e6), st.floats(0, 1e6))
def test_better_is_never_further_in(figure: str, one: float, other: float) -> None:
    """And every place is on the spoke."""
    quantity = APPLICATIONS[figure]
    places = [place_of(quantity, value) for value in sorted((one, other), reverse=not quantity.higher_is_better)]
    assert 0.0 <= places[0] <= places[1] <= 1.0


def test_every_main_figure_of_the_eight_has_a_scale() -> None:
    """Tasks that are added find their place without a change here."""
    for application in APPLICATION_METRICS.values():
        if (
            application.probe
            and application.probe.group in SPOKES
            and application.probe.primary == application.figure.key
        ):
            assert scale_words(application.quantity)
            assert 0.0 <= place_of(application.quantity, 0.5) <= 1.0


def test_a_heat_map_of_locales_and_conditions() -> None:
    """Rows are datasets, columns conditions, all recordings first; what was not measured is an empty cell."""
    rows = [row(MRR, 0.3, dataset="svq_en_us"), row(MRR, 0.2, dataset="svq_en_us", part="traffic_noise")]
    rows += [
        row(MRR, 0.4, dataset="svq_sw"),
        row(MRR, 0.35, dataset="svq_en_us", part="clean"),
        row(MRR, 0.5, dataset=""),
    ]
    (heat,) = heat_maps(rows)
    assert heat.datasets == ("svq_en_us", "svq_sw")
    assert heat.slices == ("", "clean", "traffic_noise")
    (trace,) = heat_chart(heat, "value")["data"]
    assert trace["z"] == [[0.3, 0.35, 0.2], [0.4, None, None]]
    assert trace["text"][1] == ["0.400", "", ""]
    assert trace["hovertext"][1][1] == "not measured"
    (losses,) = heat_chart(heat, "loss")["data"]
    assert losses["z"][0][2] == pytest.approx(0.4)
    assert (losses["zmin"], losses["zmax"]) == (-losses["zmax"], pytest.approx(0.4))


def test_a_single_value_is_no_heat_map() -> None:
    """One dataset without conditions stands in the table."""
    assert heat_maps([row(MRR, 0.3)]) == []


def _result(codec: str) -> CodecResult:
    summary = ResultSummary(
        category="speech", clips=60, ok=60, failed=0, complete=True, seconds=60.0, kbps=6.0, tokens_per_second=None,
        compression_ratio=None, encode_rtf=None, decode_rtf=None, largest_lag=None, clipped_samples=0, metrics={},
        score=Score(value=None, low=None, high=None), datasets=("stamps",),
    )  # fmt: skip
    return CodecResult(codec, codec, codec.split("_", maxsplit=1)[0], None, lossless=False, summary=summary)


def test_bitrate_with_the_original_and_the_true_transcripts_as_lines() -> None:
    """The ceiling is that over the most clips; a codec without a bitrate is left out."""
    rows = [row(MRR, 0.3), row(MRR, 0.1, codec="codec2_700", kbps=0.7, n=50, ceiling=0.5)]
    rows.append(row(MRR, 0.2, codec="lost_1", kbps=nan, n=10))
    oracle = row(ORACLE, 1.0, ceiling=1.0)
    chart = mseb_rate_chart(MRR, [(_result(each.codec), each) for each in rows], [*rows, oracle])
    points = [x for trace in chart["data"] if trace["meta"]["role"] == "family" for x in trace["x"]]
    assert sorted(points) == [0.7, 6.0]
    assert [line["y0"] for line in chart["layout"]["shapes"]] == [0.6, 1.0]
    texts = [note["text"] for note in chart["layout"]["annotations"]]
    assert texts[0].startswith("original: 0.600")
    assert texts[1].startswith("true transcripts: 1.000")


def test_a_part_of_the_clips_is_on_no_front_of_an_application() -> None:
    """Whoever chose the easiest clips has a point, and takes nobody's place."""
    few, rows = row(MRR, 0.9, codec="few", kbps=1.0, n=3), [row(MRR, 0.3), row(MRR, 0.1, codec="codec2_700", kbps=0.7)]
    whole = [(_result(each.codec), changed_numbers(each, failed=0)) for each in rows]
    chart = mseb_rate_chart(
        MRR, [*whole, (changed(_result("few"), complete=False), changed_numbers(few, failed=0))], []
    )
    (front,) = (trace for trace in chart["data"] if trace["meta"]["role"] == "front")
    assert front["y"] == [0.1, 0.3]


def test_a_chart_without_codecs_is_a_text() -> None:
    """No axes of arbitrary range."""
    assert mseb_rate_chart(MRR, [], [])["data"] == []
