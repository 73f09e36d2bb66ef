"""Plausibility warnings: each kind where it must come, and silence where it must not."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import Any

import pytest
from support.server.board import make_submission
from support.server.people import ON_SQLITE
from support.server.warned import EXACT, SPEECH, publish, warned

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.literature.tables import literature
from codec_superb.pipeline.submission.findings import UNUSUAL
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.errors import NotFound
from codec_superb.server.moderation.plausibility import warnings_for
from codec_superb.server.moderation.score_envelope import ComparedResult, crowd, lead, likely

LEVEL = parse_condition("level:0")


def test_a_plain_submission(database: Database) -> None:
    """Nothing is found in results that are like those of others, in three categories."""
    with database.transaction(write=True) as session:
        for kbps in (6.0, 9.0, 16.0, 24.0):
            make_submission(session, f"opus_{kbps:g}k", kbps, 0.6 + 0.01 * kbps)
        assert warnings_for(session, make_submission(session, "opus_12k", 12.0, 0.72, status="pending")) == []


def test_unusual_notes_of_the_check(database: Database) -> None:
    """What its check found hard to believe is a warning too; other notes are none."""
    with database.transaction(write=True) as session:
        made = make_submission(session, "opus_12k", 12.0, 0.72, status="pending")
        session.get_one(Submission, made).notes = ["no submitter is named", f"{UNUSUAL}computed?"]
        assert warnings_for(session, made) == [{"kind": "unusual", "where": "", "text": "computed?", "holds": True}]


def test_an_unknown_submission(database: Database) -> None:
    """It is named."""
    with pytest.raises(NotFound), database.transaction() as session:
        warnings_for(session, "abc")


class TestWeakerSetting:
    """A codec below a lower-bitrate setting of its own family."""

    def test_below_by_more_than_the_intervals(self, database: Database) -> None:
        """The better setting is named, with both scores and bitrates, and where."""
        publish(database, "opus_6k", 6.0, 0.60)
        publish(database, "opus_9k", 9.0, 0.70)
        (warning,) = warned(database, score=0.5)
        assert warning["kind"] == "weaker setting"
        assert warning["where"] == "mini, speech"
        assert "scores 0.500 at 12.1 kbps, below opus_9k" in warning["text"]
        assert "0.700 at 9.09 kbps" in warning["text"]

    @pytest.mark.parametrize(
        ("codec", "kbps", "score", "made"),
        [
            ("opus_9k", 9.0, 0.53, {}),
            ("opus_16k", 16.0, 0.9, {}),
            ("lc3_9k", 9.0, 0.9, {}),
            ("opus_9k", 9.0, 0.9, {"status": "pending"}),
            ("opus_9k", 9.0, 0.9, {"status": "withdrawn"}),
            ("opus_9k", 9.0, 0.9, {"datasets": {"other": ("speech",)}}),
            ("opus_9k", 9.0, 0.9, {"datasets": {"mini": ("music",)}}),
            ("opus_12k", 9.0, 0.9, {}),
            ("opus_11k9", 11.95, 0.9, {}),
        ],
        ids=["intervals meet", "higher bitrate", "other family", "pending", "withdrawn", "other dataset",
             "other category", "itself before", "same bitrate"],
    )  # fmt: skip
    @ON_SQLITE
    def test_no_comparison(
        self, database: Database, codec: str, kbps: float, score: float, made: Mapping[str, Any]
    ) -> None:
        """What is not a weaker public setting of the family on the same clips is no reason."""
        publish(database, codec, kbps, score, **made)
        assert warned(database, score=0.5) == []

    def test_only_the_newest_version_counts(self, database: Database) -> None:
        """A setting that has been corrected is not compared with as it was."""
        publish(database, "opus_9k", 9.0, 0.9)
        publish(database, "opus_9k", 9.0, 0.5)
        assert warned(database, score=0.5) == []


class TestOutlier:
    """A score far from those of about the same bitrate."""

    def others(self, database: Database, count: int = 6, **made: Any) -> None:
        """Publish codecs of other families around 12 kbps, from 0.60 to 0.65."""
        for number in range(count):
            publish(database, f"other{number}_x", 9.0 + number, 0.60 + 0.01 * number, **({"owner": f"{number}"} | made))

    @pytest.mark.parametrize(("score", "side"), [(0.95, "above"), (0.3, "below")])
    def test_on_either_side(self, database: Database, score: float, side: str) -> None:
        """Too good is as suspicious as too bad; the band is described."""
        self.others(database)
        (warning,) = warned(database, score=score)
        assert warning["kind"] == "outlier"
        assert f"{side} the median 0.625 of 6 codecs at 8.08 to 18.2 kbps" in warning["text"]

    @pytest.mark.parametrize(
        ("count", "score", "kbps", "made"),
        [
            (6, 0.66, 12.0, {}),
            (4, 0.95, 12.0, {}),
            (6, 0.95, 40.0, {}),
            (6, 0.95, 12.0, {"card": {"kind": "lossless"}}),
            (6, 0.95, 12.0, {"owner": "one"}),
        ],
        ids=["within", "few", "other bitrate", "lossless neighbours", "of one account"],
    )
    @ON_SQLITE
    def test_silence(self, database: Database, count: int, score: float, kbps: float, made: Mapping[str, Any]) -> None:
        """Within the spread, among few, at another bitrate, or lossless codecs or those of one account nobody is."""
        self.others(database, count, **made)
        assert warned(database, kbps=kbps, score=score) == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("count", "score", "kinds"),
    [(10, 0.96, {"outlier": False, "too good": True}), (9, 0.95, {"outlier": False}), (10, 0.72, {})],
)
def test_too_good_for_its_bitrate(database: Database, count: int, score: float, kinds: dict[str, bool]) -> None:
    """A tenth above the best of ten, and of what was published, holds; less is a remark, and a narrow lead is neither.

    So it is under a condition, of what calls itself lossless too, but for remarks and beside the damaged sound.
    """
    for number in range(count):
        publish(database, f"other{number}_x", 9.0 + number / 2, 0.60 + 0.01 * number, owner=f"lab {number}")
    assert {found["kind"]: found["holds"] for found in warned(database, score=score)} == kinds
    held = [kind for kind, holds in kinds.items() if holds]
    for codec, kind in (("lossy", "neural"), ("pack", "lossless")):
        under = {"score": score, "card": {"kind": kind}, "condition": parse_condition("loss:20")}
        assert [found["kind"] for found in warned(database, codec, **under)] == held
    assert warned(database, "flac", 90.0, score=0.999, card={"kind": "lossless"}, condition=LEVEL) == []
    assert warned(database, "heard", score=score, condition=parse_condition("noise:white:0", "input")) == []


def test_a_ladder_of_ones_own_codecs_lifts_nobody(database: Database) -> None:
    """Each step of an account lies less than a tenth above the one before; the first above all others is looked at."""
    for number in range(10):
        publish(database, f"other{number}_x", 9.0 + number / 2, 0.60 + 0.01 * number, owner=f"lab {number}")
    publish(database, "step1", 12.0, 0.89, owner="climber")
    publish(database, "step2", 12.0, 0.90, owner="climber")
    assert "too good" in {found["kind"] for found in warned(database, "step3", score=0.96, owner="climber")}
    assert "too good" not in {found["kind"] for found in warned(database, "honest", score=0.96, owner="another")}


def test_too_good_where_nobody_is(database: Database) -> None:
    """At an empty bitrate the next ten above are asked, less what fewer bits cost: as good as all of them is too good.

    With fewer bits than words have, and none, everything waits, noise and what has no score too, whoever is there.
    """
    tiny = {"kbps": 0.0005, "card": {"nominal_kbps": None, "nominal_tolerance": None, "bitrate_note": "variable"}}
    few = {("too few bits", "mini, speech"), ("too good", "mini, speech")}
    assert {(found["kind"], found["where"]) for found in warned(database, "first", score=0.6, **tiny)} == few
    assert [found["kind"] for found in warned(database, "none", score=0.6, **tiny, result={"kbps": 0.0})] == [
        "too few bits"
    ]
    assert "too few bits" in {found["kind"] for found in warned(database, "noise", score=0.3, **tiny)}
    assert "too few bits" in {found["kind"] for found in warned(database, "dumb", **tiny, result={"score": None})}
    assert warned(database, "few", 0.04, score=0.44, card=tiny["card"]) == []
    for number in range(10):
        publish(database, f"other{number}_x", 6.0 * 1.3**number, 0.60 + 0.01 * number, owner=f"lab {number}")
    sparse = {"kbps": 0.1, "card": {"nominal_kbps": 0.1}}
    found = warned(database, "gold", score=0.655, **sparse)[0]
    assert (found["kind"], " at 0.75 to 64.3 kbps leave 0.461 likely" in found["text"]) == ("too good", True)
    assert warned(database, "honest", score=0.54, **sparse) == []
    assert {"too few bits", "too good"} == {found["kind"] for found in warned(database, "best", score=0.655, **tiny)}


def test_too_good_where_all_have_fewer_bits(database: Database) -> None:
    """Above everybody's bitrate the next ten below are asked: an octave brings a tenth, nearly the original half."""
    for number in range(10):
        publish(database, f"other{number}_x", 36.0 + 4 * number, 0.80 + 0.01 * number, owner=f"lab {number}")
    for kbps, score, held in ((56.0, 0.999, True), (110.0, 0.96, False), (110.0, 0.999, True), (250.0, 0.999, False)):
        found = warned(database, f"top{kbps:g}_{score}", kbps, score=score, owner="mallory")
        assert ("too good" in {each["kind"] for each in found if each["holds"]}) == held, (kbps, score)


