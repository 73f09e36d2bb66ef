"""What visitors, submitters and moderators do, from the first page to the last, in a real browser."""

from __future__ import annotations

import base64
import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support.server.tour import CODECS, Tour, log_in, settle

BOARD = ".ranking tbody tr"
PLAYED = """async (audio) => {
  audio.muted = true;
  await audio.play();
  while (audio.currentTime === 0) await new Promise(requestAnimationFrame);
  return audio.duration;
}"""
DROPPED = """([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, { type: "application/zip" }));
  return transfer;
}"""
FOCUS_SHOWN = """document.activeElement === document.body
  || getComputedStyle(document.activeElement).outlineStyle !== 'none'"""
"""The body has it where Tab leaves the page."""


def names(page: Page) -> list[str]:
    """Names of the codecs in the order of the table."""
    return [text.split("\n")[-1].split(" · ")[0] for text in page.locator(f"{BOARD} th .who").all_inner_texts()]


def tab_to(page: Page, target: Locator, key: str = "Tab") -> None:
    """Press Tab until ``target`` has the focus, which is seen at every stop."""
    for _ in range(150):
        page.keyboard.press(key)
        assert page.evaluate(FOCUS_SHOWN), page.evaluate("document.activeElement.outerHTML")
        if target.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError(f"{target} is not reached by {key}")


def send_by_chooser(page: Page, file: Path, token: str = "") -> None:
    """Fill the upload form in and send it."""
    page.goto("/submit")
    page.get_by_label("API token").fill(token)
    page.get_by_label("Submission file").set_input_files(file)
    page.get_by_role("button", name="Send").click()


class TestUploading:
    """The page ``/submit``."""

    @pytest.mark.sample(1, among="uploads in a browser")
    def test_a_chosen_file_is_on_the_board_at_once(self, browser: Browser, tour: Tour, tmp_path: Path) -> None:
        """The page says what became of it and leads to it; the next look at the leaderboard shows it."""
        file = tour.files.named("chosen_3200", tmp_path)
        with tour.visit(browser) as page:
            page.goto("/?search=chosen")
            expect(page.locator(BOARD)).to_have_count(0)
            send_by_chooser(page, file, tour.submit)
            expect(page.get_by_role("heading", name="chosen_3200, version 1: self-reported")).to_be_visible()
            expect(page.locator("#outcome")).to_be_focused()
            page.goto("/?search=chosen")
            expect(page.locator(BOARD)).to_have_count(1)

    @pytest.mark.sample(1, among="uploads in a browser")
    def test_a_dropped_file_is_taken_too(self, browser: Browser, tour: Tour, tmp_path: Path) -> None:
        """Dropped on the field it stands in the form; sent twice it is recognised."""
        file = tour.files.named("dropped_3200", tmp_path)
        with tour.visit(browser) as page:
            page.goto("/submit")
            page.get_by_label("API token").fill(tour.submit)
            content = base64.b64encode(file.read_bytes()).decode()
            transfer = page.evaluate_handle(DROPPED, [file.name, content])
            page.dispatch_event("[data-drop]", "dragover", {"dataTransfer": transfer})
            page.dispatch_event("[data-drop]", "drop", {"dataTransfer": transfer})
            page.get_by_role("button", name="Send").click()
            expect(page.get_by_role("heading", name="dropped_3200, version 1: self-reported")).to_be_visible()
            page.get_by_role("button", name="Send").click()
            expect(page.locator("#outcome")).to_contain_text("very file was sent before; nothing has changed")
            page.get_by_role("link", name="See the submission").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Dropped 3200, version 1")

    @pytest.mark.sample(1, among="uploads in a browser")
    def test_a_refusal_is_read_in_words(self, browser: Browser, tour: Tour, tmp_path: Path) -> None:
        """The place, both numbers, and what to do; nothing of it on the board."""
        with tour.visit(browser, expected="status of 422") as page:
            send_by_chooser(page, tour.files.wrong(tmp_path), tour.submit)
            refusal = page.get_by_role("alert")
            expect(refusal).to_contain_text("Not accepted")
            problem = refusal.locator("li")
            expect(problem).to_have_count(1)
            expect(problem).to_contain_text("aggregates.datasets.0.metrics.mel.mean")
            found = re.findall(r"\d+\.\d{4,}", problem.inner_text())
            assert float(found[0]) == pytest.approx(2 * float(found[1]))
            expect(problem).to_contain_text("numbers are not edited by hand")

    def test_a_wrong_token_is_named(self, browser: Browser, tour: Tour) -> None:
        """The page stays, with the reason, and the file still chosen."""
        with tour.visit(browser, expected="status of 401") as page:
            send_by_chooser(page, tour.files.later, "cs_wrong")
            expect(page.get_by_role("alert")).to_contain_text("token")
            assert page.evaluate("document.getElementById('file').files.length") == 1


