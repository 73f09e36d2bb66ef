"""``GET /codecs/{name}``."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

from fastapi import FastAPI
from sqlalchemy import update
from starlette.testclient import TestClient
from support.server.codec_page import EVIL, Site, clips_of, packed

from codec_superb.server.codecs.published import published_names
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import bump_revision
from codec_superb.server.datasets.service import DatasetFacts, add
from codec_superb.server.people.tokens import create

_VOID = {"meta", "link", "img", "br", "input", "hr", "path"}


class Page(HTMLParser):
    """A page as its reader gets it: text, ids, links within it, and whether its tags are closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids and links."""
        values = dict(attrs)
        self.attributes |= set(values)
        self.ids += [values["id"]] if values.get("id") else []
        self.links += [values["href"]] if tag == "a" and values.get("href") else []
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take tags that close themselves."""

    def handle_endtag(self, tag: str) -> None:
        """Expect the tag that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect text."""
        self.words.append(data)

    @property
    def text(self) -> str:
        """Everything that is read, with single spaces."""
        return " ".join(" ".join(self.words).split())


def page(site: Site, name: str) -> Page:
    """Open a codec's page."""
    answer = site.get(f"/codecs/{name}", accept="text/html")
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


class TestPage:
    """A codec with results."""

    def test_has_every_section_with_its_anchor(self, site: Site) -> None:
        """The navigation of the page leads to sections that exist; ids are there once; tags are closed."""
        found = page(site, "opus_16k")
        inner = [link.removeprefix("#") for link in found.links if link.startswith("#") and link != "#main"]
        assert inner == ["results", "listen", "card", "efficiency", "provenance", "history", "cite"]
        assert [each for each in found.ids if each in inner] == inner  # the page itself has them in this order
        assert len(found.ids) == len(set(found.ids))
        assert found.open == []
        assert not {name for name in found.attributes if name.startswith("on") or name == "style"}

    def test_shows_the_newest_version_with_its_marks(self, site: Site) -> None:
        """Version 2 is partial: a clip failed and 18 are missing; the failed clip is counted, not scored."""
        text = page(site, "opus_16k").text
        assert "self-reported by anonymous partial Version 2" in text
        assert "partial: 1 clip failed" in text
        assert "n = 3 1 clip failed" in text
        assert "4 of 4 partial: clips or values are missing" in text

    def test_card_is_in_words_and_units(self, site: Site) -> None:
        """Latency, bitrate, codebooks and parameters carry their units."""
        text = page(site, "encodec_24k_6bps").text
        for expected in (
            "26.5 ms", "6.00 kbps", "8 codebooks of 1,024 entries", "600 per second over all codebooks (TPS)",
            "14,850,000", "works at 24,000 Hz", "BSD-3-Clause",
        ):  # fmt: skip
            assert expected in text

    def test_results_on_each_dataset(self, site: Site) -> None:
        """Speech rests on two datasets: a column over both and one for each."""
        text = page(site, "encodec_24k_6bps").text
        assert "Metric All datasets Another another Mini set mini" in text
        assert "verified" in text

    def test_results_are_those_of_the_database(self, site: Site) -> None:
        """Score, interval and bitrate of the page are the stored ones."""
        with site.database.transaction() as session:
            kept = session.get_one(Submission, site.stored.second)
            (speech,) = [row for row in kept.results if (row.category, row.dataset) == ("speech", "")]
        text = page(site, "opus_16k").text
        assert f"{speech.score:.3f} [{speech.low:.3f}, {speech.high:.3f}]" in text
        assert f"Measured bitrate kbps {speech.kbps:.1f}" in text

    def test_radar_says_who_is_in_the_band(self, site: Site) -> None:
        """One codec within a factor of 1.5 on the same dataset; one of that bitrate on another; 64 kbps is too far."""
        found = page(site, "opus_16k")
        assert "The band: 1 other codec within 10.7 to 24.0 kbps measured" in found.text or (
            "The band: 2 other codecs within" in found.text
        )
        assert "1 more measured on other datasets or clips, by other definitions, or without counted bits" in found.text
        assert "Opus 20K (20.2 kbps, self-reported by " in found.text
        assert "/codecs/opus_64k" in found.links  # of the family, not of the band
        assert "Opus 64K (" not in found.text

    def test_samples_have_players_and_pictures(self, site: Site) -> None:
        """Reference, resynthesis and difference, loaded only when they are wanted, with text for who cannot see."""
        html = site.get("/codecs/opus_16k").text
        path = f"/api/v1/submissions/{site.stored.second}/samples/1"
        for side in ("reference", "resynthesis"):
            assert f'<audio controls preload="none" src="{path}/{side}.ogg" aria-label=' in html
        for picture in ("reference", "resynthesis", "difference"):
            (image,) = re.findall(rf'<img src="{path}/spectrogram/{picture}.png"[^>]*>', html)
            assert 'loading="lazy"' in image
            assert "0 to 8 kHz, 0 to 1 s" in image
        assert "Mini set. Licence: CC0-1.0." in html

    def test_provenance_of_each_stage(self, site: Site) -> None:
        """Program, commit, packages, platform, command and manifest hash are told."""
        text = page(site, "opus_16k").text
        for expected in (
            "Resynthesis of Mini set", "Scoring of Mini set", "codec-superb 0.1.0, commit " + "0" * 40,
            "without local changes", "numpy 2.0", "codec-superb score runs/opus_16k/mini", "equal means the same sound",
        ):  # fmt: skip
            assert expected in text

    def test_history_keeps_every_version(self, site: Site) -> None:
        """Both versions, newest first, with reasons, and a link to what changed between them."""
        found = page(site, "opus_16k")
        first, second = site.stored.first, site.stored.second
        assert found.text.index(f"Version 2 {second}") < found.text.index(f"Version 1 {first}")
        assert "looks right" in found.text
        assert f"/submissions/{first}/diff/{second}" in found.links

    def test_withdrawn_versions_are_told_and_not_linked(self, own_site: Site) -> None:
        """The page falls back to the version before, and says why the newest is gone."""
        second = own_site.stored.second
        assert "Version 2, received" in page(own_site, "opus_16k").text
        with own_site.database.transaction(write=True) as session:
            where = update(Submission).where(Submission.id == second)
            session.execute(where.values(status="withdrawn", reason="wrong codec", submitter="Buy at spam.example"))
            bump_revision(session)
        found = page(own_site, "opus_16k")
        assert "Version 1, received" in found.text
        assert "wrong codec" in found.text
        assert "spam.example" not in found.text + own_site.get("/api/v1/codecs/opus_16k").text
        assert f"/submissions/{second}" not in found.links
        assert own_site.get(f"/api/v1/submissions/{second}/samples/0/reference.ogg").status_code == 404

    def test_nothing_pending_is_shown(self, site: Site) -> None:
        """A codec that waits for a moderator is not known."""
        answer = site.get("/codecs/opus_6k")
        assert answer.status_code == 404
        assert "opus_16k" in answer.json()["detail"]

    def test_cites_codec_results_and_dataset(self, site: Site) -> None:
        """BibTeX of the codec, of this version and of a dataset that says how it is cited."""
        html = site.get("/codecs/encodec_24k_6bps").text
        assert "@misc{encodec_24k_6bps," in html
        assert "@misc{codec-superb-encodec_24k_6bps-v1," in html
        assert "@misc{another, title = {Another}}" in html

    def test_published_figures_of_the_same_configuration(self, site: Site) -> None:
        """The same configuration stands in two tables: both are shown, marked, with source and applications."""
        found = page(site, "encodec_24k_6bps")
        assert found.text.count("Published, not re-run here") == 2
        assert "Speech recognition: word error rate (%) lower is better 3.49 2.96" in found.text
        assert "https://arxiv.org/abs/2402.13071" in found.links
        assert "Published figures" not in page(site, "opus_16k").text

    def test_hostile_texts_stay_texts(self, site: Site) -> None:
        """Nothing of a card becomes mark-up, a script or a link that runs one."""
        html = site.get("/codecs/evil_codec.1").text
        assert EVIL in Page(html).text
        assert "<b>" not in html
        assert not [link for link in Page(html).links if link.startswith("javascript")]

    def test_a_browser_asks_with_its_tag(self, site: Site) -> None:
        """The same page is sent once; a changed board makes a new one."""
        first = site.get("/codecs/opus_16k")
        again = site.get("/codecs/opus_16k", if_none_match=first.headers["etag"])
        assert again.status_code == 304
        assert len(first.content) < 150_000