def test_poor_codecs_hold_nobody(database: Database) -> None:
    """Ten bad ones at an empty bitrate leave what was published likely, of one account and verified ones alike."""
    for number in range(10):
        publish(database, f"good{number}_x", 16.0 + number, 0.75, owner=f"lab {number}")
        publish(database, f"bad{number}_x", 2.6 + 0.1 * number, 0.35, owner="mallory")
    assert not any(found["holds"] for found in warned(database, "honest", 2.5, score=0.6))
    for number in range(10):
        publish(database, f"slow{number}_x", 2.6 + 0.1 * number, 0.35, owner="ann", status="verified")
    assert "too good" not in {found["kind"] for found in warned(database, "late", 2.5, score=0.75)}
    assert "too good" in {found["kind"] for found in warned(database, "fiction", 2.5, score=0.9)}


def test_published_codecs_are_believed() -> None:
    """None of the neural codecs of the published tables is too good beside the others of its table."""
    compared = 0
    for table in literature():
        for category in CATEGORIES:
            known = [
                ComparedResult(each.name, "", "neural", each.kbps, each.scores[category], None, None, sender=each.name)
                for each in table.codecs
                if each.kbps and category in each.scores
            ]
            for each in known:
                rivals = crowd(each.kbps, [other for other in known if other is not each])
                compared += bool(rivals)
                assert not rivals or each.score <= likely(each.kbps, rivals, category) + lead(each.score), each
    assert compared > 50


