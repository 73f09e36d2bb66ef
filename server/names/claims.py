"""Whose a name is: checked when a file comes, claimed by accounts and when results become public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, exists, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from codec_superb.base_codec.card import Card
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME
from codec_superb.server.database.models import (
    PUBLIC,
    STANDING,
    Account,
    AuditEntry,
    Codec,
    Family,
    Submission,
)
from codec_superb.server.errors import Conflict, Refused
from codec_superb.server.names import catalogue
from codec_superb.server.names.board_words import said_of_the_board, stamp_doubts, told_settings
from codec_superb.server.names.encoders import encoder_doubts
from codec_superb.server.names.looks import (
    alike,
    expect_look,
    family_of,
    keeper,
    look_clashes,
    take_look,
)
from codec_superb.server.names.own_words import check_words
from codec_superb.server.names.skeleton import skeleton
from codec_superb.server.names.standing import goes_first
from codec_superb.server.people.access import Identity
from codec_superb.server.people.audit import record
from codec_superb.web.text import count

STANDS_FOR = "standing"
"""Kind of the remark on what is shown behind others' results under a name of the catalogue, all of them their word."""
SETTLED_BY_RUN = (STANDS_FOR, "condition", "originals", "labels")
"""Kinds of warnings that a run settles: what others reported of the same codec, which nobody has run again either
(for others before it wait files alone that came to an older release), and what a model says of the originals and how
many labels a dataset has, by which two accounts whose codecs nobody can run would else hold everybody's true results
(:mod:`~codec_superb.server.moderation.measurements`)."""
_SHOWN = 200
"""Characters of a value in a problem."""


def check_names(session: Session, card: Card, caller: Identity) -> None:
    """Refuse names that are not the sender's to use.

    Raises Refused for a card under a name of the catalogue that is not the catalogue's, and for words that are the
    board's to say, Conflict for a codec's name of another account and for a name, title or family that looks like one
    of the catalogue, or of the account itself: about those of others a moderator decides.
    """
    if card.name in catalogue.cards():
        _check_catalogue_card(card)
        return
    check_words(card)
    _check_owner(session, card.name, caller)
    expect_look(session, card, caller.account_id)


def claim_public_names(session: Session, submission: Submission, *, actor: str) -> None:
    """Keep name, title and family of results that become public: of the codec, the family for its account.

    A name or family belongs to the first account whose results are public in it; those on datasets of one's own, and of
    the catalogue, take nothing. Raises Conflict where name, title or family look like another one by now.
    """
    card, codec = Card.model_validate(submission.card), submission.codec
    if card.name in catalogue.cards():
        return
    expect_look(session, card, submission.account_id, of_others=True)
    if submission.custom:
        return
    take_look(session, codec, card, submission.account_id)
    if keeper(session, codec, besides=submission.id) is None and codec.owner_id != submission.account_id:
        codec.owner_id = submission.account_id
        record(session, actor, "codec.claimed", codec.name, account=submission.account_id)
    if card.family not in catalogue.families().values():
        family = family_of(session, card.family, besides=submission.id) or _opened_family(session, card.family)
        if family.owner_id is None and submission.account_id is not None:
            family.owner_id = submission.account_id
            record(session, actor, "family.claimed", card.family, account=submission.account_id)
    session.flush()


def _opened_family(session: Session, name: str) -> Family:
    """Add a family, in place of one that looks the same and that nobody has, or find that which was added just now."""
    free = session.scalars(select(Family).where(Family.skeleton == skeleton(name))).one_or_none()
    if free is not None:
        free.name, free.owner_id = name, None
        return free
    try:
        with session.begin_nested():
            family = Family(name=name, skeleton=skeleton(name))
            session.add(family)
    except IntegrityError:
        found = session.scalars(select(Family).where(Family.name == name)).one_or_none()
        if found is None:  # one that looks the same
            raise alike("family", name, "another family, opened just now") from None
        return found
    return family


