"""The upload page in a real browser: choose or drop a file, read the answer, with the site's own policy in force."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.server.ingest import categories, drawn, register, token_of
from support.server.serving import Served, served

from codec_superb.server.database.session import Database

DROP = """
(target, [name, data]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const dropped = new DataTransfer();
  dropped.items.add(new File([bytes], name, { type: "application/zip" }));
  for (const kind of ["dragenter", "dragover", "drop"])
    target.dispatchEvent(new DragEvent(kind, { dataTransfer: dropped, bubbles: true, cancelable: true }));
}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """Serve a leaderboard that knows the drawn dataset; give a token for it."""
    storage = tmp_path_factory.mktemp("storage")
    with served("--storage", str(storage)) as service:
        database = Database(f"sqlite:///{storage / 'leaderboard.sqlite'}")
        register(database, "mini", categories())
        token = token_of(database, "ann")
        database.close()
        yield service, token


@pytest.fixture
def page(browser: Browser, site: tuple[Served, str]) -> Iterator[Page]:
    """Open the upload page; whatever the console complains of fails the test, but refusals, which it lists too."""
    opened = browser.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    opened.goto(f"{site[0].url}/submit")
    yield opened
    opened.close()
    assert [text for text in complaints if "status of 4" not in text] == []


@pytest.mark.sample(1, among="uploads in a browser")
def test_a_file_is_sent_and_its_page_followed(page: Page, site: tuple[Served, str], tmp_path: Path) -> None:
    """Token, file, button: the answer links to the submission, which shows its results."""
    file = tmp_path / "browser_16k.zip"
    file.write_bytes(drawn("browser_16k"))
    page.get_by_label("API token").fill(site[1])
    page.get_by_label("Submission file").set_input_files(file)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="browser_16k, version 1: self-reported")).to_be_visible()
    expect(page.locator("#outcome")).to_be_focused()
    page.get_by_role("link", name="See the submission").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("version 1")
    expect(page.get_by_role("rowheader", name="speech").first).to_be_visible()


@pytest.mark.sample(1, among="uploads in a browser")
def test_a_dropped_file_with_a_problem_is_refused_in_words(page: Page, site: tuple[Served, str]) -> None:
    """The list says where, what was expected, what came and what to do; markup in the file stays text."""
    data = base64.b64encode(b"<img src=x onerror=alert(1)> is no zip file").decode()
    page.locator("[data-drop]").evaluate(DROP, ["bad.zip", data])
    page.get_by_label("API token").fill(site[1])
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Not accepted")).to_be_visible()
    expect(page.get_by_role("alert").get_by_role("listitem")).to_contain_text(["zip: expected a submission"])


@pytest.mark.sample(1, among="uploads in a browser")
def test_a_wrong_token_is_told(page: Page, tmp_path: Path) -> None:
    """Without leaving the page, so that nothing must be chosen again."""
    file = tmp_path / "a.zip"
    file.write_bytes(b"x")
    page.get_by_label("API token").fill("wrong")
    page.get_by_label("Submission file").set_input_files(file)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("expected a valid API token")
