"""Registers the names of results that came before names were kept, when the service starts."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from codec_superb.server.database.models import Codec, Family, Submission
from codec_superb.server.names import catalogue
from codec_superb.server.names.looks import TAKES
from codec_superb.server.names.skeleton import skeleton
from codec_superb.server.operations.logs import get_logger
from codec_superb.server.people.audit import record

_log = get_logger(__name__)


def ensure_names(session: Session, *, actor: str = "codec-superb") -> None:
    """Release names of the catalogue that accounts own, and register names, titles and families that are not.

    Of two that look the same the older one is registered. Several processes may start at once: where another one has
    done it, a second try finds the names there. Raises IntegrityError where it does not.
    """
    try:
        with session.begin_nested():
            _ensure(session, actor)
    except IntegrityError as error:
        _log.warning("names were not registered at once; trying again", reason=str(error.orig).splitlines()[0])
        with session.begin_nested():
            _ensure(session, actor)


def _ensure(session: Session, actor: str) -> None:
    listed = catalogue.cards()
    codecs = {codec.id: codec for codec in session.scalars(select(Codec).order_by(Codec.id))}
    taken = {each for codec in codecs.values() for each in (codec.skeleton, codec.title_skeleton) if each}
    names, looks = _families_folded_anew(session)
    for codec in codecs.values():
        if codec.name in listed and codec.owner_id is not None:
            record(session, actor, "codec.released", codec.name, account=codec.owner_id)
            codec.owner_id = None
    cards = session.execute(
        select(Submission.codec_id, Submission.card["title"].as_string(), Submission.card["family"].as_string())
        .where(TAKES)
        .order_by(Submission.received, Submission.id)
    ).all()
    titles = {codec_id: (title, family) for codec_id, title, family in cards}  # the last one is the newest
    for identity, codec in codecs.items():
        title, family = titles.get(identity, (None, None))
        if codec.name in listed or title is None:
            continue
        for column, text in (("skeleton", codec.name), ("title_skeleton", title)):
            folded = text and skeleton(text)
            # another one is of a version that folded fewer letters
            if folded and getattr(codec, column) != folded and (folded not in taken or folded == codec.skeleton):
                setattr(codec, column, folded)
                taken.add(folded)
        if not family or family in names or family in catalogue.families().values():
            continue
        if (folded := skeleton(family)) not in looks:
            names.add(family)
            looks.add(folded)
            session.add(Family(name=family, skeleton=folded, owner_id=codec.owner_id))
    session.flush()


def _families_folded_anew(session: Session) -> tuple[set[str], set[str]]:
    """Give families looks of today where no other one has them; return the names and the looks of all."""
    families = session.scalars(select(Family).order_by(Family.id)).all()
    looks = {family.skeleton for family in families}
    for family in families:
        if (folded := skeleton(family.name)) not in looks:
            family.skeleton = folded
            looks.add(folded)
    return {family.name for family in families}, looks
