"""Registers the names of results that came before names were kept, when the service starts."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from codec_superb.server.database.models import Codec, Family, Submission
from codec_superb.server.names import catalogue
from codec_superb.server.names.looks import TAKES
from codec_superb.server.names.skeleton import skeleton
from codec_superb.server.people.audit import record


def ensure_names(session: Session, *, actor: str = "codec-superb") -> None:
    """Release names of the catalogue that accounts own, and register names, titles and families that are not.

    Of two that look the same the older one is registered. Several processes may start at once: an IntegrityError means
    that another one has done it.
    """
    try:
        with session.begin_nested():
            _ensure(session, actor)
    except IntegrityError:
        return


def _ensure(session: Session, actor: str) -> None:
    listed = catalogue.cards()
    codecs = {codec.id: codec for codec in session.scalars(select(Codec).order_by(Codec.id))}
    taken = {each for codec in codecs.values() for each in (codec.skeleton, codec.title_skeleton) if each}
    known = set(session.scalars(select(Family.skeleton)))
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
        if family and family not in catalogue.families().values() and (folded := skeleton(family)) not in known:
            known.add(folded)
            session.add(Family(name=family, skeleton=folded, owner_id=codec.owner_id))
    session.flush()
