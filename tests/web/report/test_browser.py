"""The page in a real browser, opened from disk without a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.web.report import make_report

from codec_superb.web.theme import DARK, LIGHT, family_styles

pytestmark = pytest.mark.sample(1, among="the report in a browser")
Opener = Callable[..., Page]

# Text whose contrast with the background behind it is below WCAG AA's 4.5 : 1.
LOW_CONTRAST = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = channels(colour).slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const opaque = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if ((channels(colour)[3] ?? 1) === 1) return colour;
    }
    throw new Error("no background");
  };
  const found = [];
  let looked = 0;
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || ["SCRIPT", "OPTION"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(colour), light(opaque(element))].sort((x, y) => y - x);
    looked += 1;
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push([element.outerHTML.slice(0, 80), colour, opaque(element)]);
  }
  return { looked, found };
}"""

# The chart's own data, as Plotly holds them.
FAMILY_TRACE = """(name) => {
  const trace = document.querySelector("#speech [data-chart=rate]").data.find((each) => each.name === name);
  return { x: trace.x, y: trace.y, colour: trace.line.color, visible: trace.visible };
}"""


def panel(page: Page, category: str) -> Locator:
    """Find the panel of a category."""
    return page.locator(f"#{category}")


def column(page: Page, number: int) -> list[str]:
    """Read a column of the first ranking table."""
    return page.locator(f"#speech .ranking tbody tr > :nth-child({number})").evaluate_all(
        "cells => cells.map(cell => cell.dataset.sort)"
    )


def test_draws_charts_and_table(open_page: Opener, report_file: Path) -> None:
    """Three charts of the first category are drawn, every codec is in chart and table, and nothing moves meanwhile."""
    page = open_page(report_file)
    expect(page.locator("#speech .js-plotly-plot")).to_have_count(3)
    expect(page.locator("#speech .ranking tbody tr")).to_have_count(14)
    drawn = page.evaluate(
        "() => document.querySelector('#speech [data-chart=rate]').data"
        ".filter(t => ['family', 'ceiling'].includes(t.meta.role)).flatMap(t => t.x).length"
    )
    assert drawn == 14
    page.wait_for_selector("#speech [data-chart=scatter] .point")
    shift = page.evaluate(
        """() => new Promise((done) => {
          let total = 0;
          new PerformanceObserver((list) => list.getEntries().forEach((entry) => (total += entry.value)))
            .observe({ type: "layout-shift", buffered: true });
          setTimeout(() => done(total), 300);
        })"""
    )
    assert shift < 0.01


def test_tabs_switch_the_category(open_page: Opener, report_file: Path) -> None:
    """Pressing a tab shows its panel, draws its charts and hides the others; the address remembers it."""
    page = open_page(report_file)
    page.click("#tab-music")
    expect(panel(page, "music")).to_be_visible()
    expect(panel(page, "speech")).to_be_hidden()
    expect(page.locator("#music [data-chart=scatter] .point").first).to_be_attached()
    assert page.url.endswith("#music")
    page.reload()
    expect(panel(page, "music")).to_be_visible()


def test_tabs_work_from_the_keyboard(open_page: Opener, report_file: Path) -> None:
    """One stop for the tab key; arrows, Home and End move between the tabs and wrap around."""
    page = open_page(report_file)
    page.focus("#tab-speech")
    keys = ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "Home", "End")
    panels = ("audio", "music", "applications", "speech", "applications", "music", "speech", "applications")
    for key, category in zip(keys, panels, strict=True):
        page.keyboard.press(key)
        expect(page.locator(f"#tab-{category}")).to_be_focused()
        expect(page.locator(f"#tab-{category}")).to_have_attribute("aria-selected", "true")
        expect(panel(page, category)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator("#applications-rate-metric")).to_be_focused()
    assert page.locator('[role="tab"][tabindex="0"]').count() == 1


def test_applications_have_a_tab_with_chart_and_tables(open_page: Opener, report_file: Path) -> None:
    """The chart has a line at the ceiling and follows its picker; sorting leaves the original sound on top."""
    page = open_page(report_file)
    page.click("#tab-applications")
    expect(page.locator("#applications .js-plotly-plot")).to_have_count(1)
    chart = page.locator("#applications [data-chart=rate]")
    ceiling = "chart => chart.layout.shapes.map(shape => shape.y0)"
    assert chart.evaluate(ceiling) == [4]
    page.select_option("#applications-rate-metric", label="Speaker similarity (%) – mini, resemblyzer")
    assert chart.evaluate(ceiling) == [100]
    page.get_by_role("button", name="Opus", exact=True).click()
    hidden = (
        "() => document.querySelector('#applications [data-chart=rate]').data.filter(t => t.visible === false).length"
    )
    assert page.evaluate(hidden) > 0
    table = page.locator("#applications .ranking").first
    table.locator("th", has_text="Speaker similarity").get_by_role("button").click()
    similarities = table.locator("tbody tr > :last-child").evaluate_all(
        "cells => cells.map(c => Number(c.dataset.sort))"
    )
    assert similarities == sorted(similarities, reverse=True)
    expect(table.locator("tr").nth(1)).to_contain_text("Original sound")