def test_an_upload_is_shown_at_once(client: TestClient, app: FastAPI, tmp_path: Path) -> None:
    """From the file that a client sends to page, figure, sound and picture, through the service alone."""
    with app.state.database.transaction(write=True) as session:
        add(session, DatasetFacts("mini", "Mini set", "CC0-1.0", clips_of("mini", 9)))
        _, secret = create(session, "ann", ["submit"], actor="test")
    sent = client.post(
        "/api/v1/submissions", content=packed(tmp_path, "sent_16k", samples=1).read_bytes(),
        headers={"authorization": f"Bearer {secret}", "content-type": "application/zip"},
    )  # fmt: skip
    assert sent.status_code == 201, sent.text
    path = f"/api/v1/submissions/{sent.json()['id']}/samples/0"
    assert path in client.get("/codecs/sent_16k").text
    for address, kind in (
        ("/api/v1/codecs/sent_16k/figures/distribution?category=music&metric=stoi", "application/json"),
        ("/api/v1/codecs/sent_16k/figures/radar?category=music", "application/json"),
        (f"{path}/reference.ogg", "audio/ogg"),
        (f"{path}/spectrogram/difference.png", "image/png"),
    ):
        answer = client.get(address)
        assert (answer.status_code, answer.headers["content-type"]) == (200, kind)


