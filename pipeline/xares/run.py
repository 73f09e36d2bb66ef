"""Train decoders of several seeds on frames of an encoder, and try them on references and on the sound of codecs.

References are tried through FLAC, which loses nothing, so that one mechanism makes, keeps and scores all answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from codec_superb.applications.embed.frames_store import FramesStore, encoder_digest, home_of
from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.understanding.probes import PREFIX
from codec_superb.applications.xares.chat import CONSTRAINED, GREEDY, NAME, encoder_named
from codec_superb.applications.xares.configuration import Track, configuration_named
from codec_superb.applications.xares.examples import Example, examples_of, labels_shuffled, tasks_tried
from codec_superb.applications.xares.language_model import find_language_model
from codec_superb.applications.xares.shard_examples import examples_of_shards
from codec_superb.applications.xares.shards import ShardReport
from codec_superb.applications.xares.training import OnStep, Training, train
from codec_superb.metrics.results import Score
from codec_superb.pipeline.aggregates.applications import aggregate_applications
from codec_superb.pipeline.aggregates.evidence import only_probes
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder, find_runs
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import Progress
from codec_superb.pipeline.xares.matched import matched_examples
from codec_superb.record import Record

REFERENCE_CODEC = "flac"
SHUFFLED = "shuffled labels"


class Reading(Record):
    """One figure of one task on the sound of one codec."""

    task: str
    """Key of the probe."""
    figure: str
    dataset: str
    codec: str
    """'' for references."""
    decoding: str
    """``greedy`` or ``constrained``: the likeliest class."""
    by_seed: dict[int, float]
    """Value of each decoder, in the figure's unit."""
    clips: Score
    """Value and 95 % interval by clips of the first decoder."""
    n: int
    """Clips that take part."""
    failed: int
    """Clips without an answer."""

    @property
    def mean(self) -> float:
        """Mean over decoders."""
        return float(np.mean(list(self.by_seed.values())))


class EncoderRate(Record):
    """What an encoder hands to the language model, which costs nothing in a score."""

    frames_per_s: float | None
    bits_per_s: float | None
    """Nominal, of a codec as encoder; None for others."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call."""

    encoder: str
    track: Track
    decoder: str = ""
    """'' for the track's."""
    seeds: tuple[int, ...] = (42, 1, 2)
    matched: tuple[Path, ...] = ()
    """Runs of one codec on the training datasets, whose sound decoders are trained on."""
    shuffled: bool = False
    """Whether decoders are trained on labels of other clips: a control."""
    data: Path | None = None
    """Folder of publishers' shards to train on, in place of datasets."""
    weights: Path | None = None
    device: str = "cpu"
    bf16: bool = False


def datasets_of(asked: Asked, *, tried: bool = True) -> list[str]:
    """Return the datasets that a call trains on, and those that it tries decoders on where it does."""
    trained = () if asked.data or asked.matched else (name for of in asked.track.tasks.values() for name in of.train)
    return list(dict.fromkeys([*trained, *(_tried(asked.track) if tried else ())]))


def train_all(
    asked: Asked, on_step: Callable[[Training], OnStep], say: Callable[[str], None] = lambda _text: None
) -> list[Training]:
    """Train a decoder for each seed that is not on this machine; errors as those of training and of encoders."""
    encoder = encoder_named(asked.encoder)
    model = encoder.prepare()
    configuration = configuration_named(asked.decoder or asked.track.decoder)
    language = find_language_model(configuration, asked.weights)
    store = FramesStore(encoder, model, asked.device, 1)
    mode, examples = _examples(asked, store, say)
    found = []
    for seed in asked.seeds:
        of = labels_shuffled(examples, seed) if asked.shuffled else examples
        training = Training(asked.track, configuration, language, of, seed, encoder_digest(model), mode)
        train(training, store, on_step(training), device=asked.device, bf16=asked.bf16)
        found.append(training)
    store.close()
    return found


def _examples(
    asked: Asked, store: FramesStore, say: Callable[[str], None]
) -> tuple[str, Mapping[str, Sequence[Example]]]:
    if asked.data is not None:
        report = ShardReport()
        found = examples_of_shards(asked.track, asked.data, store, report)
        for kind, count in report.faults.most_common():
            say(f"shards: {count} times {kind}")
        for example in report.examples:
            say(f"shards: {example}")
        return (SHUFFLED if asked.shuffled else "references"), found
    if asked.matched:
        codec, examples = matched_examples(asked.track, asked.matched)
        return f"matched {codec}", examples
    return (SHUFFLED if asked.shuffled else "references"), examples_of(asked.track)


