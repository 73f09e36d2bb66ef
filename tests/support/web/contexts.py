"""Browser contexts that outlive the test that made them: a new one starts a process and compiles all scripts again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext

_IDLE: dict[tuple[str, str], BrowserContext] = {}
"""Contexts that no test has, by first page and options; all of the latest first page."""


@contextmanager
def shared_context(browser: Browser, first: str, erase: str, **options: Any) -> Iterator[BrowserContext]:
    """Take the idle context of the same first page and options, or make one; what a test left in it is forgotten.

    The page at the address ``first`` stays, and with it the process that other pages of the same site then share.
    ``erase`` is the origin whose storage is emptied. An error closes the context, so that a second try begins anew.
    """
    key = first, repr(options)
    context = _IDLE.pop(key, None)
    if context is None:
        context = browser.new_context(**options)
        context.new_page().goto(first)
    try:
        yield context
        kept, *others = context.pages
        for page in others:
            page.close()
        session = context.new_cdp_session(kept)
        session.send("Storage.clearDataForOrigin", {"origin": erase, "storageTypes": "all"})
        session.detach()
        context.clear_cookies()
    except BaseException:
        context.close()
        raise
    for idle in [
        idle for idle in _IDLE if idle[0] != first or idle == key
    ]:  # of a site that has ended, or a second one
        _IDLE.pop(idle).close()
    _IDLE[key] = context
