"""Decisions: which status leads to which, with whose reason, and that of two at once one is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import Barrier

import pytest
from sqlalchemy import select
from support.server.board import make_submission
from support.server.people import ON_SQLITE

from codec_superb.server.database.models import STATUSES, AuditEntry, Codec, Revision, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest, Conflict, NotFound
from codec_superb.server.moderation import service
from codec_superb.server.moderation.service import DECISIONS, TRANSITIONS, Decision, decide, decided
from codec_superb.server.people.tokens import account_of
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault import FolderVault


def revision(database: Database) -> int:
    """Read how often the public data have changed."""
    with database.transaction() as session:
        return session.scalars(select(Revision.number)).one()


class TestDecide:
    """``decide``."""

    @pytest.mark.sample(3)
    @pytest.mark.parametrize(("before", "decision"), list(TRANSITIONS))
    def test_what_is_allowed(self, database: Database, before: str, decision: Decision) -> None:
        """The status follows, with who, when and why; the log has it; caches are told when the public sees it."""
        with database.transaction(write=True) as session:
            made = make_submission(session, status=before)
        number = revision(database)
        with database.transaction(write=True) as session:
            after = decide(session, made, decision, " because ", actor="ann")
            assert (after.status, after.decided_by, after.reason) == (TRANSITIONS[before, decision], "ann", "because")
        with database.transaction() as session:
            stored = session.get_one(Submission, made)
            assert stored.status == TRANSITIONS[before, decision]
            assert stored.decided is not None
            entry = session.scalars(select(AuditEntry)).one()
        assert (entry.actor, entry.action, entry.subject) == ("ann", "submission.decided", made)
        assert entry.detail == {
            "decision": decision, "before": before, "after": stored.status, "reason": "because", "codec": "opus_12k",
            "version": 1,
        }  # fmt: skip
        seen = {before, stored.status} & {"self-reported", "verified"}
        assert revision(database) == number + bool(seen)

    def test_a_slow_store_holds_no_connection(
        self, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Files of what comes back are asked for beside any transaction; the status that counts is that within it."""
        held: list[int] = []

        def slow(_vault: FolderVault, _sha256: str) -> bool:
            held.append(database.engine.pool.checkedout())  # type: ignore[attr-defined]  # of a QueuePool
            with database.transaction(write=True) as session:  # of another moderator, meanwhile
                decide(session, made, "accept", "first", actor="quick")
            return True

        monkeypatch.setattr(FolderVault, "has", slow)
        with database.transaction(write=True) as session:
            made = make_submission(session, status="withdrawn")
        with pytest.raises(Conflict, match="self-reported"):
            decided(database, settings, made, "accept", "second", actor="slow").__enter__()
        assert held == [0]

    @ON_SQLITE
    @pytest.mark.parametrize(
        ("before", "decision"), [pair for pair in product(STATUSES, DECISIONS) if pair not in TRANSITIONS]
    )
    def test_what_is_not(self, database: Database, before: str, decision: Decision) -> None:
        """Every other decision is a conflict, and nothing is changed or logged."""
        with database.transaction(write=True) as session:
            made = make_submission(session, status=before)
        with pytest.raises(Conflict, match=before), database.transaction(write=True) as session:
            decide(session, made, decision, "because", actor="ann")
        with database.transaction() as session:
            assert session.get_one(Submission, made).status == before
            assert session.scalars(select(AuditEntry)).all() == []

    @ON_SQLITE
    @pytest.mark.parametrize(
        ("before", "decision", "needed"),
        [
            ("pending", "accept", False),
            ("self-reported", "verify", False),
            ("pending", "reject", True),
            ("self-reported", "withdraw", True),
            ("verified", "withdraw", True),
            ("withdrawn", "accept", True),
        ],
    )
    def test_reasons(self, database: Database, before: str, decision: Decision, needed: bool) -> None:
        """Who takes results away, or brings withdrawn ones back, must say why; blanks are no reason."""
        with database.transaction(write=True) as session:
            made = make_submission(session, status=before)
        if needed:
            with pytest.raises(BadRequest, match="reason"), database.transaction(write=True) as session:
                decide(session, made, decision, " \n ", actor="ann")
        else:
            with database.transaction(write=True) as session:
                assert decide(session, made, decision, "", actor="ann").reason is None

    @ON_SQLITE
    @pytest.mark.parametrize("reason", ["x" * 2001, "nul\0", "escape\x1b[2J", "half a pair \ud800", "a \u202ekcab"])
    def test_reasons_that_cannot_be_kept(self, database: Database, reason: str) -> None:
        """Long ones and control characters are refused before they reach a database, a terminal or a page."""
        with database.transaction(write=True) as session:
            made = make_submission(session, status="pending")
        with pytest.raises(BadRequest, match="expected a reason"), database.transaction(write=True) as session:
            decide(session, made, "reject", reason, actor="ann")

    def test_an_unknown_submission(self, database: Database) -> None:
        """There is nothing to decide about."""
        with pytest.raises(NotFound), database.transaction(write=True) as session:
            decide(session, "abc", "accept", "", actor="ann")

    def test_two_moderators_at_once(self, database: Database) -> None:
        """Of two decisions that both began when it was pending one is made, the other is a conflict."""
        with database.transaction(write=True) as session:
            made = make_submission(session, status="pending")
        together = Barrier(2)

        def act(decision: Decision) -> str:
            together.wait()
            try:
                with database.transaction(write=True) as session:
                    return decide(session, made, decision, "because", actor=decision, seen="pending").status
            except Conflict:
                return "conflict"

        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(act, ("accept", "reject")))
        assert sorted(outcomes) in (["conflict", "self-reported"], ["conflict", "withdrawn"])
        with database.transaction() as session:
            (entry,) = session.scalars(select(AuditEntry)).all()
            assert entry.detail["after"] == session.get_one(Submission, made).status

    @pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
    def test_titles_that_look_alike_at_once(self, database: Database) -> None:
        """Whoever accepts the second before the first is committed is told of a conflict."""
        with database.transaction(write=True) as session:
            first, second = (
                make_submission(session, name, status="pending", card={"title": title, "family": name})
                for name, title in (("twin_a", "Twin title"), ("twin_b", "Twin titIe"))
            )

        def accept() -> None:
            with database.transaction(write=True) as session:
                decide(session, second, "accept", "", actor="second")

        with ThreadPoolExecutor(1) as pool:
            with database.transaction(write=True) as session:
                decide(session, first, "accept", "", actor="first")
                waiting = pool.submit(accept)
                with pytest.raises(TimeoutError):  # it waits for the first's title
                    waiting.result(0.5)
            with pytest.raises(Conflict, match="became public just now"):
                waiting.result()

    @pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
    def test_the_slower_of_two_that_read_the_same(self, database: Database) -> None:
        """Where both have read that it is pending before either writes, the second to write is refused."""
        with database.transaction(write=True) as session:
            made = make_submission(session, status="pending")
        with database.transaction(write=True) as slow:
            read = slow.get_one(Submission, made)
            assert read.status == "pending"
            with database.transaction(write=True) as quick:
                decide(quick, made, "accept", "", actor="quick")
            with pytest.raises(Conflict, match="meanwhile"):
                decide(slow, made, "reject", "because", actor="slow")

    @ON_SQLITE
    def test_the_status_that_was_seen(self, database: Database) -> None:
        """Who saw it pending does not bring back what was rejected meanwhile, even with a reason."""
        with database.transaction(write=True) as session:
            made = make_submission(session, status="withdrawn")
        with pytest.raises(Conflict, match="meanwhile"), database.transaction(write=True) as session:
            decide(session, made, "accept", "looks good", actor="ann", seen="pending")


