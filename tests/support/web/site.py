"""The service behind a real HTTP server on a free port, and visitors with a browser in front of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from axe_playwright_python.sync_playwright import Axe
from fastapi import FastAPI
from playwright.sync_api import Browser, Page
from support.timing import PAGE_MS, PATIENCE_S, wait_for
from support.web.contexts import shared_context

from codec_superb.server.app import create_app
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.settings import Settings

_SERIOUS = {"serious", "critical"}


@contextmanager
def running_site(settings: Settings, app: FastAPI | None = None) -> Iterator[str]:
    """Migrate the database, serve the application from a thread and yield its address, without a slash at the end."""
    upgrade(settings.database_url)
    config = uvicorn.Config(
        app or create_app(settings),
        host="127.0.0.1",
        port=0,
        ws="none",
        log_level="warning",
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{_port(server, thread)}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "the server did not stop"


def _port(server: uvicorn.Server, thread: threading.Thread) -> int:
    wait_for(lambda: server.started or not thread.is_alive(), "the server did not start")
    assert server.started, "the server ended while it started"
    port: int = server.servers[0].sockets[0].getsockname()[1]
    return port


@contextmanager
def visitor(
    browser: Browser, site: str, width: int = 1280, height: int = 900, scheme: Any = "light", *,
    expected: str | None = None, **options: Any,
) -> Iterator[Page]:  # fmt: skip
    """Open a window of its own on ``site``; a complaint on the console or a request to elsewhere fails the test.

    ``page.goto("/path")`` is relative to the site. ``expected`` is part of the complaints that belong to the test:
    browsers report each refusal that a script gets. ``options`` go to ``Browser.new_context``.
    """
    with shared_context(browser, f"{site}/healthz", site, base_url=site, **options) as context:
        context.set_default_timeout(PAGE_MS)
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        complaints: list[str] = []
        page.on("console", lambda told: complaints.append(told.text) if told.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        yield page
        unexpected = [text for text in complaints if expected is None or expected not in text]
        assert not unexpected, unexpected
        assert not [url for url in asked if not url.startswith((site + "/", "data:", "blob:"))]


def wait_until(page: Page, expression: str, seconds: float = PAGE_MS / 1000) -> None:
    """Wait until JavaScript is true, asked from here: Playwright's own waiting would evaluate strings in the page.

    That is what the policy of the site forbids, once the page has not been right at the first look.
    """
    until = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < until, f"within {seconds:g} s it did not become true: {expression}"
        page.wait_for_timeout(20)


def accessibility_faults(page: Page, ignored: Sequence[str] = (), rules: Sequence[str] = ()) -> list[str]:
    """List what axe-core finds serious or critical, as rule and place; ``rules`` asks for these alone."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}  # what passes is a long list on a large page
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{fault['id']}: {node['html'][:150]}"
        for fault in found
        if fault["impact"] in _SERIOUS and fault["id"] not in ignored
        for node in fault["nodes"]
    ]
