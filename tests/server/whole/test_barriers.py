"""Every page as it looks: nobody is kept out, nothing sticks out, nothing complains, and it works without scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.profile import some
from support.server.tour import CODECS, Tour, log_in, pages_of, settle
from support.web.site import accessibility_faults

PHONE, DESK, WALL = 390, 1280, 1920


def judge(page: Page, name: str) -> list[str]:
    """Expect that nothing is wider than the window; list what axe-core finds serious, with the page's name."""
    settle(page)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    faults = [f"{name}: {fault}" for fault in accessibility_faults(page)]
    return faults if wide <= 0 else [*faults, f"{name}: {wide} px wider than the window"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (PHONE, "dark"),
        pytest.param(DESK, "light", marks=pytest.mark.slow),
        pytest.param(PHONE, "light", marks=pytest.mark.slow),
        pytest.param(DESK, "dark", marks=pytest.mark.slow),
        pytest.param(WALL, "light", marks=pytest.mark.slow),
    ],
)
class TestEveryPage:
    """On a phone and on a desk, by day and by night."""

    @pytest.mark.sample(1, among="pages without barriers")
    def test_of_visitors(self, browser: Browser, tour: Tour, width: int, scheme: str) -> None:
        """No serious or critical fault of axe-core, no sideways scrolling, silence on the console.

        In short the board and two of the others: each costs more than a second, most of it axe-core's.
        """
        pages = pages_of(tour)
        with tour.visit(browser, width, scheme) as page:
            faults = []
            for name in dict.fromkeys(["board", *some(pages, 2)]):
                answer = page.goto(pages[name])
                assert answer is not None
                assert answer.ok, (name, answer.status)
                faults += judge(page, name)
            assert not faults, "\n".join(faults)

    @pytest.mark.sample(1, among="pages without barriers")
    def test_of_moderators(self, browser: Browser, tour: Tour, width: int, scheme: str) -> None:
        """The queue, a submission that waits, the audit log, and the board with a session."""
        with tour.visit(browser, width, scheme) as page:
            log_in(page, tour.moderate)
            faults = judge(page, "queue")
            for path in (f"/moderation/{tour.pending}", "/moderation/audit", "/", "/codecs/opus_16k"):
                page.goto(path)
                faults += judge(page, path)
            assert not faults, "\n".join(faults)

    @pytest.mark.sample(1, among="pages without barriers")
    def test_of_trouble(self, browser: Browser, tour: Tour, tmp_path: Path, width: int, scheme: str) -> None:
        """A refusal, an address where nothing is, codecs that are not there, the key of a listening test."""
        with tour.visit(browser, width, scheme, expected="Failed to load resource") as page:
            page.goto("/submit")
            page.get_by_label("API token").fill(tour.submit)
            page.get_by_label("Submission file").set_input_files(tour.files.wrong(tmp_path))
            page.get_by_role("button", name="Send").click()
            expect(page.get_by_role("alert")).to_be_visible()
            faults = judge(page, "refusal")
            for path in ("/nothing", "/codecs/opus_16", "/compare?codec=opus_16k&codec=nobody", "/?metric=nonsense"):
                page.goto(path)
                faults += judge(page, path)
            page.goto(pages_of(tour)["listen"])
            page.get_by_role("button", name="Show which was which").click()
            faults += judge(page, "key")
            assert not faults, "\n".join(faults)


@pytest.mark.sample(1, among="the site without scripts")
class TestWithoutScripts:
    """The same site for a browser that runs none."""

    def test_every_page_has_its_content(self, browser: Browser, tour: Tour) -> None:
        """One heading, text below it, no place left for a chart, and nothing that waits for a script."""
        pages = pages_of(tour)
        with tour.visit(browser, java_script_enabled=False) as page:
            for name in some(pages, 2):
                page.goto(pages[name])
                expect(page.locator("h1")).to_have_count(1)
                assert len(page.locator("main").inner_text()) > 120, name
                assert page.locator("[data-figure]:visible").count() == 0, name
                assert page.get_by_text("Loading").count() == 0, name

    def test_choosing_what_to_see(self, browser: Browser, tour: Tour) -> None:
        """Filters, headings, boxes, pickers of charts: forms and links."""
        with tour.visit(browser, java_script_enabled=False) as page:
            page.goto("/")
            page.get_by_label("Find a codec").fill("opus_")
            page.get_by_role("button", name="Apply").click()
            expect(page).to_have_url("/?search=opus_")
            for codec in CODECS[:2]:
                page.check(f".choose input[value={codec}]")
            page.locator("#compare-button").click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("Opus 16 kbps")
            page.goto("/charts?chart=rate")
            page.get_by_label("Category").select_option(value="audio")
            page.get_by_role("button", name="Show").click()
            page.wait_for_url("**category=audio**")
            expect(page.locator("table tbody tr").first).to_be_visible()

    def test_uploading_well_and_badly(self, browser: Browser, tour: Tour, tmp_path: Path) -> None:
        """The form answers with a page that says what became of the file."""
        with tour.visit(browser, java_script_enabled=False, expected="status of 422") as page:
            for file, said in (
                (tour.files.wrong(tmp_path), "numbers are not edited by hand"),
                (tour.files.named("plain_3200", tmp_path), "plain_3200, version 1: self-reported"),
            ):
                page.goto("/submit")
                page.get_by_label("API token").fill(tour.submit)
                page.get_by_label("Submission file").set_input_files(file)
                page.get_by_role("button", name="Send").click()
                expect(page.locator("#outcome")).to_contain_text(said)
            page.get_by_role("link", name="See the submission").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Plain 3200, version 1")

    def test_moderating(self, browser: Browser, tour: Tour, tmp_path: Path) -> None:
        """Log in, accept, log out."""
        waiting = tour.send(tour.files.named("quiet_3200", tmp_path))
        with tour.visit(browser, java_script_enabled=False) as page:
            log_in(page, tour.moderate)
            page.get_by_role("link", name="quiet_3200").click()
            page.get_by_role("button", name="Accept").click()
            expect(page.locator("h1 .badge")).to_have_text("self-reported")
            page.locator(".account summary").click()
            page.get_by_role("button", name="Log out").click()
            page.goto(f"/submissions/{waiting['id']}")
            expect(page.locator("main")).to_contain_text("Self-reported by anonymous")
