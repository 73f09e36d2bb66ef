"""What all tests share: how many of them run, warm workers, and the one browser of a test process."""

from __future__ import annotations

import gc
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from support import processes
from support.logged import Logged, listening
from support.pipeline.warm_workers import WarmWorkers
from support.profile import choose_cases, described, load_hypothesis_profile
from support.timing import PAGE_MS

if TYPE_CHECKING:
    from support.server.postgres import PostgresServer

load_hypothesis_profile()

# A script that starts the tests in the background hands them an ignored Ctrl-C, which child processes would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # pages of a context share a process, which has compiled their scripts
)


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Take ``--processes``."""
    pluginmanager.register(processes)


@pytest.fixture(autouse=True)
def _tables_of_probes_stay() -> Iterator[None]:
    """Take tasks and plug-ins that a test lets join the tables of this process out again."""
    table = sys.modules.get("codec_superb.applications.table")
    before = {name: dict(getattr(table, name)) for name in ("PROBES", "PROBE_METRICS")} if table else {}
    yield
    for name, rows in before.items():
        now = getattr(table, name)
        if now.keys() != rows.keys():
            now.clear()
            now.update(rows)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let no garbage be looked for among a million syntax nodes and tests, which takes a fifth of the collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # what was collected stays: no later collection need look at it
        gc.set_threshold(20_000, 20, 20)  # looks at every 700th object are 3 in 100 of the tests' time
        gc.enable()


@pytest.hookimpl(trylast=True)  # after -k and -m: cases are chosen among what was asked for
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what ``sample`` keeps for ``make test-all``; what drives a browser may be tried a second time.

    A browser on a busy machine can lose a key or an event, and no wait in the test sees that; nothing else is.
    """
    items[:], left_out = choose_cases(items)
    config.hook.pytest_deselected(items=left_out)
    for item in items:
        if isinstance(item, pytest.Function) and "browser" in item.fixturenames:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_sessionfinish() -> None:
    """Spare pytest five looks for garbage among everything that is still there, seconds of each process."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which part of the long tests ran."""
    terminalreporter.write_line(described())


@pytest.fixture(scope="session", autouse=True)
def _warm_workers() -> Iterator[WarmWorkers]:
    """Let worker processes serve one test after another."""
    warm = WarmWorkers()
    with warm.used():
        yield warm


@pytest.fixture
def fresh_workers(_warm_workers: WarmWorkers) -> Iterator[None]:
    """For tests of how workers start and end: none is kept before or after."""
    with _warm_workers.paused():
        yield


@pytest.fixture
def logged() -> Iterator[Logged]:
    """Keep what is logged during a test."""
    with listening() as kept:
        yield kept


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Run one server of PostgreSQL for all tests of this process."""
    from support.server.postgres import postgres_server

    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium, once: Playwright cannot be started twice in a process.

    The headless shell, Playwright's own choice, takes a third less processor time for the same pages.
    """
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    assert path, "these tests need Chromium: install it, for example with `apt-get install chromium`"
    expect.set_options(timeout=PAGE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(_QUIET))
        yield started
        started.close()
