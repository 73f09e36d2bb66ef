"""Tasks in a submission: their definitions are checked, their figures recomputed, and no template of theirs is run."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.pipeline.probed import info, probe_run
from support.pipeline.probed_file import CARD, problems
from support.pipeline.stats import draw_rows, write_run
from support.pipeline.submissions import edit_document, edit_rows

from codec_superb.applications.plugged import join_definition
from codec_superb.applications.received import LARGEST, MOST, is_shipped, task_faults
from codec_superb.applications.table import PROBE_METRICS, PROBES
from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.applications.understanding.probes import key_of
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import check_and_open
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.storage.custom_tasks import custom_tasks, parts_of

SHIPPED = next(row for row in PROBES.values() if row.definition is not None and row.definition.task.classes)
ASKED = "{{ 9 ** 9 ** 9 ** 9 }} Which animal?"
"""A compiler that computes constants does not come back from it."""


def definition(**changes: Any) -> TaskDefinition:
    """Make a task of a stranger's."""
    asked = {"contents": [{"type": "audio"}, {"type": "text", "value": changes.pop("asked", "Which animal?")}]}
    task = {
        "task": "stranger", "title": "<b>Bold</b> & more", "label": "events", "classes": ["dog", "cat"],
        "prompt": "ask", "measure": "prefix-match",
    } | changes  # fmt: skip
    prompts = {"default": {"prompt": "ask", "messages": [asked]}}
    return TaskDefinition.model_validate({"task": task, "prompts": prompts})


@lru_cache(maxsize=1)
def _packed() -> tuple[bytes, str]:
    key = join_definition(definition(), "a test")
    try:
        with TemporaryDirectory() as folder:
            run = write_run(Path(folder), draw_rows(2, 20), card=CARD)
            probe_run(run, [key, SHIPPED.key])
            return pack([run], Path(folder) / "a.zip").read_bytes(), key
    finally:
        for figure in PROBES.pop(key).metrics:
            PROBE_METRICS.pop(figure.key)


def packed() -> io.BytesIO:
    """Pack a shipped task and a stranger's, once; the stranger's is in no table of this process afterwards."""
    return io.BytesIO(_packed()[0])


def edited(change: Callable[[dict[str, Any]], None], key: str | None = None) -> str:
    """Change the description of a task, the stranger's unless another is named, and say what the check finds."""

    def edit(document: dict[str, Any]) -> None:
        wanted = key or _packed()[1]
        change(next(of for of in document["datasets"][0]["probes"] if of["probe"] == wanted))

    return problems(edit_document(packed(), edit))


def test_a_strangers_task_is_recomputed_noted_and_gone_afterwards() -> None:
    """Its figures follow from its rows, and the tables of the process are those of before."""
    before = dict(PROBES), dict(PROBE_METRICS)
    report, opened = check_and_open(packed())
    assert report.ok, problems(report)
    assert any("a custom task (<b>Bold</b> & more" in note for note in report.notes)
    assert (dict(PROBES), dict(PROBE_METRICS)) == before
    assert list(PROBES) == list(before[0])
    assert opened is not None
    assert opened.aggregates is not None
    assert {of.probe for of in opened.aggregates.applications} == {_packed()[1], SHIPPED.key}


