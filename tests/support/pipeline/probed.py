"""What probes keep, drawn instead of predicted: numbers of clips, pairs and frames, for tests of tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from codec_superb.applications.probe import SIDES, Field
from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.tables.rows import ClipRow, CountsRow, FramesRow, KeptRow, PairRow, ProbeValue, counts_row
from codec_superb.pipeline.tables.vectors import frames_row

CLASSES = ("dog", "rain", "siren")
SPEAKERS = 3
COUNTED = ("trials", "labels", "frames", "counts")
FRAMES = 3
"""Frames that are kept of a clip at most."""
DIVISIONS = ("label", "cluster", "nearest")
"""Fields that divide the clips: few values, so that no other number of a clip is the same division by another name."""
"""Fields that say how many pairs a clip has."""


class Probed(NamedTuple):
    """Rows with probes, and the pairs that go with them."""

    rows: list[ClipRow]
    pairs: list[KeptRow]


def info(key: str, **changes: object) -> ProbeInfo:
    """Say how a probe was run, as a run folder keeps it."""
    fields = {"probe": key, "version": PROBES[key].version, "backend": PROBES[key].backend, "model_sha256": "a" * 64}
    if PROBES[key].pairs == "frames":
        fields["settings"] = {"frames_per_clip": FRAMES}
    if (definition := PROBES[key].definition) is not None:
        settings = {"task_sha256": definition.sha256, "prompt_sha256": "b" * 64}
        fields |= {"definition": definition, "settings": settings}
    return ProbeInfo.model_validate(fields | changes)


def draw_probes(rows: Sequence[ClipRow], keys: Iterable[str] = PROBES, seed: int = 0) -> Probed:
    """Give every row of a probe's category plausible numbers that fit each other; every fifth clip is left out.

    A clip without a resynthesis fails. Trials pair all clips, of three speakers; ranks are those of drawn scores.
    """
    generator = np.random.default_rng(seed)
    found = Probed(list(rows), [])
    for key in sorted(keys):
        for dataset in sorted({row.dataset for row in rows}):
            _draw(found, key, dataset, generator)
    return found


def _draw(found: Probed, key: str, dataset: str, generator: np.random.Generator) -> None:
    probe = PROBES[key]
    asked = [row for row in found.rows if row.dataset == dataset and row.category in probe.categories]
    states = {row.clip: _state(row, number) for number, row in enumerate(sorted(asked, key=lambda row: row.clip))}
    ok = [clip for clip, (status, _) in states.items() if status == "ok"]
    pairs = _pairs(key, dataset, ok, generator)
    found.pairs.extend(pairs)
    counts: Counter[str] = Counter()
    apart: dict[str, float] = {}
    for pair in pairs:
        if isinstance(pair, CountsRow):
            counts[pair.clip] += len(pair.names)
        else:
            counts.update({pair.clip: pair.kept} if isinstance(pair, FramesRow) else (pair.left, pair.right))
        if isinstance(pair, FramesRow):
            apart[pair.clip] = float(np.mean((pair.side("reference") - pair.side("resynthesis")) ** 2))
    for place, row in enumerate(found.rows):
        if row.dataset == dataset and row.clip in states:
            status, reason = states[row.clip]
            numbers = _numbers(key, counts[row.clip], generator) if status == "ok" else {}
            if row.clip in apart:
                numbers["resynthesis"]["squared_difference"] = apart[row.clip]
            value = ProbeValue(status=status, reason=reason, **numbers)
            found.rows[place] = row.model_copy(update={"probes": {**row.probes, key: value}})


def _state(row: ClipRow, number: int) -> tuple[str, str]:
    if row.status == "failed":
        return "failed", "no resynthesis"
    return ("left_out", "it has no label") if number % 5 == 4 else ("ok", "")


def _numbers(key: str, pairs: int, generator: np.random.Generator) -> dict[str, dict[str, float]]:
    probe = PROBES[key]
    if key == "asr":
        words = float(generator.integers(5, 20))
        sides = {side: _errors(words, part, generator) for side, part in zip(SIDES, (0.1, 0.3), strict=True)}
        return {"shared": {"words": words, "characters": 0.0}, **sides}
    shared = {f.name: float(pairs) if f.name in COUNTED else _number(f, generator) for f in probe.shared}
    sided = {side: {field.name: _number(field, generator) for field in probe.sided} for side in SIDES}
    sided["reference"] |= {field.name: field.ceiling for field in probe.sided if field.ceiling is not None}
    for values in (shared, *sided.values()):
        _agree(shared, values)
    if probe.definition is not None or "parsed" in sided["reference"]:
        _agree_of_task(len(probe.definition.task.classes) if probe.definition else 0, shared, sided)
    if all(metric.per == "characters" for metric in probe.metrics):
        shared |= {"words": 0.0, "characters": 20.0}
    return {"shared": shared, **sided}


def drawn_figures() -> list[str]:
    """Return the figures that drawn probes have: their clips have words, or characters where nothing counts words."""
    return [
        metric.key for probe in PROBES.values() for metric in probe.metrics
        if metric.per != "characters" or all(of.per == "characters" for of in probe.metrics)
    ]  # fmt: skip


def _agree(shared: dict[str, float], values: dict[str, float]) -> None:
    """Change drawn numbers of a clip, or of one side, so that they can be true together."""
    values |= {name: abs(values[name]) or 1.0 for name in ("rank", "oracle_rank") if name in values}
    if "predicted" in values and (values["rank"] == 1) != (values["predicted"] == shared["label"]):
        values["predicted"] = shared["label"] + (values["rank"] > 1)
    if "word_errors" in values and values.get("rank") == 1:
        values["word_errors"] = 0.0
    if "classes" in values:
        values["classes"] = max(values["classes"], values["labels"])
    if "given" in values:
        values["given"] = min(values["given"], shared["classes"])
        most = min(values["given"], shared["labels"])
        values["hits"] = -1.0 if values["given"] < 0 else max(0.0, min(values["hits"], most))
    if "character_errors" in values and values["no_answer"]:
        values |= {f"{unit}_errors": shared[f"{unit}s"] for unit in ("word", "character")}
    for name, most in (("cost", 4 * shared.get("vectors", 0.0)), ("edits", 2 * shared.get("units", 0.0))):
        if name in values:
            values[name] = min(values[name], most)
    for tolerance in ("50", "100", "200"):
        if f"both_{tolerance}" in values:
            drawn = 0.0 if values["no_answer"] else min(values[f"both_{tolerance}"], shared["terms"])
            values |= {f"{part}_{tolerance}": drawn for part in ("both", "times", "term")}


def _agree_of_task(classes: int, shared: dict[str, float], sided: dict[str, dict[str, float]]) -> None:
    """Change drawn numbers of a task so that both sides can be true together."""
    if "options" in shared:
        shared["options"] = float(classes) or shared["options"]
    one, other = sided["reference"], sided["resynthesis"]
    for values in (one, other):
        if "parsed" in values:
            values["parsed"] = float(values.get("given", 1.0) > 0)
        if "substitutions" in values:
            shared |= {"words": 20.0, "characters": 0.0}
        if "match1" in values:
            values.update({f"total{n}": 20.0 - n for n in range(1, 5)}, length=19.0, reference_length=18.0)
        if "loose" in values:
            values["loose"] = min(values["loose"], shared["asked"])
            values["strict"] = min(values["strict"], values["loose"])
    if "same" in other:
        other["same"] = float(one["correct"] == other["correct"] and bool(other["same"]))


def _errors(words: float, part: float, generator: np.random.Generator) -> dict[str, float]:
    drawn = generator.binomial(int(words), part, size=3)
    return dict(zip(("substitutions", "deletions", "insertions"), map(float, drawn // 2), strict=True))


def _number(field: Field, generator: np.random.Generator) -> float:
    most = min(field.maximum, 2.0 if field.name.partition("_")[0] in DIVISIONS else 10.0)
    drawn = field.minimum + (most - field.minimum) * float(generator.random())
    return float(round(drawn)) if field.whole else drawn


def _pairs(key: str, dataset: str, clips: Sequence[str], generator: np.random.Generator) -> list[KeptRow]:
    kind = PROBES[key].pairs
    found: list[KeptRow] = []
    if kind == "trials":
        for (one, left), (two, right) in combinations(enumerate(clips), 2):
            target = one % SPEAKERS == two % SPEAKERS
            reference, resynthesis, clean = (float(x) for x in 0.5 * target + generator.normal(0.3, 0.2, 3))
            found.append(
                PairRow(
                    dataset=dataset, probe=key, left=left, right=right, target=target, reference=reference,
                    resynthesis=resynthesis, enrol_clean=clean,
                )
            )  # fmt: skip
    elif kind == "ranks":
        for number, name in enumerate(CLASSES):
            ranks = [1.0 + generator.permutation(len(clips)) for _ in SIDES]
            for place, clip in enumerate(clips):
                if place % len(CLASSES) == number:
                    one, two = (float(side[place]) for side in ranks)
                    found.append(
                        PairRow(
                            dataset=dataset, probe=key, left=clip, right=name, target=True, reference=one,
                            resynthesis=two,
                        )
                    )  # fmt: skip
    elif kind == "counts":
        found += _counts(key, dataset, clips, generator)
    elif kind == "frames":
        for place, clip in enumerate(clips):
            total = 1 + place % 5
            one = generator.normal(size=(min(total, FRAMES), 4))
            two = one + generator.normal(0.3, 0.2, size=one.shape)
            found.append(frames_row(dataset, key, clip, total, (one.astype(np.float32), two.astype(np.float32))))
    return found


def _counts(key: str, dataset: str, clips: Sequence[str], generator: np.random.Generator) -> list[KeptRow]:
    names = sorted({figure.field for figure in PROBES[key].metrics if figure.field})
    totals = {place: int(generator.integers(1, 200)) for place in product(clips, names)}
    values = {place: int(generator.integers(0, total + 1)) for place, total in totals.items()}
    return [
        counts_row(dataset, key, clip, tuple(names), *([of[clip, name] for name in names] for of in (totals, values)))
        for clip in clips
        if names
    ]


def probe_run(run: RunFolder, keys: Iterable[str] = PROBES, seed: int = 0, **changes: object) -> Probed:
    """Put drawn probes into a finished run folder, as a probing that is through leaves it; ``changes`` of ProbeInfo."""
    keys = sorted(keys)
    found = draw_probes(list(run.rows()), keys, seed)
    described = run.info()
    run.write_rows(found.rows, sorted(described.metrics), keys)
    run.write_pairs(found.pairs)
    run.write_info(described.model_copy(update={"probes": {key: info(key, **changes) for key in keys}}))
    return found
