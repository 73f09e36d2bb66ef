"""Tracks and configurations: the publisher's numbers, and what a track is tried by."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from codec_superb.applications.errors import ApplicationError, MissingLabels
from codec_superb.applications.interface import Item
from codec_superb.applications.table import APPLICATIONS, PROBES
from codec_superb.applications.understanding.scoring import is_tried
from codec_superb.applications.understanding.templates import render
from codec_superb.applications.xares.configuration import configuration_named, configurations, track_named, tracks
from codec_superb.applications.xares.examples import FAMILY, asked, definition_of, examples_of, tasks_tried
from codec_superb.data_manifests.audio.webdataset import expand
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.manifest import LocalSource

TRACKS = tracks()


def test_the_published_tracks_have_their_tasks_weights_and_shards() -> None:
    """15 tasks of weight 25.5, 5 of weight 9, each with its training and test shards; 6 and 4 are hidden."""
    a, b = TRACKS["a"], TRACKS["b"]
    assert (len(a.tasks), len(b.tasks)) == (15, 5)
    assert sum(of.weight for of in a.tasks.values()) == 25.5
    assert sum(of.weight for of in b.tasks.values()) == 9
    published = {
        "asvspoof2015": (18, 194, 2), "crema_d": (6, 2, 5), "esc50": (4, 1, 50),
        "fluent_speech_commands": (24, 4, 248), "fma_small": (64, 8, 8), "fsd50k": (9, 32, 200),
        "fsdkaggle2018": (21, 3, 41), "gtzan": (9, 1, 10), "libricount": (4, 1, 11), "instrument": (372, 6, 11),
        "keyword": (52, 7, 30), "urbansound8k": (9, 1, 10), "vocal_sound": (21, 5, 6),
        "voxceleb1_pairs": (40, 19, 2), "voxlingua33": (210, 6, 33), "chinese": (174, 12, 0),
        "caption": (18, 5, 0), "english": (20, 20, 0), "mecat": (10, 10, 0), "song_describer": (2, 2, 0),
    }  # fmt: skip
    told = {
        name.removeprefix("xares_"): (_count(of.shards), _count(files_of(name)), of.classes)
        for name, of in {**a.tasks, **b.tasks}.items()
    }
    assert told == published
    measures = {name: definition_of(name).task.measure for name in a.tasks}
    several = {name: of.arguments["classes"] for name, of in measures.items() if of.name == "mAP"}
    assert several == {"xares_fsd50k": 200, "xares_fsdkaggle2018": 41}
    assert {of.name for of in measures.values()} == {"mAP", "xares-accuracy"}
    assert definition_of("xares_mecat").task.measure.arguments == {"domain": "long"}
    hidden = TRACKS["a_hidden"]
    assert [of.classes for of in hidden.tasks.values()] == [2, 2, 4, 3, 3, 3]
    assert len([name for name in b.also if not name.endswith("_minilm")]) == 4


def _count(patterns: Iterable[str]) -> int:
    return sum(len(expand(pattern)) for pattern in patterns)


def files_of(name: str) -> tuple[str, ...]:
    """Return the test shards of a task."""
    source = load_manifest(name).source
    assert isinstance(source, LocalSource)
    files = source.options["files"]
    assert isinstance(files, tuple)
    return files


@pytest.mark.parametrize("name", TRACKS)
def test_a_task_is_tried(name: str) -> None:
    """It is a probe of the application ``xares``, which no other application asks; what was not learnt is not asked."""
    track = TRACKS[name]
    assert track.decoder in configurations()
    for task, definition in tasks_tried(track).items():
        key = f"und_{task}"
        assert PROBES[key].group == "xares"
        assert key in APPLICATIONS["xares"]
        assert key not in APPLICATIONS["understanding"]
        assert definition.task.datasets
    questions = {_question(task) for task in track.tasks}
    assert len(questions) == len(track.tasks)
    assert {_question(task) for task in track.also} <= questions
    with pytest.raises(MissingLabels, match="is trained on publishers' shards: name their folder with --data"):
        examples_of(TRACKS["a"])


def _question(task: str) -> str:
    definition = definition_of(task)
    return asked(render(definition.prompt(FAMILY), Item("", definition.task.categories[0])))


def test_a_fold_is_tried_and_the_others_are_trained_on() -> None:
    """Fold 5 of ESC-50; a clip without a fold is neither."""
    task = definition_of("xares_esc50").task
    clip = Item("a", "audio", events=("dog",))
    assert [is_tried(task, Item("a", "audio", extra=(("fold", fold),))) for fold in "12345"] == [False] * 4 + [True]
    assert not is_tried(task, clip)


def test_the_published_recipe() -> None:
    """100,000 steps of four sounds, rate 1e-4 after 200, decay .01, gradients to 1, 150 tokens at 1.05."""
    found = configuration_named("published")
    assert (found.checkpoint, found.steps, found.batch) == ("HuggingFaceTB/SmolLM2-135M", 100_000, 4)
    assert (found.rate, found.warmup, found.weight_decay, found.largest_gradient) == (1e-4, 200, 0.01, 1.0)
    assert (found.new_tokens, found.repetition_penalty, found.longest_s) == (150, 1.05, 30.0)
    assert (found.pooling, found.standardise) == (1, False)


DECODER = {
    "decoder": "own", "steps": 1, "batch": 1, "rate": 0.1, "warmup": 0,
    "shape": {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2},
}  # fmt: skip
TRACK = {"track": "own", "title": "t", "decoder": "tiny", "tasks": {"xares_sound": {"weight": 1, "train": ["mini"]}}}


@pytest.mark.parametrize(("text", "said"), [
    ({**DECODER, "shape": {"hiden_size": 8}}, "hiden_size"),
    ({**DECODER, "shape": {"hidden_size": 8}}, "expected hidden_size, .*, got none of the name intermediate_size"),
    ({**DECODER, "shape": {}}, "expected checkpoint or shape, got none"),
    ({**DECODER, "checkpoint": "a/b"}, "expected checkpoint or shape, got both"),
    ({**DECODER, "shape": {**DECODER["shape"], "num_hidden_layers": -1}}, "greater than or equal to 1, got -1"),
    ({**DECODER, "shape": {**DECODER["shape"], "num_attention_heads": 3}}, "even multiple of num_attention_heads"),
    ({**DECODER, "rate": float("inf")}, "rate: expected a finite number, got inf"),
    ({**DECODER, "decoder": "a\nb"}, "decoder: expected text of the form"),
    ({**TRACK, "tasks": {}}, "tasks: expected"),
    ({**TRACK, "tasks": {"xares_sound": {"weight": float("inf")}}}, "weight: expected a finite number, got inf"),
    ({**TRACK, "tasks": {"xares_sound": {"weight": 1, "classes": -3}}}, "classes: expected greater than or equal to 0"),
    ({**TRACK, "track": ""}, "track: expected"),
    ({**TRACK, "track": "x" * 61}, "track: expected"),
    ("track: a\ntrack: b\n", "the key track is given twice"),
    ("[" * 3000, "expected a track in YAML"),
    ("", "expected names with values, got None"),
])  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_before_anything_is_made(tmp_path: Path, text: Any, said: str) -> None:
    """A misspelt size once made a model of seven billion weights; a name that no record carries cost a training."""
    file = tmp_path / "own.yaml"
    file.write_text(text if isinstance(text, str) else yaml.safe_dump(text))
    read = configuration_named if isinstance(text, dict) and "steps" in text else track_named
    with pytest.raises(ApplicationError, match=said):
        read(str(file))