def test_changed_figures_of_a_strangers_task_are_found() -> None:
    """As those of the program's own are."""
    submission = Submission.model_validate_json(read_archive(packed())["submission.json"])
    place = next(n for n, of in enumerate(submission.aggregates.applications) if of.probe == _packed()[1])

    def edit(document: dict[str, Any]) -> None:
        document["aggregates"]["applications"][place]["reference"]["value"] = 12.5

    assert "recomputed from clips.parquet" in problems(edit_document(packed(), edit))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda of: of.pop("definition"), "the definition of the task, got none"),
        (lambda of: of["definition"]["task"].update(classes=["dog", "cat", "cow"]), "the key of its definition"),
        (lambda of: of["definition"]["task"]["measure"].update(name="prefix-macth"), "did you mean prefix-match"),
        (lambda of: of["definition"]["task"].update(licence="x" * LARGEST), f"at most {LARGEST} bytes"),
        (lambda of: of["definition"]["task"].update(title="a\u202eb"), "title: expected one line of visible"),
        (lambda of: of["definition"]["task"].update(title="\u3164"), "title: expected one line of visible"),
        (lambda of: of["definition"]["task"].update(title="z" + 70 * "\u0301"), "at most 2 combining marks"),
        (lambda of: of["definition"]["task"].update(version="1\n2"), "version: expected one line of visible"),
        (lambda of: of["settings"].update(task_sha256="0" * 64), "the SHA-256 of its definition"),
        (lambda of: of["definition"]["task"].update(secret=1), "Extra inputs are not permitted"),
    ],
    ids=["none", "forged", "misspelt", "huge", "backwards", "blank", "stacked", "lines", "hash", "unknown"],
)
def test_a_definition_that_does_not_fit_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    """Before any row is read by it."""
    assert message in edited(change)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backend": "cascade\u200b"}, "backend: expected a name, one line of visible characters"),
        ({"backend": "x" * 4900}, "backend: expected a name, at most 200 characters, got 4900"),
        ({"settings": {"judge": "the\nmaintainers"}}, "settings.judge: expected a name, one line"),
        ({"settings": {"decoder": "x" * 4900}}, "settings.decoder: expected a name, at most 200 characters, got 4900"),
        ({"backend": "chat:gpt"}, "remote: expected what is known of a server's answers"),
        ({"remote": {}}, "remote: expected what is known of a server's answers"),
        ({"backend": "chat:gpt", "remote": {"answers": -5}}, "remote.answers: expected a count, got -5"),
        ({"backend": "chat:gpt", "remote": {"cost": -1e300}}, "remote.cost: expected what the answers cost"),
        ({"backend": "chat:gpt", "remote": {"currency": "<b>"}}, "remote.currency: expected three capital letters"),
        ({"backend": "chat:gpt", "remote": {"fingerprints": ["x"] * 101}}, "remote.fingerprints: expected at most 100"),
    ],
)
def test_models_have_names_that_can_be_shown_and_servers_say_so(changes: dict[str, Any], message: str) -> None:
    """A made-up model is no name, and one behind an address does not pass for one whose weights are known."""
    remote = {"answers": 2, "cost": 0.5, "currency": "USD", "fingerprints": [], "drifted": False}

    def change(of: dict[str, Any]) -> None:
        told = {"remote": remote | changes["remote"]} if "remote" in changes else {}
        of.update(changes | {"settings": of["settings"] | changes.get("settings", {})} | told)

    assert message in edited(change, SHIPPED.key)
    assert "remote" not in edited(lambda of: of.update(backend="chat:gpt", remote=remote), SHIPPED.key)
    elsewhere = {"backend": "answers:mine-7b", "remote": remote}
    said = edited(lambda of: of.update(**elsewhere, model_sha256=""), SHIPPED.key)
    assert "remote" not in said
    assert "model_sha256" not in said
    assert "model_sha256: expected nothing" in edited(lambda of: of.update(elsewhere), SHIPPED.key)
    assert "model_sha256: expected 64" in edited(lambda of: of.update(model_sha256=""), SHIPPED.key)


def test_lists_of_a_step_arrive_as_they_were() -> None:
    """Strict JSON tells a list from a tuple; a task with one could be run and not be sent."""
    sent = definition(after=[{"name": "eliminate", "texts": ["the", "a"]}])
    assert TaskDefinition.model_validate_json(sent.model_dump_json(), strict=True) == sent


