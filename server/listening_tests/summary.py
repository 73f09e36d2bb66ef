"""The results of a test as pages and API show them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, cast

from sqlalchemy.orm import Session

from codec_superb.server.database.listening import ListeningTest
from codec_superb.server.errors import NotFound
from codec_superb.server.http.single_flight import SingleFlightCache
from codec_superb.server.listening_tests import repository
from codec_superb.server.listening_tests.results import analyse
from codec_superb.server.listening_tests.service import found as found_test
from codec_superb.server.listening_tests.service import settings_of
from codec_superb.web.site.listening_tests.view import CodecLine, TestLine, TestResults
from codec_superb.web.site.listening_tests.words import codec_figure

State = Literal["draft", "open", "closed"]


def line(session: Session, test: ListeningTest) -> TestLine:
    """Describe a test in a list."""
    started, finished = repository.counts(session, test.id)
    state = cast("State", test.state)
    return TestLine(test.id, test.title, test.kind, state, test.created.date().isoformat(), started, finished)


def results(session: Session, test: ListeningTest) -> TestResults:
    """Screen and analyse a test."""
    settings, listeners = settings_of(test), repository.answers(session, test.id)
    found = analyse(settings, listeners)
    return TestResults(
        id=test.id, title=test.title, kind=test.kind, state=cast("State", test.state), source=settings.source,
        per_address=settings.per_address, clips=settings.found, credits=repository.credits_of(session, test.id),
        started=len(listeners), finished=sum(listener.finished for listener in listeners),
        counted=len(listeners) - len(found.left_out), left_out=found.reasons, conditions=found.conditions,
        pairs=found.pairs, heard_from=repository.heard_from(session, test.id),
    )  # fmt: skip


def closed(session: Session, identity: str) -> ListeningTest:
    """Find a test whose results everybody may see. Raises NotFound for one that is not over."""
    test = found_test(session, identity)
    if test.state != "closed":
        raise NotFound("the results of this test are shown when it is over: they would tell what is heard")
    return test


def codec_lines(session: Session, codec: str, submission: str | None, kept: SingleFlightCache) -> Sequence[CodecLine]:
    """Return what the closed tests found of a codec's submission, the newest first.

    Of that one alone: under the codec's name others may have been heard, such as runs of which no board knows whose
    they are, or an earlier version. ``kept`` has results, which change no more.
    """
    tests = () if submission is None else repository.closed_with(session, submission)
    found = [kept.get(test.id, partial(results, session, test)) for test in tests]
    return [
        CodecLine(each.id, each.title, each.kind, each.counted, figure)
        for each in found
        if (figure := codec_figure(each, codec))
    ]
