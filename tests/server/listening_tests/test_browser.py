"""A question in Chromium: real sound, switched at the same position, by keys alone, on a phone too."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.testclient import TestClient
from support.server.listening import add_test, fair, take
from support.web.site import accessibility_faults, running_site, visitor, wait_until

from codec_superb.server.app import create_app
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.listening_tests.service import advance
from codec_superb.server.settings import Settings

PLAYER = "document.querySelector('.player').listening"
LOUDNESS = f"""() => {{
  const bins = new Float32Array({PLAYER}.analyser.fftSize);
  {PLAYER}.analyser.getFloatTimeDomainData(bins);
  return Math.sqrt(bins.reduce((sum, value) => sum + value * value, 0) / bins.length);
}}"""
ALL_AT_ONCE = f"""async () => {{
  const before = {PLAYER}.position();
  document.querySelectorAll('.play')[3].click();
  return [before, {PLAYER}.position(), {PLAYER}.chosen()];
}}"""

OTHERS = {"ab": ("Reference", "A", "B"), "abx": ("A", "B", "X"), "acr": ("A",), "dcr": ("Reference", "A")}
"""Sounds of a question by the kinds of tests that have no sliders."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """Serve a test of each kind of one clip, and a closed MUSHRA that two took; give the address, both MUSHRAs' ids."""
    settings = Settings(storage=tmp_path_factory.mktemp("site"), secret_key="x" * 40)
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        test = add_test(session, "mushra", clips=1, length=1.0, ask=["age"], instructions="Listen.\n\nThen rate.")
        closed = add_test(session, "mushra", clips=1)
        for kind in OTHERS:
            add_test(session, kind, clips=1, length=1.0)
    with TestClient(create_app(settings)) as client:
        for number in range(2):
            take(client, closed, fair(np.random.default_rng(number)))
    with database.transaction(write=True) as session:
        advance(session, closed, "closed", actor="tests")
    database.close()
    with running_site(settings) as address:
        yield address, test, closed


def sounds(page: Page) -> bool:
    """Whether something is heard right now."""
    return float(page.evaluate(LOUDNESS)) > 0.001


@pytest.mark.sample(1, among="a listening test in a browser")
def test_a_question_by_keys_alone(browser: Browser, site: tuple[str, str, str]) -> None:
    """The sound runs, switching keeps the position, silence follows a pause, and a whole answer is taken."""
    address, test, _ = site
    with visitor(browser, address, 390) as page:
        page.goto(f"/listening/{test}")
        assert accessibility_faults(page) == []
        page.get_by_role("button", name="Begin").click()
        expect(page.get_by_role("status")).to_have_text("Ready")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert accessibility_faults(page) == []
        page.keyboard.press("Space")
        expect(page.get_by_role("status")).to_have_text("Playing Reference")
        wait_until(page, f"{PLAYER}.context.state === 'running' && {PLAYER}.context.currentTime > 0.1")
        for _ in range(100):
            if sounds(page):
                break
        else:
            pytest.fail("nothing was heard")
        before, after, chosen = page.evaluate(ALL_AT_ONCE)
        assert chosen == 3
        assert (after - before) % 1.0 == pytest.approx(0, abs=0.03)  # the clip's second is a loop
        assert page.locator(".play[aria-pressed=true]").inner_text().split() == ["Play", "C", "3"]
        page.keyboard.press("Space")
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        wait_until(page, f"({LOUDNESS})() < 1e-6")
        for number in range(1, 7):
            page.keyboard.press(str(number))
            page.keyboard.press("ArrowRight")
        ratings = [field.input_value() for field in page.get_by_role("spinbutton").all()]
        assert ratings == ["51"] * 6
        assert page.locator(".slider").first.get_attribute("aria-valuetext") == "51, Fair"
        page.keyboard.press("0")  # all but the reference's second time were heard by now
        page.get_by_role("button", name="Keep and go on").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()


