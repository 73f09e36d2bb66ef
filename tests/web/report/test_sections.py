"""Listening, family comparisons, failures and definitions as ready rows."""

import base64
import math
from dataclasses import replace

from support.web.report import TABLE, make_points, make_results

from codec_superb.web.quantity import by_bitrate, from_metric
from codec_superb.web.report.sections import definitions, failure_groups, listening_clips, rate_matrix
from codec_superb.web.rows import ClipFailure, RateComparison, ReportSample

CLIP = ReportSample(
    "one", "mini", "speech", None, "A", "CC0", b"ref", {"opus_6k": b"six", "codec2_700c": b"seven", "new": b"n"}
)


def test_reference_first_then_by_bitrate_then_unscored() -> None:
    """Players go from the reference over rising bitrates to codecs that have no result."""
    ordered = by_bitrate(make_results(make_points("speech", 4)))
    versions = listening_clips([CLIP], ordered)[0].versions
    assert [version.title for version in versions] == ["Reference", "Codec2 700C", "Opus 6", "new"]
    assert ordered[versions[2].codec].codec == "opus_6k"
    assert versions[3].codec is None


def test_sound_is_inside_the_address() -> None:
    """The address of a player holds the very bytes."""
    uri = listening_clips([CLIP], [])[0].versions[0].uri
    head, _, body = uri.partition("base64,")
    assert head.startswith("data:audio/ogg")
    assert base64.b64decode(body) == b"ref"


def test_rate_matrix() -> None:
    """Deltas stand at row family, column against; pairs not compared are empty, no overlap is a dash."""
    rates = [
        RateComparison("speech", "Opus", "MP3", -41.7, 0.0514),
        RateComparison("speech", "MP3", "Opus", 71.4, -0.05),
        RateComparison("speech", "Codec2", "Opus", None, None),
    ]
    matrix = rate_matrix(rates)
    assert matrix.families == ("Codec2", "MP3", "Opus")
    opus_mp3 = matrix.cells[2][1]
    assert opus_mp3
    assert (opus_mp3.percent, opus_mp3.score) == ("−42 %", "+0.051")
    assert opus_mp3.title == "Opus needs 42 % fewer bits than MP3"
    assert [cell and cell.percent for cell in matrix.cells[1]] == [None, None, "+71 %"]
    assert [cell and cell.percent for cell in matrix.cells[0]] == [None, None, "–"]


def test_rate_matrix_is_filled_from_one_side() -> None:
    """Half the bits one way is twice the bits the other way; a gain is the other's loss."""
    matrix = rate_matrix([RateComparison("speech", "Opus", "MP3", -50.0, 0.05)])
    (_, mp3_opus), (opus_mp3, _) = matrix.cells
    assert mp3_opus
    assert opus_mp3
    assert (opus_mp3.percent, mp3_opus.percent, mp3_opus.score) == ("−50 %", "+100 %", "−0.050")


def test_failures_are_counted_by_reason() -> None:
    """Failed before undefined, the most frequent reason first, with the number of codecs."""
    one = ClipFailure("a", "mini", "x", "encode", "failed", "too short")
    two = ClipFailure("a", "mini", "x", "pesq", "undefined", "no utterance")
    rows = failure_groups([two, one, replace(one, reason="rate"), replace(one, codec="b"), two, two])
    assert [(row.kind, row.reason, row.amount, row.codecs) for row in rows] == [
        ("failed", "too short", 2, 2),
        ("failed", "rate", 1, 1),
        ("undefined", "no utterance", 3, 1),
    ]


def test_definitions_say_range_direction_and_part() -> None:
    """A metric's line says where it lies, which way is better and whether it counts."""
    quantities = {key: from_metric(row) for key, row in TABLE.items()}
    rows = {row.metric.key: row for row in definitions(list(TABLE.values()), quantities)}
    assert (rows["pesq"].range, rows["pesq"].direction) == ("from −0.5 to 4.65", "higher is better")
    assert (rows["mel"].range, rows["mel"].part_of) == ("0 or more", "speech, audio, music")
    assert (rows["si_sdr"].range, rows["si_sdr"].part_of) == ("any number", "")
    assert rows["stoi"].paper_url == "https://example.org/paper"
    assert rows["pesq"].paper_url == ""
    below = replace(TABLE["pesq"], minimum=-math.inf)
    assert definitions([below], quantities)[0].range == "4.65 or less"
