"""A file with a stranger's task arrives: checked in the checking process, kept apart, shown as text."""

from __future__ import annotations

from pathlib import Path

from support.pipeline.probed import probe_run
from support.pipeline.stats import card, draw_rows, write_run
from support.server.ingest import CLIPS, Service

from codec_superb.applications.plugged import join_definition
from codec_superb.applications.table import PROBE_METRICS, PROBES
from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submitter

TASK = {
    "task": "stranger", "title": "<b>Bold</b>", "label": "events", "classes": ["dog", "cat"], "prompt": "ask",
    "measure": "prefix-match",
}  # fmt: skip
PROMPT = {"prompt": "ask", "messages": [{"contents": [{"type": "audio"}, {"type": "text", "value": "Which?"}]}]}


def test_a_strangers_task_is_shown_as_custom_and_never_on_the_board(service: Service, tmp_path: Path) -> None:
    """Its figures stand on the submission's page with chat, prompt and hash; its title is text, never mark-up."""
    definition = TaskDefinition.model_validate({"task": TASK, "prompts": {"default": PROMPT}})
    shipped = next(row.key for row in PROBES.values() if row.definition is not None)
    key = join_definition(definition, "a test")
    try:
        run = write_run(tmp_path, draw_rows(2, CLIPS), card=card("tasks_16k"))
        probe_run(run, [key, shipped])
        data = pack([run], tmp_path / "a.zip", submitter=Submitter(name="Ann")).read_bytes()
    finally:
        for figure in PROBES.pop(key).metrics:
            PROBE_METRICS.pop(figure.key)
    answer = service.send(data)
    assert answer.status_code == 201, answer.text
    identity = answer.json()["id"]
    page = service.client.get(f"/submissions/{identity}").text
    assert "&lt;b&gt;Bold&lt;/b&gt;: accuracy" in page
    assert "<b>Bold" not in page
    assert f"task <code>{definition.sha256[:8]}</code>" in page
    assert f"prompt <code>{'b' * 8}</code>" in page
    shown = service.client.get("/understanding").text
    assert PROBES[shipped].label in shown
    assert "Bold" not in shown
    assert key not in service.client.get("/api/v1/leaderboard?category=audio").text
    rows = service.client.get(f"/api/v1/submissions/{identity}/clips?dataset=mini&format=csv").text
    assert f"{shipped}.status" in rows
    assert key not in rows