class TestBrowsing:
    """From the leaderboard to a codec, a comparison and a listening test."""

    @pytest.mark.sample(1, among="the site as visitors walk it")
    def test_filters_and_order_are_in_the_address(self, browser: Browser, tour: Tour) -> None:
        """What one visitor has chosen another gets by the address; the back button goes step by step."""
        with tour.visit(browser) as page, tour.visit(browser) as other:
            page.goto("/")
            page.get_by_text("More filters").click()
            page.get_by_label("Highest bitrate").fill("20")
            page.keyboard.press("Enter")
            expect(page).to_have_url("/?kbps_max=20")
            page.get_by_label("causal", exact=True).check()
            expect(page).to_have_url("/?kbps_max=20&causal=1")
            page.get_by_role("link", name="Bitrate").click()
            expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
            chosen = names(page)
            assert "codec2_0_7k" in chosen
            assert "mp3_128k" not in chosen
            other.goto(page.url)
            assert names(other) == chosen
            page.go_back()
            expect(page).to_have_url("/?kbps_max=20&causal=1")
            page.go_back()
            page.go_back()
            expect(page.get_by_label("Highest bitrate")).to_have_value("")
            expect(page.locator(BOARD, has_text="mp3_128k")).to_have_count(1)

    def test_the_file_has_the_rows_that_are_shown(self, browser: Browser, tour: Tour) -> None:
        """The CSV of a search, in the order of the table."""
        with tour.visit(browser) as page:
            page.goto("/?search=lc3&sort=kbps")
            with page.expect_download() as saved:
                page.get_by_role("link", name="CSV").click()
            lines = saved.value.path().read_text().splitlines()
            rows = csv.DictReader(io.StringIO("\n".join(line for line in lines if not line.startswith("#"))))
            assert [row["codec"] for row in rows] == names(page) == ["lc3_16k", "lc3_24k", "lc3_32k"]

    @pytest.mark.sample(1, among="the site as visitors walk it")
    def test_published_figures_stay_apart(self, browser: Browser, tour: Tour) -> None:
        """Another source is another table, marked as such, until the visitor asks for all."""
        with tour.visit(browser) as page:
            page.goto("/")
            page.get_by_label("Results from").select_option(value="table3")
            expect(page).to_have_url("/?source=table3")
            expect(page.locator(BOARD, has_text="opus_16k")).to_have_count(0)
            expect(page.locator(".source-words")).to_contain_text("not re-run here")
            page.get_by_label("Results from").select_option(value="all")
            expect(page.locator(BOARD, has_text="opus_16k")).to_have_count(1)

    @pytest.mark.sample(1, among="the site as visitors walk it")
    def test_from_a_row_to_its_sound(self, browser: Browser, tour: Tour) -> None:
        """The codec's page draws its charts; a sample plays."""
        with tour.visit(browser) as page:
            page.goto("/?search=opus")
            page.get_by_role("link", name="Opus 16 kbps").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Opus 16 kbps")
            settle(page)
            assert 0.4 < page.locator("main audio").first.evaluate(PLAYED) < 2

    @pytest.mark.sample(1, among="comparing in a browser")
    def test_comparing_and_listening_blind(self, browser: Browser, tour: Tour) -> None:
        """Three codecs ticked on the board, compared, listened to, and the key at the end."""
        with tour.visit(browser) as page:
            page.goto("/")
            for codec in CODECS:
                page.check(f".choose input[value={codec}]")
            page.get_by_role("button", name="Compare 3 codecs").click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("Opus 16 kbps")
            settle(page)
            page.get_by_role("link", name="Start a blind listening test").click()
            assert page.get_by_label("Version X1").first.evaluate(PLAYED) > 0
            page.get_by_role("radio", name="X2").first.check()
            assert not any(name in page.locator("form").last.inner_text() for name in CODECS)
            page.get_by_role("button", name="Show which was which").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Which was which")
            expect(page.locator("main")).to_contain_text("You answered 1 of 4 clips")

    @pytest.mark.sample(1, among="the site as visitors walk it")
    def test_colours_follow_over_all_pages(self, browser: Browser, tour: Tour) -> None:
        """Switched once, every page comes in that colour."""
        with tour.visit(browser) as page:
            page.goto("/about")
            page.locator("[data-theme-switch]").click()
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
            for path in ("/", "/codecs/opus_16k", "/submit", "/charts", "/login"):
                page.goto(path)
                assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark, path


