"""Many who send slowly, over real sockets, and files that take long: who sends well is not kept waiting."""

from __future__ import annotations

import select
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from support.coroutines import run
from support.server.ingest import UPLOADS, ZIP, categories, drawn, register, running, token_of
from support.server.people import ON_SQLITE
from support.timing import PATIENCE_S, wait_for
from support.web.site import running_site

from codec_superb.server.app import create_app
from codec_superb.server.database.session import Database
from codec_superb.server.errors import TooManyRequests, Unavailable
from codec_superb.server.ingest import checker, receive
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.ingest.outcome import Checked
from codec_superb.server.ingest.places import EACH, IN_ALL, OF_SITE, WITHOUT_TOKEN, Places
from codec_superb.server.people import rate_counters
from codec_superb.server.settings import Settings

SLOW = 66
FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\nPK'


@contextmanager
def hanging(site: str, path: str, kind: str, begin: bytes, *headers: str) -> Iterator[socket.socket]:
    """Begin a large upload and send no more of it."""
    parts = urlsplit(site)
    assert parts.port
    with socket.create_connection(("127.0.0.1", parts.port), timeout=PATIENCE_S) as sender:
        lines = (f"POST {path} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Type: {kind}", "Content-Length: 900000")
        sender.sendall("\r\n".join([*lines, *headers, "", ""]).encode() + begin)
        yield sender


def answered(senders: Sequence[socket.socket]) -> list[int]:
    """Return the statuses of uploads that were answered although they have not ended."""
    ready, _, _ = select.select(senders, [], [], 0)
    return [int(sender.recv(100, socket.MSG_PEEK).split()[1]) for sender in ready]


@pytest.mark.parametrize("anonymous", [False, True])
def test_a_good_upload_passes_beside_slow_ones(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch, anonymous: bool
) -> None:
    """Neither strangers, by API or by form, nor one slow token take the places of others."""
    monkeypatch.setattr(receive, "WINDOW", PATIENCE_S)  # none of the slow ones is given up before the end
    app = create_app(settings.model_copy(update={"anonymous_uploads": anonymous, "uploads_per_hour": 10_000}))
    register(database, "mini", categories())
    token, slow = token_of(database, "ann"), token_of(database, "slow")
    with ExitStack() as stack:
        site = stack.enter_context(running_site(settings, app))

        def begin(path: str, kind: str, start: bytes, *headers: str) -> list[socket.socket]:
            return [stack.enter_context(hanging(site, path, kind, start, *headers)) for _ in range(SLOW)]

        strangers = begin(UPLOADS, "application/zip", b"PK") + begin("/submit", "multipart/form-data; boundary=x", FORM)
        theirs = begin(UPLOADS, "application/zip", b"PK", f"Authorization: Bearer {slow}")
        wait_for(lambda: len(answered(theirs)) == SLOW - EACH, "expected all but a few of one token to be refused")
        # where strangers may send, their address has a few places for both ways together
        out = 2 * SLOW - (EACH if anonymous else 0)
        wait_for(lambda: len(answered(strangers)) == out, "expected strangers to be refused before they have sent")
        assert set(answered(theirs)) == {429}
        assert set(answered(strangers)) <= ({429} if anonymous else {401, 429})
        answer = httpx2.post(
            site + UPLOADS, content=drawn("quick_16k"), headers=ZIP | {"Authorization": f"Bearer {token}"},
            timeout=PATIENCE_S,
        )  # fmt: skip
        assert answer.status_code == 201, answer.text
        assert app.state.places.taken == (2 * EACH if anonymous else EACH)
    wait_for(lambda: not app.state.places.taken, "expected every place to be free again")


