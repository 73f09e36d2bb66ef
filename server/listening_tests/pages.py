"""Taking part in a listening test: its page, its questions one by one, their sounds, and the results."""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from codec_superb.server.answers.cache import HTML, UnsentAnswer, cached
from codec_superb.server.board.current import board_of
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.database.listening import ListeningTest
from codec_superb.server.database.session import ReadTransaction, WriteTransaction, database_of
from codec_superb.server.errors import Conflict, NotFound, TooManyRequests
from codec_superb.server.http.answer_turns import made_in_turn
from codec_superb.server.http.file_answers import sound_in_parts
from codec_superb.server.listening_tests import repository, service, summary
from codec_superb.server.listening_tests.plan import trials_of
from codec_superb.server.people.access import ANONYMOUS, Identity
from codec_superb.server.people.forms import Form
from codec_superb.server.people.limits import check_limit
from codec_superb.server.people.page_context import page_context_of, public_page_context
from codec_superb.server.people.rate_counters import address_of, check_room, count_request
from codec_superb.server.people.secret import key_of
from codec_superb.server.people.sessions import has_cookie, moderates
from codec_superb.server.settings import Settings
from codec_superb.web.site.listening_tests import words
from codec_superb.web.site.listening_tests.view import (
    MUSHRA_LABELS,
    QUESTIONS,
    SCALES,
    SoundView,
    TestResults,
    TrialView,
)
from codec_superb.web.site.page import PageContext, render

router = APIRouter(prefix="/listening", include_in_schema=False)
TestId = Annotated[str, Path(pattern=r"^[a-z0-9]{1,12}$", description="Id of a listening test.")]
ResumeToken = Annotated[str, Path(max_length=64)]
_OWN = {"Cache-Control": "private, no-store"}
_A_MONTH = 30 * 86_400
_KEYS = "123456789"
_BEGINNERS = 10
"""Times the people of an address that may begin a day, most of whom leave before their first answer."""


@router.get("")
def tests(request: Request, session: ReadTransaction) -> Response:
    """List the tests that people can take, and those that are over."""
    lines = [summary.line(session, test) for test in repository.in_states(session, ("open", "closed"))]
    return _page(request, "listening_tests.html.j2", "Listening tests", lines=lines)


@router.get("/{test_id}")
def about(request: Request, test_id: TestId, session: ReadTransaction) -> Response:
    """Say what a test is about, and let people begin or go on."""
    test = _visible(request, session, test_id)
    settings = service.settings_of(test)
    stands = _progress(request, session, test)
    return _page(
        request, "listening_test.html.j2", test.title, test=test, trials=len(trials_of(settings, 0)), stands=stands,
        source=settings.source, questions={name: QUESTIONS[name] for name in settings.ask},
        credits=repository.credits_of(session, test.id),
    )  # fmt: skip


@router.post("/{test_id}/start")
def start(request: Request, test_id: TestId, form: Form, session: WriteTransaction) -> Response:
    """Begin, without a name; who has begun goes on."""
    with database_of(request).transaction() as reading:  # before the other one begins, with its first statement
        full = service.is_full(reading, service.found(reading, test_id))
    test = service.found(session, test_id)
    answer = RedirectResponse(f"/listening/{test.id}/question", 303)
    if _progress(request, session, test) is None:
        _count_people(request, test, service.settings_of(test).per_address, begin=True)
        _remember(request, answer, test, service.start(session, test, form, full=full))
    return answer


@router.get("/{test_id}/resume/{token}")
def resume(request: Request, test_id: TestId, token: ResumeToken, session: ReadTransaction) -> Response:
    """Go on with a test on another device or after the cookies were deleted, by the link that was shown.

    Ask first: a link of somebody else's would have the visitor answer in their place, and who has not finished in this
    browser would lose their own without its cookie.
    """
    test = _resumed(session, test_id, token)
    stands = _progress(request, session, test)
    if stands is not None and request.cookies[_cookie(test)] == token:
        return _go_on(request, test, token)
    link = _link(request, test) if stands is not None and stands.current is not None else ""
    answer = _page(request, "listening_resume.html.j2", test.title, test=test, token=token, link=link)
    _remember(request, answer, test, "1", name=_asked(test))
    return answer