@ON_SQLITE
class TestTheResultsAlone:
    """Rules that need no other codec."""

    @pytest.mark.parametrize(
        ("result", "kind", "words"),
        [
            ({"largest_lag": 320}, "lag", "320 samples early or late"),
            ({"clipped_samples": 40_000}, "clipping", "2.5 % of the samples"),
            ({"clipped_samples": 3, "kbps": None}, "clipping", "3 samples are clipped"),
            ({"encode_rtf": 0.0}, "speed", "encoding took 0 s"),
            ({"decode_rtf": 1e-13}, "speed", "decoding took 1e-13 s"),
            ({"kbps": 18.0}, "bitrate", "measured 18.0 kbps, nominal 12.0 kbps"),
            ({"kbps": 6.0}, "bitrate", "measured 6.00 kbps"),
        ],
    )
    def test_measurements(self, database: Database, result: Mapping[str, Any], kind: str, words: str) -> None:
        """Lag, clipping, times of nothing and a bitrate far from the name."""
        (warning,) = warned(database, result=result)
        assert warning["kind"] == kind
        assert words in warning["text"]

    @pytest.mark.parametrize(
        "made",
        [
            {"result": {"largest_lag": 1, "clipped_samples": 100, "kbps": 14.0}},
            {"result": {"largest_lag": None, "encode_rtf": None, "decode_rtf": None}},
            {"result": {"kbps": 20.0}, "card": {"nominal_tolerance": None, "bitrate_note": "variable"}},
            {"kbps": None, "card": {"kind": "lossless"}, "metrics": EXACT},
        ],
    )
    def test_silence(self, database: Database, made: Mapping[str, Any]) -> None:
        """One sample of lag, a little clipping, what was not measured, and what the card announces are no news."""
        assert warned(database, **made) == []

    def test_a_card_cannot_allow_everything(self, database: Database) -> None:
        """A tolerance that somebody writes into a card allows twice the bitrate at most; the card's note is shown."""
        card = {"nominal_tolerance": 50.0, "bitrate_note": "it varies"}
        (warning,) = warned(database, result={"kbps": 30.0}, card=card)
        assert warning["kind"] == "bitrate"
        assert warning["text"].endswith("the card says: it varies")

    @pytest.mark.parametrize(("entries", "told"), [(250_047, []), (2**39, [("beyond", True)])])
    def test_a_codebook_that_no_codec_has(self, database: Database, entries: int, told: list[tuple[str, bool]]) -> None:
        """With enough entries any bitrate is a few tokens a second."""
        card = {"codebooks": 1, "codebook_size": entries, "frame_rate": 12_000 / log2(entries), "nominal_kbps": 12.0}
        assert [(warning["kind"], warning["holds"]) for warning in warned(database, card=card)] == told

    @pytest.mark.parametrize(
        ("kbps", "tokens", "size", "held"),
        [
            (1.535, 12.5, 12_800, False),  # Kanade, 4,096 bits a clip
            (0.17, 12.5, 12_800, False),
            (72.0, 2.0, 1024, True),
            (72.0, 2.0, None, True),
            (72.0, None, None, True),  # the frame rate of the card is shown
            (24.0, 2400.0, 1024, False),
        ],
    )
    def test_bits_beside_tokens(
        self, database: Database, kbps: float, tokens: float | None, size: int | None, *, held: bool
    ) -> None:
        """What sends nearly all of its bits beside its tokens would be first over tokens a second; a voice may be."""
        card = {"codebooks": 1, "codebook_size": size, "frame_rate": tokens or 2.0, "bitrate_note": "a voice too"}
        card["nominal_kbps"] = None if size is None or tokens is None else tokens * log2(size) / 1000
        made = {"kbps": kbps, "tokens_per_second": tokens, "ok": 20, "clips": 20, "seconds": 60.0}
        found = [each for each in warned(database, card=card, result=made) if each["kind"] == "beside tokens"]
        assert [each["holds"] for each in found] == [True] * held

    @pytest.mark.parametrize(
        ("kind", "distance", "expected"),
        [("lossless", 0.5, "not lossless"), ("classical", 0.0, "exact"), ("neural", 1e-9, "exact")],
    )
    def test_exactness(self, database: Database, kind: str, distance: float, expected: str) -> None:
        """A lossless codec that loses, and a lossy one that does not."""
        card = {"kind": kind} | ({"nominal_kbps": None} if kind == "lossless" else {})
        warnings = {found["kind"]: found["holds"] for found in warned(database, card=card, metrics={"stft": distance})}
        # 12 kbps are fewer than any lossless codec needs
        lossless = {"not lossless": True, "compression": True}
        assert warnings == (lossless if kind == "lossless" else {expected: True})

    @pytest.mark.parametrize(
        ("metrics", "kbps", "kinds"),
        [
            ({"sdr": 101.0}, 200.0, {"beyond"}),
            ({"si_sdr": -81.0}, 12.0, {"beyond"}),
            ({"mel": 32.0}, 12.0, {"beyond"}),
            ({"sdr": 99.0, "si_sdr": -58.0}, 200.0, set()),
            ({"si_sdr": 46.0}, 12.0, {"beyond"}),
            ({"sdr": 43.0}, 12.0, set()),
        ],
    )
    def test_ends_of_metrics(
        self, database: Database, metrics: Mapping[str, float], kbps: float, kinds: set[str]
    ) -> None:
        """A mean beyond what codecs have, or so many bits, waits: it alone would decide the axis of a chart."""
        assert {found["kind"] for found in warned(database, kbps=kbps, metrics=metrics)} == kinds

    @pytest.mark.parametrize(
        ("metrics", "kbps", "kinds"),
        [
            (EXACT, 90.0, set()),
            (EXACT | {"sdr": 114.0, "stft": 1e-5}, 90.0, set()),
            (EXACT, 64.0, {"compression"}),
            (EXACT | {"estoi": 0.998}, 90.0, {"not lossless"}),
            (EXACT | {"sdr": 65.0}, 90.0, {"not lossless"}),
        ],
    )
    def test_who_says_lossless(
        self, database: Database, metrics: Mapping[str, float | None], kbps: float, kinds: set[str]
    ) -> None:
        """Every metric is at its best up to rounding to 24 bits, and the bits are those that lossless coding needs."""
        card = {"kind": "lossless", "nominal_kbps": None}
        assert {found["kind"] for found in warned(database, "pack", kbps, metrics=metrics, card=card)} == kinds


