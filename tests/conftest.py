"""The one browser of a test process: Playwright cannot be started twice in it."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator

import hypothesis
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

hypothesis.settings.register_profile("busy", deadline=None)  # machines that test may be busy
hypothesis.settings.load_profile("busy")

# A script that starts the tests in the background hands them an ignored Ctrl-C, which child processes would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

_QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium, once."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert path, "these tests need Chromium: install it, for example with `apt-get install chromium`"
    expect.set_options(timeout=15_000)  # machines that test may be busy
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(_QUIET))
        yield started
        started.close()
