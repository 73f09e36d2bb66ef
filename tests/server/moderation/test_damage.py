"""Doubts about results under a condition: what damage cannot better, and which ends are others there."""

from __future__ import annotations

from sqlalchemy import select
from support.pipeline.stats import draw_rows
from support.server.board import make_submission
from support.server.people import ON_SQLITE
from support.server.verified import ROWS, keep_clips
from support.server.warned import EXACT, SPEECH, publish, warned

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.models import Codec, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.plausibility import warnings_for

LEVEL = parse_condition("level:0")


def test_lossless_under_a_condition(database: Database) -> None:
    """Beside the undamaged sound nothing is exact, and a faint one takes few bits; beside its input it is exact."""
    short = {"metrics": EXACT | {"estoi": 0.9}, "card": {"kind": "lossless", "nominal_kbps": None}}
    with database.transaction(write=True) as session:
        made = make_submission(session, "pack", 20.0, datasets=SPEECH, status="pending", **short)
        submission = session.get_one(Submission, made)
        for reference, kinds in (("clean", []), ("input", ["not lossless"])):
            condition = parse_condition("level:-60", reference)
            submission.condition = condition.label
            submission.document = submission.document | {"condition": condition.model_dump()}
            session.flush()
            assert [found["kind"] for found in warnings_for(session, made)] == kinds


@ON_SQLITE
def test_a_louder_sound_is_no_damage(database: Database) -> None:
    """Steps of fixed size are finer beside it, so the score may rise; with packets lost it may not, in either order."""
    loss = parse_condition("loss:5")
    publish(database, "adpcm", 12.0, 0.60, owner="ann")
    for condition, kinds in ((LEVEL, []), (loss, ["condition"])):
        found = warned(database, "adpcm", score=0.63, owner="ann", condition=condition)
        assert [each["kind"] for each in found] == kinds
    for other, condition, kinds in (("quiet", LEVEL, []), ("lost", loss, ["condition"])):
        publish(database, other, 12.0, 0.63, owner="ann", condition=condition)
        assert [each["kind"] for each in warned(database, other, score=0.60, owner="ann")] == kinds


@ON_SQLITE
def test_what_most_senders_have_clean(database: Database) -> None:
    """Low clean results of others have no result under a condition wait: verified ones and the account's own do."""
    loss = parse_condition("loss:5")

    def held(codec: str, score: float, owner: str = "fay") -> list[bool]:
        found = warned(database, codec, score=score, owner=owner, condition=loss)
        return [each["holds"] for each in found if each["kind"] == "condition"]

    def free(codec: str, score: float, owner: str, status: str = "self-reported") -> None:
        publish(database, codec, 12.0, score, owner=owner, status=status)
        with database.transaction(write=True) as session:  # as a name of the catalogue
            session.scalars(select(Codec).where(Codec.name == codec)).one().owner = None

    free("gsm_13k", 0.40, "mallory")
    assert held("gsm_13k", 0.60) == [False]  # one alone may be fiction
    free("gsm_13k", 0.62, "fay")
    free("gsm_13k", 0.40, "mallory")
    assert held("gsm_13k", 0.60) == [False]  # beside the account's own, which is better
    assert held("gsm_13k", 0.66) == [True]  # which the account's own is not
    free("gsm_13k", 0.62, "eve")
    assert held("gsm_13k", 0.66, "mallory") == [True]
    assert held("gsm_13k", 0.60, "dan") == [False]
    assert held("gsm_13k", 0.66, "dan") == [False]  # better than most have, which nobody ran again
    free("gsm_13k", 0.30, "second")
    free("gsm_13k", 0.30, "third")
    free("gsm_13k", 0.62, "ann", "verified")
    assert held("gsm_13k", 0.60, "dan") == [False]  # whatever most have, beside a verified one
    assert held("gsm_13k", 0.66, "dan") == [True]


@ON_SQLITE
def test_other_clips_under_a_condition(database: Database) -> None:
    """What both have is compared: better there waits, whatever the means; hard clips may be missing.

    Few say nothing, nor does anything of another length under the same id.
    """
    hard = sorted(ROWS, key=lambda row: row.metrics["pesq"].value or 0.0)
    longer = [row.model_copy(update={"samples": 9}) for row in ROWS]
    with database.transaction(write=True) as session:
        keep_clips(session, make_submission(session), ROWS)
        for rows, quality, score, where in (
            (ROWS[9:], 0.6, 0.6, {"mini, speech", "mini, audio", "mini, music"}),
            (hard[15:], -0.1, 0.95, set()), (ROWS[:9], 0.9, 0.95, set()), (longer[9:], 0.6, 0.95, set()),
        ):  # fmt: skip
            made = make_submission(session, score=score, status="pending", result={"complete": False})
            moved = {row.clip: row.metrics for row in draw_rows(1, len(ROWS), quality=quality)}
            keep_clips(session, made, [row.model_copy(update={"metrics": moved[row.clip]}) for row in rows])
            submission, condition = session.get_one(Submission, made), parse_condition("loss:5")
            submission.condition = condition.label
            submission.document = submission.document | {"condition": condition.model_dump()}
            session.flush()
            found = [each for each in warnings_for(session, made) if each["kind"] == "condition"]
            assert {each["where"] for each in found if each["holds"]} == where
            assert all("on 17 clips that both have" in each["text"] for each in found)


@ON_SQLITE
def test_ends_under_noise(database: Database) -> None:
    """Noise that is louder than the sound moves distances as much; other ends, and other conditions, stay."""
    with database.transaction(write=True) as session:
        for name, mean, held in (("noise:white:-20", 60.0, False), ("noise:white:-20", 320.0, True),
                                 ("noise:white:0", 60.0, True), ("loss:5", 60.0, True)):  # fmt: skip
            made = make_submission(session, datasets=SPEECH, status="pending", metrics={"mel": mean, "sdr": -70.0})
            submission = session.get_one(Submission, made)
            condition = parse_condition(name)
            submission.condition = condition.label
            submission.document = submission.document | {"condition": condition.model_dump()}
            session.flush()
            assert ("beyond" in {found["kind"] for found in warnings_for(session, made)}) == held, (name, mean)
