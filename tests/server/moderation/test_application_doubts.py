"""Doubts about figures of applications: where they must come, and silence where they must not."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from support.server.board import Probed, make_submission
from support.server.people import ON_SQLITE
from support.server.verified import attest
from support.server.warned import SPEECH, publish, warned

from codec_superb.applications.table import probe_of_metric
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database


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
            ({"ceiling": 4.25}, ""),
            (
                {"value": 2.0, "ceiling": 3.6},
                "asr_wer_pct: 3.6 on the originals, 4.0 with the same model in results of others",
            ),
            ({"value": 7.0, "ceiling": 9.0, "left_out": 6, "sha256": "cd" * 32}, ""),
        ],
    )
    def test_against_others(self, database: Database, told: dict[str, Any], text: str) -> None:
        """Clips cannot be chosen by their labels; another model is another measurement, and is ranked apart.

        What nobody confirmed holds nobody: two accounts whose codecs nobody can run would hold all.
        """
        honest, kind = [Probed("asr_wer_pct", 8.0, 4.0)], "originals" if "on the originals" in text else "labels"
        probed = Probed("asr_wer_pct", **({"value": 3.0, "ceiling": 4.0} | told))
        for times, holds in enumerate((False, True)):
            for number, owner in enumerate(("ann", "ann", "bob", "carl")):
                made = {"owner": owner, "applications": honest, "status": "verified" if holds else "self-reported"}
                publish(database, f"x{times}{number}_x", 12.0, 0.79 + 0.003 * number, **made)
            found = warned(database, owner="mallory", applications=[probed])
            assert [(w["kind"], w["text"], w["holds"]) for w in found] == ([(kind, text, holds)] if text else [])

    @pytest.mark.parametrize(("ceiling", "held"), [(1.55, False), (0.0, False), (4.0, True)])
    def test_originals_of_trials(self, database: Database, ceiling: float, held: bool) -> None:
        """Where the usual value is 0, two cosines within what ``verify`` lets pass would hold everybody's results."""
        for number, owner in enumerate(("ann", "bob", "carl")):
            made = {"owner": owner, "applications": [Probed("asv_eer_pct", 8.0, 0.0)], "status": "verified"}
            publish(database, f"other{number}_x", 12.0, 0.79 + 0.003 * number, **made)
        found = warned(database, owner="mallory", applications=[Probed("asv_eer_pct", 8.5, ceiling)])
        assert [(w["kind"], w["holds"]) for w in found] == ([("originals", True)] if held else [])

    @pytest.mark.parametrize(
        ("told", "text"),
        [
            (
                {"value": 7.0, "ceiling": 9.0},
                "asr_wer_pct: 9.0 on the originals, 4.0 with the same model in results of others",
            ),
            ({}, ""),
            ({"words": 380, "failed": 1}, ""),
            ({"ceiling": 4.45, "failed": 2}, ""),
            ({"ceiling": 3.55, "failed": 2}, ""),
            (
                {"value": 7.0, "ceiling": 9.0, "failed": 2},
                "asr_wer_pct: 9.0 on the originals, 4.0 with the same model in results of others",
            ),
        ],
    )
    def test_against_others_of_which_a_clip_failed(self, database: Database, told: dict[str, Any], text: str) -> None:
        """Where a model fails on a clip of every codec: the words of that clip differ, the originals hardly."""
        for number, owner in enumerate(("ann", "bob", "carl")):
            figure = [Probed("asr_wer_pct", 8.0, 4.0, failed=1, words=380 + number)]
            made = {"owner": owner, "applications": figure, "status": "verified"}
            publish(database, f"other{number}_x", 12.0, 0.79 + 0.003 * number, **made)
        probed = Probed("asr_wer_pct", **({"value": 3.0, "ceiling": 4.0} | told))
        found = warned(database, owner="mallory", applications=[probed])
        assert [(w["kind"], w["text"], w["holds"]) for w in found] == ([("originals", text, True)] if text else [])

    @pytest.mark.parametrize(
        ("figure", "value", "ceiling", "text"),
        [
            ("tokens_entropy_kbps", 10.5, 12.0, ""),
            ("tokens_entropy_kbps", 0.02, 12.0, "entropy-coded, 0.020 of 12 kbps of tokens are left"),
            ("tokens_entropy_kbps", 20.0, 24.0, "tokens are worth 24 kbps, 12 were sent"),
            ("tokens_entropy_kbps", 0.05, 0.06, "tokens are worth 0.060 kbps, 12 by their number and codebooks"),
            ("tokens_unigram_bits", 5.0, 6.0, ""),
            ("tokens_after_bits", 0.1, 6.0, ""),
            ("tokens_lm_bits", 6.3, 6.0, ""),
            ("tokens_lm_bits", 0.01, 6.0, "tokens_lm_bits: 0.010 bits a token of 6.0 nominal ones"),
            ("tokens_unigram_bits", 7.0, 6.0, "tokens_unigram_bits: 7.0 bits a token of 6.0 nominal ones"),
            (
                "tokens_lm_bits",
                5e8,
                1e9,
                "tokens_lm_bits: 1000000000 nominal bits a token, of codebooks of 6.0 bits",
            ),
            ("tokens_recode_5_pct", 97.0, 100.0, ""),
            ("tokens_recode_5_pct", 99.97, 100.0, "every token is the same after five codings"),
            ("tokens_noise_20_pct", 99.97, 100.0, "every token is the same beside noise 20 dB below the sound"),
            ("tokens_recode_pct", 100.0, 100.0, ""),
        ],
    )
    def test_tokens(self, database: Database, figure: str, value: float, ceiling: float, text: str) -> None:
        """What an entropy coder cannot leave, more than is sent or can be, and tokens that nothing changes wait."""
        card = {"codebooks": 2, "codebook_size": 64, "frame_rate": 1000.0, "nominal_kbps": 12.0}
        found = warned(database, card=card, applications=[Probed(figure, value, ceiling)])
        assert [(w["kind"], w["text"], w["holds"]) for w in found] == ([("application", text, True)] if text else [])

    @ON_SQLITE
    def test_tokens_of_another_account(self, database: Database) -> None:
        """Equal figures of tokens are a remark, since two codecs may share an encoder; one of three says nothing."""
        card = {"codebooks": 2, "codebook_size": 64, "frame_rate": 1000.0, "nominal_kbps": 12.0}
        of_ann = [
            Probed("tokens_unigram_bits", 5.125, 6.0),
            Probed("tokens_after_bits", 4.25, 6.0),
            Probed("tokens_lm_bits", 4.5, 6.0),
        ]
        publish(database, "other_x", 12.0, 0.79, owner="ann", card=card, applications=of_ann)
        copied = [*of_ann[:2], Probed("tokens_lm_bits", 4.75, 6.0)]
        (found,) = warned(database, owner="mallory", card=card, applications=copied)
        assert ("to the last digit" in found["text"], found["holds"]) == (True, False)

    def test_tokens_of_unequal_codebooks(self, database: Database) -> None:
        """Nominal bits are the mean of theirs."""
        card = {"codebooks": 2, "codebook_sizes": (64, 16), "frame_rate": 1200.0, "nominal_kbps": 12.0}
        assert warned(database, card=card, applications=[Probed("tokens_coded_bits", 4.5, 5.0)]) == []
        (found,) = warned(database, card=card, applications=[Probed("tokens_coded_bits", 0.05, 0.06)])
        assert found["text"] == "tokens_coded_bits: 0.060 nominal bits a token, of codebooks of 5.0 bits"

    def test_tokens_of_another_bitrate(self, database: Database) -> None:
        """What a codec's tokens are worth is no model's answer: the same weights have several bitrates."""
        card = {"codebooks": 2, "codebook_size": 64, "frame_rate": 1000.0, "nominal_kbps": 12.0}
        for number, owner in enumerate(("ann", "bob")):
            told = [Probed("tokens_entropy_kbps", 11.0, 12.0)]
            publish(database, f"x{number}_x", 12.0, 0.79 + 0.003 * number, owner=owner, card=card, applications=told)
        half = card | {"codebooks": 1, "nominal_kbps": 6.0}
        told = [Probed("tokens_entropy_kbps", 5.5, 6.0)]
        assert warned(database, "half_x", 6.0, score=0.7, owner="eve", card=half, applications=told) == []

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
        """Perfect answers wait: half the errors on the originals, or of what ten others lose; a good codec does not.

        Nor is anything lost less under a condition.
        """
        for number in range(others):
            honest = [Probed("asr_wer_pct", 8.0 + 0.1 * number, 4.0)]
            made = {"owner": f"o{number}", "applications": honest}
            publish(database, f"x{number}_x", 12.0 + number, 0.7 + 0.003 * number, **made)
        forged = Probed("asr_wer_pct", value, 4.0)
        for condition in (None, parse_condition("loss:20")):
            found = warned(database, owner="mallory", applications=[forged], condition=condition)
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
            ("mseb_reconstruction_yamnet_fad", 1e8, 0.0, True),
            ("mseb_reconstruction_yamnet_fad", 60.0, 0.0, False),
            ("asr_wer_pct", 501.0, 4.0, True),
            ("asr_wer_pct", 200.0, 4.0, False),
            ("mseb_classification_gender_accuracy_pct", 100.0, 100.0, False),
        ],
    )
    def test_the_original_itself(self, database: Database, figure: str, value: float, best: float, held: bool) -> None:
        """A likeness to the original at its best is for lossless codecs alone; answers may all be right."""
        backend = probe_of_metric(figure).backend
        probed = Probed(figure, value, best, backend=backend)
        for condition in (None, parse_condition("noise:white:0", "input")):
            found = warned(database, owner="mallory", applications=[probed], condition=condition)
            own = [w["holds"] for w in found if w["kind"] == "application"]
            assert own == ([True] if held else [])

    def test_distances_between_vectors_of_another_model(self, database: Database) -> None:
        """Their unit is the model's: of log-mel frames GSM has a Fréchet distance of 1,300. Errors have none."""
        for figure, value, held in (
            ("mseb_reconstruction_yamnet_fad", 2119.0, False), ("mseb_reconstruction_yamnet_mse", 29.0, False),
            ("mseb_reconstruction_yamnet_fad", 1e10, True), ("mseb_reconstruction_yamnet_mse", 1e7, True),
            ("asr_wer_pct", 501.0, True),
        ):  # fmt: skip
            probed = Probed(figure, value, 4.0 if figure == "asr_wer_pct" else 0.0, backend="log-mel-frames")
            found = warned(database, owner="ann", applications=[probed])
            assert [w["holds"] for w in found if w["kind"] == "application"] == ([True] if held else [])

    def test_one_account_decides_no_ceiling(self, database: Database) -> None:
        """One forged ceiling holds nobody, nor does it once accepted; two that were run again hold the next."""
        honest, forged = Probed("asr_wer_pct", 8.0, 4.0), Probed("asr_wer_pct", 103.0, 102.0, left_out=9)
        with database.transaction(write=True) as session:
            first = make_submission(
                session, "bad_x", 12.0, 0.78, datasets=SPEECH, owner="mallory", applications=[forged]
            )
        publish(database, "worse_x", 12.0, 0.785, owner="mallory", applications=[forged])
        (found,) = warned(database, "new_x", owner="ann", applications=[honest])
        assert (found["holds"], "2 clips without a label, 9 in" in found["text"]) == (False, True)
        true = {"applications": [honest], "status": "verified"}
        publish(database, "x0_x", 12.0, 0.79, owner="ann", **true)
        assert warned(database, "x1_x", owner="bob", applications=[honest]) == []
        publish(database, "x1_x", 12.0, 0.793, owner="bob", **true)
        (found,) = warned(database, "late_x", owner="eve", applications=[forged])
        assert (found["holds"], "2 in results of others" in found["text"]) == (True, True)
        with database.transaction(write=True) as session:
            session.get_one(Submission, first).decided_by = "the moderator"
        assert warned(database, "x2_x", owner="carl", applications=[honest]) == []
        publish(database, "x2_x", 12.0, 0.796, owner="carl", applications=[honest])
        assert [each["holds"] for each in warned(database, "x3_x", owner="eve", applications=[forged])] == [True]

    def test_the_same_clips_need_no_interval(self, database: Database) -> None:
        """No error where all others have nine in 230 words: within what other clips would have, and not of these."""
        for number, owner in enumerate(("ann", "bob", "carl")):
            honest = {"applications": [Probed("asr_wer_pct", 8.0, 3.91, width=8.7)], "status": "verified"}
            publish(database, f"other{number}_x", 12.0, 0.79 + 0.003 * number, owner=owner, **honest)
        for told, holds in ((0.0, [True]), (1.3, [True]), (2.61, []), (5.2, [])):
            probed = Probed("asr_wer_pct", told + 3.0, told, width=min(told, 8.7))
            found = warned(database, f"mine{100 * told:.0f}", owner="mallory", applications=[probed])
            assert [w["holds"] for w in found if "on the originals" in w["text"]] == holds, told

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
        assert [w["kind"] for w in found] == ["labels"]

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
        assert [w["kind"] for w in warned(database, owner="mallory", applications=[forged])] == ["labels"]


