"""Train decoders of several seeds on frames of an encoder, and try them on references and on the sound of codecs.

References are tried through FLAC, which loses nothing, so that one mechanism makes, keeps and scores all answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codec_superb.applications.embed.frames_store import FramesStore, encoder_digest, home_of
from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.table import PROBES
from codec_superb.applications.xares.chat import CONSTRAINED, GREEDY, NAME, encoder_named
from codec_superb.applications.xares.configuration import Track, check_seed, configuration_named
from codec_superb.applications.xares.examples import Example, examples_of, labels_shuffled
from codec_superb.applications.xares.language_model import find_language_model
from codec_superb.applications.xares.result import SHUFFLED, Heard, Reading
from codec_superb.applications.xares.shard_examples import examples_of_shards
from codec_superb.applications.xares.training import OnStep, Training, train
from codec_superb.data_manifests.audio.webdataset import ShardReport
from codec_superb.data_manifests.objects.store_path import Place
from codec_superb.pipeline.aggregates.applications import aggregate_applications
from codec_superb.pipeline.aggregates.evidence import only_probes
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import Progress
from codec_superb.pipeline.xares.matched import matched_examples
from codec_superb.pipeline.xares.parts import parts_of, runs_by_dataset
from codec_superb.pipeline.xares.recording import heard_of

REFERENCE_CODEC = "flac"


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
    data: Place | None = None
    """Folder of publishers' shards to train on, in place of datasets."""
    weights: Path | None = None
    device: str = "cpu"
    bf16: bool = False

    def __post_init__(self) -> None:
        """Refuse a seed of no record before any decoder is trained. Raises ApplicationError."""
        for seed in self.seeds:
            check_seed(seed)


def expect_known(encoder: str, decoder: str) -> None:
    """Look for encoder and decoder by their names or files, before a store, a dataset or weights are asked for.

    Raises ApplicationError.
    """
    configuration_named(decoder)
    encoder_named(encoder)


def datasets_of(
    asked: Asked, runs: Sequence[Path] = (), say: Callable[[str], None] = lambda _text: None, *, tried: bool = True
) -> list[str]:
    """Return the datasets that a call trains on, and those that it tries decoders on where it does.

    Raises, before a decoder is trained, the errors of :func:`codec_superb.pipeline.xares.parts.parts_of`.
    """
    trained = () if asked.data or asked.matched else (name for of in asked.track.tasks.values() for name in of.train)
    tests = parts_of(asked.track, asked.data, runs, say) if tried else ()
    return list(dict.fromkeys([*trained, *tests]))


def train_all(
    asked: Asked, on_step: Callable[[Training], OnStep], say: Callable[[str], None] = lambda _text: None
) -> list[Training]:
    """Train a decoder for each seed that is not on this machine; errors as those of training and of encoders."""
    encoder = encoder_named(asked.encoder)
    configuration = configuration_named(asked.decoder or asked.track.decoder)
    language = find_language_model(configuration, asked.weights)
    model = encoder.prepare()
    store = FramesStore(encoder, model, asked.device, 1)
    mode, examples = _examples(asked, store, say)
    found = []
    for seed in asked.seeds:
        of = labels_shuffled(examples, seed) if asked.shuffled else examples
        training = Training(asked.track, configuration, language, of, seed, encoder_digest(model), mode, asked.bf16)
        train(training, store, on_step(training), device=asked.device)
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
    tried = parts_of(asked.track, asked.data, runs, progress.message)
    place = home_of("references")
    made = resynthesise([REFERENCE_CODEC], list(tried), out=place, progress=progress, executor=executor)
    by_dataset = runs_by_dataset(asked.track, [each.path for each in made] + list(runs))
    found: dict[tuple[str, str, str, str], list[tuple[int, ApplicationAggregate]]] = {}
    heard: dict[tuple[str, str], Heard] = {}
    for training, decoding in ((of, decoding) for of in reversed(trained) for decoding in (CONSTRAINED, GREEDY)):
        spec = f"{NAME}:{asked.encoder},trained={training.key},decoding={decoding}"
        for dataset, folders in by_dataset.items():
            for outcome in probe(
                folders, applications=tried[dataset], backends=[spec], weights=asked.weights,
                device="cuda" if asked.device == "cuda" else "auto", progress=progress, executor=executor,
            ):  # fmt: skip
                codec = "" if outcome.path.is_relative_to(place) else outcome.codec
                if codec and (dataset, codec) not in heard:
                    heard[dataset, codec] = heard_of(RunFolder(outcome.path))
                for each in _aggregates(outcome):
                    found.setdefault((each.figure, each.dataset, codec, decoding), []).append((training.seed, each))
    return [
        _reading(figure, dataset, heard.get((dataset, codec)), decoding, members)
        for (figure, dataset, codec, decoding), members in sorted(found.items())
    ]


def _aggregates(outcome: RunOutcome) -> Sequence[ApplicationAggregate]:
    folder = RunFolder(outcome.path)
    infos = {key: info for key, info in folder.info().probes.items() if key in outcome.probes}
    return aggregate_applications(*only_probes(folder.stored_rows(), folder.pairs(), infos))


def _reading(
    figure: str, dataset: str, heard: Heard | None, decoding: Any, members: Sequence[tuple[int, ApplicationAggregate]]
) -> Reading:
    first = members[-1][1]  # seeds are tried from the last to the first
    values = {seed: each.resynthesis.value for seed, each in reversed(members)}
    return Reading(
        task=first.probe, version=PROBES[first.probe].version, figure=figure, dataset=dataset, heard=heard,
        decoding=decoding,
        by_seed={seed: value for seed, value in values.items() if value is not None},
        clips=first.resynthesis, n=first.n, failed=first.failed,
    )  # fmt: skip