class TestKeyboard:
    """No mouse."""

    @pytest.mark.sample(1, among="comparing in a browser")
    def test_from_the_board_to_the_key_of_a_listening_test(self, browser: Browser, tour: Tour) -> None:
        """Skip link, boxes, buttons, links and choices, with the focus in sight at every step."""
        with tour.visit(browser) as page:
            page.goto("/?search=opus_")
            page.keyboard.press("Tab")
            expect(page.locator(".skip")).to_be_focused()
            page.keyboard.press("Enter")
            for codec in CODECS[:2]:
                tab_to(page, page.locator(f".choose input[value={codec}]"))
                page.keyboard.press("Space")
            tab_to(page, page.locator("#compare-button"), "Shift+Tab")
            page.keyboard.press("Enter")
            page.wait_for_url("**/compare?*")
            tab_to(page, page.get_by_role("link", name="Start a blind listening test"))
            page.keyboard.press("Enter")
            page.wait_for_url("**/compare/listen?*")
            tab_to(page, page.get_by_role("radio", name="X1").first)
            page.keyboard.press("Space")
            page.keyboard.press("ArrowDown")
            expect(page.get_by_role("radio", name="X2").first).to_be_checked()
            tab_to(page, page.get_by_role("button", name="Show which was which"))
            page.keyboard.press("Enter")
            expect(page.get_by_role("heading", level=1)).to_have_text("Which was which")

    @pytest.mark.sample(1, among="uploads in a browser")
    def test_uploading(self, browser: Browser, tour: Tour, tmp_path: Path) -> None:
        """Token typed, file chosen with Space, sent with Enter, and the focus on the answer."""
        file = tour.files.named("typed_3200", tmp_path)
        with tour.visit(browser) as page:
            # Choosers are caught from here on: asked for just before the key, a busy browser may open one uncaught.
            page.on("filechooser", lambda _: None)
            page.goto("/submit")
            tab_to(page, page.get_by_label("API token"))
            page.keyboard.type(tour.submit)
            tab_to(page, page.get_by_label("Submission file"))
            with page.expect_file_chooser() as chooser:
                page.keyboard.press("Space")
            chooser.value.set_files(file)
            tab_to(page, page.get_by_role("button", name="Send"))
            page.keyboard.press("Enter")
            expect(page.get_by_role("heading", name="typed_3200, version 1: self-reported")).to_be_visible()
            expect(page.locator("#outcome")).to_be_focused()


class TestModerating:
    """The queue."""

    @pytest.mark.sample(1, among="uploads in a browser")
    def test_one_is_accepted_and_another_rejected(self, browser: Browser, tour: Tour, tmp_path: Path) -> None:
        """Two uploads of strangers: one comes onto the board, of the other the history keeps the reason."""
        good = tour.send(tour.files.named("stranger_3200", tmp_path))
        bad = tour.send(tour.files.named("doubtful_3200", tmp_path))
        with tour.visit(browser) as page:
            page.goto("/?search=_3200")
            assert not {"stranger_3200", "doubtful_3200"} & set(names(page))
            log_in(page, tour.moderate)
            page.get_by_role("link", name="stranger_3200").click()
            expect(page.get_by_role("heading", name="Results, computed here")).to_be_visible()
            page.get_by_role("button", name="Accept").click()
            expect(page.locator("h1 .badge")).to_have_text("self-reported")
            page.goto(f"/moderation/{bad['id']}")
            page.get_by_label("Reason").fill("Bitrate without its side information.")
            page.get_by_role("button", name="Reject").click()
            expect(page.locator("h1 .badge")).to_have_text("withdrawn")
            page.goto("/moderation")
            expect(page.locator("main")).to_contain_text("Bitrate without its side information.")
            page.locator(".account summary").click()
            page.get_by_role("button", name="Log out").click()
            page.goto("/?search=_3200")
            assert "stranger_3200" in names(page)
            assert "doubtful_3200" not in names(page)
            page.goto(f"/submissions/{good['id']}")
            expect(page.get_by_role("heading", level=1)).to_contain_text("version 1")

    @pytest.mark.sample(1, among="the site as visitors walk it")
    def test_a_rejection_needs_a_reason(self, browser: Browser, tour: Tour, tmp_path: Path) -> None:
        """Without one the answer says so, and the submission waits on."""
        waiting = tour.send(tour.files.named("waiting_3200", tmp_path))
        with tour.visit(browser, expected="status of 400") as page:
            log_in(page, tour.moderate)
            page.goto(f"/moderation/{waiting['id']}")
            page.get_by_role("button", name="Reject").click()
            expect(page.locator("main")).to_contain_text("reason")
            page.goto(f"/moderation/{waiting['id']}")
            expect(page.locator("h1 .badge")).to_have_text("pending")
