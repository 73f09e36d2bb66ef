"""The leaderboard in a real browser: filters and order without a reload, the chart, choosing what to compare."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from support.web.site import visitor, wait_until

pytestmark = pytest.mark.sample(1, among="the board in a browser")
CHART = "#board-chart[data-state=drawn]"
MARKS = (
    "document.getElementById('board-chart').data.filter(t => t.meta?.role === 'family' && t.visible !== false)"
    ".flatMap(t => t.x).length"
)
"""Codecs that the chart shows."""


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """Open the leaderboard, marked so that a reload would be seen."""
    with visitor(browser, site) as opened:
        opened.goto("/")
        opened.evaluate("window.unchanged = true")
        yield opened


def names(page: Page) -> list[str]:
    """Codecs in the order of the table."""
    return page.locator(".ranking tbody th .who > a").all_inner_texts()


def elsewhere(route: Route) -> None:
    """Stop at the door of another page, which has tests of its own."""
    route.fulfill(content_type="text/html", body="<!doctype html><title>Compare</title>")


def not_reloaded(page: Page) -> bool:
    """Whether it is still the page that was opened."""
    return bool(page.evaluate("window.unchanged === true"))


def test_picking_a_metric_changes_table_chart_and_address(page: Page) -> None:
    """No button is needed, nothing is loaded anew, and the chart shows the other metric."""
    page.wait_for_selector(CHART)
    page.select_option("#metric", "mel")
    expect(page).to_have_url("/?metric=mel")
    expect(page.locator("th[aria-sort]")).to_contain_text("Mel distance")
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("#board-chart .ytitle")).to_contain_text("Mel distance, lower is better")
    expect(page.locator("#chart-title")).to_have_text("Bitrate and Mel distance")
    assert not_reloaded(page)


def test_search_finds_while_typing(page: Page) -> None:
    """The field keeps the focus and the letters; the back button brings the whole table again."""
    page.click("#search")
    page.keyboard.type("opus")
    expect(page.locator(".ranking tbody tr")).to_have_count(4)
    expect(page).to_have_url("/?search=opus")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("_6")
    expect(page.locator(".ranking tbody tr")).to_have_count(2)
    assert page.input_value("#search") == "opus_6"
    page.go_back()
    page.go_back()
    expect(page.locator(".ranking tbody tr")).to_have_count(16)
    assert not_reloaded(page)


def test_filters_fold_out_and_come_off(page: Page) -> None:
    """A bitrate range narrows the table, stays in sight as a chip, and goes with it."""
    page.click("#more summary")
    page.fill("#kbps_max", "8")
    page.press("#kbps_max", "Enter")
    expect(page).to_have_url("/?kbps_max=8")
    expect(page.locator(".ranking tbody tr")).to_have_count(7)
    expect(page.locator("#kbps_max")).to_be_visible()
    page.click(".chips a >> nth=0")
    expect(page).to_have_url("/")
    expect(page.locator(".ranking tbody tr")).to_have_count(16)
    assert not_reloaded(page)


def test_headings_sort_and_turn(page: Page) -> None:
    """Pressed once, a column's best comes first; pressed again, its worst; the page does not jump."""
    page.wait_for_selector(CHART)
    page.click("th:has-text('Bitrate') a")
    expect(page).to_have_url("/?sort=kbps")
    ascending = names(page)
    assert ascending[0] == "Codec2 0 7K"
    place = page.evaluate("scrollY")
    page.click("th:has-text('Bitrate') a")
    expect(page).to_have_url("/?sort=kbps&descending=1")
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    assert names(page)[0] == "Mp3 128K"
    assert names(page)[-1] == "Codec2 0 7K"
    assert abs(page.evaluate("scrollY") - place) < 40


def test_tabs_keep_the_filters(page: Page) -> None:
    """Another category, the same question."""
    page.goto("/?kbps_max=8")
    page.click(".tabs >> text=Music")
    expect(page).to_have_url("/?category=music&kbps_max=8")
    expect(page.locator(".tabs [aria-current]")).to_have_text("Music")
    expect(page.locator("th:has-text('F0 correlation')").first).to_be_visible()


