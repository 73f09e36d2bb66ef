"""The API of codecs and its figures."""

from __future__ import annotations

import io

import numpy as np
import plotly.graph_objects as go
import pytest
from support.server.codec_page import Packed, Site

from codec_superb.metrics.overall import normalise
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.tables.clips import read_rows
from codec_superb.server.database.models import Submission


class TestList:
    """``GET /api/v1/codecs``."""

    def test_lists_the_newest_public_version_of_each(self, site: Site) -> None:
        """By name, with version, status and scores; what is pending is absent."""
        body = site.get("/api/v1/codecs").json()
        assert [codec["name"] for codec in body["codecs"]] == [
            "encodec_24k_6bps", "evil_codec.1", "mp3_16k", "opus_16k", "opus_20k", "opus_64k",
        ]  # fmt: skip
        assert body["total"] == 6
        opus = body["codecs"][3]
        assert (opus["submission"], opus["version"], opus["status"]) == (site.stored.second, 2, "self-reported")
        assert {entry["category"]: entry["complete"] for entry in opus["categories"]} == dict.fromkeys(
            ("speech", "audio", "music"), False
        )
        assert body["codecs"][0]["status"] == "verified"

    def test_comes_in_pages(self, site: Site) -> None:
        """Limit and offset cut the list; what is out of range is refused in words."""
        body = site.get("/api/v1/codecs?limit=2&offset=3").json()
        assert [codec["name"] for codec in body["codecs"]] == ["opus_16k", "opus_20k"]
        assert site.get("/api/v1/codecs?offset=99").json()["codecs"] == []
        for wrong in ("limit=0", "limit=1001", "offset=-1", "limit=x", "offset=" + "9" * 60):
            assert site.get(f"/api/v1/codecs?{wrong}").status_code == 400


class TestCodec:
    """``GET /api/v1/codecs/{name}``."""

    def test_holds_what_the_page_shows(self, site: Site) -> None:
        """Card, version, results over all and on each dataset, band, samples and history."""
        body = site.get("/api/v1/codecs/opus_16k").json()
        assert body["card"]["name"] == "opus_16k"
        assert body["submission"]["submission"] == site.stored.second
        assert not body["submission"]["complete"]
        assert [entry["status"] for entry in body["history"]] == ["self-reported", "self-reported"]
        speech = body["categories"][0]
        assert (speech["category"], [part["datasets"] for part in speech["datasets"]]) == ("speech", [["mini"]])
        assert [member["name"] for member in speech["band"]["members"]] == ["evil_codec.1", "opus_20k"]
        assert speech["band"]["other_datasets"] == 1
        assert speech["overall"]["metrics"]["pesq"]["n"] == 4
        assert [sample["reference"] for sample in body["samples"]] == [
            f"/api/v1/submissions/{site.stored.second}/samples/{number}/reference.ogg" for number in (0, 1)
        ]

    def test_figures_of_tables_have_their_source(self, site: Site) -> None:
        """A codec that nobody has submitted has neither card nor version, and says where its figures come from."""
        body = site.get("/api/v1/codecs/E3").json()
        assert (body["card"], body["submission"], body["categories"]) == (None, None, [])
        paper, again = body["published"]
        assert (paper["table"], paper["scores"]["speech"], paper["kbps"]) == ("table3", 0.697, 6.0)
        assert paper["applications"]["asr_wer_pct"] == 3.49
        assert (again["table"], again["id"]) == ("tiny", "encodec_24k_6bps")
        assert {entry["statement"] for entry in body["published"]} == {"Published, not re-run here."}


class TestRadar:
    """``GET /api/v1/codecs/{name}/figures/radar``."""

    def test_draws_normalised_means_against_the_band(self, site: Site) -> None:
        """The codec's radii are its stored means on the scales of the overall score; the band's lie around."""
        figure = site.get("/api/v1/codecs/opus_16k/figures/radar?category=speech").json()
        assert len(go.Figure(figure).data) == 4
        own = figure["data"][-1]
        with site.database.transaction() as session:
            results = session.get_one(Submission, site.stored.second).results
            (speech,) = [row for row in results if (row.category, row.dataset) == ("speech", "")]
        keys = ("stft", "mel", "pesq", "stoi", "f0corr")
        expected = [float(normalise(key, np.asarray(speech.metrics[key]["mean"]))) for key in keys]
        assert own["r"] == pytest.approx([*expected, expected[0]])
        worst, best = figure["data"][0]["r"], figure["data"][1]["r"]
        assert all(low <= high for low, high in zip(worst, best, strict=True))

    def test_says_what_is_missing(self, site: Site) -> None:
        """An unknown category is a wrong request; a category or a codec without results is not found."""
        assert site.get("/api/v1/codecs/opus_16k/figures/radar?category=noise").status_code == 400
        answer = site.get("/api/v1/codecs/mp3_16k/figures/radar?category=music")
        assert answer.status_code == 404
        assert "results in speech, not in music" in answer.json()["detail"]
        assert site.get("/api/v1/codecs/E3/figures/radar?category=music").status_code == 404


class TestDistribution:
    """``GET /api/v1/codecs/{name}/figures/distribution``."""

    def test_lines_are_the_clips_of_each_dataset(self, site: Site, files: Packed) -> None:
        """The values of the lines are those of the packed rows, sorted; a chosen dataset stands alone."""
        path = "/api/v1/codecs/encodec_24k_6bps/figures/distribution?category=speech&metric=pesq"
        figure = site.get(path).json()
        assert [line["name"] for line in figure["data"]] == ["Another", "Mini set"]
        packed = read_archive(files.tokens)["clips.parquet"]
        rows = [row for row in read_rows(io.BytesIO(packed)) if row.category == "speech"]
        for line, dataset in zip(figure["data"], ("another", "mini"), strict=True):
            values = sorted(row.metrics["pesq"].value or 0 for row in rows if row.dataset == dataset)
            assert line["x"] == values
            assert line["y"][0] == 100.0
        (alone,) = site.get(f"{path}&dataset=mini").json()["data"]
        assert alone["x"] == figure["data"][1]["x"]

    def test_says_what_is_missing(self, site: Site) -> None:
        """Unknown metric and dataset are named with what there is; a metric that was not computed gives no line."""
        path = "/api/v1/codecs/opus_16k/figures/distribution?category=speech"
        for query, word in (
            ("metric=loudness", "no metric 'loudness'; there are stft"),
            ("metric=pesq&dataset=%00", "on mini, not on"),
            ("metric=pesq&dataset=%3Cb%3E", "not on '<b>'"),
        ):
            answer = site.get(f"{path}&{query}")
            assert answer.status_code == 404
            assert word in answer.json()["detail"]
        assert site.get(f"{path}&metric=si_sdr").json()["data"] == []
        assert site.get(path).status_code == 400
