"""Who has a name, a title or a look: a codec whose results on datasets of the benchmark are public, and its account.

What was never public, was rejected or is withdrawn takes nothing, nor do results on datasets of one's own. Rows of
``codecs`` and ``families`` may say more: what they hold is asked for here, and is free once nothing stands behind it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session

from codec_superb.base_codec.card import Card
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME
from codec_superb.server.database.models import PUBLIC, Account, AuditEntry, Codec, Family, Submission
from codec_superb.server.errors import Conflict
from codec_superb.server.names import catalogue
from codec_superb.server.names.skeleton import skeleton

TAKES = Submission.custom.is_(False) & or_(
    Submission.status.in_(PUBLIC), (Submission.status == "held") & Submission.public_since.is_not(None)
)
"""Submissions that take names: public ones, and such as were and are looked at again."""
TAKEN = select(Submission.id).where(Submission.codec_id == Codec.id, TAKES).exists()
"""Of a codec: whether it has any."""


def keeper(session: Session, codec: Codec, *, besides: str = "") -> Account | None:
    """Return whose a codec's name is: of who was given it, or has results that take it, ``besides`` one of them."""
    own = (Submission.codec_id == codec.id, Submission.account_id == codec.owner_id, Submission.id != besides)
    stands = codec.owner is not None and (
        session.scalar(select(exists().where(*own, TAKES))) or _was_given(session, "codec", codec.name)
    )
    return codec.owner if stands else None


def family_of(session: Session, name: str, *, besides: str = "") -> Family | None:
    """Return a family of this name that somebody was given or has results in, ``besides`` one submission."""
    found = session.scalars(select(Family).where(Family.name == name)).one_or_none()
    return found if found is not None and _family_stands(session, found, besides) else None


def codec_like(session: Session, text: str, name: str, account: int | None) -> Codec | None:
    """Return another codec than ``name`` whose name or title looks like ``text``, but for what ``account`` was given.

    Of what an account was given, and has no results in yet, the look is free for another codec of it, and for nobody
    else's: its results are public all the while.
    """
    folded = skeleton(text)
    alike = or_(Codec.skeleton == folded, Codec.title_skeleton == folded)
    found = session.scalars(select(Codec).where(Codec.name != name, alike, TAKEN))
    return next((other for other in found if not _is_given(session, other, account)), None)


def family_like(session: Session, name: str, account: int | None) -> Family | None:
    """Return another family that looks like ``name``; one without results is free for the account that was given it."""
    alike = select(Family).where(Family.skeleton == skeleton(name), Family.name != name)
    found = session.scalars(alike).one_or_none()
    if found is None or not _family_stands(session, found):
        return None
    return None if _is_own(found, account) and not _has_results(session, found) else found


def expect_look(session: Session, card: Card, account: int | None, *, of_others: bool = False) -> None:
    """Refuse a name, a title or a family that the eye takes for one of the catalogue, or of the account itself.

    Raises Conflict; ``of_others`` for those of others too, about which else a moderator decides.
    """
    for field, text in (("name", card.name), ("title", card.title)):
        if listed := catalogue.look_alike(text):
            raise alike(field, text, f"the codec {listed}")
        other = codec_like(session, text, card.name, account)
        if other is not None and (of_others or _is_own(other, account)):
            raise alike(field, text, f"the codec {other.name}")
    listed = catalogue.families().get(skeleton(card.family), card.family)
    if listed != card.family:
        raise alike("family", card.family, f"the family {listed}")
    family = family_like(session, card.family, account)
    if family is not None and (of_others or _is_own(family, account)):
        raise alike("family", card.family, f"the family {family.name}")


def look_clashes(session: Session, card: Card, account: Account | None) -> list[str]:
    """Say which name, title or family looks like that of another codec or family, and what frees it."""
    found = []
    sender, own = ("nobody", None) if account is None else (account.name, account.id)
    for field, text in (("name", card.name), ("title", card.title)):
        if (other := codec_like(session, text, card.name, own)) is not None:
            public = select(exists().where(Submission.codec_id == other.id, Submission.status.in_(PUBLIC)))
            named = f"the codec {other.name}" if session.scalar(public) else "a codec that is looked at again"
            clash = f"the {field} {text!r} looks like that of {named}"
            found.append(
                f"{clash}: before it is accepted that is withdrawn, or given to {sender}, which frees its look"
            )
    if (family := family_like(session, card.family, own)) is not None:
        clash = f"the family {card.family!r} looks like the family {family.name}"
        found.append(
            f"{clash}: before it is accepted the results in that are withdrawn, and what was given is given to {sender}"
        )
    return found


def take_look(session: Session, codec: Codec, card: Card, account: int | None) -> None:
    """Give a codec of ``account`` the look of its name and its title.

    Codecs have to give it up of which nothing stands, and those that the account was given.
    """
    own = {"skeleton": skeleton(codec.name), "title_skeleton": skeleton(card.title)}
    held = or_(Codec.skeleton.in_(own.values()), Codec.title_skeleton.in_(own.values()))
    taken = set(session.scalars(select(Codec.id).where(held, TAKEN)))
    for other in session.scalars(select(Codec).where(Codec.id != codec.id, held)).all():
        if other.id not in taken or _is_given(session, other, account):
            other.skeleton = None if other.skeleton in own.values() else other.skeleton
            other.title_skeleton = None if other.title_skeleton in own.values() else other.title_skeleton
    session.flush()
    codec.skeleton, codec.title_skeleton = own["skeleton"], own["title_skeleton"]


def alike(field: str, text: str, other: str) -> Conflict:
    """Make the refusal of a look-alike."""
    fix = f"choose another {field} in the codec's card"
    problem: dict[str, Any] = {
        "path": f"{SUBMISSION_NAME}: codec.{field}", "expected": f"a {field} that does not look like that of {other}",
        "got": text, "how_to_fix": fix,
    }  # fmt: skip
    return Conflict(f"the {field} {text!r} looks like that of {other}; {fix}", problems=[problem])


def _is_given(session: Session, codec: Codec, account: int | None) -> bool:
    """Whether an account was given a codec in which it has no results that take names."""
    own = (Submission.codec_id == codec.id, Submission.account_id == account, TAKES)
    given = _is_own(codec, account) and _was_given(session, "codec", codec.name)
    return given and not session.scalar(select(exists().where(*own)))


def _is_own(other: Codec | Family, account: int | None) -> bool:
    return account is not None and other.owner_id == account


def _family_stands(session: Session, family: Family, besides: str = "") -> bool:
    return _has_results(session, family, besides) or _was_given(session, "family", family.name)


def _has_results(session: Session, family: Family, besides: str = "") -> bool:
    member = (Submission.card["family"].as_string() == family.name, Submission.id != besides)
    return bool(session.scalar(select(exists().where(*member, TAKES))))


def _was_given(session: Session, kind: str, name: str) -> bool:
    """Whether the owner of a name has it of a moderator."""
    told = select(AuditEntry.action).where(
        AuditEntry.subject == name, AuditEntry.action.in_((f"{kind}.claimed", f"{kind}.transferred"))
    )
    return session.scalar(told.order_by(AuditEntry.id.desc()).limit(1)) == f"{kind}.transferred"
