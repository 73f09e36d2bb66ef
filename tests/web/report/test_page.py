"""The page as text: complete, self-contained, and deaf to what names hold."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from support.web.report import TABLE, make_points, make_report, make_results
from support.web.results import changed, estimate, score

from codec_superb.web.report import render
from codec_superb.web.rows import ReportData

EVIL = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\n{{ 7*7 }} &amp; \udcff"


class Reader(HTMLParser):
    """Collects elements with attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._raw = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the element."""
        self.elements.append((tag, dict(attrs)))
        self._raw = tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        """End scripts and styles."""
        self._raw = False

    def handle_data(self, data: str) -> None:
        """Keep text that people see."""
        if not self._raw:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All words, spaces made single."""
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page() -> str:
    """Render a whole report."""
    return render(make_report(8), TABLE)


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    """Parse it."""
    return Reader(page)


@pytest.mark.sample(4, among="the report's page")
def test_loads_nothing(read: Reader) -> None:
    """No element names a source outside the page; links for readers only lead to papers."""
    for tag, attributes in read.elements:
        for name in ("src", "href", "action", "poster", "srcset", "data"):
            address = attributes.get(name)
            if address is None:
                continue
            assert address.startswith(("data:", "#")) or (tag, address) == ("a", "https://example.org/paper")