def test_headings_sort_the_table(open_page: Opener, report_file: Path) -> None:
    """A press puts the best first, a second turns round, the heading says so; missing values are last, names words."""
    page = open_page(report_file)
    heading = page.locator("#speech .ranking thead th", has_text="Mel distance")
    number = heading.evaluate("cell => cell.cellIndex") + 1
    button = heading.get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    values = [float(value) for value in column(page, number)]
    assert values == sorted(values)
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert [float(value) for value in column(page, number)] == values[::-1]
    assert page.locator("#speech .ranking [aria-sort]").count() == 1
    tokens = page.locator("#speech .ranking thead th", has_text="TPS")
    tokens.get_by_role("button").click()
    shown = column(page, tokens.evaluate("cell => cell.cellIndex") + 1)
    assert shown == ["150.0", "600.0", *[""] * 12]
    page.locator("#speech .ranking thead th").first.get_by_role("button").click()
    names = column(page, 1)
    assert names[0] == "amr-nb 12.2"
    assert names == sorted(names)


def test_metric_pickers_change_their_charts(open_page: Opener, report_file: Path) -> None:
    """Choosing a distance draws its values on a reversed axis; the boxes have a picker of their own."""
    page = open_page(report_file)
    before = page.evaluate(FAMILY_TRACE, "Opus")
    page.select_option("#speech-rate-metric", "mel")
    after = page.evaluate(FAMILY_TRACE, "Opus")
    assert after["x"] == before["x"]
    assert after["y"] != before["y"]
    axis = page.evaluate("() => document.querySelector('#speech [data-chart=rate]').layout.yaxis")
    assert axis["range"][0] > axis["range"][1]
    assert "lower is better" in axis["title"]["text"]
    read = "() => document.querySelector('#speech [data-chart=spread]').data[0].median"
    boxes = page.evaluate(read)
    page.select_option("#speech-spread-metric", "stoi")
    assert page.evaluate(read) != boxes


def test_charts_take_tokens_as_their_axis(open_page: Opener, report_file: Path) -> None:
    """Of scores and of applications, with codecs of tokens alone."""
    page = open_page(report_file)
    for panel_name, places in (("speech", {150.0, 600.0}), ("applications", None)):
        page.click(f"#tab-{panel_name}")
        page.select_option(f"#{panel_name}-rate-across", "tokens")
        chart = page.locator(f"#{panel_name} [data-chart=rate]")
        drawn = chart.evaluate("chart => [chart.layout.xaxis.title.text, chart.data.flatMap(trace => trace.x)]")
        assert drawn[0] == "Tokens per second (logarithmic)"
        assert places is None or set(drawn[1]) == places


def test_families_can_be_hidden(open_page: Opener, report_file: Path) -> None:
    """The legend's buttons hide and show a family, also after another metric was chosen."""
    page = open_page(report_file)
    button = page.locator("#speech .legend").get_by_role("button", name="Opus")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    page.select_option("#speech-rate-metric", "pesq")
    assert page.evaluate(FAMILY_TRACE, "Opus")["visible"] is False
    assert page.evaluate(FAMILY_TRACE, "MP3")["visible"] is True
    button.click()
    assert page.evaluate(FAMILY_TRACE, "Opus")["visible"] is True


def test_pointing_at_a_family_fades_the_others(open_page: Opener, report_file: Path) -> None:
    """Among many lines one family is brought out by pointer or focus, and all are equal again afterwards."""
    page = open_page(report_file)
    read = (
        "() => Object.fromEntries(document.querySelector('#speech [data-chart=rate]').data"
        ".filter(t => t.meta.role === 'family').map(t => [t.name, t.opacity]))"
    )
    page.locator("#speech .legend").get_by_role("button", name="Opus").hover()
    shown = page.evaluate(read)
    assert shown.pop("Opus") == 1
    assert set(shown.values()) == {0.12}
    page.hover("h1")
    assert set(page.evaluate(read).values()) == {1}
    page.locator("#speech .legend").get_by_role("button", name="MP3").focus()
    shown = page.evaluate(read)
    assert (shown["MP3"], shown["Opus"]) == (1, 0.12)