class TestWhatNobodyRanAgain:
    """The badge of a submission is not that of its figures: what its attestation leaves out is its account's word."""

    @staticmethod
    def verified(database: Database, codec: str, ceiling: float, *compared: str, owner: str = "mallory") -> None:
        """Publish a verified codec with a narrow interval about another value on the originals."""
        probed = Probed("asr_wer_pct", ceiling + 4.0, ceiling, width=0.1)
        with database.transaction(write=True) as session:
            made = {"status": "verified", "datasets": SPEECH, "owner": owner, "applications": [probed]}
            attest(session, make_submission(session, codec, 12.0, 0.79, **made), "bits", *compared)

    @pytest.mark.parametrize("again", [False, True])
    @pytest.mark.parametrize("others", [0, 1, 2, 4])
    def test_one_account_holds_nobody(self, database: Database, others: int, again: bool) -> None:
        """One claim of 12 % held every honest file of five accounts, run again or not: one clip of many may escape."""
        for number, owner in enumerate(("ann", "bob", "carl", "dan")[:others]):
            honest = [Probed("asr_wer_pct", 8.0, 4.0)]
            publish(database, f"other{number}_x", 12.0, 0.79 + 0.003 * number, owner=owner, applications=honest)
        self.verified(database, "swift_12k", 12.0, *(["asr"] if again else []))
        publish(database, "mine_x", 12.0, 0.79, owner="mallory", applications=[Probed("asr_wer_pct", 16.0, 12.0)])
        with database.transaction(write=True) as session:  # as one whose name a moderator looked at
            for submission in session.scalars(select(Submission).where(Submission.status == "self-reported")):
                if submission.codec.name == "mine_x":
                    submission.decided_by = "the moderator"
        found = warned(database, owner="eve", applications=[Probed("asr_wer_pct", 8.0, 4.0)])
        assert not any(w["holds"] for w in found)

    def test_two_that_were_run_again_hold_another(self, database: Database) -> None:
        """Those of one account too: the first rows of a board are its maintainers'."""
        for number in range(2):
            self.verified(database, f"first{number}_12k", 4.0, "asr", owner="maintainers")
        (found,) = warned(database, owner="mallory", applications=[Probed("asr_wer_pct", 16.0, 12.0)])
        assert (found["holds"], found["text"].endswith("in results of others")) == (True, True)

    @pytest.mark.parametrize("others", [("ann",), ("ann", "bob")])
    def test_it_is_one_vote_of_its_account(self, database: Database, others: tuple[str, ...]) -> None:
        """Two verified codecs of an account are one word, which one other account contradicts in a remark."""
        for number in range(2):
            self.verified(database, f"swift{number}_12k", 12.0)
        for number, owner in enumerate(others):
            true = {"owner": owner, "applications": [Probed("asr_wer_pct", 8.0, 4.0)], "status": "verified"}
            publish(database, f"other{number}_x", 12.0, 0.7, **true)
        found = warned(database, owner="eve", applications=[Probed("asr_wer_pct", 8.0, 4.0)])
        assert not any(w["holds"] for w in found)
        held = [w["holds"] for w in warned(database, owner="mallory", applications=[Probed("asr_wer_pct", 16.0, 12.0)])]
        assert held == [len(others) == 2]

    @ON_SQLITE
    def test_many_of_an_account_hide_no_others(self, database: Database) -> None:
        """Verified ones are looked at first: thirty of one account would leave no room for two that contradict it."""
        for number in range(31):
            self.verified(database, f"swift{number}_12k", 12.0)
        for number, owner in enumerate(("ann", "bob", "carl")):
            true = {"owner": owner, "applications": [Probed("asr_wer_pct", 8.0, 4.0)], "status": "verified"}
            publish(database, f"other{number}_x", 12.0, 0.7, **true)
        (found,) = warned(database, owner="eve", applications=[Probed("asr_wer_pct", 16.0, 12.0)])
        assert (found["holds"], found["text"].endswith("in results of others")) == (True, True)

    def test_what_a_moderator_accepted_of_the_account_counts(self, database: Database) -> None:
        """The account's one vote is that which was looked at, not the newer word that nobody ran again."""
        with database.transaction(write=True) as session:
            told = [Probed("asr_wer_pct", 8.0, 4.0)]
            identity = make_submission(
                session, "plain_12k", 12.0, 0.7, datasets=SPEECH, owner="mallory", applications=told
            )
            session.get_one(Submission, identity).decided_by = "moderator"
        self.verified(database, "swift_12k", 12.0)
        assert warned(database, owner="eve", applications=[Probed("asr_wer_pct", 8.0, 4.0)]) == []