@router.post("/{test_id}/resume/{token}")
def resume_instead(request: Request, test_id: TestId, token: ResumeToken, session: ReadTransaction) -> Response:
    """Go on by a link, when the question was answered."""
    test = _resumed(session, test_id, token)
    if _asked(test) not in request.cookies:  # also a form of another site, which comes without the cookie
        return RedirectResponse(f"/listening/{test.id}/resume/{token}", 303)
    return _go_on(request, test, token)


@router.get("/{test_id}/question")
def question(request: Request, test_id: TestId, session: ReadTransaction) -> Response:
    """Show the next question; behind the last one thanks."""
    test = service.found(session, test_id)
    stands = _progress(request, session, test)
    if stands is None:
        return RedirectResponse(f"/listening/{test.id}", 303)
    if stands.current is None:
        return _page(request, "listening_thanks.html.j2", test.title, test=test)
    service.must_be_open(test)
    return _page(
        request, "listening_question.html.j2", test.title, test=test, trial=_view(request, stands),
        link=_link(request, test), scale=SCALES.get(test.kind, ()), labels=MUSHRA_LABELS,
    )  # fmt: skip


@router.post("/{test_id}/question")
def answer(request: Request, test_id: TestId, form: Form, session: WriteTransaction) -> Response:
    """Keep an answer and show the next question. Raises Conflict without the cookie: it is nobody's."""
    test = service.found(session, test_id)
    stands = _progress(request, session, test)
    if stands is None:
        raise Conflict(
            "expected the cookie of this listening test, got none, so this answer was not kept; open the link to "
            f"continue that the questions show, or begin at /listening/{test.id}, and answer again"
        )
    check_limit(request, Identity(None, ANONYMOUS), "computations")
    if service.answer(session, stands, form):
        _count_people(request, test, stands.settings.per_address, begin=False)
    return RedirectResponse(f"/listening/{test.id}/question", 303)


@router.get("/{test_id}/sounds/{name}.flac")
def sound(
    request: Request, test_id: TestId, name: Annotated[str, Path(max_length=64)], session: ReadTransaction
) -> Response:
    """Answer with a sound of the participant's current question; all of a question have one size."""
    test = service.found(session, test_id)
    stands = _progress(request, session, test)
    condition = stands.sounds(key_of(request)).get(name) if stands else None
    trial = stands.current if stands else None
    found = repository.sound(session, test.id, trial.clip, condition) if trial and condition else None
    if found is None:
        raise NotFound("no sound of the current question is at this address; load the question again")
    # No entity tag and no name: both would be the same for X and the sound that it repeats.
    headers = _OWN | {"Content-Disposition": "inline"}
    return sound_in_parts(found.data, request.headers.get("range", ""), headers, found.media_type)


@router.get("/{test_id}/results")
async def results(request: Request, test_id: TestId) -> Response:
    """Show the results: of a closed test to everybody, of another one to moderators."""
    if has_cookie(request):
        return await made_in_turn(request, _own_results, request, test_id)

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            found = summary.results(session, summary.closed(session, test_id))
            heard = repository.submissions_of(session, test_id)
        page_context = public_page_context(request, f"{found.title}: results")
        return UnsentAnswer(_results_page(page_context, snapshot, found, heard), HTML)

    return await cached(request, "", make, counted=True)


def _own_results(request: Request, test_id: str) -> Response:
    """Make the page in the frame of the account that is logged in; a moderator sees tests of any state."""
    also_open = moderates(request)
    with database_of(request).transaction() as session:
        test = service.found(session, test_id) if also_open else summary.closed(session, test_id)
        found, heard = summary.results(session, test), repository.submissions_of(session, test_id)
    page_context = page_context_of(request, f"{found.title}: results")
    return HTMLResponse(_results_page(page_context, board_of(request).current, found, heard), headers=_OWN)


