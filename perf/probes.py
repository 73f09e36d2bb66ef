"""Measure probes: seconds of audio a second, one by one, in batches, and in several processes; printed as a table.

    python perf/probes.py [--backend NAME]... [--dataset mini] [--clips PREFIX] [--rounds 3] [--processes 2]

Each backend answers for the clips of its probes' categories of an installed dataset, on the CPU. One process uses all
its threads; of several processes each uses one, as the pipeline runs a backend whose models are small. The best round
counts, loading is apart. Seconds of processor time, of the same processes, say how fast it is where the machine has
something else to do: seconds of audio a second are then about the number of cores over that. That batches give the
answers of single clips is checked on the way.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import soxr

from codec_superb.applications.catalogue import backend_entry, open_backend
from codec_superb.applications.interface import Backend, Item, Model, Prediction, Sound
from codec_superb.applications.table import probe
from codec_superb.data_manifests import open_dataset
from codec_superb.pipeline.workers.executor import SINGLE_THREAD

DEFAULT = ("faster-whisper:tiny.en", "pocketsphinx")
HEADS = (
    "backend",
    "clips",
    "audio s",
    "load s",
    "one by one",
    "batches",
    "processes",
    "processor s",
    "RTF at best",
    "batch = single",
)


@dataclass(frozen=True, slots=True)
class Job:
    """What one process is asked to measure."""

    spec: str
    weights: Path | None
    model: Model
    dataset: str
    prefix: str
    rounds: int
    part: int = 0
    parts: int = 1
    threads: int = 1


def sounds_of(job: Job, backend: Backend) -> list[Sound]:
    """Return the job's part of the clips that the backend's probes look at, at its rate."""
    categories = {category for key in backend_entry(job.spec).probes for category in probe(key).categories}
    dataset = open_dataset(job.dataset)
    clips = [dataset.clip(name) for name in dataset.clip_ids() if name.startswith(job.prefix)]
    sounds = []
    for clip in [clip for clip in clips if clip.category in categories][job.part :: job.parts]:
        audio, rate = clip.load()
        samples = soxr.resample(audio.mean(axis=0), rate, backend.rate, quality="VHQ").astype(np.float32)
        item = Item(clip.id, clip.category, clip.labels.text, clip.labels.language)
        sounds.append(Sound(item, samples, samples if backend.compares else None))
    return sounds


def batches(sounds: Sequence[Sound], most: int) -> list[list[Sound]]:
    """Divide sounds, the longest first, into batches of ``most`` samples, each sound counted as long as the longest."""
    found: list[list[Sound]] = []
    for sound in sorted(sounds, key=lambda sound: -sound.samples.size):
        if not found or (len(found[-1]) + 1) * found[-1][0].samples.size > most:
            found.append([])
        found[-1].append(sound)
    return found


def answers(backend: Backend, groups: Sequence[Sequence[Sound]]) -> tuple[dict[str, Prediction | Exception], float]:
    """Return the answers by clip, and the seconds that they took, on the clock."""
    found: dict[str, Prediction | Exception] = {}
    start = time.perf_counter()
    for group in groups:
        said = backend.predict(group)
        found |= {sound.item.clip: answer for sound, answer in zip(group, said, strict=True)}
    return found, time.perf_counter() - start


def alike(one: Prediction | Exception, other: Prediction | Exception) -> bool:
    """Whether two answers are the same: texts and errors letter by letter, numbers bit by bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return type(one) is type(other) and str(one) == str(other)


def measure(job: Job) -> tuple[float, float, float, float, int, bool]:
    """Return audio seconds, and the seconds of loading, of single clips and of batches; clips; whether all agree."""
    backend = open_backend(job.spec, job.weights)
    start = time.perf_counter()
    backend.load(job.model, "cpu", job.threads)
    loading = time.perf_counter() - start
    sounds = sounds_of(job, backend)
    if not sounds:
        raise SystemExit(f"{job.spec}: {job.dataset} has no clips for it that begin with {job.prefix!r}")
    backend.predict(sounds[:1])  # what is made on first use is no throughput
    together = batches(sounds, int(backend.batch_seconds * backend.rate))
    best, same = [np.inf, np.inf], True
    for _ in range(job.rounds):
        said, single = answers(backend, [[sound] for sound in sounds])
        batched_said, batched = answers(backend, together)
        best = [min(best[0], single), min(best[1], batched)]
        same &= all(alike(said[name], batched_said[name]) for name in said)
    audio = sum(sound.samples.size for sound in sounds) / backend.rate
    return audio, loading, best[0], best[1], len(sounds), same


def alone(job: Job) -> tuple[float, float]:
    """Return the least seconds, on the clock and of the processor, for the job's clips one by one."""
    backend = open_backend(job.spec, job.weights)
    backend.load(job.model, "cpu", job.threads)
    sounds = sounds_of(job, backend)
    backend.predict(sounds[:1])
    clock, processor = np.inf, np.inf
    for _ in range(job.rounds):
        start = time.process_time()
        clock = min(clock, answers(backend, [[sound] for sound in sounds])[1])
        processor = min(processor, time.process_time() - start)
    return clock, processor


def processes(job: Job, count: int) -> tuple[float, float]:
    """Return the seconds of the slowest of ``count`` processes that share the clips, and the processor's of all."""
    jobs = [replace(job, part=part, parts=count, threads=1) for part in range(count)]
    # As the pipeline starts its workers: a library that makes threads of its own would have them fight for the cores.
    single = dict.fromkeys(SINGLE_THREAD, "1")
    with (
        patch.dict(os.environ, single),
        ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        measured = list(pool.map(alone, jobs))
    return max(clock for clock, _ in measured), sum(processor for _, processor in measured)


def row(spec: str, options: argparse.Namespace) -> str:
    """Return the line of the table for one backend."""
    model = open_backend(spec, options.weights).prepare()
    job = Job(spec, options.weights, model, options.dataset, options.clips, options.rounds, threads=options.threads)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:  # a fresh one: nothing loaded
        audio, loading, single, batched, clips, same = pool.submit(measure, job).result()
    shared, processor = processes(job, options.processes)
    speeds = [f"{audio / each:.1f}×" for each in (single, batched, shared)]
    factors = [f"{processor:.1f}", f"{min(single, batched, shared) / audio:.3f}"]
    cells = [model.name, str(clips), f"{audio:.1f}", f"{loading:.1f}", *speeds, *factors, "yes" if same else "NO"]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """Print the table, with how busy the machine was before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", action="append", help=f"may be repeated; default: {' and '.join(DEFAULT)}")
    parser.add_argument("--weights", type=Path, help="folder of the models, as for codec-superb probe")
    parser.add_argument("--dataset", default="mini")
    parser.add_argument("--clips", default="", help="only clips whose id begins so, such as speech/librivox")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    print(
        f"{options.dataset}, {options.threads} threads or {options.processes} processes of one; load {os.getloadavg()}"
    )
    print("\n| " + " | ".join(HEADS) + " |\n" + "|---" * len(HEADS) + "|")
    for spec in options.backend or DEFAULT:
        print(row(spec, options), flush=True)
    print(f"\nload {os.getloadavg()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