class TestPublishedOnly:
    """A codec that nobody has submitted."""

    def test_every_published_codec_has_a_page(self, site: Site) -> None:
        """The page says that it was not re-run here, and gives figures with their source."""
        for name in published_names():
            if name == "encodec_24k_6bps":
                continue  # submitted, see above
            found = page(site, quote(name))
            assert "Nobody has submitted results of this codec" in found.text
            assert "Published, not re-run here" in found.text
            assert [link for link in found.links if link.startswith("https://")]
            assert len(found.ids) == len(set(found.ids))

    def test_both_tables_of_one_configuration(self, site: Site) -> None:
        """The re-run names the paper's row that it repeats: its bitrate counts, and both are shown."""
        text = page(site, "speech_tokenizer_16k").text
        assert "Codec-SUPERB, Table 3: A" in text
        assert "re-run on codec-superb-tiny: speech_tokenizer_16k" in text
        assert "4.00 kbps as stated; not measured" in text


class TestUnknown:
    """Nothing is known by the name."""

    def test_says_so_and_names_what_is_near(self, site: Site) -> None:
        """A near name is offered."""
        answer = site.get("/codecs/opus_16", accept="text/html")
        assert answer.status_code == 404
        assert "did you mean opus_16k" in answer.text

    def test_hostile_names_are_text(self, site: Site) -> None:
        """Status 404, never a fault; a page shows the name as text, the API as JSON that no browser takes for HTML."""
        names = (
            "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E",
            "%3Cb%3E%27%22",
            "%00",
            "%FF%FE",
            "a" * 3000,
            "%2e%2e%2fetc",
        )
        for name in names:
            shown = site.get(f"/codecs/{name}", accept="text/html")
            assert shown.status_code == 404, name
            assert not {"script", "b"} & set(re.findall(r"<([a-z]+)>", shown.text))
            for path in (f"/api/v1/codecs/{name}", f"/api/v1/codecs/{name}/figures/radar?category=music"):
                answer = site.get(path, accept="text/html")
                assert answer.status_code == 404, path
                assert answer.json()["error"] == "NotFound"
                assert answer.headers["x-content-type-options"] == "nosniff"
