"""What the page's script reads."""

import json

from support.web.report import TABLE, make_listening, make_points, make_results

from codec_superb.web.quantity import from_metric, metrics_present
from codec_superb.web.report.payload import PanelPayload, panel_payload, to_json
from codec_superb.web.rows import ClipPoint, CodecResult
from codec_superb.web.theme import DARK, LIGHT, family_styles

POINTS = make_points("speech", 8)
RESULTS = make_results(POINTS)


def payload(points: list[ClipPoint] = POINTS, results: list[CodecResult] = RESULTS) -> PanelPayload:
    """Make the payload of speech with two clips to listen to."""
    metrics = [from_metric(metric) for metric in metrics_present(results, TABLE)]
    styles = family_styles(row.family for row in results)
    return panel_payload(results, points, make_listening("speech", (0, 5)), metrics, styles)


def test_a_figure_for_each_quantity() -> None:
    """The bitrate chart exists for the overall score and every metric, the boxes for every metric."""
    made = payload()
    keys = ["stft", "mel", "pesq", "stoi", "si_sdr", "sdr", "estoi"]
    assert list(made["rate"]) == ["score", *keys]
    assert list(made["spread"]) == keys


def test_codecs_of_tokens_are_also_drawn_against_tokens() -> None:
    """At their tokens a second, and no others; without such codecs there is no such chart."""
    made = payload()
    assert list(made["rate_tokens"]) == list(made["rate"])
    assert {place for trace in made["rate_tokens"]["score"]["data"] for place in trace["x"]} == {150.0, 600.0}
    without = [row for row in RESULTS if row.summary.tokens_per_second is None]
    assert payload(results=without)["rate_tokens"] == {}


def test_values_are_aligned_with_clips() -> None:
    """Every value stands at its clip's number, rounded to six digits, and undefined ones are null."""
    made = payload()
    for number, (dataset, clip, _) in enumerate(made["clips"]):
        for codec, columns in zip(sorted(RESULTS, key=lambda row: row.kbps), made["values"], strict=True):
            point = next(p for p in POINTS if (p.codec, p.dataset, p.clip) == (codec.codec, dataset, clip))
            value = columns["pesq"][number]
            if "pesq" in point.metrics:
                assert abs(value - point.metrics["pesq"]) < 1e-5
            else:
                assert value is None


def test_clips_with_sound_are_numbered() -> None:
    """A clip knows its entry among those to listen to."""
    heard = {clip: number for _, clip, number in payload()["clips"] if number is not None}
    assert heard == {"speech/clip_000": 0, "speech/clip_005": 1}


def test_scatter_starts_with_neighbours_of_two_families() -> None:
    """It begins in the middle of the bitrates, where two lossy codecs of different families lie close together."""
    made = payload()
    start = made["start"]
    rows = sorted(RESULTS, key=lambda row: row.kbps)
    x, y = rows[start["x_codec"]], rows[start["y_codec"]]
    assert not x.lossless
    assert not y.lossless
    assert x.family != y.family
    assert (x.codec, y.codec) == ("opus_12k", "amrnb_12k2")
    assert start["x_metric"] == start["y_metric"] == "pesq"


def test_without_clips_there_is_no_scatter() -> None:
    """A report from aggregates alone still has its bitrate chart."""
    made = payload(points=[])
    assert made["scatter"] is None
    assert made["start"] is None
    assert made["spread"] == {}
    assert made["rate"]["score"]["data"]


def test_json_is_strict_and_cannot_end_a_script() -> None:
    """The text reads back the same and holds no character that means anything to HTML."""
    points = [*POINTS, *make_points("speech", 1, [("opus_6k", "t", "f", 6.0, 0.5, False, None)], seed=2)]
    made = payload(points=points)
    made["clips"][0][1] = "</script><!--<script>&\u2028\udcff"
    text = to_json({"speech": made})
    assert not set("<>&\u2028") & set(text)
    assert text.isascii()
    back = json.loads(text)
    assert back["panels"]["speech"]["clips"][0][1] == "</script><!--<script>&\u2028\udcff"
    assert (back["themes"]["light"][0], back["themes"]["dark"][0]) == (LIGHT.paper, DARK.paper)
