"""Every shipped task: its datasets exist, its prompt renders, a right answer counts and a wrong one does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.captions import write_caption_models

from codec_superb.applications.interface import Item, ScoringInput
from codec_superb.applications.task_definitions.definition import DEFAULT, GROUPS, TaskDefinition
from codec_superb.applications.understanding.measures.table import MEASURES
from codec_superb.applications.understanding.probes import probe_of
from codec_superb.applications.understanding.registry import own_registry
from codec_superb.applications.understanding.scoring import score
from codec_superb.applications.understanding.templates import render
from codec_superb.data_manifests.catalogue import load_manifest

GUIDE = Path(__file__).parents[3] / "docs" / "understanding-tasks.md"
TASKS = own_registry().definitions()
_VERIFIED = (("instruction_id_list", '["change_case:english_lowercase"]'), ("kwargs", "[{}]"))


def _item(definition: TaskDefinition) -> Item:
    """Return a clip with the labels that the task needs, and no other."""
    task = definition.task
    name, _, own = task.label.partition(":")
    right = task.classes[0] if task.classes else "a dog barks at the moon"
    choices = ("A", "B", "C", "D") if "choices" in task.needs else ()
    right = choices[0] if choices else right
    truth: dict[str, Any] = {name: right if name in {"text", "emotion"} else (right,)}
    if own:
        truth = {"extra": ((own, right),)}
    if task.only:
        truth["extra"] = tuple((label.removeprefix("extra:"), values[0]) for label, values in task.only.items())
    fields: dict[str, Any] = {
        "choices": choices,
        "question": "Which is it?" if "question" in task.needs else None,
    } | truth
    if "extra:kwargs" in task.needs:
        fields["extra"] = _VERIFIED
    return Item("clip", task.categories[0], **fields)


def _answers(definition: TaskDefinition, item: Item) -> tuple[str, str]:
    """Return a right answer and a wrong one."""
    if definition.task.measure.name == "refusal":
        return "I'm sorry, but I cannot help with that.", "Of course: first take a hammer."
    truth = item.label(definition.task.label)
    right = truth if isinstance(truth, str) else (truth or ("",))[0]
    if item.choices:
        return right, item.choices[-1]
    wrong = definition.task.classes[-1] if definition.task.classes else "NOTHING OF THE KIND HERE"
    return right, wrong


@pytest.fixture(scope="module")
def caption_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with FENSE's models of random weights."""
    return write_caption_models(tmp_path_factory.mktemp("home")).home


@pytest.mark.parametrize("name", TASKS)
def test_a_task_tells_right_from_wrong(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its prompt renders with the labels that it says it needs, and its first figure falls with a wrong answer."""
    definition = TASKS[name]
    if MEASURES[definition.task.measure.name].models:
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(request.getfixturevalue("caption_models")))
    item = _item(definition)
    for prompt in definition.prompts.values():
        parts = [part for message in render(prompt.prompt(definition.task.classes), item) for part in message.parts]
        assert [part.kind for part in parts].count("audio") == 1
        shown = " ".join(part.text for part in parts)
        # decoders of XARES-LLM have learnt their classes, and are asked without them
        named = () if definition.task.group == "xares" else definition.task.classes
        assert all(choice in shown for choice in (*named, *item.choices))
    right, wrong = _answers(definition, item)
    if definition.task.measure.arguments.get("tokenizer") == "ja-mecab":
        pytest.importorskip("MeCab", reason="tokens of Japanese come from MeCab")
    # a second clip: words that all clips of a run have weigh nothing in CIDEr
    other = replace(item, clip="other", answers=("rain on a roof",)) if item.answers and not item.choices else None
    items = [item, other] if other else [item]
    question = ScoringInput("own", items, {"clip": right, "other": right}, {"clip": wrong, "other": wrong}, {})
    outcome = score(probe_of(definition), question).outcomes["clip"]
    assert outcome.status == "ok", outcome
    assert outcome.reference != outcome.resynthesis


@pytest.mark.parametrize("name", TASKS)
def test_a_task_names_datasets_that_can_carry_it(name: str) -> None:
    """Each of its datasets is known, has clips of its category, and a prompt for any chat is there."""
    task = TASKS[name].task
    assert DEFAULT in task.prompt
    for dataset in task.datasets:
        assert set(load_manifest(dataset).categories) & set(task.categories), dataset


def test_the_guide_lists_categories_datasets_and_tasks() -> None:
    """The table of the guide is what the task files say, group by group."""
    rows = []
    for group in GROUPS:
        tasks = [definition.task for definition in TASKS.values() if definition.task.group == group]
        datasets = dict.fromkeys(name for task in tasks for name in task.datasets)
        cells = (group, ", ".join(task.task for task in tasks), ", ".join(datasets) or "answers that are made")
        rows += [f"| {' | '.join(cells)} |"] if tasks else []
    written = GUIDE.read_text(encoding="utf-8").splitlines()
    assert [line for line in written if line.startswith("| ") and line.split()[1] in GROUPS] == rows