def name_warnings(session: Session, submission: Submission) -> Iterator[tuple[str, str]]:
    """Yield what a moderator decides about names: kind and text. An accepted family member may go on in the family."""
    codec, card = submission.codec, submission.card
    yield from _earlier_ones(session, submission)
    yield from encoder_doubts(session, submission)
    yield from stamp_doubts(submission)
    if codec.name in catalogue.cards():
        yield from _warnings_of_catalogue(session, submission)
        return
    keeps = keeper(session, codec)
    if keeps is not None and keeps.id != submission.account_id:
        yield "owner", f"the name {codec.name} belongs to {keeps.name}, this file came from {_sender(submission)}"
    standing = _standing(session, submission) if keeps is None else None
    if standing is not None and not _of_one(standing, submission):
        takes = not submission.custom and submission.account is not None
        gives = f"; to accept these gives the name to {_sender(submission)}" if takes else ""
        yield "owner", f"{codec.name} has results of {_sender(standing)}{gives}"
    for clash in look_clashes(session, Card.model_validate(card), submission.account):
        yield "name", clash
    owner = _owner_of_family(session, card["family"], submission)
    if owner is not None:
        yield "family", f"{codec.name} joins the family {card['family']} of {owner}; to accept it is to allow that"


def _earlier_ones(session: Session, submission: Submission) -> Iterator[tuple[str, str]]:
    """Yield why what the account sent before has this wait: a change of a byte must not undo a moderator's decision."""
    if submission.account is None:
        return
    name = submission.account.name
    own = (Submission.account_id == submission.account_id, Submission.id != submission.id)
    replaced = [each.id for each in replaced_by(session, submission)]
    waiting = select(Submission).where(
        *own, Submission.codec_id == submission.codec_id, Submission.condition == submission.condition,
        Submission.status == "held", Submission.id.not_in(replaced),
    )  # fmt: skip
    for each in session.scalars(waiting.order_by(Submission.version)):
        if each.decided_by is not None or not waits_for_run(each.warnings):
            told = f"version {each.version} of {submission.codec.name} by {name} is held: decide about it first"
            yield "earlier", told
            return
    last = _last_against(session, submission.account)
    if last is not None:
        told = last.detail.get("reason") or ("run again, it differs" if "verdict" in last.detail else "no reason given")
        yield (
            "earlier",
            f"the last decision about what {name} sent was against it ({last.name}, version {last.version}: {told})",
        )


def waits_for_run(warnings: Sequence[Mapping[str, Any]]) -> bool:
    """Whether nothing holds a submission but what a run settles: what is unusual, a moderator looks at."""
    kinds = {each["kind"] for each in warnings if each["holds"]}
    return bool(kinds) and kinds <= set(SETTLED_BY_RUN)


def is_doubted(session: Session, account: Account) -> bool:
    """Whether the last decision of others about what an account sent was against it."""
    return _last_against(session, account) is not None


def _last_against(session: Session, account: Account) -> Any:
    """Return the last decision against what an account sent, unless others decided for it since.

    A run that was asked for before, as by another worker at the same time, says nothing of what was found meanwhile.
    """
    decisions = _decisions_of_others(account.id, account.name)
    against = session.execute(decisions.where(~_FOR).limit(1)).one_or_none()
    if against is None:
        return None
    favours = session.scalars(decisions.with_only_columns(AuditEntry.detail).where(_FOR, AuditEntry.id > against.id))
    asked = (detail.get("asked") for detail in favours)
    return None if any(each is None or datetime.fromisoformat(each) > against.at for each in asked) else against


