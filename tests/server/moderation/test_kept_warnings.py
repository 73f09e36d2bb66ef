"""Very many or very long warnings: some are kept, the rest is counted, and lists and pages stay fast."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.people import log_in, make_token
from support.server.warned import SPEECH

from codec_superb.pipeline.submission.findings import UNUSUAL
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.kept_warnings import LONGEST, MOST, PlausibilityWarning, cut, kept
from codec_superb.server.moderation.plausibility import holds, warnings_for
from codec_superb.server.moderation.warning_groups import grouped, kinds

MANY = 20_000
BADGE = "the setting of a model '{}: ★' has ★, which looks like a badge"


def warning(kind: str, text: str, *, holding: bool = True) -> PlausibilityWarning:
    """Make a warning about the whole submission."""
    return {"kind": kind, "where": "", "text": text, "holds": holding}


def letters(number: int) -> str:
    """Write a number without digits, so that each text is another one in every way."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def badges(count: int) -> list[PlausibilityWarning]:
    """Make as many warnings of one kind, each with a text of its own."""
    return [warning("encoder", BADGE.format(letters(number))) for number in range(count)]


class TestKept:
    """What is kept of many warnings."""

    @pytest.mark.parametrize("count", [0, 75, MOST])
    def test_a_usual_number_stays(self, count: int) -> None:
        """Whoever has one warning for each of 75 datasets reads all of them."""
        assert kept(badges(count)) == badges(count)

    def test_each_kind_has_its_share_and_a_line_that_counts_its_rest(self) -> None:
        """Few warnings of one kind are all there beside many of another, in their order; the counts are true."""
        few = [warning("lag", f"a clip is {number} samples early or late", holding=False) for number in range(9)]
        found = kept([*badges(MANY), *few])
        assert len(found) == MOST + 1
        assert found[MOST - len(few) : MOST] == few
        assert found[0] == badges(1)[0]
        more = MANY + len(few) - MOST
        assert found[-1] == {**warning("encoder", f"{more:,} more of this kind"), "more": more}
        assert kinds(found) == f"encoder ({MANY}), lag (9)"

    def test_what_is_kept_is_kept_again_as_it_is(self) -> None:
        """A list that was shortened when the file came is no shorter when it is shown."""
        found = kept([*badges(MANY), *(warning("name", letters(number)) for number in range(MANY))])
        assert len(found) == MOST + 2
        assert kept(found) == found

    @pytest.mark.parametrize("place", [0, MANY // 2, MANY])
    def test_many_of_one_sentence_hide_no_other_and_none_that_holds(self, place: int) -> None:
        """Wherever it stands among them, what says something else of the same kind is kept, and what holds first."""
        other = warning("encoder", "has figures of crane_9k of ann, or of what looks like it, as an encoder")
        remarks = [each | {"holds": False} for each in badges(MANY)]
        for many in (badges(MANY), remarks):
            found = kept([*many[:place], other, *many[place:]])  # type: ignore[misc]
            assert other in found
            assert holds(found)

    def test_what_holds_among_the_rest_still_holds(self) -> None:
        """The line that counts says so."""
        found = kept([warning("encoder", letters(number), holding=number > MOST) for number in range(2 * MOST + MANY)])
        assert found[-1]["holds"]
        assert not kept([each | {"holds": False} for each in badges(MANY)])[-1]["holds"]  # type: ignore[misc]

    def test_a_long_text_keeps_its_ends(self) -> None:
        """What is said of a quoted text of thousands of letters is there, and so is its beginning."""
        told = cut(BADGE.format("x" * 10_000))
        assert len(told) == LONGEST
        assert told.startswith("the setting of a model 'xxx")
        assert told.endswith("xxx: ★' has ★, which looks like a badge")
        assert "…" in told
        assert cut(told) == told


def test_a_word_of_any_length_is_looked_at_once() -> None:
    """Grouping takes as long as the text: a pattern that tries each place of a word anew takes its square."""
    began = time.perf_counter()
    (group,) = grouped([{"kind": "encoder", "where": "", "text": f"{'a' * 200_000} {number}"} for number in range(2)])
    assert group.count == 2
    assert time.perf_counter() - began < 5


def test_a_file_that_earns_thousands_keeps_some(database: Database) -> None:
    """Their number and length are bounded where they are found, and it waits as with all of them."""
    with database.transaction(write=True) as session:
        made = make_submission(session, "opus_12k", 12.0, 0.72, status="pending", datasets=SPEECH)
        notes = [f"{UNUSUAL}{letters(number)}{'x' * 1000}" for number in range(3 * MOST)]
        session.get_one(Submission, made).notes = notes
        found = warnings_for(session, made)
    assert len(found) == MOST + 1
    assert max(len(each["text"]) for each in found) <= LONGEST
    assert holds(found)
    assert kinds(found) == f"unusual ({3 * MOST})"


@pytest.fixture
def old_row(database: Database) -> str:
    """Store a held submission with all the warnings that an older program kept."""
    with database.transaction(write=True) as session:
        made = make_submission(session, "crane_9k", status="held", owner="bob", datasets=SPEECH)
        session.get_one(Submission, made).warnings = list(badges(MANY))
    return made


def test_pages_show_what_older_programs_kept(client: TestClient, database: Database, old_row: str) -> None:
    """The queue and the account's page count, or say that they are very many; all others show some and a count."""
    secret = make_token(database, "bob", ["submit"])
    answer = client.get(f"/api/v1/submissions/{old_row}/status", headers={"Authorization": f"Bearer {secret}"})
    assert len(answer.json()["warnings"]) == MOST + 1
    log_in(client, make_token(database, "bob", ["moderate"]))
    page = client.get(f"/moderation/{old_row}").text
    assert f"{MANY - MOST:,} more of this kind (found when it came)" in page
    assert page.count("(found when it came)") == MOST + 1
    _count(database, old_row, 9)
    for path in ("/account", "/moderation"):
        assert "encoder (9)" in client.get(path).text, path
    _count(database, old_row, MANY, "x" * 100)
    for path in ("/account", "/moderation"):
        assert "very many" in client.get(path).text, path


def _count(database: Database, submission: str, count: int, more: str = "") -> None:
    with database.transaction(write=True) as session:
        found: Sequence[Any] = [each | {"text": f"{each['text']}{more}"} for each in badges(count)]
        session.get_one(Submission, submission).warnings = list(found)


def test_what_is_found_still_is_not_said_twice(client: TestClient, database: Database) -> None:
    """Warnings that an older program kept whole are those of today, which are shortened; the count is one line."""
    with database.transaction(write=True) as session:
        made = make_submission(session, "opus_12k", 12.0, 0.72, status="pending", datasets=SPEECH)
        found = session.get_one(Submission, made)
        texts = [f"{letters(number)}{'x' * (1000 if number < MOST else 9)}" for number in range(MANY)]
        found.notes = [f"{UNUSUAL}{text}" for text in reversed(texts)]
        found.warnings = [*(warning("unusual", text) for text in texts), warning("lag", "a clip was late")]
    log_in(client, make_token(database, "ann"))
    began = time.perf_counter()
    page = client.get(f"/moderation/{made}").text
    assert time.perf_counter() - began < 20  # each compared with each takes longer
    assert page.count("(found when it came)") == 1
    assert "a clip was late (found when it came)" in page
    with database.transaction(write=True) as session:  # as it is kept today
        session.get_one(Submission, made).warnings = list(warnings_for(session, made))
    assert "(found when it came)" not in client.get(f"/moderation/{made}").text