def _results_page(
    page_context: PageContext, snapshot: Snapshot, found: TestResults, heard: Container[str | None]
) -> str:
    known = {entry.codec for entry in snapshot.runs if entry.submission in heard}
    return render("listening_results.html.j2", page_context, results=found, words=words, known=known)


def _count_people(request: Request, test: ListeningTest, most: int, *, begin: bool) -> None:
    """Count somebody who begins, or gives the first answer. Raises TooManyRequests for an address with too many a day.

    One person who answers as many decides a test, and takes the places of all others. Whoever begins and leaves decides
    nothing, and must not keep a whole university out; many of them are no people.
    """
    who = f"{test.id} at {address_of(request)}"
    try:
        if begin:
            check_room(request, "listeners", who, times=most)
            count_request(request, "beginners", who, times=most * _BEGINNERS)
        else:
            count_request(request, "listeners", who, times=most)
    except TooManyRequests as error:
        raise TooManyRequests(
            f"expected at most {most} people a day that take this test at one address, so that nobody is many; come "
            "back tomorrow, or ask who made the test to take more (per_address)",
            headers=error.headers,
        ) from error


def _visible(request: Request, session: Session, test_id: str) -> ListeningTest:
    test = service.found(session, test_id)
    if test.state == "draft" and not moderates(request):
        service.must_be_open(test)
    return test


def _progress(request: Request, session: Session, test: ListeningTest) -> service.Progress | None:
    token = request.cookies.get(_cookie(test), "")
    return service.progress(session, test, token) if token else None


def _resumed(session: Session, test_id: str, token: str) -> ListeningTest:
    test = service.found(session, test_id)
    if service.progress(session, test, token) is None:
        raise NotFound("nobody takes this test by this link; begin anew at /listening")
    return test


def _go_on(request: Request, test: ListeningTest, token: str) -> Response:
    answer = RedirectResponse(f"/listening/{test.id}/question", 303)
    _remember(request, answer, test, token)
    return answer


def _link(request: Request, test: ListeningTest) -> str:
    """Return the address by which whoever takes the test in this browser goes on elsewhere."""
    settings: Settings = request.app.state.settings
    return f"{settings.base_url.rstrip('/')}/listening/{test.id}/resume/{request.cookies[_cookie(test)]}"


def _remember(request: Request, answer: Response, test: ListeningTest, token: str, *, name: str = "") -> None:
    settings: Settings = request.app.state.settings
    # Lax: the link in an invitation leads back to the question; a form of another site is sent without the cookie
    answer.set_cookie(
        name or _cookie(test), token, max_age=_A_MONTH, path=f"/listening/{test.id}", secure=settings.https,
        httponly=True, samesite="lax",
    )  # fmt: skip


def _cookie(test: ListeningTest) -> str:
    return f"listening-{test.id}"


def _asked(test: ListeningTest) -> str:
    """Name the cookie of who was asked whether to go on by a link."""
    return f"{_cookie(test)}-asked"


def _view(request: Request, stands: service.Progress) -> TrialView:
    trial = stands.current
    assert trial is not None
    names = list(stands.sounds(key_of(request)))
    labels = [service.OPEN_REFERENCE] * trial.open_reference + [slot.label for slot in trial.slots]
    # 0 plays the reference, 1 the first of the others
    keys = ["0"] * trial.open_reference + [*_KEYS, *[""] * len(labels)]
    sounds = [
        SoundView(label, key, f"/listening/{stands.test.id}/sounds/{name}.flac", label != service.OPEN_REFERENCE)
        for label, key, name in zip(labels, keys, names, strict=False)
    ]
    return TrialView(
        stands.test.kind, stands.place + 1, len(stands.trials), trial.role == "training", sounds, stands.settings.ties
    )


def _page(request: Request, template: str, title: str, **context: object) -> Response:
    return HTMLResponse(render(template, page_context_of(request, title), **context), headers=_OWN)
