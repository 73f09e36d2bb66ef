"""Tracks and configurations: the publisher's numbers, and what a track is tried by."""

from __future__ import annotations

import pytest

from codec_superb.applications.errors import MissingLabels
from codec_superb.applications.interface import Item
from codec_superb.applications.table import APPLICATIONS, PROBES
from codec_superb.applications.understanding.scoring import is_tried
from codec_superb.applications.xares.configuration import configuration_named, configurations, tracks
from codec_superb.applications.xares.examples import definition_of, examples_of, tasks_tried
from codec_superb.applications.xares.shards import expand

TRACKS = tracks()


def test_the_published_tracks_have_their_tasks_weights_and_shards() -> None:
    """15 tasks of weight 25.5 with 665 shards, 5 of weight 9 with 224; 6 and 4 are hidden."""
    a, b = TRACKS["a"], TRACKS["b"]
    assert (len(a.tasks), len(b.tasks)) == (15, 5)
    assert sum(of.weight for of in a.tasks.values()) == 25.5
    assert sum(of.weight for of in b.tasks.values()) == 9
    shards = {name: sum(len(expand(pattern)) for pattern in of.shards) for name, of in {**a.tasks, **b.tasks}.items()}
    published = {
        "asvspoof2015": (18, 194, 2), "crema_d": (6, 2, 5), "xares_esc50": (4, 1, 50),
        "fluent_speech_commands": (24, 4, 248), "fma_small": (64, 8, 8), "fsd50k": (9, 32, 200),
        "fsdkaggle2018": (21, 3, 41), "gtzan": (9, 1, 10), "libricount": (4, 1, 11), "xares_instrument": (372, 6, 11),
        "xares_keyword": (52, 7, 30), "urbansound8k": (9, 1, 10), "xares_vocal_sound": (21, 5, 6),
        "voxceleb1_pairs": (40, 19, 2), "voxlingua33": (210, 6, 33), "xares_chinese": (174, 12, 0),
        "xares_caption": (18, 5, 0), "xares_english": (20, 20, 0), "mecat": (10, 10, 0), "song_describer": (2, 2, 0),
    }  # fmt: skip
    told = {
        name: (shards[name], of.test_shards, of.classes) for name, of in {**a.tasks, **b.tasks}.items()
    }  # fmt: skip
    assert told == published
    assert (len(a.hidden), len(b.hidden)) == (6, 4)


@pytest.mark.parametrize("name", TRACKS)
def test_a_task_is_tried_or_has_a_question(name: str) -> None:
    """What is tried is a probe of the application ``xares``, which no other application asks."""
    track = TRACKS[name]
    assert track.decoder in configurations()
    for task, definition in tasks_tried(track).items():
        key = f"und_{task}"
        assert PROBES[key].group == "xares"
        assert key in APPLICATIONS["xares"]
        assert key not in APPLICATIONS["understanding"]
        assert definition.task.datasets
    with pytest.raises(MissingLabels, match="is trained on publishers' shards: name their folder with --data"):
        examples_of(TRACKS["a"])


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