@pytest.mark.sample(1, among="a listening test in a browser")
def test_nobody_goes_on_without_hearing_and_rating(browser: Browser, site: tuple[str, str, str]) -> None:
    """A number left out is the browser's complaint, a sound not played the page's; loops keep to their ends."""
    address, test, _ = site
    with visitor(browser, address) as page:
        page.goto(f"/listening/{test}")
        page.get_by_role("button", name="Begin").click()
        expect(page.get_by_role("status")).to_have_text("Ready")
        page.get_by_role("button", name="Keep and go on").click()
        assert page.evaluate("document.querySelector('form.listening-question').checkValidity()") is False
        for field in page.get_by_role("spinbutton").all():
            field.fill("70")
        page.get_by_role("button", name="Keep and go on").click()
        expect(page.get_by_role("status")).to_have_text("Play Reference before you go on.")
        page.get_by_label("Rating of C", exact=True).fill("30")  # another slider: its sound is heard
        expect(page.get_by_role("status")).to_have_text("Playing C")
        page.get_by_label("Loop from").fill("300")
        wait_until(page, f"{PLAYER}.context.currentTime > 0.5")
        assert all(0.29 <= page.evaluate(f"{PLAYER}.position()") <= 1.01 for _ in range(20))


@pytest.mark.sample(1, among="other kinds of listening tests in a browser")
@pytest.mark.parametrize("kind", OTHERS)
def test_each_kind_is_heard_and_answered(browser: Browser, site: tuple[str, str, str], kind: str) -> None:
    """On a phone: each sound plays, nobody goes on without a choice and having heard all, and then does."""
    with visitor(browser, site[0], 390) as page:
        page.goto("/listening")
        page.get_by_role("link", name=f"A test by {kind.upper()}", exact=True).click()
        page.get_by_role("button", name="Begin").click()
        status, further = page.get_by_role("status"), page.get_by_role("button", name="Keep and go on")
        expect(status).to_have_text("Ready")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert accessibility_faults(page) == []
        further.click()
        assert page.evaluate("document.querySelector('form.listening-question').checkValidity()") is False
        page.locator("fieldset.card input[type=radio]").first.check()
        further.click()
        expect(status).to_have_text(f"Play {OTHERS[kind][0]} before you go on.")
        buttons = page.locator(".play")
        assert buttons.count() == len(OTHERS[kind])
        for label, button in zip(OTHERS[kind], buttons.all(), strict=True):
            button.click()
            expect(status).to_have_text(f"Playing {label}")
            wait_until(page, f"({LOUDNESS})() > 0.001")
        further.click()
        expect(page.locator("main")).to_contain_text(re.compile("Question 2 of|Thank you"))


@pytest.mark.sample(1, among="a listening test in a browser")
def test_list_and_results_on_a_phone_without_barriers(browser: Browser, site: tuple[str, str, str]) -> None:
    """Nothing beyond the edge, no fault of axe; the list leads to the results."""
    address, _, closed = site
    with visitor(browser, address, 390, scheme="dark") as page:
        page.goto("/listening")
        assert accessibility_faults(page) == []
        page.locator(f"a[href='/listening/{closed}/results']").click()
        expect(page.get_by_role("heading", name="Ratings")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert accessibility_faults(page) == []


@pytest.mark.sample(1, among="a listening test in a browser")
def test_a_question_without_scripts(browser: Browser, site: tuple[str, str, str]) -> None:
    """Plain players and numbers do."""
    address, test, _ = site
    with visitor(browser, address, java_script_enabled=False) as page:
        page.goto(f"/listening/{test}")
        page.get_by_role("button", name="Begin").click()
        assert page.locator("audio:visible").count() == 7
        assert page.locator(".player:visible, .slider:visible, .play:visible").count() == 0
        for field in page.get_by_role("spinbutton").all():
            field.fill("70")
        page.get_by_role("button", name="Keep and go on").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
