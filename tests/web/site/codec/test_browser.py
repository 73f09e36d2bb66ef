"""A codec's page in a real browser: charts, sounds, pictures, the keyboard, phones, and what axe-core says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.server.board import make_submission
from support.server.codec_page import packed, store
from support.web.site import accessibility_faults, running_site, visitor, wait_until

from codec_superb.server.app import create_app
from codec_superb.server.settings import Settings

PHONE, DESK, WALL = 390, 1280, 1920


@pytest.fixture(scope="module")
def codec_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a service with a codec in two versions, both partial, and two neighbours."""
    folder: Path = tmp_path_factory.mktemp("codec-site")
    settings = Settings(storage=folder / "storage", secret_key="x" * 40)
    app = create_app(settings)
    with running_site(settings, app) as address:
        with app.state.database.transaction(write=True) as session:
            store(session, settings.files, packed(folder / "a", clips=9, samples=0, expected=30))
            store(session, settings.files, packed(folder / "b", clips=12, samples=2, broken=(4,), expected=30))
            make_submission(session, "opus_20k", 20, 0.8)
            make_submission(session, "opus_12k", 12, 0.7)
        yield address


def scroll_through(page: Page) -> None:
    """Open everything and bring every chart into view once, as a reader does."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for part in page.locator("main .chart").all():
        part.scroll_into_view_if_needed()
    wait_until(page, "[...document.querySelectorAll('.chart')].every((chart) => chart.dataset.state === 'drawn')")


@pytest.mark.sample(1, among="pages fit")
def test_charts_are_drawn_and_follow_their_picker(browser: Browser, codec_site: str) -> None:
    """Every chart is drawn when it is seen; another metric gives another axis."""
    with visitor(browser, codec_site) as page:
        page.goto("/codecs/opus_16k")
        scroll_through(page)
        assert page.locator(".chart").count() == 6
        expect(page.locator("#speech-radar .angularaxistick text")).to_have_count(5)
        expect(page.locator("#speech-spread .xtitle")).to_contain_text("STFT distance")
        page.locator("#speech-metric").select_option(label="PESQ (MOS-LQO)")
        expect(page.locator("#speech-spread .xtitle")).to_contain_text("PESQ")


def test_sounds_play_and_pictures_appear(browser: Browser, codec_site: str) -> None:
    """The browser decodes both sounds, can jump within them, and loads the three pictures."""
    with visitor(browser, codec_site) as page:
        page.goto("/codecs/opus_16k#listen")
        page.locator(".listening summary").nth(1).click()
        page.locator(".listening").nth(1).scroll_into_view_if_needed()
        for number in range(4):
            length = page.evaluate(
                """(number) => new Promise((done, fail) => {
                    const audio = document.querySelectorAll("audio")[number];
                    audio.addEventListener("error", () => fail(new Error("cannot be played")));
                    audio.addEventListener("seeked", () => done(audio.duration));
                    audio.addEventListener("loadedmetadata", () => { audio.currentTime = 0.25; });
                    audio.load();
                    audio.preload = "auto";
                })""",
                number,
            )
            assert 0.4 < length < 0.7
        wait_until(page, "[...document.images].every((image) => image.complete && image.naturalHeight === 192)")
        assert page.locator(".spectrogram img").count() == 6


@pytest.mark.sample(1, among="the site without scripts")
def test_works_without_a_script(browser: Browser, codec_site: str) -> None:
    """Numbers, players, navigation and provenance need none; charts say that they do."""
    with visitor(browser, codec_site, java_script_enabled=False) as page:
        page.goto("/codecs/opus_16k")
        page.get_by_role("navigation", name="On this page").get_by_role("link", name="History").click()
        expect(page.locator("#history")).to_be_in_viewport()
        assert page.locator(".without-js").first.is_visible()
        assert not page.locator(".chart").first.is_visible()
        page.get_by_text("The radar in numbers").first.click()
        expect(page.locator("#speech-radar-table-caption")).to_be_visible()
        page.get_by_role("navigation", name="On this page").get_by_role("link", name="Provenance").click()
        page.get_by_text("Scoring of mini").click()
        expect(page.get_by_text("codec-superb score runs/opus_16k/mini").last).to_be_visible()


@pytest.mark.sample(1, among="pages fit")
@pytest.mark.sample(1)
@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "light"), (PHONE, "dark"), (DESK, "dark"), (WALL, "light")])
def test_fits_every_screen_and_axe_finds_nothing(browser: Browser, codec_site: str, width: int, scheme: str) -> None:
    """Closed it is short; nothing makes it wider than the screen, and no serious fault in either colours, all open."""
    with visitor(browser, codec_site, width=width, scheme=scheme) as page:
        page.goto("/codecs/opus_16k")
        assert page.evaluate("document.documentElement.scrollHeight") < 5000
        scroll_through(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert accessibility_faults(page) == []


def test_a_published_codec_and_an_unknown_one(browser: Browser, codec_site: str) -> None:
    """Figures of a paper are marked; an unknown name leads on to what is near."""
    with visitor(browser, codec_site, width=PHONE) as page:
        page.goto("/codecs/Mimi%20(8bit)")
        expect(page.get_by_role("heading", level=1)).to_have_text("Mimi (8bit)")
        expect(page.get_by_text("Nobody has submitted results")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
        assert accessibility_faults(page) == []