def expect_no_selection(session: Session, submission: Submission) -> None:
    """Refuse to put a part of the clips in front of more of them, by the same account of the same codec and complete.

    Failed clips count, since they are shown. Raises Conflict.
    """
    if submission.complete or submission.custom or submission.account_id is None:
        return
    before = select(Submission.id, Submission.version, Submission.clips).where(
        Submission.account_id == submission.account_id, Submission.codec_id == submission.codec_id,
        Submission.version < submission.version, Submission.status.in_(PUBLIC), Submission.complete,
        Submission.clips > submission.clips, Submission.condition == submission.condition, Submission.custom.is_(False),
    )  # fmt: skip
    last = session.execute(before.order_by(Submission.version.desc()).limit(1)).one_or_none()
    if last is not None:
        raise Conflict(
            f"a partial result of {count(submission.clips, 'clip')} would stand in front of version {last.version} of "
            f"{submission.codec.name}, which is complete with {last.clips}: send all clips, or withdraw {last.id} first"
        )


def replaced_by(session: Session, submission: Submission) -> Sequence[Submission]:
    """Return results of the same account and codec that are held, and that complete ones make needless.

    Partial ones, and such as wait for a run alone. What a moderator held, or a verification, stays: it is not for the
    sender to take back.
    """
    if submission.account_id is None or not submission.complete:
        return ()
    held = select(Submission).where(
        Submission.account_id == submission.account_id, Submission.codec_id == submission.codec_id,
        Submission.id != submission.id, Submission.status == "held", Submission.decided_by.is_(None),
        Submission.condition == submission.condition, Submission.custom == submission.custom,
    )  # fmt: skip
    return [
        each
        for each in session.scalars(held.order_by(Submission.version))
        if (not each.complete and each.ok <= submission.ok)
        or (waits_for_run(each.warnings) and _states(each) <= _states(submission))
    ]


_FOR = func.coalesce(AuditEntry.detail["after"].as_string(), "").in_(PUBLIC)
"""Whether a decision was for a submission."""


def _decisions_of_others(account_id: int | None, name: str) -> Select[Any]:
    """Select what others decided about an account's files, and that they differ when run again; the newest first.

    From the audit log: a submission holds its last decision alone, which may be to take back what was held.
    """
    withdrawn = AuditEntry.detail["after"].as_string() == "withdrawn"
    differs = (AuditEntry.action == "attestation.received") & (AuditEntry.detail["verdict"].as_string() == "differs")
    return (
        select(AuditEntry.id, AuditEntry.at, AuditEntry.detail, Submission.version, Codec.name)
        .join(Submission, Submission.id == AuditEntry.subject)
        .join(Codec, Codec.id == Submission.codec_id)
        .where(Submission.account_id == account_id)
        # a key, or who decides, may have the account's name: only what it takes back is no decision of others
        .where(or_(and_(AuditEntry.action == "submission.decided", or_(AuditEntry.actor != name, ~withdrawn)), differs))
        .order_by(AuditEntry.id.desc())
    )


def _owner_of_family(session: Session, name: str, submission: Submission) -> str | None:
    """Return who has to be asked about a family; None where the sender needs nobody's permission."""
    if name in catalogue.families().values():
        owner = "the catalogue"
    else:
        found = family_of(session, name)
        if found is None or found.owner_id == submission.account_id:
            return None
        owner = "an anonymous upload" if found.owner is None else found.owner.name
    member = (
        select(Submission.id)
        .join(Codec, Codec.id == Submission.codec_id)
        # whoever ran a codec of the catalogue has asked nobody
        .where(Codec.name.not_in(catalogue.cards()))
    )
    member = member.where(
        Submission.account_id == submission.account_id,
        Submission.card["family"].as_string() == name,
        Submission.status.in_(PUBLIC),
    )
    return None if session.scalar(select(exists(member))) else owner