class TestPlaces:
    """How many a process has."""

    def test_known_senders_have_places_of_their_own(self) -> None:
        """Strangers from however many addresses leave half of them; each sender has a few; all end."""
        places = Places()
        with ExitStack() as stack:
            for number in range(WITHOUT_TOKEN):
                stack.enter_context(places.hold(f"address {number}", known=False))
            with pytest.raises(Unavailable), places.hold("address of another", known=False):
                pass
            for _ in range(EACH):
                stack.enter_context(places.hold("token", known=True))
            with pytest.raises(TooManyRequests), places.hold("token", known=True):
                pass
            for number in range(IN_ALL - WITHOUT_TOKEN - EACH):
                stack.enter_context(places.hold(f"token {number}", known=True))
            with pytest.raises(Unavailable), places.hold("token of another", known=True):
                pass
        assert places.taken == 0

    @pytest.mark.parametrize(("known", "most"), [(False, WITHOUT_TOKEN), (True, IN_ALL)])
    def test_nobody_has_more_places_than_it_leaves_free(self, known: bool, most: int) -> None:
        """However many sites take all they can, one that has none finds a place, and all have as many as each other."""
        for sites in (2, 4, 8, most - 1):
            places, held = Places(), Counter[int]()
            with ExitStack() as stack:
                for _ in range(IN_ALL):
                    for site in range(sites):
                        with suppress(TooManyRequests, Unavailable):
                            of = f"address 2001:db8:{site:x}:{held[site]:x}::/64"
                            stack.enter_context(places.hold(of, known=known))
                            held[site] += 1
                assert max(held.values()) - min(held.values()) <= 1
                assert held.total() >= min(OF_SITE * sites, most * sites // (sites + 1))
                stack.enter_context(places.hold("address 192.0.2.7", known=known))

    def test_a_site_has_a_part_of_the_places_without_a_token(self) -> None:
        """However many networks of one home line send, a stranger elsewhere finds a place."""
        places = Places()
        with ExitStack() as stack:
            for number in range(OF_SITE):
                stack.enter_context(places.hold(f"address 2001:db8:0:{number:x}::/64", known=False))
            with pytest.raises(TooManyRequests), places.hold("address 2001:db8:0:ff::/64", known=False):
                pass
            stack.enter_context(places.hold("address 2001:db8:1::/64", known=False))
        with places.hold("address 2001:db8:0:ff::/64", known=False):
            assert places.taken == 1

    def test_a_place_moves_to_the_token_of_its_form(self) -> None:
        """The address has it no longer; a token that has enough leaves it where it was, until the form is refused."""
        places = Places()
        with ExitStack() as stack:
            for _ in range(EACH):
                stack.enter_context(places.hold("address", known=False)).belongs_to("token", known=True)
            with places.hold("address", known=False) as more, pytest.raises(TooManyRequests):
                more.belongs_to("token", known=True)
            assert places.taken == EACH
        assert places.taken == 0


@ON_SQLITE
@pytest.mark.parametrize("workers", [1, 2])
def test_one_sender_with_many_files_leaves_a_worker_or_a_turn(settings: Settings, workers: int) -> None:
    """Of eight files at once those of one token wait for each other, in front of the queue and not in it."""
    order: list[str] = []
    everybody_waits = anyio.Event()

    async def checked(made: Checker, who: str) -> None:
        async with made.slot(who):
            order.append(who)
            await everybody_waits.wait()

    async def all_at_once() -> None:
        with closing(Checker(settings.model_copy(update={"check_workers": workers}))) as made:
            async with anyio.create_task_group() as tasks:
                for _ in range(8):
                    tasks.start_soon(checked, made, "mallory")
                await anyio.wait_all_tasks_blocked()
                tasks.start_soon(checked, made, "ann")
                await anyio.wait_all_tasks_blocked()
                everybody_waits.set()
            assert made._turns.here == 0

    run(all_at_once)
    assert sorted(order) == ["ann"] + ["mallory"] * 8
    assert order.index("ann") == 1


@ON_SQLITE
def test_who_has_used_least_is_next(settings: Settings) -> None:
    """Four accounts with long files are behind somebody whose short one comes again and again, once each had a turn."""
    order: list[str] = []

    async def checked(made: Checker, who: str, seconds: float, times: int) -> None:
        for _ in range(times):
            async with made.slot(who):
                order.append(who)
                await anyio.sleep(seconds)

    async def many() -> None:
        with closing(Checker(settings.model_copy(update={"check_workers": 1}))) as made:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(checked, made, "ann", 0.001, 4)
                for who in ("a", "b", "c", "d") * 4:
                    tasks.start_soon(checked, made, who, 0.02, 1)

    run(many)
    assert sorted(order[1:5]) == ["a", "b", "c", "d"]
    assert [place for place, who in enumerate(order) if who == "ann"] == [0, 5, 7, 9]


@ON_SQLITE
def test_accounts_of_one_network_are_one_sender(settings: Settings) -> None:
    """Three of them with large files of two minutes held up everybody's; two leave a place to another network."""
    order: list[str] = []
    ends = anyio.Event()

    async def checked(made: Checker, who: str, network: str) -> None:
        async with made.slot(who, network, long=True):
            order.append(who)
            await ends.wait()

    async def several() -> None:
        with closing(Checker(settings)) as made:
            async with anyio.create_task_group() as tasks:
                for who in ("a", "b", "c"):
                    tasks.start_soon(checked, made, who, "192.0.2.0/24")
                await anyio.wait_all_tasks_blocked()
                tasks.start_soon(checked, made, "ann", "198.51.100.0/24")
                await anyio.wait_all_tasks_blocked()
                tasks.start_soon(checked, made, "a", "203.0.113.0/24")  # an account of two networks
                await anyio.wait_all_tasks_blocked()
                assert order == ["a", "ann"]
                ends.set()

    run(several)
    assert len(order) == 5


@ON_SQLITE
def test_what_a_network_used_counts_for_each_of_it(settings: Settings) -> None:
    """Who comes new from it is behind somebody of another one that has used a little."""
    order: list[str] = []
    others_wait = anyio.Event()

    async def checked(made: Checker, who: str, network: str, seconds: float) -> None:
        async with made.slot(who, network):
            order.append(who)
            await (anyio.sleep(seconds) if seconds else others_wait.wait())

    async def several() -> None:
        with closing(Checker(settings.model_copy(update={"check_workers": 1}))) as made:
            await checked(made, "ann", "198.51.100.0/24", 0.01)
            await checked(made, "a", "192.0.2.0/24", 0.05)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(checked, made, "somebody", "203.0.113.0/24", 0.0)
                await anyio.wait_all_tasks_blocked()
                tasks.start_soon(checked, made, "new", "192.0.2.0/24", 0.0)
                await anyio.wait_all_tasks_blocked()
                tasks.start_soon(checked, made, "ann", "198.51.100.0/24", 0.0)
                await anyio.wait_all_tasks_blocked()
                others_wait.set()

    run(several)
    assert order == ["ann", "a", "somebody", "ann", "new"]


@ON_SQLITE
def test_a_file_that_waits_too_long_leaves_its_turn(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told to come again, and the next one of its sender is checked; behind others it waits as they may take."""
    monkeypatch.setattr(checker, "SLOT_TIMEOUT_S", 0.01)

    async def twice() -> None:
        with closing(Checker(settings.model_copy(update={"check_seconds": 0.0}))) as made:
            async with made.slot("mallory"):
                for who in ("mallory", "ann"):
                    with pytest.raises(Unavailable):
                        async with made.slot(who):
                            pass
            for who in ("mallory", "ann"):
                async with made.slot(who):
                    pass
        with closing(Checker(settings.model_copy(update={"check_seconds": PATIENCE_S}))) as made:
            # in parts, and beside it a file
            async with anyio.create_task_group() as tasks, made.slot("mallory", long=True), made.slot("mallory"):
                tasks.start_soon(_in_turn, made, "mallory", True)
                tasks.start_soon(_in_turn, made, "ann", False)
                await anyio.sleep(0.05)  # five times what one waits for behind nobody
                with pytest.raises(Unavailable):
                    await _in_turn(made, "mallory", True)

    run(twice)


@ON_SQLITE
def test_who_has_two_large_files_in_the_checks_costs_nobody_a_look(settings: Settings) -> None:
    """Neither when another comes nor when the turn of one that waited does; others are looked at as before."""

    async def refused(made: Checker) -> None:
        with pytest.raises(Unavailable, match="fewer than 2 large files"):
            await _in_turn(made, "eve", False)

    async def several() -> None:
        with closing(Checker(settings)) as made:
            async with anyio.create_task_group() as tasks, made.slot("eve", long=True):
                async with made.slot("ann"):
                    tasks.start_soon(refused, made)  # waits behind ann
                    tasks.start_soon(_in_turn, made, "eve", True)
                    await anyio.wait_all_tasks_blocked()
                    await refused(made)
                await _in_turn(made, "ann", False)
                await anyio.wait_all_tasks_blocked()
            await _in_turn(made, "eve", False)

    run(several)


async def _in_turn(made: Checker, who: str, long: bool) -> None:
    async with made.slot(who, long=long):
        pass


def test_long_checks_count_as_several_uploads(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file can take the longest time allowed; sixty of them an hour would leave the worker to nobody else."""
    monkeypatch.setattr(rate_counters, "SECONDS_OF_AN_UPLOAD", 0.001)
    with running(settings.model_copy(update={"uploads_per_hour": 5})) as service:
        assert service.send(drawn("mine_6k")).status_code == 201
        assert service.send(drawn("mine_9k", seed=2)).status_code == 429
        assert service.send(drawn("hers_9k", seed=2), account="bob").status_code == 201


def test_a_check_that_takes_long_leaves_its_place(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """One large file of an account kept the file of another waiting for 105 s; now it is checked beside others."""
    looks: list[bool] = []
    check = Checker.check

    def noted(made: Checker, *given: Any, quick: bool = False, **named: Any) -> Checked:
        looks.append(quick)
        return check(made, *given, quick=quick, **named)

    monkeypatch.setattr(checker, "QUICK_SECONDS", 0.001)
    monkeypatch.setattr(Checker, "check", noted)
    with running(settings) as service:
        assert service.send(drawn("mine_6k")).status_code == 201
    assert looks == [True, False]