def try_all(
    trained: Sequence[Training], asked: Asked, runs: Sequence[Path], progress: Progress, executor: Executor
) -> list[Reading]:
    """Try decoders on references and on ``runs``; the first seed's greedy answers stay in the runs as its probe.

    Answers are kept run by run: what was answered is not asked again. Errors are those of ``resynth`` and ``probe``.
    """
    tried = _tried(asked.track)
    place = home_of("references")
    made = resynthesise([REFERENCE_CODEC], list(tried), out=place, progress=progress, executor=executor)
    by_dataset = _by_dataset([each.path for each in made] + list(runs), tried)
    found: dict[tuple[str, str, str, str], list[tuple[int, ApplicationAggregate]]] = {}
    for training, decoding in ((of, decoding) for of in reversed(trained) for decoding in (CONSTRAINED, GREEDY)):
        spec = f"{NAME}:{asked.encoder},trained={training.key},decoding={decoding}"
        for dataset, folders in by_dataset.items():
            for outcome in probe(
                folders, applications=tried[dataset], backends=[spec], weights=asked.weights,
                device="cuda" if asked.device == "cuda" else "auto", progress=progress, executor=executor,
            ):  # fmt: skip
                codec = "" if outcome.path.is_relative_to(place) else outcome.codec
                for each in _aggregates(outcome):
                    found.setdefault((each.figure, each.dataset, codec, decoding), []).append((training.seed, each))
    return [_reading(*place_, members) for place_, members in sorted(found.items())]


def _tried(track: Track) -> dict[str, list[str]]:
    """Return the probes that a track asks of each dataset."""
    found: dict[str, list[str]] = {}
    for name, definition in tasks_tried(track).items():
        for dataset in definition.task.datasets:
            found.setdefault(dataset, []).append(f"{PREFIX}{name}")
    return found


def check_runs(track: Track, runs: Sequence[Path]) -> None:
    """Raise, before a decoder is trained, the errors of runs that are none, or on a dataset that is not tried."""
    if runs:
        _by_dataset(runs, _tried(track))


def _by_dataset(runs: Sequence[Path], tried: Collection[str]) -> dict[str, list[Path]]:
    """Group runs by dataset. Raises PipelineError for one that the track does not try."""
    found: dict[str, list[Path]] = {}
    for folder in find_runs(runs):
        dataset = folder.info().dataset.name
        if dataset not in tried:
            raise PipelineError(f"{folder.path}: expected a run on {' or '.join(tried)}, got {dataset}; leave it out")
        found.setdefault(dataset, []).append(folder.path)
    return found


def _aggregates(outcome: RunOutcome) -> Sequence[ApplicationAggregate]:
    folder = RunFolder(outcome.path)
    infos = {key: info for key, info in folder.info().probes.items() if key in outcome.probes}
    return aggregate_applications(*only_probes(folder.rows(), folder.pairs(), infos))


def _reading(
    figure: str, dataset: str, codec: str, decoding: str, members: Sequence[tuple[int, ApplicationAggregate]]
) -> Reading:
    first = members[-1][1]  # seeds are tried from the last to the first
    values = {seed: each.resynthesis.value for seed, each in reversed(members)}
    return Reading(
        task=first.probe, figure=figure, dataset=dataset, codec=codec, decoding=decoding,
        by_seed={seed: value for seed, value in values.items() if value is not None},
        clips=first.resynthesis, n=first.n, failed=first.failed,
    )  # fmt: skip


def rate_of(encoder: str) -> EncoderRate:
    """Return what an encoder hands over a second, by its settings and, of a codec, its card."""
    from codec_superb.base_codec import registry

    backend = encoder_named(encoder)
    hop = backend.prepare().settings.get("hop_s")
    bits = None
    if encoder.startswith(("codec-", "code-")):
        kbps = registry.card(encoder.partition(":")[2].partition(",")[0]).nominal_kbps
        bits = None if kbps is None else 1000 * kbps
    return EncoderRate(frames_per_s=None if not hop else 1 / float(hop), bits_per_s=bits)