def test_a_shipped_name_with_other_classes_is_custom_and_needs_its_own_numbers() -> None:
    """Under the shipped key with one class more, it is not the board's task, and the kept chance gives it away."""
    assert SHIPPED.definition is not None
    task = SHIPPED.definition.task
    other = SHIPPED.definition.model_copy(
        update={"task": task.model_copy(update={"classes": (*task.classes, "one more")})}
    )
    assert not is_shipped(info(SHIPPED.key).model_copy(update={"definition": other}))

    def change(of: dict[str, Any]) -> None:
        of["definition"] = other.model_dump(mode="json")
        of["settings"]["task_sha256"] = other.sha256
        of["version"] = f"{task.version}+{other.sha256[:8]}+{of['version'].rpartition('+')[2]}"

    assert f"{len(other.task.classes)}, the task's classes" in edited(change, SHIPPED.key)


def test_templates_of_strangers_are_not_even_compiled() -> None:
    """One that would compute for ever is taken as the text that it is."""
    hostile = definition(asked=ASKED)
    key = key_of(hostile, own=False)
    told = info(SHIPPED.key, probe=key, definition=hostile, settings={"task_sha256": hostile.sha256})
    assert task_faults([told]) == []


def test_ten_thousand_tasks_end_at_the_limit() -> None:
    """The rest is not looked at."""
    many = [definition(task=f"of_{n}") for n in range(MOST + 1)]
    infos = [
        info(SHIPPED.key, probe=key_of(of, own=False), definition=of, settings={"task_sha256": of.sha256})
        for of in many
    ]
    (fault,) = task_faults(infos * 50)
    assert fault.expected == f"at most {MOST} tasks that are not shipped"


def test_two_definitions_under_one_key_and_figures_of_one_key_are_refused() -> None:
    """One name stands for one thing."""
    first, second = (definition(version=version) for version in "12")
    own = [info(SHIPPED.key, probe="und_stranger", definition=of) for of in (first, second)]
    assert [of.expected for of in task_faults(own)][-1] == "one definition under one key"


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"parsed": 0.0, "correct": 1.0}, "resynthesis.correct: expected 0, where the answer could not be read"),
        (
            {"parsed": 0.0, "correct": 0.0, "same": 1.0},
            "resynthesis.same: expected 0, where the answers are not both readable",
        ),
    ],
)
def test_numbers_that_cannot_be_true_are_named(numbers: dict[str, float], message: str) -> None:
    """An answer that could not be read is neither right nor the same."""
    key = SHIPPED.key

    def change(rows: list[ClipRow]) -> None:
        place = next(n for n, row in enumerate(rows) if key in row.probes and row.probes[key].status == "ok")
        value = rows[place].probes[key]
        changed = value.model_copy(update={"resynthesis": {**value.resynthesis, **numbers}})
        rows[place] = rows[place].model_copy(update={"probes": {**rows[place].probes, key: changed}})

    shipped_alone = io.BytesIO(_shipped())
    assert message in problems(edit_rows(shipped_alone, change))


@lru_cache(maxsize=1)
def _shipped() -> bytes:
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder), draw_rows(2, 20), card=CARD)
        probe_run(run, [SHIPPED.key])
        return pack([run], Path(folder) / "a.zip").read_bytes()


def test_the_board_keeps_a_strangers_task_apart() -> None:
    """What the board ranks by has the shipped task alone; the other stands by itself, with chat, prompt and hash."""
    _, opened = check_and_open(packed())
    assert opened is not None
    parts = parts_of(opened.submission, opened.submission.model_dump(mode="json"))
    assert {of["probe"] for of in parts["applications"]} == {SHIPPED.key}
    assert [of["probe"] for of in parts["datasets"][0]["probes"]] == [SHIPPED.key]
    assert "definition" not in parts["datasets"][0]["probes"][0]
    rows = custom_tasks(parts)
    assert {row.key for row in rows} >= {f"{_packed()[1]}_accuracy_pct"}
    assert {(row.task, row.prompt, row.chat) for row in rows} == {(definition().sha256, "b" * 64, "cascade")}


def test_untrained_chats_are_not_packed(tmp_path: Path) -> None:
    """Their answers say nothing about a codec."""
    run = write_run(tmp_path, draw_rows(2, 20), card=CARD)
    probe_run(run, [SHIPPED.key], random=True)
    with pytest.raises(Exception, match="untrained"):
        pack([run], tmp_path / "a.zip")