class TestTransfer:
    """``transfer``."""

    def test_a_name_changes_hands(self, database: Database) -> None:
        """The codec belongs to the other account, and the log has both."""
        with database.transaction(write=True) as session:
            make_submission(session, "own_12k", owner="old")
            account_of(session, "new")
            assert service.transfer(session, "codec", "own_12k", "new", actor="command line") == "old"
        with database.transaction() as session:
            owner = session.scalars(select(Codec)).one().owner
            assert owner is not None
            assert owner.name == "new"
            entry = session.scalars(select(AuditEntry)).one()
        assert (entry.action, entry.detail) == ("codec.transferred", {"before": "old", "after": "new"})

    @ON_SQLITE
    @pytest.mark.parametrize(
        ("name", "account", "error"),
        [
            ("nothing", "new", NotFound),
            ("own_12k", "old", Conflict),
            ("own_12k", "Nobody Such", NotFound),
            ("own_12k", "a\nb", BadRequest),
            ("opus_12k", "old", Conflict),
        ],
    )
    def test_what_cannot_be(self, database: Database, name: str, account: str, error: type[Exception]) -> None:
        """A codec that nobody sent, the owner it has, accounts unknown and impossible, a name of the catalogue."""
        with database.transaction(write=True) as session:
            make_submission(session, "own_12k", owner="old")
            account_of(session, "new")
        with pytest.raises(error), database.transaction(write=True) as session:
            service.transfer(session, "codec", name, account, actor="command line")
