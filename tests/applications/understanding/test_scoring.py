"""Tasks of YAML files as probes: what is kept of answers, and the figures of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from codec_superb.applications.interface import Item, ScoringInput
from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.plugged import adopt
from codec_superb.applications.table import APPLICATIONS, PROBES
from codec_superb.applications.understanding.figures import above_chance
from codec_superb.applications.understanding.probes import probe_of
from codec_superb.applications.understanding.registry import TaskError, read_folder
from codec_superb.applications.understanding.scoring import score

_TASK = """
task: dog_or_cat
title: Dog or cat
label: events
classes: [dog, cat]
prompt: "Which animal is it? One of: {{ classes | join(', ') }}."
measure: prefix-match
"""


def test_answers_become_numbers(tmp_path: Path) -> None:
    """Right, unreadable, left out and failed clips are told apart; agreement needs no label."""
    (tmp_path / "task.yaml").write_text(_TASK)
    definition = read_folder(tmp_path).definition("dog_or_cat")
    items = [Item(clip, "audio", events=(event,)) for clip, event in (("a", "dog"), ("b", "cat"), ("c", "bell"))]
    question = ScoringInput(
        "own", [*items, Item("d", "audio", events=("dog",))],
        {"a": "Dog.", "b": "cat"}, {"a": "a dog", "b": "cats"}, {"d": "silent"},
    )  # fmt: skip
    found = score(probe_of(definition, "task.yaml"), question).outcomes
    assert [found[clip].status for clip in "abcd"] == ["ok", "ok", "left_out", "failed"]
    assert found["a"].shared == {"options": 2.0}
    assert found["a"].reference == {"correct": 1.0, "parsed": 1.0, "same": 1.0}
    assert found["a"].resynthesis == {"correct": 0.0, "parsed": 0.0, "same": 0.0}
    assert found["b"].resynthesis == {"correct": 1.0, "parsed": 1.0, "same": 1.0}


def test_chance_has_zero_above_chance() -> None:
    """Half right of two options is 0, all right 100, all wrong −100."""
    values = {"options": np.full(4, 2.0), "correct": np.array([1.0, 1.0, 0.0, 0.0])}
    weights = np.array([[1.0] * 4, [1, 1, 0, 0], [0, 0, 1, 1]])
    assert above_chance(Evidence(values), weights, "correct").tolist() == [0.0, 100.0, -100.0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("prefix-match", "prefix-macth", "did you mean prefix-match"),
        ("label:", "lable:", "lable is unknown"),
        ("prompt: ", "prompt: {qwen: x y}\n# ", "one named default"),
        ("One of:", "{% if", "template, line"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    """A fault is found when the file is read."""
    (tmp_path / "task.yaml").write_text(_TASK.replace(old, new))
    with pytest.raises(TaskError, match=r"task\.yaml line \d+") as caught:
        read_folder(tmp_path)
    assert said in str(caught.value)


def test_shipped_tasks_are_part_of_the_benchmark() -> None:
    """Every one is a probe, and `understanding` runs them all."""
    assert all(PROBES[key].definition is not None for key in APPLICATIONS["understanding"])


def test_the_order_of_the_tables_does_not_depend_on_who_asked_first(tmp_path: Path) -> None:
    """Figures are written, and compared when they are received, in the order of the table."""
    for name in ("zebra", "ape"):
        (tmp_path / f"{name}.yaml").write_text(_TASK.replace("task: dog_or_cat", f"task: {name}"))
        adopt([], [tmp_path / f"{name}.yaml"])
    own = [key for key, row in PROBES.items() if row.origin]
    assert own == sorted(own)
    assert [key.split("_")[1] for key in own if key.startswith(("und_ape", "und_zebra"))] == ["ape", "zebra"]