def _warnings_of_catalogue(session: Session, submission: Submission) -> Iterator[tuple[str, str]]:
    weights, listed = submission.card["weights"], catalogue.cards()[submission.codec.name].weights
    if listed is not None and weights != listed.model_dump(mode="json") and not _same_weights(weights, listed):
        source = weights["source"] if weights else "no source"
        yield "weights", f"made with weights of {source}, those of the catalogue are of {listed.source}"
    # the codec's page shows them as facts of a codec that nobody owns, beside the results of whoever sent it
    parts = {
        "setting": told_settings(submission.card["settings"]),
        "source of weights": told_settings({k: v for k, v in (weights or {}).items() if v != getattr(listed, k, None)}),
    }
    for what, texts in parts.items():
        for told in said_of_the_board(what, texts):
            yield "name", told
    if submission.custom or submission.status == "verified":
        return
    # nobody is to be behind few clips of one account
    if submission.status not in PUBLIC and submission.condition and 2 * submission.failed > submission.clips:
        yield "name", f"{submission.failed} of {submission.clips} clips failed, under a name of the catalogue"
    standing = _standing(session, submission)
    if standing is None or standing.status == "verified" or _of_one(standing, submission):
        return
    if submission.behind if submission.status in PUBLIC else not goes_first(session, submission):
        yield STANDS_FOR, f"is shown behind the results of {_sender(standing)}, until it is run again or accepted"


def _of_one(one: Submission, other: Submission) -> bool:
    """Whether one account sent both; of anonymous uploads nobody knows."""
    return one.account_id is not None and one.account_id == other.account_id


def _sender(submission: Submission) -> str:
    return "an anonymous upload" if submission.account is None else submission.account.name


def _states(submission: Submission) -> set[tuple[str, str]]:
    return {(one["name"], one["manifest_hash"]) for one in submission.document["datasets"]}


def _standing(session: Session, submission: Submission) -> Submission | None:
    """Return the other submission that stands for the codec under the same condition."""
    return session.scalars(
        select(Submission)
        .join(Codec, Submission.codec_id == Codec.id)
        .where(Submission.status.in_(PUBLIC), Submission.condition == submission.condition)
        # what is of datasets of one's own stands in nobody's way but its like's
        .where(Submission.custom.is_(False) | submission.custom)
        .where(Submission.codec_id == submission.codec_id, Submission.id != submission.id)
        .order_by(*(each.desc() for each in STANDING))
        .limit(1)
    ).one_or_none()


def _same_weights(weights: dict[str, Any] | None, listed: Any) -> bool:
    if weights is None:
        return False
    if listed.sha256 is not None and weights["sha256"] is not None:
        return bool(weights["sha256"] == listed.sha256)
    return bool(weights["source"] == listed.source)


def _check_catalogue_card(card: Card) -> None:
    problems = [
        _problem(name, f"{expected!s:.{_SHOWN}}, as in the catalogue", f"{got!s:.{_SHOWN}}", _OTHER_CARD)
        for name, expected, got in catalogue.differences(card)
    ]
    if problems:
        raise Refused(
            f"{card.name} is a name of the catalogue, and the file's card is another one: it differs in "
            f"{', '.join(problem['path'].rpartition('.')[2] for problem in problems)}; {_OTHER_CARD}",
            problems=problems,
        )


_OTHER_CARD = "run the catalogue's codec with the board's release of this program, or name your configuration otherwise"


def _check_owner(session: Session, name: str, caller: Identity) -> None:
    codec = session.scalars(select(Codec).where(Codec.name == name)).one_or_none()
    owner = None if codec is None else keeper(session, codec)
    if owner is None or owner.id == caller.account_id:
        return
    fix = "name your configuration otherwise in the codec's card" + (
        ", or send it with a token of the account that owns the name" if caller.anonymous else ""
    )
    raise _taken(
        f"the codec name {name!r} is taken by another account; {fix}",
        _problem("name", "a name that no other account has submitted results under", name, fix),
    )


def _problem(field: str, expected: str, got: str, fix: str) -> dict[str, str]:
    return {"path": f"{SUBMISSION_NAME}: codec.{field}", "expected": expected, "got": got, "how_to_fix": fix}


def _taken(detail: str, *problems: dict[str, str]) -> Conflict:
    return Conflict(detail, problems=list[dict[str, Any]](problems))
