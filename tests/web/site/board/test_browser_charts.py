"""Charts under the pointer: texts, ways to a codec's page, files; and columns that fit the screen."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from support.web.site import accessibility_faults, visitor

from codec_superb.web.theme import family_style

DRAWN = "[data-figure][data-state=drawn]"


def point_at(page: Page, chart: str, number: int = 0) -> None:
    """Move the pointer to the middle of a mark of a chart."""
    mark = page.locator(f"{chart} .points path").nth(number)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def saved(page: Page, chart: str, format_: str) -> tuple[str, bytes]:
    """Press a button that saves a chart; return name and content of the file."""
    with page.expect_download() as download:
        page.click(f"button[data-save={format_}][data-of={chart}]")
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


@pytest.mark.sample(1, among="the board in a browser")
def test_a_point_tells_and_leads_and_a_chart_is_a_file(browser: Browser, site: str) -> None:
    """Hovering and pressing break no rule of the policy; files open, in light colours, and say what they show."""
    with visitor(browser, site, scheme="dark") as page:
        page.goto("/charts?chart=rate")
        page.wait_for_selector(DRAWN)
        point_at(page, "#chart")
        expect(page.locator("#chart .hovertext")).to_be_visible()
        page.goto("/?category=music&metric=mel")
        page.wait_for_selector(DRAWN)
        name, svg = saved(page, "board-chart", "svg")
        assert re.fullmatch(r"codec-superb-music-mel-revision-\d+\.svg", name)
        drawing = ET.fromstring(svg)
        assert (drawing.get("width"), drawing.get("height")) == ("1000", "640")
        words = {"".join(part.itertext()) for part in drawing.iter("{http://www.w3.org/2000/svg}text")}
        assert {"opus", "mp3", "encodec", "Mel distance, lower is better (axis reversed)"} <= words
        red, green, blue = (int(family_style("opus").colour[at : at + 2], 16) for at in (1, 3, 5))
        assert f"rgb({red}, {green}, {blue})".encode() in svg
        name, png = saved(page, "board-chart", "png")
        assert name.endswith(".png")
        with Image.open(BytesIO(png)) as picture:
            assert picture.size == (2000, 1280)
            assert np.asarray(picture.convert("RGB"))[3, 3].min() > 240
        page.select_option("#metric", "score")
        expect(page.locator("#board-chart")).to_have_attribute("data-name", re.compile("music-score-revision"))
        expect(page.locator("#board-chart .ytitle")).to_contain_text("Overall score")
        point_at(page, "#board-chart", 2)
        expect(page.locator("#board-chart .hovertext")).to_be_visible()
        expect(page.locator("#board-chart")).to_have_class(re.compile("leads"))
        page.mouse.down()
        page.mouse.up()
        page.wait_for_url("**/codecs/*")
        page.wait_for_selector(f"#speech-radar{DRAWN}")
        page.locator("#speech-radar").scroll_into_view_if_needed()
        page.locator("#speech-radar .point").first.hover(force=True)
        assert saved(page, "speech-radar", "svg")[0].endswith("-speech-radar-version-1.svg")


@pytest.mark.sample(1, among="the board in a browser")
def test_charts_of_conditions_are_files(browser: Browser, site: str) -> None:
    """They carry title, light colours and letters themselves, whatever the page looks like."""
    with visitor(browser, site, scheme="dark") as page:
        page.goto("/conditions")
        chart = page.locator("svg.multiple").first.get_attribute("id")
        assert chart
        page.locator(f"#{chart}").scroll_into_view_if_needed()
        name, svg = saved(page, chart, "svg")
        assert name == f"codec-superb-{chart}.svg"
        drawing = ET.fromstring(svg)
        assert drawing.get("width") == "1000"
        words = ["".join(part.itertext()) for part in drawing.iter("{http://www.w3.org/2000/svg}text")]
        assert words[0] == page.locator(f"#{chart}").get_attribute("data-title")
        assert {"opus_6k", "clean", "5", "20"} <= set(words)
        family = family_style("opus").colour
        colours = {part.get("stroke") for part in drawing.iter("{http://www.w3.org/2000/svg}polyline")}
        assert colours & {family, f"rgb({', '.join(str(int(family[at : at + 2], 16)) for at in (1, 3, 5))})"}
        name, png = saved(page, chart, "png")
        with Image.open(BytesIO(png)) as picture:
            pixels = np.asarray(picture.convert("RGB"))
            assert picture.width == 2000
            assert pixels[3, 3].min() > 240
            own = np.array([int(family[at : at + 2], 16) for at in (1, 3, 5)])
            assert (np.abs(pixels.astype(int) - own).max(axis=2) < 3).sum() > 500  # its line is there


@pytest.mark.sample(1, among="the board in a browser")
def test_columns_fit_the_screen_and_are_chosen(browser: Browser, site: str) -> None:
    """By default nothing lies outside; a ticked column comes at any width, and stays in the address and for axe."""
    with visitor(browser, site, width=390) as page:
        for width, least in ((390, 3), (1280, 8), (1600, 8)):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto("/")
            region = page.locator(".board-table")
            assert region.evaluate("(region) => region.scrollWidth <= region.clientWidth")
            # the shadow of what lies outside, and what covers it where nothing does
            assert region.evaluate("(region) => getComputedStyle(region).backgroundImage").count("gradient") == 2
            shown = page.locator(".ranking thead th:visible")
            assert shown.count() >= least
            expect(page.locator(".ranking thead th[aria-sort]")).to_be_visible()
        page.set_viewport_size({"width": 390, "height": 900})
        page.click("#columns summary")
        page.check("#column-year")
        expect(page).to_have_url("/?columns=year")
        heads = [re.compile(head) for head in ("Codec", "Bitrate", "Score", "Year")]
        expect(page.locator(".ranking thead th:visible")).to_have_text(heads)
        expect(page.locator("#column-year")).to_be_focused()
        page.check("#only_columns")
        expect(page).to_have_url("/?columns=year&only_columns=1")
        page.set_viewport_size({"width": 1600, "height": 900})
        expect(page.locator(".ranking thead th:visible")).to_have_count(4)
        first = page.locator(".ranking tbody th").first
        assert first.evaluate("(cell) => getComputedStyle(cell).position") == "sticky"
        assert accessibility_faults(page) == []
        page.click("text=As many as fit")
        expect(page).to_have_url("/")