def test_policy_forbids_every_request(read: Reader) -> None:
    """The page tells the browser to fetch nothing and to run only its own scripts, each by its hash."""
    policy = next(a["content"] for tag, a in read.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 3
    assert "http" not in policy
    assert "unsafe-eval" not in policy


def test_sections_come_in_order(read: Reader) -> None:
    """Title, charts, ranking, clips, sounds, comparison, failures, provenance, datasets, definitions."""
    wanted = [
        "Codec-SUPERB on mini",
        "Bitrate and quality",
        "Ranking",
        "From clip to clip",
        "Clip by clip",
        "Listen",
        "Family against family",
        "Bitrate and applications",
        "Failures",
        "Provenance",
        "Datasets",
        "What is measured",
    ]
    places = [read.text.index(words) for words in wanted]
    assert places == sorted(places)


@pytest.mark.sample(4, among="the report's page")
def test_categories_present_have_a_tab_each(read: Reader) -> None:
    """Speech, audio, music and applications have a tab and a panel; a report of one category alone needs no tabs."""
    tabs = [a["data-panel"] for tag, a in read.elements if tag == "a" and "data-panel" in a]
    assert tabs == ["speech", "audio", "music", "applications"]
    alone = Reader(render(make_report(4, ["music"]), TABLE))
    assert not [a for tag, a in alone.elements if "data-panel" in a]
    assert [a["id"] for tag, a in alone.elements if "data-category" in a] == ["music"]


def test_every_control_has_a_label(read: Reader) -> None:
    """Each select is named by a label, each player and scrolling table by words."""
    labels = {a.get("for") for tag, a in read.elements if tag == "label"}
    for tag, attributes in read.elements:
        if tag == "select":
            assert attributes["id"] in labels
        if tag == "audio" or attributes.get("role") == "region":
            assert attributes.get("aria-label") or attributes.get("aria-labelledby")


def test_ids_are_unique(read: Reader) -> None:
    """Labels and tabs lead where they say."""
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_listening_credits_its_source(read: Reader) -> None:
    """Every clip to hear states attribution and licence."""
    assert read.text.count("Read by the volunteers of LibriVox. Licence: BSD-2-Clause.") == 6


def test_definitions_come_from_the_metric_table(read: Reader) -> None:
    """Each metric of the report is defined; the overall score names its parts per category."""
    shown = {metric.definition in read.text for metric in TABLE.values() if metric.default}
    assert shown == {True}
    assert not any(metric.definition in read.text for metric in TABLE.values() if not metric.default)  # none has it
    assert "Speech: STFT distance, Mel distance, PESQ, STOI." in read.text
    assert "Audio: STFT distance, Mel distance." in read.text


@pytest.mark.sample(4, among="the report's page")
def test_failures_are_said_or_denied(read: Reader) -> None:
    """Reasons come with counts; a report without failures says so."""
    assert "14 undefined pesq no utterance was found in the reference 14" in read.text
    clean = Reader(render(replace(make_report(4, ["audio"]), failures=()), TABLE))
    assert "None: every clip came back" in clean.text


@pytest.mark.sample(4, among="the report's page")
def test_a_codec_of_which_nothing_came_back_is_shown() -> None:
    """Without bitrate, score and metrics a codec keeps its row, at the end, and its failures."""
    data = make_report(4, ["speech"])
    lost = changed(
        data.results[0],
        kbps=None,
        score=score(None),
        rank=None,
        metrics=dict.fromkeys(data.results[0].summary.metrics, estimate(None, failed=6)),
        failed=data.results[0].summary.clips,
        complete=False,
        encode_rtf=None,
    )
    clips = [clip for clip in data.clips if clip.codec != lost.codec]
    read = Reader(render(replace(data, results=[lost, *data.results[1:]], clips=clips), TABLE))
    rows = read.text.partition("Ranking")[2].partition("What the columns")[0]
    assert rows.index("Codec2 1200") < rows.index("Codec2 700C incomplete codec2_700c – nominal 0.70 –")
    assert "0 ok 4 failed" in rows


@pytest.mark.sample(4, among="the report's page")
def test_names_are_inert() -> None:
    """Whatever names and texts hold, the page has the same elements as with harmless ones."""
    data = make_report(4, ["speech"])

    def named(name: str) -> ReportData:
        return replace(
            data,
            title=name,
            results=[changed(row, title=name, family=name, datasets=(name,)) for row in data.results],
            conditions=[
                replace(row, result=changed(row.result, codec=name + row.result.codec, family=name))
                for row in data.conditions
            ],
            clips=[replace(clip, clip=f"{name}{clip.clip}", dataset=name) for clip in data.clips],
            listening=[
                replace(c, clip=name, dataset=name, text=name, attribution=name, licence=name) for c in data.listening
            ],
            failures=[replace(failure, reason=name, clip=name, codec=name) for failure in data.failures],
            rates=[replace(rate, family=name + rate.family) for rate in data.rates],
            provenance=[(name, name)],
            dataset_credits=[(name, name, name)],
        )

    evil, harmless = Reader(render(named(EVIL), TABLE)), Reader(render(named("name"), TABLE))
    assert [tag for tag, _ in evil.elements] == [tag for tag, _ in harmless.elements]
    assert [sorted(a) for _, a in evil.elements] == [sorted(a) for _, a in harmless.elements]
    assert "alert(1)" in evil.text
    assert "{{ 7*7 }}" in evil.text


@pytest.mark.sample(4, among="the report's page")
def test_can_be_written_as_utf8() -> None:
    """A file name that is no valid UTF-8 is shown with its code and does not break the file."""
    data = replace(make_report(4, ["speech"]), title="bad \udcff name")
    assert b"bad \\udcff name" in render(data, TABLE).encode("utf-8")


@pytest.mark.sample(4, among="the report's page")
def test_same_data_same_page(page: str) -> None:
    """Rendering is a pure function."""
    assert render(make_report(8), TABLE) == page


def test_styles_are_complete(page: str) -> None:
    """Every custom property that the styles use is set for light and for dark."""
    head, _, _ = page.partition("<body>")
    used = set(re.findall(r"var\(--([\w-]+)\)", head))
    schemes = re.findall(r":root \{ ([^}]*)\}", head)
    assert len(schemes) == 2
    for scheme in schemes:
        assert used <= set(re.findall(r"--([\w-]+):", scheme))


@pytest.mark.sample(4, among="the report's page")
def test_large_reports_stay_small() -> None:
    """500 clips through 20 codecs with 8 metrics make a page below 2.5 MB, most of it Plotly, compressed."""
    codecs = [(f"c{i}", f"Codec {i}", f"Family {i // 2}", 0.7 * 1.35**i, 0.5, False, None) for i in range(20)]
    points = make_points("music", 500, codecs)
    data = ReportData("Large", "2026-11-21T20:15:00Z", make_results(points, codecs), points)
    assert len(points[0].metrics) == 8
    assert len(render(data, TABLE)) < 2_500_000