def test_scatter_begins_as_it_was_built(open_page: Opener, report_file: Path) -> None:
    """The script's own figure of the first choices equals the one that Python built."""
    page = open_page(report_file)
    drawn, built = page.evaluate(
        """async () => [
          document.querySelector("#speech [data-chart=scatter]"),
          JSON.parse(await new Response(new Blob([Uint8Array.from(
            atob(document.getElementById("report-data").textContent), (letter) => letter.charCodeAt(0),
          )]).stream().pipeThrough(new DecompressionStream("deflate"))).text()).panels.speech.scatter,
        ].map(({ data, layout }) => data.map(({ x, y, customdata, hovertext }) => ({ x, y, customdata, hovertext }))
          .concat([layout.xaxis, layout.yaxis].map((axis) => axis.title.text)))"""
    )
    for mine, theirs in zip(drawn, built, strict=True):
        if isinstance(mine, str):
            assert mine == theirs
            continue
        assert mine.get("customdata") == theirs.get("customdata")
        assert mine.get("hovertext") == theirs.get("hovertext")
        for axis in "xy":
            assert all(abs(a - b) < 1e-4 for a, b in zip(mine[axis], theirs[axis], strict=True))


def test_scatter_follows_its_pickers(open_page: Opener, report_file: Path) -> None:
    """Another metric on one axis takes away the diagonal and names both axes."""
    page = open_page(report_file)
    page.select_option("#speech-x-metric", "mel")
    page.select_option("#speech-x-codec", label="Opus 6")
    figure = page.evaluate(
        "() => { const { data, layout } = document.querySelector('#speech [data-chart=scatter]');"
        " const [low, high] = layout.xaxis.range;"
        " return [data[0].x, layout.xaxis.title.text, low > high, data[1].x.length] }"
    )
    assert figure == [[], "Opus 6: Mel distance, lower is better (axis reversed)", True, 9]


def test_pressing_a_dot_selects_the_clip_and_its_sound(open_page: Opener, report_file: Path) -> None:
    """A press on a diamond names the clip, rings it, and offers reference and both codecs to the ear."""
    page = open_page(report_file)
    dot = page.locator("#speech [data-chart=scatter] .trace").nth(2).locator(".point").first
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#speech [data-chart=scatter] .hovertext")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    chosen = page.locator("#speech [data-selected]")
    expect(chosen.locator("audio")).to_have_count(3)
    expect(chosen).to_contain_text("speech/clip_0")
    assert len(page.evaluate("() => document.querySelector('#speech [data-chart=scatter]').data[3].x")) == 1


def test_a_clip_can_be_chosen_by_name(open_page: Opener, report_file: Path) -> None:
    """Without a mouse a clip is found in the list; an undefined value is called so."""
    page = open_page(report_file)
    page.select_option("#speech-clip", label="speech/clip_003")
    expect(page.locator("#speech [data-selected]")).to_contain_text("undefined")
    page.select_option("#speech-clip", "")
    expect(page.locator("#speech [data-selected]")).to_be_empty()


def test_sounds_play_one_at_a_time(open_page: Opener, report_file: Path) -> None:
    """A real Ogg Opus inside the page plays from the keyboard, and starting another stops it."""
    page = open_page(report_file)
    first, second = (page.locator("#speech .listening audio").nth(index) for index in (0, 3))
    first.focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('#speech .listening audio').currentTime > 0.02")
    assert first.evaluate("audio => audio.readyState") >= 2
    assert abs(first.evaluate("audio => audio.duration") - 0.5) < 0.05
    first.evaluate("audio => { audio.loop = true; return audio.play() }")
    second.focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelectorAll('#speech .listening audio')[3].currentTime > 0.02")
    assert first.evaluate("audio => audio.paused")


def test_dark_scheme_recolours_page_and_charts(open_page: Opener, report_file: Path) -> None:
    """A dark browser gets dark paper and bright lines, and a change while the page is open is followed."""
    page = open_page(report_file, color_scheme="dark")
    red, green, blue = (int(DARK.paper[i : i + 2], 16) for i in (1, 3, 5))
    paper = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == f"rgb({red}, {green}, {blue})"
    index = family_styles(row.family for row in make_report(12).results)["Opus"].colour_index
    assert page.evaluate(FAMILY_TRACE, "Opus")["colour"] == DARK.families[index]
    page.emulate_media(color_scheme="light")
    page.wait_for_function(
        "(colour) => document.querySelector('#speech [data-chart=rate]').data.some(t => t.line?.color === colour)",
        arg=LIGHT.families[index],
    )
    page.emulate_media(color_scheme="dark", media="print")
    red, green, blue = (int(LIGHT.paper[i : i + 2], 16) for i in (1, 3, 5))
    assert page.evaluate(paper) == f"rgb({red}, {green}, {blue})"