def test_the_chart_shows_every_codec_and_hides_families(page: Page) -> None:
    """One mark a codec; the legend takes a family away and brings it back, from the keyboard too."""
    page.wait_for_selector(CHART)
    wait_until(page, f"{MARKS} === 16")
    button = page.locator(".legend button", has_text="opus")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "false")
    wait_until(page, f"{MARKS} === 12")
    page.keyboard.press("Enter")
    wait_until(page, f"{MARKS} === 16")


def test_plotly_is_fetched_only_for_a_chart_in_sight(browser: Browser, site: str) -> None:
    """A page without a chart costs nothing of it."""
    with visitor(browser, site) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto("/metrics")
        page.wait_for_load_state("networkidle")
        assert not [url for url in asked if "plotly" in url]
        page.goto("/")
        page.wait_for_selector(CHART)
        assert len([url for url in asked if "plotly" in url]) == 1
        assert all(url.startswith(site) for url in asked)


def test_a_chart_that_cannot_be_had_says_so(browser: Browser, site: str) -> None:
    """The reason in words and a button that tries again, in the place of the chart."""

    def refuse(route: Route) -> None:
        route.fulfill(status=200, content_type="application/json", body='{"detail": "no figure"}')

    with visitor(browser, site) as page:
        page.route("**/api/v1/leaderboard/chart*", refuse)
        page.goto("/")
        message = page.locator("#board-chart .chart-message")
        expect(message).to_contain_text("The chart cannot be shown: the service answered something that is no figure.")
        page.unroute("**/api/v1/leaderboard/chart*")
        message.locator("button").click()
        page.wait_for_selector(CHART)
        expect(message).to_have_count(0)


def test_two_to_six_codecs_are_compared(page: Page) -> None:
    """The button wakes at two; what was chosen survives another order of the table."""
    button = page.locator("#compare-button")
    expect(button).to_be_disabled()
    page.check(".choose input[value=opus_6k]")
    expect(page.locator("#compare-hint")).to_have_text("Choose at least one more.")
    page.click("th a[href*='sort=stoi']")
    expect(page).to_have_url("/?sort=stoi")
    expect(page.locator(".choose input[value=opus_6k]")).to_be_checked()
    page.fill("#search", "mp3")
    expect(page.locator(".ranking tbody tr")).to_have_count(3)
    page.check(".choose input[value=mp3_32k]")
    expect(button).to_have_text("Compare 2 codecs")
    page.route("**/compare?*", elsewhere)
    with page.expect_request("**/compare?*") as asked:
        button.click()
    assert sorted(asked.value.url.split("?")[1].split("&")) == ["codec=mp3_32k", "codec=opus_6k"]


def test_six_is_the_most(page: Page) -> None:
    """The seventh box cannot be pressed until one is given back."""
    boxes = page.locator(".choose input")
    for number in range(6):
        boxes.nth(number).check()
    expect(boxes.nth(6)).to_be_disabled()
    boxes.nth(0).uncheck()
    expect(boxes.nth(6)).to_be_enabled()


def test_works_without_scripts(browser: Browser, site: str) -> None:
    """The form has its button, headings and tabs are links, and the front stands in words."""
    with visitor(browser, site, java_script_enabled=False) as page:
        page.goto("/")
        expect(page.locator("#board-chart")).to_be_hidden()
        page.select_option("#metric", "pesq")
        page.fill("#search", "opus")
        page.click("text=Apply")
        expect(page).to_have_url("/?metric=pesq&search=opus")
        page.click("th:has-text('Bitrate') a")
        expect(page.locator(".ranking tbody tr")).to_have_count(4)
        page.click("text=The Pareto front in words")
        expect(page.locator(".front li").first).to_be_visible()
        page.check(".choose input >> nth=0")
        page.check(".choose input >> nth=1")
        page.route("**/compare?*", elsewhere)
        with page.expect_request("**/compare?*") as asked:
            page.click("#compare-button")
        assert asked.value.url.count("codec=") == 2