def test_a_name_of_somebody_else(database: Database) -> None:
    """A file under a name that belongs to another account by now is pointed out."""
    publish(database, "own_12k", 12.0, 0.8, owner="ann")
    (warning,) = warned(database, "own_12k", owner="bob")
    assert (warning["kind"], warning["text"], warning["holds"]) == (
        "owner", "the name own_12k belongs to ann, this file came from bob", True,
    )  # fmt: skip
    assert "an anonymous upload" in warned(database, "own_12k", owner=None)[0]["text"]


def test_copied_rows_wait(database: Database) -> None:
    """Another account's values, to the last digit, with fewer bits; the account itself and lossless codecs may."""
    values = {"score": 0.8, "metrics": {"pesq": 2.987654321}}
    with database.transaction(write=True) as session:
        original = make_submission(session, "opus_16k", 16.0, datasets=SPEECH, owner="ann", **values)
    (warning,) = warned(database, "mine", owner="mallory", **values)
    assert (warning["kind"], warning["where"], warning["holds"]) == ("copied", "mini, speech", True)
    assert warning["text"].startswith("has values of opus_16k to the last digit")
    assert warned(database, "hers", owner="ann", **values) == []
    with database.transaction(write=True) as session:
        session.get_one(Submission, original).status = "withdrawn"
    assert warned(database, "touched", owner="mallory", score=0.8, metrics={"pesq": 2.9876})
    assert warned(database, "honest", owner="mallory", score=0.801) == []
    first = {"score": 0.7, "metrics": {"pesq": 2.123456789}}
    publish(database, "before_them", 12.0, owner="mallory", **first)
    (warning,) = warned(database, "opus_12k", owner="ann", **first)
    assert (warning["kind"], warning["holds"]) == ("copied", False)
    # under another name of the catalogue: an account's word does not say which of the two is the copy
    cases = ((12.0, "verified", False), (48.0, "self-reported", False), (48.0, "verified", True))
    for number, (kbps, status, holds) in enumerate(cases):
        sent = {"score": 0.6 + 0.02 * number, "metrics": {"pesq": 1.9 + number / 7}}
        publish(database, "opus_48k", kbps, owner="mallory", status=status, **sent)
        copied = [each for each in warned(database, "opus_12k", owner="ann", **sent) if each["kind"] == "copied"]
        assert [each["holds"] for each in copied] == [holds]
    under = values | {"condition": parse_condition("loss:20")}
    publish(database, "lost_x", 16.0, owner="ann", **under)
    assert [found["kind"] for found in warned(database, "found", owner="mallory", **under)] == ["copied"]
    assert warned(database, "fewer", owner="mallory", **(under | {"condition": parse_condition("loss:10")})) == []
    lossless = {"card": {"kind": "lossless"}, "metrics": EXACT}
    publish(database, "flac", None, 0.8, owner="ann", **lossless)
    assert warned(database, "wavpack", None, owner="mallory", **lossless) == []
    called = warned(database, "called", None, owner="mallory", card={"kind": "lossless"}, **values)
    assert {"copied", "not lossless"} <= {found["kind"] for found in called}
