"""Rate limits: per token, per address, and for guesses; only trusted proxies may say for whom they ask."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from limits.storage import MemoryStorage
from pydantic import ValidationError
from starlette.testclient import TestClient
from support.logged import Logged
from support.server.people import ON_SQLITE, bearer, make_token

from codec_superb.server.app import create_app
from codec_superb.server.database.session import Database
from codec_superb.server.people.access import Caller
from codec_superb.server.people.limits import CountedComputation
from codec_superb.server.people.own_windows import OwnWindows
from codec_superb.server.people.rate_counters import CLIENTS_OF_A_SITE
from codec_superb.server.settings import Settings

LIMIT = 3


@pytest.fixture
def settings(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Allow little."""
    return Settings(
        database=database_url, storage=tmp_path_factory.mktemp("storage"), secret_key="x" * 40,
        computations_per_minute=LIMIT, logins_per_hour=LIMIT,
    )  # fmt: skip


@contextmanager
def serving(settings: Settings, peer: str = "198.51.100.7") -> Iterator[TestClient]:
    """Serve an endpoint that counts, and one that identifies, to a client at ``peer``."""
    app = create_app(settings)

    @app.get("/api/compute")
    def compute(_counted: CountedComputation) -> int:
        return 42

    @app.get("/api/who")
    def who(caller: Caller) -> str:
        return caller.name

    with TestClient(app, client=(peer, 40000)) as client:
        yield client


def statuses(client: TestClient, path: str, *headers: dict[str, str]) -> list[int]:
    """Ask once with each of the headers."""
    return [client.get(path, headers=entry).status_code for entry in headers]


class TestPerTokenAndAddress:
    """What is counted together."""

    def test_an_address_is_limited(self, settings: Settings) -> None:
        """After the limit come 429 and the seconds to wait, and another address is not concerned."""
        with serving(settings) as client:
            assert statuses(client, "/api/compute", *[{}] * (LIMIT + 1)) == [200] * LIMIT + [429]
            answer = client.get("/api/compute")
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            assert "at most 3 computations per minute" in answer.json()["detail"]

    def test_tokens_are_counted_apart(self, settings: Settings, database: Database) -> None:
        """Two tokens from one address have a limit each, and leave that of the address alone."""
        first, second = (bearer(make_token(database, name, ["submit"])) for name in ("a", "b"))
        with serving(settings) as client:
            assert statuses(client, "/api/compute", *[first] * (LIMIT + 1)) == [200] * LIMIT + [429]
            assert statuses(client, "/api/compute", second, {}) == [200, 200]


class TestGuesses:
    """Wrong tokens."""

    def test_wrong_tokens_never_shut_out_a_right_one(self, settings: Settings, database: Database) -> None:
        """Of one address, as behind a proxy: only wrong ones are refused, each beginning for itself, all in the end."""
        right = bearer(make_token(database, "lab", ["submit"]))
        old, other = bearer("cs_expired-one"), bearer("cs_mistyped-one")
        guesses = [bearer(f"cs_{number:08}") for number in range(10 * LIMIT)]
        with serving(settings) as client:
            assert statuses(client, "/api/who", *[old] * (LIMIT + 1), right, other) == [401] * LIMIT + [429, 200, 401]
            assert statuses(client, "/api/who", *guesses)[-LIMIT:] == [429] * LIMIT
            assert statuses(client, "/api/who", other, *[right] * (3 * LIMIT)) == [429] + [200] * (3 * LIMIT)
            assert client.get("/api/who").json() == "anonymous"


