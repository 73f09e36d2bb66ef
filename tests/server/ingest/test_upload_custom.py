"""A submission with a metric of a plug-in: accepted, shown apart on its own pages, and seen by nothing that ranks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.pipeline.stats import card as make_card
from support.pipeline.stats import draw_rows, ok, write_run
from support.pipeline.submissions import edit_document
from support.server.ingest import Service, drawn

from codec_superb.pipeline.runs.info import CustomMetric
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submitter
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.database.models import Submission

LEVEL = CustomMetric(
    label="Level <difference>", unit="dB", higher_is_better=False, minimum=0.0, best=0.0, definition="How loud.",
    origin="level.py", sha256="a" * 64,
)  # fmt: skip


def custom_file(folder: Path, rows: Sequence[ClipRow], metric: CustomMetric = LEVEL) -> Path:
    """Pack a run that was scored with one more metric."""
    more = [row.model_copy(update={"metrics": row.metrics | {"level": ok(2.5)}}) for row in rows]
    run = write_run(folder, rows, card=make_card("meter_16k"))
    info = run.info()
    run.write_rows(more, [*info.metrics, "level"])
    versions = info.metrics | {"level": "1+aaaaaaaaaaaaaaaa"}
    run.write_info(info.model_copy(update={"metrics": versions, "custom_metrics": {"level": metric}}))
    return pack([run], folder / "custom.zip", submitter=Submitter(name="Ann"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Make a file with a custom metric."""
    return custom_file(tmp_path, draw_rows(1, 12))


def test_it_is_shown_apart_and_never_ranked(service: Service, file: Path, tmp_path: Path) -> None:
    """The page of the submission has it as custom, in no words of the board; definitions and board have the table's."""
    official = custom_file(tmp_path / "b", draw_rows(3, 12), LEVEL.model_copy(update={"label": "Verified level"}))
    (problem,) = service.problems(official.read_bytes())
    assert problem["path"] == "submission.json: custom_metrics.level.label"
    answer = service.send(file.read_bytes())
    assert answer.status_code == 201, answer.text
    identity = answer.json()["id"]
    with service.database.transaction() as session:
        found = session.get_one(Submission, identity)
        assert "level" not in found.metrics
        assert all("level" not in result.metrics for result in found.results)
        assert found.document["custom_results"][0]["result"]["mean"] == 2.5
    page = service.client.get(f"/submissions/{identity}").text
    assert "Custom metrics" in page
    assert "Level &lt;difference&gt;" in page
    assert "Custom metrics" in service.client.get("/codecs/meter_16k").text
    assert "level" not in service.client.get("/api/v1/leaderboard").text.lower()


def test_a_file_that_hides_or_misnames_it_is_refused(file: Path) -> None:
    """Undescribed, described without being there, under a key of the table, or out of its own range."""
    assert check(file).ok
    for change, expected in (
        (lambda document: document.pop("custom_metrics"), "custom_metrics describes"),
        (lambda document: document["custom_metrics"].update(other=LEVEL.model_dump()), "a metric of the file"),
        (lambda document: document["custom_metrics"].update(pesq=LEVEL.model_dump()), "table does not have"),
        (lambda document: document["custom_metrics"]["level"].update(maximum=1.0), "the range of level"),
    ):
        report = edit_document(file, change, seal=True)
        assert any(expected in problem.expected for problem in report.problems), expected


def test_an_ordinary_file_does_not_name_the_field() -> None:
    """The bytes of a submission without plug-ins are those of before."""
    assert b"custom_metrics" not in read_archive(io.BytesIO(drawn("plain_16k")))[SUBMISSION_NAME]
