"""Comparing, listening and charts as a visitor meets them: drawn, silent on the console, without serious barriers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support.server.compare import rows_of, shifted, store, tone
from support.web.site import accessibility_faults, running_site, visitor

from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

PAIR = "codec=plain&codec=better&codec=third"
DURATION = """audio => new Promise(done => {
  audio.onloadedmetadata = () => done(audio.duration);
  audio.preload = "auto";
  audio.load();
})"""
PHONE, SCREEN = (390, "dark"), (1280, "light")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve three codecs with sounds."""
    settings = Settings(storage=tmp_path_factory.mktemp("site"), secret_key="x" * 40)
    upgrade(settings.database_url)
    database, rows = Database(settings.database_url), rows_of()
    with database.transaction(write=True) as session:
        for number, name in enumerate(("plain", "better", "third")):
            store(
                session,
                name,
                shifted(rows, "pesq", 0.1 * number),
                family=f"family_{number}",
                sounds={"mini/clip000": tone(300 + 100 * number)},
                files=settings.files,
            )
    database.close()
    with running_site(settings) as address:
        yield address


def drawn(page: Page) -> None:
    """Wait until every chart is drawn, and point at a mark of each: its text breaks no rule of the policy."""
    for chart in page.locator("[data-figure]").all():
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_attribute("data-state", "drawn")
        for mark in chart.locator(".point").all()[:1]:
            mark.hover(force=True)


@pytest.mark.sample(1, among="pages without barriers")
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("path", "window"),
    [
        ("/compare", PHONE),
        (f"/compare?{PAIR}", PHONE),
        (f"/compare?{PAIR}", SCREEN),
        (f"/compare/clip?{PAIR}&dataset=mini&clip=mini/clip003", SCREEN),
        (f"/compare/listen?{PAIR}&seed=one", PHONE),
        ("/charts?chart=rate&source=all", SCREEN),
        ("/charts?chart=applications", PHONE),
        ("/charts?chart=metrics&source=tiny", SCREEN),
        ("/charts?chart=clips", PHONE),
        ("/charts?chart=distribution", PHONE),
    ],
)
def test_pages_draw_fit_and_have_no_serious_barrier(
    browser: Browser, site: str, path: str, window: tuple[int, str]
) -> None:
    """On a phone in the dark or on a screen by day: nothing beyond the edge, no complaint, no fault of axe."""
    width, scheme = window
    with visitor(browser, site, width, scheme=scheme) as page:
        page.goto(path)
        drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert accessibility_faults(page) == []


@pytest.mark.sample(1, among="comparing in a browser")
def test_a_comparison_by_keyboard_alone(browser: Browser, site: str) -> None:
    """Names typed, sent with Enter; the metric changed, and the figure follows."""
    with visitor(browser, site) as page:
        page.goto("/compare")
        page.get_by_label("Baseline").focus()
        page.keyboard.type("plain")
        page.keyboard.press("Tab")
        page.keyboard.type("better")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("and")
        page.get_by_label("Metric").focus()
        for _ in ("stft", "mel", "pesq"):
            page.keyboard.press("ArrowDown")
        page.get_by_role("button", name="Show").focus()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("metric=pesq"))
        drawn(page)
        assert page.evaluate("document.getElementById('forest').data[0].x") == pytest.approx([0.1] * 3)


@pytest.mark.sample(1, among="comparing in a browser")
def test_names_stay_in_sight_and_the_chart_is_a_file(browser: Browser, site: str) -> None:
    """On a phone each wide table keeps its first column and a shadow at its end; a file says which codecs it shows."""
    with visitor(browser, site, width=390) as page:
        page.goto(f"/compare?{PAIR}&metric=pesq")
        tables = page.locator(".table-scroll")
        assert tables.count() == 4
        for table in tables.all():
            assert table.evaluate("(region) => region.scrollWidth > region.clientWidth")
            table.evaluate("(region) => { region.scrollLeft = 150; }")
            left = table.evaluate("(region) => region.getBoundingClientRect().left")
            for head in table.locator("tr > :first-child:not([colspan])").all():
                assert head.evaluate("(cell) => cell.getBoundingClientRect().left") == pytest.approx(left, abs=1)
            assert table.evaluate("(region) => getComputedStyle(region).backgroundImage").count("gradient") == 2
        drawn(page)
        with page.expect_download() as download:
            page.click("button[data-save=svg][data-of=forest]")
        assert download.value.suggested_filename == (
            "codec-superb-plain-version-1-better-version-1-third-version-1-pesq.svg"
        )


@pytest.mark.sample(1, among="comparing in a browser")
def test_blind_listening_from_the_comparison_to_the_key(browser: Browser, site: str) -> None:
    """The sound plays, a version is chosen, and the key says which codec it was."""
    with visitor(browser, site) as page:
        page.goto(f"/compare?{PAIR}")
        page.get_by_role("link", name="Start a blind listening test").click()
        page.wait_for_url(re.compile("seed="))
        audio = page.get_by_label("Version X2")
        assert audio.evaluate(DURATION) > 0
        page.get_by_role("radio", name="X2").check()
        page.get_by_role("button", name="Show which was which").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Which was which")
        expect(page.locator("main")).to_contain_text("You answered 1 of 1 clip")
        key = page.locator("table").nth(1).locator("tbody tr td")
        assert sorted(key.all_inner_texts()[:3]) == ["better", "plain", "third"]
        assert key.nth(1).inner_text() == key.nth(3).inner_text()
        assert accessibility_faults(page) == []


@pytest.mark.sample(1, among="the site without scripts")
def test_without_a_script_everything_but_the_figure_is_there(browser: Browser, site: str) -> None:
    """Table, verdicts and the listening form."""
    with visitor(browser, site, java_script_enabled=False) as page:
        page.goto(f"/compare?{PAIR}&metric=pesq")
        expect(page.locator("#differences ~ .table-scroll tbody tr")).to_have_count(6)
        page.goto(f"/compare/listen?{PAIR}&seed=one")
        page.get_by_role("button", name="Show which was which").click()
        expect(page.locator("main")).to_contain_text("You chose nothing")