@ON_SQLITE
class TestAddresses:
    """Which address counts."""

    def test_a_stranger_cannot_choose_one(self, settings: Settings) -> None:
        """X-Forwarded-For of anybody who is no trusted proxy is ignored."""
        forged = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(LIMIT + 1)]
        for trusted in ((), ("10.0.0.0/8",)):
            with serving(settings.model_copy(update={"trusted_proxies": trusted})) as client:
                assert statuses(client, "/api/compute", *forged) == [200] * LIMIT + [429]

    def test_a_trusted_network_names_its_clients(self, settings: Settings) -> None:
        """Behind a proxy of the network each client is counted apart."""
        behind = settings.model_copy(update={"trusted_proxies": ("172.16.0.0/12",)})
        with serving(behind, peer="172.20.0.3") as client:
            clients = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(LIMIT + 1)]
            assert statuses(client, "/api/compute", *clients) == [200] * (LIMIT + 1)
            assert statuses(client, "/api/compute", *[clients[0]] * LIMIT) == [200] * (LIMIT - 1) + [429]

    def test_a_site_of_many_subnets_is_limited_as_well(self, settings: Settings) -> None:
        """Who has an IPv6 /48 has 65,536 clients' networks, and the limit of sixteen; the site beside it is another."""
        behind = settings.model_copy(update={"trusted_proxies": ("172.16.0.0/12",)})
        subnets = [{"X-Forwarded-For": f"2001:db8:1:{number:x}::1"} for number in range(CLIENTS_OF_A_SITE * LIMIT + 1)]
        with serving(behind, peer="172.20.0.3") as client:
            found = statuses(client, "/api/compute", *subnets, {"X-Forwarded-For": "2001:db8:2::1"})
        assert found == [200] * CLIENTS_OF_A_SITE * LIMIT + [429, 200]

    def test_what_a_client_puts_before_the_proxy_is_ignored(self, settings: Settings) -> None:
        """Only the last address that is no trusted proxy counts, not what the client had written before it."""
        behind = settings.model_copy(update={"trusted_proxies": ("172.16.0.0/12",)})
        with serving(behind, peer="172.20.0.3") as client:
            forged = [{"X-Forwarded-For": f"192.0.2.{number}, 203.0.113.9"} for number in range(LIMIT + 1)]
            assert statuses(client, "/api/compute", *forged) == [200] * LIMIT + [429]

    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        ("first", "second", "same"),
        [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
            ("::ffff:203.0.113.5", "203.0.113.5", True),
            ("unix", "unix", True),
        ],
    )
    def test_one_customer_is_one_address(self, settings: Settings, first: str, second: str, same: bool) -> None:
        """All of an IPv6 network of 64 bits is one; IPv4 in IPv6 notation is that IPv4 address."""
        behind = settings.model_copy(update={"trusted_proxies": ("172.20.0.3",)})
        with serving(behind, peer="172.20.0.3") as client:
            asked = [{"X-Forwarded-For": first}] * LIMIT + [{"X-Forwarded-For": second}]
            assert statuses(client, "/api/compute", *asked) == [200] * LIMIT + [429 if same else 200]


@ON_SQLITE
class TestUnnamedProxy:
    """A proxy that the settings do not name: all its visitors would be one address."""

    @pytest.mark.parametrize(
        ("peer", "trusted", "warned"),
        [
            ("127.0.0.1", (), True),
            ("172.30.7.2", ("127.0.0.1",), True),
            ("172.30.7.2", ("172.30.7.0/24",), False),
            ("198.51.101.7", (), False),
        ],
    )
    def test_is_told_once(
        self, settings: Settings, peer: str, trusted: tuple[str, ...], warned: bool, logged: Logged
    ) -> None:  # fmt: skip
        """In log and /readyz, with the setting; not of strangers, who may send any header, and the service is ready."""
        with serving(settings.model_copy(update={"trusted_proxies": trusted, "free_bytes": 0}), peer=peer) as client:
            assert "warnings" not in client.get("/readyz").json()
            assert statuses(client, "/api/who", *[{"X-Forwarded-For": "203.0.113.1"}] * 2) == [200] * 2
            answer = client.get("/readyz")
        assert answer.status_code == 200
        told = answer.json().get("warnings", [])
        assert len(told) == warned
        assert all(f"from {peer}, which CODEC_SUPERB_SERVER_TRUSTED_PROXIES does not name" in text for text in told)
        assert sum("X-Forwarded-For" in record.getMessage() for record in logged.records) == warned


@pytest.mark.parametrize("text", ["*", "proxy", "172.16.0.1/12", "300.0.0.1"])
def test_a_proxy_that_is_no_address(text: str) -> None:
    """A name or a mistyped network is refused at the start: it would trust nobody, or everybody."""
    with pytest.raises(ValidationError, match="expected an address or a network"):
        Settings(trusted_proxies=(text,))


def test_many_that_count_at_once_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than the limit from eight threads; what is over is forgotten with its counter."""
    windows, now = OwnWindows(), 1_000_000.0
    for clock in ("time", "monotonic"):
        monkeypatch.setattr(time, clock, lambda: now)

    def count(address: int) -> int:
        return sum(windows.acquire_entry("all", 300, 60) for _ in range(100)) + windows.acquire_entry(
            f"{address}", 1, 9
        )

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(count, range(8))) == 308
    assert windows.get_moving_window("all", 300, 60) == (now, 300)
    assert not windows.acquire_entry("all", 300, 60)
    now += 60.5
    assert windows.get_moving_window("all", 300, 60) == (now, 0)
    assert len(windows) == 9
    assert all(windows.acquire_entry(f"later {number}", 1, 3600) for number in range(1000))
    assert len(windows) == 1000


@pytest.mark.parametrize("limit", [1, 5])
def test_counters_in_memory_are_those_of_the_package(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """As ``limits`` counts in a moving window, at 200 drawn moments."""
    draw, now = random.Random(limit), 1_000_000.0
    for clock in ("time", "monotonic"):
        monkeypatch.setattr(time, clock, lambda: now)
    ours, theirs = OwnWindows(), MemoryStorage()
    for _ in range(200):
        now += draw.uniform(0.0, 5.0)
        assert ours.acquire_entry("a", limit, 10) == theirs.acquire_entry("a", limit, 10)
        assert ours.get_moving_window("a", limit, 10) == theirs.get_moving_window("a", limit, 10)
