"""The report, and a window without network that opens it from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from support.timing import PAGE_MS
from support.web.contexts import shared_context
from support.web.report import TABLE, make_report

from codec_superb.web.report import render

EVIL = '</script>"\'><img src=x onerror=window.stung=1><a href="https://x.example">%{x}</a>\n&amp;'


@pytest.fixture(scope="session")
def report_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of all three categories."""
    return _write(tmp_path_factory.mktemp("report"), make_report(12))


@pytest.fixture(scope="session")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report whose every name tries to become mark-up."""
    data = make_report(6, ["speech"])
    hostile = replace(
        data,
        title=EVIL,
        results=[replace(row, title=EVIL + row.title, family=EVIL + row.family) for row in data.results],
        conditions=[replace(row, result=replace(row.result, codec=EVIL + row.result.codec)) for row in data.conditions],
        clips=[replace(clip, clip=EVIL + clip.clip, dataset=EVIL) for clip in data.clips],
        listening=[replace(clip, clip=EVIL + clip.clip, dataset=EVIL, text=EVIL) for clip in data.listening],
    )
    return _write(tmp_path_factory.mktemp("hostile"), hostile)


def _write(folder: Path, data: Any) -> Path:
    path = folder / "report.html"
    path.write_text(render(data, TABLE), encoding="utf-8", newline="\n")
    return path


@pytest.fixture
def open_page(browser: Browser, report_file: Path) -> Iterator[Callable[..., Page]]:
    """Open files offline; at the end nothing may have been asked of a network or complained about."""
    blank = report_file.with_name("blank.html")
    blank.write_text("<!doctype html><title>-</title>", encoding="utf-8")
    asked: list[str] = []
    complaints: list[str] = []
    with ExitStack() as contexts:

        def open_page(path: Path, **options: Any) -> Page:
            window = {"viewport": {"width": 1280, "height": 900}, "offline": True, **options}
            page = contexts.enter_context(shared_context(browser, blank.as_uri(), "file://", **window)).new_page()
            page.set_default_timeout(PAGE_MS)
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(path.as_uri())
            if options.get("java_script_enabled", True):
                page.wait_for_function("() => window.Plotly")  # it is unpacked first
            return page

        yield open_page
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
        assert complaints == []
