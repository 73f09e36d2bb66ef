"""The frame in a real browser: colours, keyboard, phones, and what axe-core says of every page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect
from support.web.site import accessibility_faults, visitor, wait_until

PAGES = ("/", "/?source=tiny&category=music", "/?kbps_min=900", "/datasets", "/metrics", "/about", "/api/docs")
PHONE, DESK = 390, 1280
SWITCH = "[data-theme-switch]"


@pytest.mark.sample(1, among="pages fit")
def test_the_choice_of_colours_lasts(browser: Browser, site: str) -> None:
    """The switch overrules the system, on every page and after a reload, and the chart follows."""
    with visitor(browser, site, scheme="light") as page:
        page.goto("/")
        page.wait_for_selector("#board-chart[data-state=drawn]")
        paper = "getComputedStyle(document.body).backgroundColor"
        ink = "getComputedStyle(document.querySelector('#board-chart .ytitle')).fill"
        light, light_ink = page.evaluate(paper), page.evaluate(ink)
        page.click(SWITCH)
        expect(page.locator(SWITCH)).to_have_attribute("aria-label", "Switch to light colours")
        dark = page.evaluate(paper)
        assert dark != light
        wait_until(page, f"{ink} !== '{light_ink}'")
        for path in ("/metrics", "/"):
            page.goto(path)
            assert page.evaluate(paper) == dark
        page.click(SWITCH)
        assert page.evaluate(paper) == light


def test_the_system_decides_until_somebody_does(browser: Browser, site: str) -> None:
    """Dark systems get dark pages, and a change of the system is followed at once."""
    with visitor(browser, site, scheme="dark") as page:
        page.goto("/about")
        paper = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(paper)
        page.emulate_media(color_scheme="light")
        assert page.evaluate(paper) != dark


@pytest.mark.sample(1, among="pages fit")
def test_everything_is_reached_by_the_keyboard(browser: Browser, site: str) -> None:
    """Tab finds the skip link first; fields, headings and rows follow, and what has the focus shows it."""
    with visitor(browser, site) as page:
        page.goto("/")
        page.wait_for_selector("#board-chart[data-state=drawn]")
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.evaluate("document.querySelector('.tabs').marked = true")
        page.keyboard.press("Enter")
        expect(page).to_have_url("/#main")
        page.keyboard.press("Tab")
        expect(page.locator(".tabs a").first).to_be_focused()
        for _ in range(3):
            page.keyboard.press("Tab")
        expect(page.locator("#search")).to_be_focused()
        assert page.evaluate("document.querySelector('.tabs').marked"), "a jump within the page exchanged its content"
        for _ in range(3):
            page.keyboard.press("Tab")
        expect(page.locator("#metric")).to_be_focused()
        page.keyboard.type("PESQ")
        expect(page).to_have_url("/?metric=pesq")
        expect(page.locator("#metric")).to_be_focused()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.locator("th a[href*='sort=stoi']").focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url("/?metric=pesq&sort=stoi")
        expect(page.locator("th[aria-sort] a")).to_be_focused()


@pytest.mark.sample(1)
@pytest.mark.parametrize("pause", [0, 200, 500])
@pytest.mark.sample(1, among="pages fit")
def test_letters_choose_from_a_list_however_slowly_they_come(browser: Browser, site: str, pause: int) -> None:
    """The content is exchanged between the letters of PESQ, and E, S and Q still belong to the P before them."""
    with visitor(browser, site) as page:
        page.goto("/")
        page.wait_for_selector("#board-chart[data-state=drawn]")
        page.locator("#metric").focus()
        page.keyboard.type("PESQ", delay=pause)
        expect(page).to_have_url("/?metric=pesq")
        expect(page.locator("#metric")).to_have_value("pesq")
        expect(page.locator("#metric")).to_be_focused()


@pytest.mark.sample(1, among="pages without barriers")
@pytest.mark.sample(1, over="width")
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(browser: Browser, site: str, path: str, width: int) -> None:
    """No page has a serious or critical fault, in either colours, on a phone and on a desk; none is too wide."""
    with visitor(browser, site, width, 844, reduced_motion="reduce") as page:
        page.goto(path)
        if page.locator("#board-chart").count():
            page.wait_for_selector("#board-chart[data-state=drawn]")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # Dozens of sections, cards and rows are made by one piece of a template each: three of each are enough.
        for many in (".operation", ".cards .card", ".ranking tbody tr", "section.definition", "div.definition"):
            page.evaluate("all => document.querySelectorAll(all).forEach((each, n) => n < 3 || each.remove())", many)
        assert accessibility_faults(page) == []
        page.emulate_media(color_scheme="dark")
        assert accessibility_faults(page, rules=["color-contrast", "link-in-text-block"]) == []


def test_nothing_moves_while_the_page_comes(browser: Browser, site: str) -> None:
    """The chart has its place before it is there."""
    with visitor(browser, site) as page:
        page.goto("/")
        page.wait_for_selector("#board-chart[data-state=drawn]")
        moved = page.evaluate(
            """() => new Promise((done) => {
              let total = 0;
              new PerformanceObserver((list) => list.getEntries().forEach((entry) => (total += entry.value)))
                .observe({ type: "layout-shift", buffered: true });
              setTimeout(() => done(total), 300);
            })"""
        )
        assert moved < 0.05


@pytest.mark.sample(1, among="pages fit")
def test_on_paper_the_page_is_light_and_whole(browser: Browser, site: str) -> None:
    """Printing leaves what can be pressed away, and shows the whole table in light colours."""
    with visitor(browser, site, scheme="dark") as page:
        page.goto("/")
        page.click(SWITCH)
        page.click(SWITCH)
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(252, 252, 250)"
        expect(page.locator("#filters")).to_be_hidden()
        expect(page.locator(".site-nav")).to_be_hidden()
        assert page.evaluate("getComputedStyle(document.querySelector('.table-scroll')).overflowX") == "visible"
