"""Plausibility warnings: each kind where it must come, and silence where it must not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.server.board import Probed, make_submission
from support.server.people import ON_SQLITE

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.literature.tables import literature
from codec_superb.pipeline.submission.findings import UNUSUAL
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.errors import NotFound
from codec_superb.server.moderation.plausibility import warnings_for
from codec_superb.server.moderation.score_envelope import TOO_GOOD, ComparedResult, crowd, likely

SPEECH = {"mini": ("speech",)}
"""One row of results is enough for a rule."""
EXACT: Mapping[str, float | None] = {
    "stft": 0.0, "mel": 0.0, "pesq": 4.6438885, "stoi": 1.0, "estoi": 1.0, "f0corr": 1.0, "sdr": None, "si_sdr": None,
}  # fmt: skip
"""Means of a sound that came back exactly."""


def warned(database: Database, codec: str = "opus_12k", kbps: float | None = 12.0, **made: Any) -> list[dict[str, Any]]:
    """Return the warnings about a pending submission."""
    with database.transaction(write=True) as session:
        submission = make_submission(session, codec, kbps, **({"status": "pending", "datasets": SPEECH} | made))
        return warnings_for(session, submission)


def publish(database: Database, codec: str, kbps: float, score: float, **made: Any) -> None:
    """Put a codec on the board."""
    with database.transaction(write=True) as session:
        make_submission(session, codec, kbps, score, **({"datasets": SPEECH} | made))


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
            publish(database, f"other{number}_x", 9.0 + number, 0.60 + 0.01 * number, **made)

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
        ],
        ids=["within", "few", "other bitrate", "lossless neighbours"],
    )
    @ON_SQLITE
    def test_silence(self, database: Database, count: int, score: float, kbps: float, made: Mapping[str, Any]) -> None:
        """Within the spread, among few, at another bitrate, or among lossless codecs nobody is one."""
        self.others(database, count, **made)
        assert warned(database, kbps=kbps, score=score) == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("count", "score", "kinds"),
    [(10, 0.95, {"outlier": False, "too good": True}), (9, 0.95, {"outlier": False}), (10, 0.72, {})],
)
def test_too_good_for_its_bitrate(database: Database, count: int, score: float, kinds: dict[str, bool]) -> None:
    """A tenth above the best of ten holds; among fewer it is a remark, and a narrow lead is neither."""
    for number in range(count):
        publish(database, f"other{number}_x", 9.0 + number / 2, 0.60 + 0.01 * number, owner=f"lab {number}")
    assert {found["kind"]: found["holds"] for found in warned(database, score=score)} == kinds


def test_a_ladder_of_ones_own_codecs_lifts_nobody(database: Database) -> None:
    """Each step of an account lies less than a tenth above the one before; the first above all others is looked at."""
    for number in range(10):
        publish(database, f"other{number}_x", 9.0 + number / 2, 0.60 + 0.01 * number, owner=f"lab {number}")
    publish(database, "step1", 12.0, 0.78, owner="climber")
    publish(database, "step2", 12.0, 0.79, owner="climber")
    assert "too good" in {found["kind"] for found in warned(database, "step3", score=0.87, owner="climber")}
    assert "too good" not in {found["kind"] for found in warned(database, "honest", score=0.87, owner="another")}


def test_too_good_where_nobody_is(database: Database) -> None:
    """At an empty bitrate the next ten above are asked, less what fewer bits cost: as good as all of them is too good.

    With fewer bits than words have, and none, whatever is better than noise waits, whoever is there.
    """
    tiny = {"kbps": 0.0005, "card": {"nominal_kbps": None, "nominal_tolerance": None, "bitrate_note": "variable"}}
    few = [("too few bits", "mini, speech")]
    assert [(found["kind"], found["where"]) for found in warned(database, "first", score=0.6, **tiny)] == few
    assert [found["kind"] for found in warned(database, "none", score=0.6, **tiny, result={"kbps": 0.0})] == [
        "too few bits"
    ]
    assert warned(database, "noise", score=0.44, **tiny) == []
    for number in range(10):
        publish(database, f"other{number}_x", 6.0 * 1.3**number, 0.60 + 0.01 * number, owner=f"lab {number}")
    sparse = {"kbps": 0.1, "card": {"nominal_kbps": 0.1}}
    (found,) = warned(database, "gold", score=0.655, **sparse)
    assert (found["kind"], "10 codecs at 6.06 to 64.3 kbps leave 0.4" in found["text"]) == ("too good", True)
    assert warned(database, "honest", score=0.54, **sparse) == []
    assert {"too few bits", "too good"} == {found["kind"] for found in warned(database, "best", score=0.655, **tiny)}


def test_an_account_is_one_rival(database: Database) -> None:
    """Ten bad codecs of one account at an empty bitrate hold nobody; verified ones, or of ten accounts, do."""
    for number in range(10):
        publish(database, f"good{number}_x", 16.0 + number, 0.75, owner=f"lab {number}")
        publish(database, f"bad{number}_x", 2.6 + 0.1 * number, 0.35, owner="mallory")
    assert not any(found["holds"] for found in warned(database, "honest", 2.5, score=0.6))
    for number in range(10):
        publish(database, f"slow{number}_x", 2.6 + 0.1 * number, 0.35, owner="ann", status="verified")
    assert "too good" in {found["kind"] for found in warned(database, "late", 2.5, score=0.6)}


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
                assert not rivals or each.score <= likely(each.kbps, rivals, category) + TOO_GOOD, each
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
        ("metrics", "kinds"),
        [
            ({"sdr": 101.0}, {"beyond"}),
            ({"si_sdr": -81.0}, {"beyond"}),
            ({"mel": 32.0}, {"beyond"}),
            ({"sdr": 99.0, "si_sdr": -58.0}, set()),
        ],
    )
    def test_ends_of_metrics(self, database: Database, metrics: Mapping[str, float], kinds: set[str]) -> None:
        """A mean beyond what codecs have waits: it alone would decide the axis of a chart."""
        assert {found["kind"] for found in warned(database, metrics=metrics)} == kinds

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


class TestApplications:
    """What does not depend on the codec is what others found with the same model."""

    @pytest.mark.parametrize(
        ("told", "text"),
        [
            ({"left_out": 6}, "asr: 6 clips without a label, 2 in results of others"),
            ({"words": 900}, "asr: 900 words in the labels, 400 in results of others"),
            (
                {"value": 7.0, "ceiling": 9.0},
                "asr_wer_pct: 9.0 on the originals, 4.0 with the same model in results of others",
            ),
            ({}, ""),
            ({"ceiling": 4.4}, ""),
            ({"value": 7.0, "ceiling": 9.0, "left_out": 6, "sha256": "cd" * 32}, ""),
        ],
    )
    def test_against_others(self, database: Database, told: dict[str, Any], text: str) -> None:
        """Clips cannot be chosen by their labels; another model is another measurement, and is ranked apart."""
        honest = [Probed("asr_wer_pct", 8.0, 4.0)]
        for number, owner in enumerate(("ann", "ann", "bob", "carl")):
            publish(database, f"other{number}_x", 12.0, 0.79 + 0.003 * number, owner=owner, applications=honest)
        probed = Probed("asr_wer_pct", **({"value": 3.0, "ceiling": 4.0} | told))
        found = warned(database, owner="mallory", applications=[probed])
        assert [(w["kind"], w["text"], w["holds"]) for w in found] == ([("application", text, True)] if text else [])

    @pytest.mark.parametrize(
        ("figure", "value", "ceiling", "text"),
        [
            ("tokens_entropy_kbps", 10.5, 12.0, ""),
            ("tokens_entropy_kbps", 0.02, 12.0, "entropy-coded, 0.020 of 12 kbps of tokens are left"),
            ("tokens_entropy_kbps", 20.0, 24.0, "tokens are worth 24 kbps, 12 were sent"),
            ("tokens_unigram_bits", 5.0, 6.0, ""),
            ("tokens_lm_bits", 6.3, 6.0, ""),
            ("tokens_unigram_bits", 7.0, 6.0, "tokens_unigram_bits: 7.0 bits a token of 6.0 nominal ones"),
            (
                "tokens_lm_bits",
                5.0,
                1e9,
                "tokens_lm_bits: 1000000000 nominal bits a token, of codebooks of 64 entries",
            ),
            ("tokens_recode_5_pct", 97.0, 100.0, ""),
            ("tokens_recode_5_pct", 100.0, 100.0, "every token is the same after five codings"),
        ],
    )
    def test_tokens(self, database: Database, figure: str, value: float, ceiling: float, text: str) -> None:
        """What an entropy coder cannot leave, more than is sent or can be, and tokens that nothing changes wait."""
        card = {"codebooks": 2, "codebook_size": 64, "frame_rate": 1000.0, "nominal_kbps": 12.0}
        found = warned(database, card=card, applications=[Probed(figure, value, ceiling)])
        assert [(w["kind"], w["text"], w["holds"]) for w in found] == ([("application", text, True)] if text else [])

    def test_tokens_of_a_codec_without_any(self, database: Database) -> None:
        """A codec of bytes has none."""
        (found,) = warned(database, applications=[Probed("tokens_coded_bits", 3.0, 4.0)])
        assert (found["text"], found["holds"]) == ("tokens_coded_bits: the card of opus_12k has no codebooks", True)

    @pytest.mark.parametrize(
        ("others", "value", "text"),
        [
            (0, 0.5, "asr_wer_pct: 0.50 on the resyntheses, 4.0 on the originals"),
            (0, 3.0, ""),
            (9, 4.0, ""),
            (10, 4.0, "asr_wer_pct: 0 is lost, 4.0 or more by 10 codecs of its bitrate, or with the next ones above"),
            (10, 6.5, ""),
        ],
    )
    def test_too_good(self, database: Database, others: int, value: float, text: str) -> None:
        """Perfect answers wait: half the errors on the originals, or of what ten others lose; a good codec does not."""
        for number in range(others):
            honest = [Probed("asr_wer_pct", 8.0 + 0.1 * number, 4.0)]
            made = {"owner": f"o{number}", "applications": honest}
            publish(database, f"x{number}_x", 12.0 + number, 0.7 + 0.003 * number, **made)
        forged = Probed("asr_wer_pct", value, 4.0)
        found = warned(database, owner="mallory", applications=[forged])
        own = [(w["text"], w["holds"]) for w in found if w["kind"] == "application"]
        assert own == ([(text, True)] if text else [])

    @pytest.mark.parametrize(
        ("figure", "value", "best", "held"),
        [
            ("sim_pct", 100.0, 100.0, True),
            ("sim_pct", 99.99, 100.0, False),
            ("mseb_reconstruction_yamnet_mse", 0.0, 0.0, True),
            ("mseb_stability_vectors_ced", 0.0, 0.0, True),
            ("mseb_stability_vectors_ced", 0.001, 0.0, False),
            ("asr_wer_pct", 501.0, 4.0, True),
            ("asr_wer_pct", 200.0, 4.0, False),
            ("mseb_classification_gender_accuracy_pct", 100.0, 100.0, False),
        ],
    )
    def test_the_original_itself(self, database: Database, figure: str, value: float, best: float, held: bool) -> None:
        """A likeness to the original at its best is for lossless codecs alone; answers may all be right."""
        found = warned(database, owner="mallory", applications=[Probed(figure, value, best)])
        own = [w["holds"] for w in found if w["kind"] == "application"]
        assert own == ([True] if held else [])

    def test_one_account_decides_no_ceiling(self, database: Database) -> None:
        """One forged ceiling holds nobody; two accounts that agree, or one that a moderator accepted, hold the next."""
        honest, forged = Probed("asr_wer_pct", 8.0, 4.0), Probed("asr_wer_pct", 103.0, 102.0, left_out=9)
        with database.transaction(write=True) as session:
            first = make_submission(
                session, "bad_x", 12.0, 0.78, datasets=SPEECH, owner="mallory", applications=[forged]
            )
        publish(database, "worse_x", 12.0, 0.785, owner="mallory", applications=[forged])
        (found,) = warned(database, "new_x", owner="ann", applications=[honest])
        assert (found["holds"], "2 clips without a label, 9 in" in found["text"]) == (False, True)
        publish(database, "x0_x", 12.0, 0.79, owner="ann", applications=[honest])
        assert warned(database, "x1_x", owner="bob", applications=[honest]) == []
        publish(database, "x1_x", 12.0, 0.793, owner="bob", applications=[honest])
        (found,) = warned(database, "late_x", owner="eve", applications=[forged])
        assert (found["holds"], "2 in" in found["text"], "(too few" in found["text"]) == (True, True, True)
        with database.transaction(write=True) as session:
            session.get_one(Submission, first).decided_by = "the moderator"
        assert [each["holds"] for each in warned(database, "x2_x", owner="carl", applications=[honest])] == [True]

    def test_models_asked_elsewhere_are_told_apart_by_name(self, database: Database) -> None:
        """No file of theirs has a hash."""
        for number, owner in enumerate(("ann", "bob")):
            asked = Probed("asr_wer_pct", 8.0, 4.0, backend="answers:one", sha256="")
            publish(database, f"other{number}_x", 12.0, 0.79 + 0.003 * number, owner=owner, applications=[asked])
        for name, warnings in (("answers:one", 1), ("answers:two", 0)):
            probed = Probed("asr_wer_pct", 7.0, 9.0, backend=name, sha256="")
            assert len(warned(database, owner="mallory", applications=[probed])) == warnings

    @pytest.mark.parametrize("status", ["verified", "self-reported"])
    def test_others_are_found_behind_many_without_the_figure(self, database: Database, status: str) -> None:
        """Forty newer codecs that have other figures or none, verified or of one account, hide nobody's."""
        publish(database, "first_x", 12.0, 0.79, owner="ann", applications=[Probed("asr_wer_pct", 8.0, 4.0)])
        for number in range(40):
            other = [Probed("utmos", 3.0, 4.0)] if number % 2 else []
            publish(database, f"x{number}_x", 12.0, 0.78, owner="bob", status=status, applications=other)
        found = warned(database, owner="mallory", applications=[Probed("asr_wer_pct", 3.0, 4.0, left_out=9)])
        assert [w["kind"] for w in found] == ["application"]

    def test_a_rival_without_an_interval_stops_no_comparison(self, database: Database) -> None:
        """One codec whose clips all failed does not take ten others out of the count."""
        for number in range(11):
            figure = Probed("asr_wer_pct", 8.0, 4.0) if number else Probed("asr_wer_pct", 8.0, 4.0, width=None)
            publish(database, f"x{number}_x", 12.0, 0.7 + 0.003 * number, owner=f"o{number}", applications=[figure])
        found = warned(database, owner="mallory", applications=[Probed("asr_wer_pct", 4.0, 4.0)])
        assert [w["kind"] for w in found if "is lost" in w["text"]] == ["application"]

    def test_nobody_is_held_against_results_of_one_account(self, database: Database) -> None:
        """Ten results of one account are one vote against a verified and another account's; its own are none."""
        honest, forged = Probed("asr_wer_pct", 8.0, 4.0), Probed("asr_wer_pct", 3.0, 4.0, left_out=9)
        publish(database, "verified_x", 12.0, 0.790, owner="ann", status="verified", applications=[honest])
        publish(database, "reported_x", 12.0, 0.793, owner="bob", applications=[honest])
        for number in range(4):
            publish(database, f"forged{number}_x", 12.0, 0.81, owner="mallory", applications=[forged])
        assert warned(database, owner="carl", applications=[honest]) == []
        assert [w["kind"] for w in warned(database, owner="mallory", applications=[forged])] == ["application"]


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
    lossless = {"card": {"kind": "lossless"}, "metrics": EXACT}
    publish(database, "flac", None, 0.8, owner="ann", **lossless)
    assert warned(database, "wavpack", None, owner="mallory", **lossless) == []
    called = warned(database, "called", None, owner="mallory", card={"kind": "lossless"}, **values)
    assert {"copied", "not lossless"} <= {found["kind"] for found in called}
