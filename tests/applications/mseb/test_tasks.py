"""The table of tasks: what it says is what the table of probes has, and a new task is an entry of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from support.pipeline.stats import row

from codec_superb.applications.catalogue import score
from codec_superb.applications.interface import Item, ScoringInput
from codec_superb.applications.mseb.kinds import KINDS
from codec_superb.applications.mseb.tasks import own_tasks, read_tasks
from codec_superb.applications.probe import Probe
from codec_superb.applications.table import APPLICATIONS, AVERAGES, COMPOSITES, PROBE_METRICS, PROBES, probes_of
from codec_superb.pipeline.aggregates.applications import aggregate_applications
from codec_superb.pipeline.tables.rows import ClipRow, ProbeValue
from codec_superb.plugins import load

NEW = """
locales: {villages: [here, there]}
tasks:
  mseb_classification_dialect:
    kind: classification
    task: DialectClassification
    label: Dialect
    needs: ["extra:dialect"]
    options: {label: "extra:dialect"}
    backend: resemblyzer
    locales: [villages]
"""


@pytest.fixture
def dialect() -> Iterator[Probe]:
    """Let the new task join the tables of this process."""
    tasks = read_tasks(NEW)
    (probe,) = tasks.probes
    metrics = {metric.key: metric for metric in probe.metrics}
    averages = {one.figure.key: one for one in tasks.composites}
    for table, new in ((PROBES, {probe.key: probe}), (PROBE_METRICS, metrics), (AVERAGES, averages)):
        table.update(new)  # type: ignore[attr-defined]
    yield probe
    for table, new in ((PROBES, {probe.key: probe}), (PROBE_METRICS, metrics), (AVERAGES, averages)):
        for key in new:
            del table[key]  # type: ignore[attr-defined]


def spoken(dataset: str, probe: Probe) -> list[ClipRow]:
    """Score ten clips of two dialects whose vectors tell them apart, except one on the resynthesis."""
    items = [
        Item(f"{dataset}{n}", "speech", speaker=f"s{n}", extra=(("dialect", "low" if n % 2 else "high"),))
        for n in range(10)
    ]
    draw = np.random.default_rng(0)
    vectors = {
        item.clip: (np.array([n % 2, 1 - n % 2, 0.5]) + draw.normal(0, 0.05, 3)).astype(np.float32)
        for n, item in enumerate(items)
    }
    worse = vectors | {items[0].clip: vectors[items[1].clip]}
    scored = score(probe.key, ScoringInput(dataset, items, vectors, worse))
    return [
        row(clip, dataset=dataset, probes={probe.key: ProbeValue(**dataclasses.asdict(outcome))})
        for clip, outcome in scored.outcomes.items()
    ]


def test_a_task_of_an_existing_kind_is_an_entry(dialect: Probe) -> None:
    """From the entry to the figures of each dataset, and to the mean over its locales where one model was asked."""
    rows = [*spoken("here", dialect), *spoken("there", dialect)]
    backends = {(name, dialect.key): "resemblyzer" for name in ("here", "there")}
    found = aggregate_applications(rows, (), backends=backends)
    accuracy = {entry.dataset: entry for entry in found if entry.figure.startswith(f"{dialect.key}_accuracy")}
    assert {name: (one.reference.value, one.resynthesis.value) for name, one in accuracy.items()} == {
        "here": (100.0, 90.0), "there": (100.0, 90.0), "": (100.0, 90.0),
    }  # fmt: skip
    mean = found[-1]
    assert (mean.figure, mean.probe, mean.n) == (
        "mseb_classification_dialect_accuracy_mean_villages_pct", "mseb.classification", 20,
    )  # fmt: skip
    assert mean.loss.value == 10.0
    assert mean.loss.low is not None


def test_a_mean_over_locales_is_given_only_when_it_is_whole(dialect: Probe) -> None:
    """Not where a locale is missing, nor where two models were asked, nor where nobody says which was."""
    here, there = spoken("here", dialect), spoken("there", dialect)
    both = {("here", dialect.key): "resemblyzer", ("there", dialect.key): "resemblyzer"}
    for rows, backends in (
        (here, both),
        ([*here, *there], both | {("there", dialect.key): "speechbrain"}),
        ([*here, *there], {}),
    ):
        assert all(entry.dataset for entry in aggregate_applications(rows, (), backends=backends))


def test_the_mean_of_several_tasks_is_one_of_each_dataset() -> None:
    """Primary figures of tasks of one super task are averaged on each dataset that has all of them."""
    first, second = NEW.split("tasks:\n")[1], NEW.split("tasks:\n")[1].replace("dialect", "accent")
    means = "means:\n  voices: {label: Both, tasks: [mseb_classification_dialect, mseb_classification_accent]}\n"
    tasks = read_tasks(f"locales: {{villages: [here, there]}}\ntasks:\n{first}{second}{means}")
    mean = next(one for one in tasks.composites if one.figure.label == "Both")
    assert mean.figure.key == "mseb_classification_accuracy_mean_voices_pct"
    ((dataset, parts),) = mean.instances({"here"})
    assert dataset == "here"
    assert parts == tuple(("here", f"mseb_classification_{name}_accuracy_pct") for name in ("dialect", "accent"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: classification", "kind: clasification", "expected a kind of .*, got 'clasification'"),
        ("[villages]", "[towns]", "expected a list of locales of villages, got 'towns'"),
        ("label: Dialect", "lable: Dialect", "lable"),
    ],
)
def test_a_wrong_entry_is_named(old: str, new: str, message: str) -> None:
    """With what there is."""
    with pytest.raises(ValueError, match=message):
        read_tasks(NEW.replace(old, new))


def test_every_task_has_what_its_kind_promises() -> None:
    """Scorers and figures can be imported, fields are known to the figures, the primary metric is one of its own."""
    for probe in own_tasks().probes:
        assert callable(load(probe.scorer))
        fields = {field.name for field in (*probe.shared, *probe.sided)}
        for metric in probe.metrics:
            assert callable(load(metric.target))
            assert not metric.field or metric.field in fields
            assert metric.key.startswith(f"{probe.key}_")
        assert probe.primary in {metric.key for metric in probe.metrics}
        assert PROBES[probe.key] == probe


def test_names_of_the_benchmark_stand_for_its_tasks() -> None:
    """All tasks but those whose model the user must name, and the tasks of each super task."""
    named = probes_of(("mseb",))
    assert "mseb_reasoning_generative" not in named
    assert {key for name in APPLICATIONS if name.startswith("mseb.") for key in APPLICATIONS[name]} == set(named)
    assert APPLICATIONS["mseb.transcription"] == ("mseb_transcription",)
    assert {kind.group for kind in KINDS.values()} <= {name.partition(".")[2] for name in APPLICATIONS}


def test_means_over_locales_have_the_published_numbers_of_them() -> None:
    """17 locales in their language, 19 across, 26 in all, 12 of Speech-MASSIVE."""
    counts = {key: len(AVERAGES[key].parts) for key in COMPOSITES if key.startswith("mseb_")}
    assert counts["mseb_retrieval_passage_mrr_mean_svq_in_language"] == 17
    assert counts["mseb_retrieval_passage_cross_mrr_mean_svq_cross_language"] == 19
    assert counts["mseb_transcription_wer_mean_svq_pct"] == 26
    assert counts["mseb_classification_intent_accuracy_mean_speech_massive_pct"] == 12
    assert not COMPOSITES.keys() & PROBE_METRICS.keys()
