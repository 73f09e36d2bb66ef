"""What anybody may read about accepted submissions, and what stays hidden."""

from __future__ import annotations

import csv
import io
import json
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from sqlalchemy import update
from support.limits import limit
from support.pipeline.stats import draw_rows
from support.server.ingest import UPLOADS, Service, drawn, make_file

from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.tables.clips import open_table
from codec_superb.server.database.models import ClipBlock, Submission
from codec_superb.server.submissions import repository
from codec_superb.server.submissions.clips import clip_turns


def sent(service: Service, data: bytes, account: str = "ann") -> dict[str, Any]:
    """Send a file and return its receipt."""
    answer = service.send(data, account=account)
    assert answer.is_success, answer.text
    receipt: dict[str, Any] = answer.json()
    return receipt


def set_status(service: Service, identity: str, status: str, reason: str | None = None) -> None:
    """Decide about a submission."""
    with service.database.transaction(write=True) as session:
        session.execute(
            update(Submission).where(Submission.id == identity).values(status=status, reason=reason)
        )  # fmt: skip


def _scores(parts: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """Collect the overall scores by category and dataset, '' for all."""
    found = {(part["category"], ""): part["overall"]["score"]["value"] for part in parts}
    return found | {(p["category"], r["datasets"][0]): r["score"]["value"] for p in parts for r in p["datasets"]}


class TestList:
    """``GET /api/v1/submissions``."""

    def test_newest_first_in_pages(self, service: Service) -> None:
        """Filtered by codec, a page at a time, with the number of all."""
        ids = [sent(service, drawn("listed_16k", seed=seed))["id"] for seed in range(3)]
        first = service.client.get(UPLOADS, params={"codec": "listed_16k", "per_page": 2}).json()
        second = service.client.get(UPLOADS, params={"codec": "listed_16k", "per_page": 2, "page": 2}).json()
        assert (first["total"], first["per_page"]) == (3, 2)
        assert [entry["id"] for entry in first["submissions"] + second["submissions"]] == ids[::-1]
        entry = first["submissions"][0]
        assert (entry["codec"], entry["version"], entry["datasets"], entry["submitter"]) == (
            "listed_16k", 3, ["mini"], "ann",
        )  # fmt: skip

    def test_filters(self, service: Service) -> None:
        """By status and by dataset."""
        identity = sent(service, drawn("filtered_16k"))["id"]
        set_status(service, identity, "verified")

        def found(**params: str) -> list[str]:
            answer = service.client.get(UPLOADS, params={"codec": "filtered_16k", **params})
            return [entry["id"] for entry in answer.json()["submissions"]]

        assert found(status="verified") == found(dataset="mini") == [identity]
        assert found(status="self-reported") == found(dataset="nowhere") == []

    @pytest.mark.parametrize("query", ["status=pending", "page=0", "per_page=1000", "codec=%00", "page=x"])
    def test_a_parameter_that_does_not_fit(self, service: Service, query: str) -> None:
        """400 with its name, on both databases."""
        answer = service.client.get(f"{UPLOADS}?{query}")
        assert answer.status_code == 400
        assert query.partition("=")[0] in answer.json()["problems"][0]["path"]


class TestOne:
    """``GET /api/v1/submissions/{id}``."""

    def test_everything_public(self, service: Service) -> None:
        """Card, provenance, metric versions, results."""
        receipt = sent(service, drawn("detail_16k"))
        found = service.client.get(f"{UPLOADS}/{receipt['id']}").json()
        assert found["card"]["name"] == "detail_16k"
        assert found["document"]["datasets"][0]["provenance"][0]["stage"] == "resynth"
        assert found["metrics"]["pesq"]
        assert [part["category"] for part in found["results"]] == ["speech", "audio", "music"]
        for part in found["results"]:
            assert [result["datasets"] for result in (part["overall"], *part["datasets"])] == [["mini"], ["mini"]]
        assert "aggregates" not in found["document"]

    @pytest.mark.parametrize("status", ["pending", "withdrawn"])
    def test_what_is_not_public_is_not_there(self, service: Service, status: str) -> None:
        """No address of it answers, not even that it exists."""
        codec = f"hidden_{status}"
        identity = sent(service, drawn(codec))["id"]
        other = sent(service, drawn(codec, seed=2))["id"]
        set_status(service, identity, status, "for a reason")
        api = f"{UPLOADS}/{identity}"
        paths = (
            *(api, f"{api}/file", f"{api}/clips", f"{api}/diff/{other}", f"{UPLOADS}/{other}/diff/{identity}"),
            *(f"/submissions/{identity}", f"/submissions/{other}/diff/{identity}"),
        )
        for path in paths:
            assert service.client.get(path).status_code == 404, path
        listed = service.client.get(UPLOADS, params={"codec": codec}).json()
        assert [entry["id"] for entry in listed["submissions"]] == [other]

    def test_the_contact_is_for_moderators_alone(self, service: Service, tmp_path: Path) -> None:
        """It is kept, and neither told nor in the file that anybody may download; that file still checks."""
        contact = "ann@voices.example"
        identity = sent(service, make_file(draw_rows(1, 12), tmp_path, codec="private_16k", contact=contact))["id"]
        with service.database.transaction() as session:
            kept = session.get(Submission, identity)
            assert kept is not None
            assert kept.contact == contact
        for path in (f"{UPLOADS}/{identity}", f"/submissions/{identity}"):
            assert contact not in service.client.get(path).text
        for _ in range(2):
            public = service.client.get(f"{UPLOADS}/{identity}/file").content
            document = json.loads(read_archive(io.BytesIO(public))["submission.json"])
            assert document["submitter"] == {"name": "Ann", "contact": None}
            assert check(io.BytesIO(public)).ok
        service.stored()


class TestFile:
    """``GET /api/v1/submissions/{id}/file``."""

    def test_it_is_the_file_that_came(self, service: Service) -> None:
        """Byte for byte, under a name that says what it is."""
        data = drawn("loaded_16k")
        answer = service.client.get(f"{UPLOADS}/{sent(service, data)['id']}/file")
        assert answer.content == data
        assert answer.headers["content-type"] == "application/zip"
        assert 'filename="loaded_16k-v1.zip"' in answer.headers["content-disposition"]


class TestClips:
    """``GET /api/v1/submissions/{id}/clips``: every number can be traced."""

    @pytest.fixture
    def address(self, service: Service) -> str:
        """Send a submission and give the address of its clips."""
        return f"{UPLOADS}/{sent(service, drawn('traced_16k'))['id']}/clips"

    def test_json_in_pieces(self, service: Service, address: str) -> None:
        """Sorted by clip, with the number of all; a mean of them is the aggregate."""
        whole = service.client.get(address).json()
        assert whole["total"] == len(whole["clips"]) == 12
        piece = service.client.get(address, params={"offset": 3, "limit": 2}).json()
        assert piece["clips"] == whole["clips"][3:5]
        results = service.client.get(address.removesuffix("/clips")).json()["results"]
        (speech,) = next(part["datasets"] for part in results if part["category"] == "speech")
        values = [clip["pesq"] for clip in whole["clips"] if clip["category"] == "speech"]
        assert sum(values) / len(values) == pytest.approx(speech["metrics"]["pesq"]["mean"], rel=1e-12)

    def test_parquet_is_in_the_layout_of_submissions(self, service: Service, address: str) -> None:
        """The code that reads clip tables reads it; it takes nothing of what is kept free."""
        content = service.client.get(address, params={"format": "parquet", "dataset": "mini"}).content
        rows = list(open_table(io.BytesIO(content), own=True))
        packed = read_archive(io.BytesIO(drawn("traced_16k")))["clips.parquet"]
        assert rows == sorted(open_table(io.BytesIO(packed)), key=lambda row: row.clip)
        assert pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0).column(0).compression == "ZSTD"
        with limit(resource.RLIMIT_FSIZE, 1):
            full = service.client.get(address, params={"format": "parquet"})
        assert (full.status_code, "take CSV" in full.json()["detail"]) == (503, True)
        state = service.client.app.state  # type: ignore[attr-defined]
        before = state.settings
        state.settings = before.model_copy(update={"free_bytes": 10**18})
        answers = [service.client.get(address, params={"format": kind}) for kind in ("parquet", "csv")]
        state.settings = before
        assert [answer.status_code for answer in answers] == [503, 200]
        assert "No space left on device; take CSV" in answers[0].json()["detail"]

    def test_csv(self, service: Service, address: str) -> None:
        """A header and a line a clip; numbers come back as they were."""
        text = service.client.get(address, params={"format": "csv"}).text
        lines = list(csv.DictReader(io.StringIO(text)))
        whole = service.client.get(address).json()["clips"]
        assert [float(line["pesq"]) for line in lines] == [clip["pesq"] for clip in whole]

    def test_csv_holds_no_formula(self, service: Service, tmp_path: Path) -> None:
        """A text that a spreadsheet would compute is made harmless."""
        rows = [row.model_copy(update={"clip": f"={row.clip}", "dataset": "odd"}) for row in draw_rows(1, 3)]
        service.know("odd", {row.clip: row.category for row in rows})
        identity = sent(service, make_file(rows, tmp_path, codec="formula_16k"))["id"]
        text = service.client.get(f"{UPLOADS}/{identity}/clips", params={"format": "csv"}).text
        assert [line["clip"] for line in csv.DictReader(io.StringIO(text))] == [f"'{row.clip}" for row in rows]

    def test_whoever_waits_too_long_comes_again(
        self, service: Service, address: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Only whole tables wait for whole tables: 503 with a time, and pages go on."""
        turns = clip_turns(cast("FastAPI", service.client.app).state)
        monkeypatch.setattr(turns.whole, "_patience", 0.0)
        monkeypatch.setattr(turns.whole, "_places", 0)
        refused = service.client.get(address, params={"format": "csv"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert [service.client.get(address).status_code for _ in range(2)] == [200, 200]

    def test_forty_pages_at_once_are_answered(self, service: Service, address: str) -> None:
        """Requests that meet wait for each other without a thread, however few of these there are."""
        with ThreadPoolExecutor(40) as asking:
            pages = list(asking.map(lambda at: service.client.get(address, params={"limit": 1 + at % 3}), range(40)))
        assert {(page.status_code, len(page.json()["clips"])) for page in pages} == {(200, 1), (200, 2), (200, 3)}

    def test_a_page_reads_the_blocks_of_its_rows_alone(self, service: Service, address: str) -> None:
        """Behind the rows of a block that cannot be read, a page comes; one that reaches into that block does not."""
        whole = service.client.get(address).json()
        with service.database.transaction(write=True) as session:
            damaged = ClipBlock(submission_id=whole["submission"], dataset="a", rows=5, data=b"nothing")
            session.add(damaged)
        try:
            page = service.client.get(address, params={"offset": 6, "limit": 2}).json()
            assert page == whole | {"total": 17, "offset": 6, "clips": whole["clips"][1:3]}
            assert service.client.get(address, params={"offset": 4}).status_code == 500
        finally:
            with service.database.transaction(write=True) as session:
                session.delete(damaged)

    def test_another_dataset(self, service: Service, address: str) -> None:
        """404 for one that the submission does not have."""
        assert service.client.get(address, params={"dataset": "nowhere"}).status_code == 404


class TestHistory:
    """``GET /api/v1/codecs/{name}/history``."""

    def test_every_version_with_its_reason(self, service: Service) -> None:
        """One that was withdrawn keeps its place and says why, without a link."""
        ids = [sent(service, drawn("historic_16k", seed=seed))["id"] for seed in range(2)]
        set_status(service, ids[0], "withdrawn", "wrong decoder")
        versions = service.client.get("/api/v1/codecs/historic_16k/history").json()["versions"]
        assert [(v["version"], v["id"], v["status"], v["reason"]) for v in versions] == [
            (2, ids[1], "self-reported", None),
            (1, None, "withdrawn", "wrong decoder"),
        ]
        assert all(v["received"] for v in versions)
        assert "withdrawn – wrong decoder" in service.client.get(f"/submissions/{ids[1]}").text

    def test_many_versions_come_in_pages(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever sends many makes no page of a codec longer: the newest are shown, and where all of them are."""
        ids = [sent(service, drawn("frequent_16k", seed=seed))["id"] for seed in range(3)]
        monkeypatch.setattr(repository.decided_versions, "__kwdefaults__", {"page": 1, "per_page": 2})
        path = "/api/v1/codecs/frequent_16k/history"
        last = service.client.get(path, params={"per_page": 2, "page": 2}).json()
        assert (last["total"], [version["id"] for version in last["versions"]]) == (3, ids[:1])
        page = service.client.get("/codecs/frequent_16k").text
        assert "The newest 2 of 3 versions" in page
        assert [f'href="/submissions/{each}"' in page for each in ids] == [False, True, True]

    def test_what_is_pending_is_not_there(self, service: Service) -> None:
        """Neither a version that waits for a moderator nor a name that has nothing else can be found."""
        ids = [sent(service, drawn("awaited_16k", seed=seed))["id"] for seed in range(2)]
        set_status(service, ids[1], "pending", None)
        path = "/api/v1/codecs/awaited_16k/history"
        assert [version["version"] for version in service.client.get(path).json()["versions"]] == [1]
        assert "Version 2" not in service.client.get(f"/submissions/{ids[0]}").text
        set_status(service, ids[0], "pending", None)
        assert service.client.get(path).status_code == 404

    def test_of_nobody(self, service: Service) -> None:
        """404 for a name that nobody used."""
        assert service.client.get("/api/v1/codecs/nobody_used/history").status_code == 404


class TestDiff:
    """``GET /api/v1/submissions/{a}/diff/{b}``."""

    def test_card_datasets_and_aggregates(self, service: Service, tmp_path: Path) -> None:
        """What changed is there with both values; every aggregate is, with its difference."""
        rows = draw_rows(2, 10, quality=0.3)
        before = make_file(rows, tmp_path, codec="moved_16k", about={"clips": 12}, version="libopus 1.4")
        old = sent(service, before)["id"]
        new = sent(service, drawn("moved_16k", seed=1))["id"]
        diff = service.client.get(f"{UPLOADS}/{old}/diff/{new}").json()
        assert diff["card"] == [{"what": "version", "old": "libopus 1.4", "new": "libopus 1.5"}]
        assert {(c["what"], c["old"], c["new"]) for c in diff["datasets"]} == {
            ("mini: selected", 10, 12), ("mini: ok", 10, 12),
        }  # fmt: skip
        assert diff["metrics"] == []
        assert (diff["old"]["version"], diff["new"]["version"]) == (1, 2)
        results = [service.client.get(f"{UPLOADS}/{identity}").json()["results"] for identity in (old, new)]
        scores = [_scores(parts) for parts in results]
        for change in diff["aggregates"]:
            if change["quantity"] == "score":
                key = change["category"], change["dataset"]
                assert (change["old"], change["new"]) == (scores[0][key], scores[1][key])
                assert change["difference"] == change["new"] - change["old"]
        assert {change["quantity"] for change in diff["aggregates"]} >= {"kbps", "pesq", "mel", "clips"}
        page = service.client.get(f"/submissions/{old}/diff/{new}").text
        assert "libopus 1.4" in page
        assert f'href="/submissions/{old}/diff/{new}"' in service.client.get(f"/submissions/{new}").text

    def test_of_two_codecs(self, service: Service) -> None:
        """400, and where codecs are compared."""
        one, two = (sent(service, drawn(name))["id"] for name in ("apples_16k", "pears_16k"))
        answer = service.client.get(f"{UPLOADS}/{one}/diff/{two}")
        assert answer.status_code == 400
        assert "/compare?codec=apples_16k&codec=pears_16k" in answer.json()["detail"]
