"""Doubts about names of models and encoders, which a submission says of itself and the pages show beside others."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from codec_superb.applications.backends import BACKENDS
from codec_superb.applications.table import PROBES
from codec_superb.server.database.models import Account, Codec, Submission
from codec_superb.server.names import catalogue
from codec_superb.server.names.board_words import said_of_the_board, told_settings
from codec_superb.server.names.looks import TAKEN
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
    on_page = [probe["backend"] for probe in probes if probe["probe"] in PROBES and is_xares(PROBES[probe["probe"]])]
    encoders = {encoder_of(backend)[0]: codec_named(backend) for backend in on_page}
    # a codec that is called like a model of the program must not have everybody wait who uses the model
    shown = {codec or name for name, codec in encoders.items() if codec or name.partition(":")[0] not in BACKENDS}
    yield from _of_accounts(session, submission, shown)
    for text in sorted(shown - catalogue.cards().keys()):
        if other := catalogue.look_alike(text):
            yield "encoder", f"has figures of the encoder {text!r}, which looks like {other} of the catalogue"


def _of_accounts(session: Session, submission: Submission, shown: set[str]) -> Warnings:
    looks = {skeleton(text) for text in shown}
    alike = or_(Codec.name.in_(shown), Codec.skeleton.in_(looks), Codec.title_skeleton.in_(looks))
    others = select(Codec.name, Account.name).join(Account, Account.id == Codec.owner_id)
    others = others.where(alike, TAKEN, Account.id.is_distinct_from(submission.account_id))
    for codec, owner in session.execute(others.order_by(Codec.name)) if shown else ():
        yield "encoder", f"has figures of {codec} of {owner}, or of what looks like it, as an encoder"