def test_text_has_contrast_in_both_schemes(open_page: Opener, report_file: Path) -> None:
    """All visible text, also in the charts, reaches 4.5 : 1."""
    for scheme in ("light", "dark"):
        page = open_page(report_file, color_scheme=scheme)
        page.wait_for_selector("#speech [data-chart=scatter] .point")
        page.evaluate("() => document.querySelectorAll('details').forEach((each) => (each.open = true))")
        result = page.evaluate(LOW_CONTRAST)
        assert result["looked"] > 300
        assert result["found"] == []


def test_phone_scrolls_only_downwards(open_page: Opener, report_file: Path) -> None:
    """At 360 pixels nothing makes the page wider than the screen; wide tables scroll by themselves."""
    page = open_page(report_file, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.wait_for_selector("#speech [data-chart=scatter] .point")
    for category in ("speech", "audio", "music"):
        page.click(f"#tab-{category}")
        page.wait_for_selector(f"#{category} [data-chart=scatter] .point")
        page.evaluate("() => document.querySelectorAll('details').forEach((each) => (each.open = true))")
        assert page.evaluate("() => document.documentElement.scrollWidth") == 360
    scrolls = page.locator("#music .scroll").first.evaluate("element => element.scrollWidth > element.clientWidth")
    assert scrolls
    small = page.locator("#music :is(button, select):visible").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).filter(box => box.height < 24 || box.width < 24).length"
    )
    assert small == 0


def test_works_without_javascript(open_page: Opener, report_file: Path) -> None:
    """Every category's table and sounds are there, and no control that would do nothing."""
    page = open_page(report_file, java_script_enabled=False)
    for category in ("speech", "audio", "music"):
        expect(page.locator(f"#{category} .ranking")).to_be_visible()
        expect(page.locator(f"#{category} .listening audio").first).to_be_visible()
        expect(page.locator(f"#{category} noscript").first).to_be_visible()
    assert page.locator("select:visible, button:visible").count() == 0


def test_conditions_are_drawn_beside_the_clean_value(open_page: Opener, report_file: Path) -> None:
    """A chart a quantity for each kind, without scripts: a line a codec, its bars, names at the right, and a table."""
    page = open_page(report_file, java_script_enabled=False)
    part = page.locator("section[aria-labelledby=speech-conditions-title]")
    expect(part.locator("h4")).to_have_text(["White noise (against the input)", "Lost packets"])
    loss = part.locator("svg.multiple").last
    expect(loss.locator("polyline")).to_have_count(3)
    expect(loss.locator("circle")).to_have_count(9)
    expect(loss.locator("circle.open")).to_have_count(3)
    box = loss.bounding_box()
    for name in loss.locator("g > text").all():
        its = name.bounding_box()
        assert its["x"] + its["width"] <= box["x"] + box["width"] + 1
    part.locator("summary").last.click()
    expect(part.locator("table").last.locator("tbody tr")).to_have_count(9)
    expect(part.locator("table").last).to_contain_text("2 of 12")


def test_hostile_names_stay_names(open_page: Opener, hostile_file: Path) -> None:
    """Names that try to become mark-up are shown as they are, in page, chart and hover text, and run nothing."""
    page = open_page(hostile_file)
    page.select_option("#speech-clip", index=1)
    dot = page.locator("#speech [data-chart=scatter] .point").first
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    label = page.locator("#speech [data-chart=scatter] .hovertext").first
    expect(label).to_contain_text("<img src=x onerror=window.stung=1>")
    expect(page.locator("h1")).to_contain_text("</script>\"'><img src=x")
    assert page.evaluate("() => window.stung") is None
    assert page.locator("img, a[href*='x.example'], [onerror]").count() == 0
    expect(page.locator("#speech .ranking tbody tr")).to_have_count(14)


def test_prints_on_one_page_width(open_page: Opener, report_file: Path) -> None:
    """On paper, A4 across, nothing is cut off at the right."""
    page = open_page(report_file, viewport={"width": 1032, "height": 730})
    page.wait_for_selector("#speech [data-chart=scatter] .point")
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 1032
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.pdf().startswith(b"%PDF")
