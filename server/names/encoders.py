"""Doubts about names of models and encoders, which a submission says of itself and the pages show beside others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Text, cast, or_, select
from sqlalchemy.orm import Session

from codec_superb.applications.backends import BACKENDS
from codec_superb.applications.table import PROBES
from codec_superb.server.database.models import STOOD, Account, Codec, Submission
from codec_superb.server.names import catalogue
from codec_superb.server.names.board_words import said_of_the_board, told_settings
from codec_superb.server.names.looks import TAKEN, TAKES
from codec_superb.server.names.skeleton import skeleton
from codec_superb.web.xares.rows import codec_named, encoder_of, is_xares

Warnings = Iterator[tuple[str, str]]
"""Pairs of kind and text."""


def encoder_doubts(session: Session, submission: Submission) -> Warnings:
    """Yield encoders with a word of the board, and those that are a codec of others or look like one.

    A codec as an encoder is shown by its title, in its family; whatever the eye takes for one is as good.
    """
    probes = [probe for dataset in submission.document["datasets"] for probe in dataset.get("probes", ())]
    backends = {probe["backend"] for probe in probes}
    # the codec's page lists them as facts of the model, and /xares names readers by some
    told = {text for probe in probes for text in told_settings(probe.get("settings", {}))}
    for what, texts in (("model", backends), ("setting of a model", told)):
        for word in said_of_the_board(what, texts):
            yield "encoder", word
    shown = _shown(probes)
    yield from _of_accounts(session, submission, shown)
    for text in sorted(shown - catalogue.cards().keys()):
        if other := catalogue.look_alike(text):
            yield "encoder", f"has figures of the encoder {text!r}, which looks like {other} of the catalogue"


def _shown(probes: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the encoders of probes that stand on the page, under names that may be a codec's."""
    on_page = [probe["backend"] for probe in probes if probe["probe"] in PROBES and is_xares(PROBES[probe["probe"]])]
    encoders = {encoder_of(backend)[0]: codec_named(backend) for backend in on_page}
    # a codec that is called like a model of the program must not have everybody wait who uses the model
    return {codec or name for name, codec in encoders.items() if codec or name.partition(":")[0] not in BACKENDS}


def _of_accounts(session: Session, submission: Submission, shown: set[str]) -> Warnings:
    looks = {text: skeleton(text) for text in shown}
    alike = or_(Codec.name.in_(shown), Codec.skeleton.in_(looks.values()), Codec.title_skeleton.in_(looks.values()))
    others = select(Codec, Account.name).join(Account, Account.id == Codec.owner_id)
    others = others.where(alike, TAKEN, Account.id.is_distinct_from(submission.account_id))
    for codec, owner in session.execute(others.order_by(Codec.name)).all() if shown else ():
        called = {
            text for text, look in looks.items() if text == codec.name or look in (codec.skeleton, codec.title_skeleton)
        }
        # a codec that is called like an encoder after it was heard by must not have everybody wait who hears by it
        if any(not _was_heard(session, text, _called_since(session, codec, look=looks[text])) for text in called):
            yield "encoder", f"has figures of {codec.name} of {owner}, or of what looks like it, as an encoder"


def _called_since(session: Session, codec: Codec, *, look: str) -> datetime | None:
    """Return since when a codec's name, or a title that it had, has been public with a look."""
    stands = select(Submission.public_since, Submission.card["title"].as_string())
    stands = stands.where(Submission.codec_id == codec.id, TAKES).order_by(Submission.public_since)
    named = look == skeleton(codec.name)
    return next((at for at, title in session.execute(stands) if named or skeleton(title) == look), None)


def _was_heard(session: Session, encoder: str, before: datetime | None) -> bool:
    """Whether results of anybody had an encoder of exactly this name, and were public before a moment."""
    if before is None:
        return False
    # the text of a document, in which one database escapes letters and the other does not
    spelt = {json.dumps(encoder, ensure_ascii=escaped)[1:-1] for escaped in (True, False)}
    written = cast(Submission.document, Text)
    mention = or_(*(written.contains(text, autoescape=True) for text in spelt))
    earlier = select(Submission.document["datasets"]).where(STOOD, Submission.public_since < before, mention)
    found = session.scalars(earlier.order_by(Submission.public_since))
    return any(encoder in _shown(dataset.get("probes", ())) for datasets in found for dataset in datasets)
