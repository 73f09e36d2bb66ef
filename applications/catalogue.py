"""The catalogue of model backends and scorers by name; their modules are imported on first use.

A backend is named ``NAME`` or ``NAME:VARIANT`` (``faster-whisper:tiny.en``, ``transformers-asr:/path/to/folder``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codec_superb.applications.errors import ApplicationError, MissingPackage, UnknownApplication
from codec_superb.applications.interface import Backend, Item, ProbeScores, ScoringInput, SecondStage
from codec_superb.applications.probe import Probe
from codec_superb.applications.table import APPLICATIONS, PROBES, is_benchmark, probe, probes_of
from codec_superb.missing_package import not_installed
from codec_superb.plugins import Source, find, load, names, rows_of, targets

NO_FILE, OWN_FILE, CODEC = "no file", "own file", "codec"


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """One backend of the catalogue."""

    name: str
    probes: tuple[str, ...]
    """Probes that it answers for, or roles that probes take (``Probe.takes``): ``asr`` transcribes, ``words`` with the
    times of words, ``vectors`` gives a vector of a clip, ``frames`` several, ``joint`` puts sounds and texts into one
    space, ``codes`` gives a discrete unit of each frame; ``text`` and ``reader`` are second stages of a chain."""
    target: str
    """``module:Class``."""
    extra: str
    """Extra of this package that it needs; '' for a backend with a private environment."""
    summary: str
    """One-line description."""
    packages: tuple[str, ...] = ()
    """Modules that it and the scoring of its probes import, besides those of the core."""
    model: str = ""
    """Where its usual model comes from: a name of ``models.yaml``; :data:`NO_FILE` where it needs none;
    :data:`OWN_FILE` for one that lies in no index and on no hub that is asked; :data:`CODEC` where the user names a
    codec of the catalogue; '' where the user names a model."""
    origin: str = ""
    """'' for a row of the catalogue; the distribution or the file that a plug-in comes from, set where it is found."""
    sha256: str = ""
    """Of the file of a plug-in that is one, set where it is found."""

    def plugged(self, source: Source) -> BackendEntry:
        """Return the row as a plug-in's."""
        return replace(self, target=source.target(self.target), origin=source.origin, sha256=source.sha256)


SECOND = ("text", "reader")
"""Roles of a second stage: it encodes transcripts, or answers from them."""
GROUP = "codec_superb.backends"
_ROOT = "codec_superb.applications"

_TORCH = ("torch", "transformers")
_ROWS = (
    BackendEntry(
        "faster-whisper", ("asr",), f"{_ROOT}.asr.faster_whisper:FasterWhisper", "probes",
        "Whisper on CTranslate2; tiny.en comes from a package file, others from the hub or a folder",
        packages=("faster_whisper", "whisper_normalizer"), model="whisper-tiny.en",
    ),
    BackendEntry(
        "faster-whisper-words", ("words",), f"{_ROOT}.asr.faster_whisper_words:FasterWhisperWords", "mseb",
        "the same, with the times of words",
        packages=("faster_whisper", "whisper_normalizer", "wordfreq"), model="whisper-tiny.en",
    ),
    BackendEntry(
        "openai-whisper", ("asr",), f"{_ROOT}.asr.openai_whisper:OpenAIWhisper", "applications",
        "the original Whisper, any size; the paper's is large",
        packages=("whisper", "torch", "whisper_normalizer"),
    ),
    BackendEntry(
        "transformers-asr", ("asr",), f"{_ROOT}.asr.transformers_asr:TransformersASR", "applications",
        "Whisper and wav2vec 2.0 checkpoints of transformers",
        packages=("torch", "transformers", "whisper_normalizer"),
    ),
    BackendEntry(
        "pocketsphinx", ("asr",), f"{_ROOT}.asr.pocketsphinx_asr:PocketSphinx", "probes",
        "a second opinion without a neural network, US English",
        packages=("pocketsphinx", "whisper_normalizer"), model=NO_FILE,
    ),
    BackendEntry(
        "paraformer", ("asr",), f"{_ROOT}.asr.paraformer:Paraformer", "", "Paraformer-zh in a private environment",
        packages=("whisper_normalizer",),
    ),
    BackendEntry(
        "transcript-truth", ("asr",), f"{_ROOT}.asr.transcript_truth:TranscriptTruth", "probes",
        "the oracle: the dataset's own transcripts",
        packages=("whisper_normalizer",), model=NO_FILE,
    ),
    BackendEntry(
        "resemblyzer", ("asv", "sim", "vectors"), f"{_ROOT}.asv.resemblyzer:Resemblyzer", "probes",
        "GE2E speaker encoder; comes from a package file, runs without torch",
        packages=("webrtcvad",), model="resemblyzer",
    ),
    BackendEntry(
        "speechbrain", ("asv", "sim", "vectors"), f"{_ROOT}.asv.speechbrain_ecapa:SpeechBrainEcapa", "applications",
        "ECAPA-TDNN trained on VoxCeleb, the paper's",
        packages=("speechbrain", "torch"),
    ),
    BackendEntry(
        "wavlm-sv", ("asv", "sim", "vectors"), f"{_ROOT}.asv.wavlm_sv:WavLMSV", "applications",
        "WavLM with an x-vector head; not UltraEval-Audio's",
        packages=_TORCH,
    ),
    BackendEntry(
        "wavlm-large-sv", ("asv", "sim", "vectors"), f"{_ROOT}.asv.wavlm_large_sv:WavLMLargeSV", "applications",
        "WavLM-Large under an ECAPA-TDNN, UltraEval-Audio's, from a local file",
        packages=_TORCH, model=OWN_FILE,
    ),
    BackendEntry(
        "wavlm-emotion", ("er",), f"{_ROOT}.er.wavlm_emotion:WavLMEmotion", "applications",
        "WavLM-Large, weighted sum of layers, mean pooling, linear; trained on the references by folds",
        packages=_TORCH,
    ),
    BackendEntry(
        "emotion2vec", ("er",), f"{_ROOT}.er.emotion2vec:Emotion2Vec", "", "emotion2vec in a private environment"
    ),

    BackendEntry(
        "yamnet", ("aec",), f"{_ROOT}.aec.yamnet:YamNet", "probes",
        "521 AudioSet classes; comes from a package file that states no licence: fetched only when it is asked for",
        packages=("onnxruntime",), model="yamnet",
    ),
    BackendEntry(
        "yamnet-frames", ("frames",), f"{_ROOT}.embed.yamnet_frames:YamNetFrames", "probes",
        "the layer under YAMNet's classes, every 0.48 s; the files and the missing licence of yamnet",
        packages=("onnxruntime",), model="yamnet",
    ),
    BackendEntry(
        "yamnet-vectors", ("vectors",), f"{_ROOT}.embed.yamnet_frames:YamNetVectors", "probes",
        "the same, one vector a clip",
        packages=("onnxruntime",), model="yamnet",
    ),
    BackendEntry(
        "aisfx", ("vectors",), f"{_ROOT}.embed.aisfx:AiSfx", "applications",
        "sound effects by category; comes from a package file",
        packages=("torch",), model="aisfx",
    ),
    BackendEntry(
        "transformers-frames", ("frames",), f"{_ROOT}.embed.transformers_frames:TransformersFrames", "applications",
        "frames of HuBERT, wav2vec 2.0, WavLM or Whisper's encoder: transformers-frames:OWNER/NAME,layer=9",
        packages=_TORCH,
    ),
    BackendEntry(
        "pooled-transformers", ("vectors",), f"{_ROOT}.embed.transformers_frames:PooledTransformers", "applications",
        "the same, one vector a clip: pooled-transformers:OWNER/NAME,pooling=max",
        packages=_TORCH,
    ),
    BackendEntry(
        "clap-joint", ("joint", "vectors"), f"{_ROOT}.embed.clap_joint:ClapJoint", "applications",
        "CLAP's two towers: sounds and texts in one space",
        packages=_TORCH,
    ),
    BackendEntry(
        "perch", ("vectors",), f"{_ROOT}.embed.perch:Perch", "probes",
        "Perch 2, bird song and other animals, from a file for ONNX Runtime or LiteRT",
        packages=("onnxruntime",), model=OWN_FILE,
    ),
    BackendEntry(
        "log-mel-frames", ("frames",), f"{_ROOT}.embed.log_mel:LogMelFrames", "",
        "a log-mel spectrogram, 80 bands of 25 ms every 10 ms", model=NO_FILE,
    ),
    BackendEntry(
        "log-mel-vectors", ("vectors",), f"{_ROOT}.embed.log_mel:LogMelVectors", "",
        "the same, one vector a clip", model=NO_FILE,
    ),
    BackendEntry(
        "spectrogram-frames", ("frames",), f"{_ROOT}.embed.spectrogram:SpectrogramFrames", "",
        "a power spectrogram, 64 ms every 20 ms, of MSEB's reconstruction task", model=NO_FILE,
    ),
    BackendEntry(
        "spectrogram-vectors", ("vectors",), f"{_ROOT}.embed.spectrogram:SpectrogramVectors", "",
        "the same, one vector a clip", model=NO_FILE,
    ),
    BackendEntry(
        "codec-codes", ("codes",), f"{_ROOT}.embed.codec_encoder:CodecCodes", "",
        "the tokens of a codec: codec-codes:mimi_8cb", model=CODEC,
    ),
    BackendEntry(
        "codec-frames", ("frames",), f"{_ROOT}.embed.codec_encoder:CodecFrames", "",
        "the latents of a codec, quantised or with ,latents=continuous", model=CODEC,
    ),
    BackendEntry(
        "codec-vectors", ("vectors",), f"{_ROOT}.embed.codec_encoder:CodecVectors", "",
        "the same, one vector a clip", model=CODEC,
    ),
    BackendEntry(
        "ast", ("aec",), f"{_ROOT}.aec.ast:AudioSpectrogramTransformer", "applications", "AST on AudioSet, the paper's",
        packages=_TORCH,
    ),
    BackendEntry(
        "clap", ("aec",), f"{_ROOT}.aec.clap:Clap", "applications", "zero-shot: the classes of the dataset as prompts",
        packages=_TORCH,
    ),
    BackendEntry(
        "dnsmos", ("dnsmos",), f"{_ROOT}.quality.dnsmos:DnsMos", "probes",
        "DNSMOS P.835 and P.808; comes from a package file",
        packages=("onnxruntime",), model="dnsmos",
    ),
    BackendEntry(
        "distillmos", ("distillmos",), f"{_ROOT}.quality.distillmos:DistillMos", "applications",
        "distilled from XLS-R; comes from a package file",
        packages=("torch",), model="distillmos",
    ),
    BackendEntry(
        "utmos", ("utmos",), f"{_ROOT}.quality.utmos:Utmos", "applications", "UTMOS22 strong learner, a local file",
        packages=_TORCH, model=OWN_FILE,
    ),
    BackendEntry(
        "visqol", ("visqol",), f"{_ROOT}.quality.visqol:VisQol", "applications", "ViSQOL 3, speech and audio mode",
        packages=("visqol",), model=NO_FILE,
    ),
    BackendEntry("warpq", ("warpq",), f"{_ROOT}.quality.warpq:WarpQ", "probes", "WARP-Q",
        model=NO_FILE,
    ),
)  # fmt: skip

BACKENDS: dict[str, BackendEntry] = {row.name: row for row in _ROWS}
PROTOCOLS: dict[str, dict[str, str]] = {"ultra": {"asr": "faster-whisper:large-v3", "sim": "wavlm-large-sv"}}
"""Applications whose published protocol has other models than the probes' defaults; Chinese has another recogniser."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One probe and the backend that answers for it."""

    probe: str
    backend: str
    """``NAME`` or ``NAME:VARIANT``, or a chain of two joined by ``+``."""
    optional: bool = False
    """Whether it was asked for as part of a benchmark, of which each dataset takes the tasks that it has labels for."""


def choose(applications: Sequence[str], backends: Sequence[str] = ()) -> tuple[Choice, ...]:
    """Return which probes run with which backends.

    A named backend answers for every probe it can among those asked for. One of another probe of an application that
    was asked for (``quality`` with ``visqol``) takes the place of that application's usual probes. Where none is named,
    the models of an application's own protocol (``ultra``) go before the usual ones. Raises UnknownApplication for a
    name that does not exist or a backend for which nothing was asked.
    """
    roles = {spec: roles_of(spec) for spec in backends}
    probes = list(probes_of(tuple(applications)))
    if "quality" in applications:
        named = [key for found in roles.values() for key in found if key in PROBES and _is_quality(key)]
        if named:
            others = probes_of(tuple(name for name in applications if name != "quality"))
            probes = [*others, *(key for key in dict.fromkeys(named) if key not in others)]
    for spec, found in roles.items():
        if not any(set(found) & probe(key).roles for key in probes):
            raise UnknownApplication(spec, _backends_of(probes), "backend of these applications")
    protocol = {key: spec for name in applications for key, spec in PROTOCOLS.get(name, {}).items()}
    alone = probes_of(tuple(name for name in applications if not is_benchmark(name)))
    return tuple(
        Choice(key, _named(key, roles) or protocol.get(key) or probe(key).backend, key not in alone) for key in probes
    )


def _is_quality(key: str) -> bool:
    return PROBES[key].scorer.endswith("quality.scoring:score")


def _backends_of(probes: Sequence[str]) -> list[str]:
    wanted = frozenset[str]().union(*(probe(key).roles for key in probes))
    return [row.name for row in _ROWS if wanted & set(row.probes)]


def _named(key: str, roles: Mapping[str, Sequence[str]]) -> str | None:
    chosen = [spec for spec, found in roles.items() if probe(key).roles & set(found)]
    if len(chosen) > 1:
        raise ApplicationError(f"{key}: expected one backend, got {' and '.join(chosen)}; probe once with each")
    return chosen[0] if chosen else None


def stages(spec: str) -> tuple[str, str]:
    """Return the two stages of a chain ``RECOGNISER+SECOND``; the second is '' where ``spec`` names one model.

    A ``+`` within a variant (a path, a repository) is none of a chain: what follows must name a second stage.
    """
    for place in [at for at, letter in enumerate(spec) if letter == "+"][::-1]:
        first, second = spec[:place], spec[place + 1 :]
        row = find(_split(second)[0], GROUP, BackendEntry, BACKENDS) if first and second else None
        if row is not None and set(row.probes) & set(SECOND):
            return first, second
    return spec, ""


def roles_of(spec: str) -> tuple[str, ...]:
    """Return the probes and roles that a model or chain answers for; errors as :func:`backend_entry`."""
    first, second = stages(spec)
    if not second:
        return backend_entry(first).probes
    if "asr" not in backend_entry(first).probes:
        raise ApplicationError(
            f"{spec}: expected a recogniser before the +, got {first}; see codec-superb applications"
        )
    return tuple(f"asr+{role}" for role in backend_entry(second).probes)


def backend_entry(spec: str) -> BackendEntry:
    """Return the entry of ``NAME[:VARIANT]``, or the row of ``path/to/file.py:NAME[:VARIANT]``.

    Raises UnknownApplication with near matches, PluginError for a plug-in that cannot be loaded or whose name is taken.
    """
    name = _split(spec)[0]
    row = find(name, GROUP, BackendEntry, BACKENDS)
    if row is None:
        raise UnknownApplication(name, names(GROUP, BACKENDS), "backend")
    return row


def known_backends() -> dict[str, BackendEntry]:
    """Return the catalogue and what installed distributions add; one that cannot be loaded is reported once."""
    return BACKENDS | rows_of(GROUP, BackendEntry, targets(BACKENDS))


def _split(spec: str) -> tuple[str, str]:
    """Return name and variant of ``NAME[:VARIANT]``; the name of a row in a file has a colon of its own."""
    in_file = re.match(r"(.*\.py:\w+)(?::(.*))?$", spec)
    if in_file:
        return in_file[1], in_file[2] or ""
    name, _, variant = spec.partition(":")
    return name, variant


def open_backend(spec: str, weights: Path | None = None) -> Backend:
    """Import the backend of ``NAME[:VARIANT]`` and make it; nothing is loaded yet.

    Raises UnknownApplication, and MissingPackage with the install command where its packages are not installed.
    """
    return make_backend(backend_entry(spec), variant_of(spec), weights)


def make_second_stage(entry: BackendEntry, variant: str, weights: Path | None = None) -> SecondStage:
    """Import the second stage of a row and make it; errors as :func:`open_backend`."""
    stage: SecondStage = _class_of(entry)(variant, weights)
    return stage


def variant_of(spec: str) -> str:
    """Return the variant of ``NAME:VARIANT``, '' without one."""
    return _split(spec)[1]


def make_backend(entry: BackendEntry, variant: str, weights: Path | None = None) -> Backend:
    """Import the backend of a row and make it, in whatever process; errors as :func:`open_backend`."""
    backend: Backend = _class_of(entry)(variant, weights)
    return backend


def _class_of(entry: BackendEntry) -> Callable[[str, Path | None], Any]:
    try:
        found: Callable[[str, Path | None], Any] = load(entry.target)
    except ModuleNotFoundError as error:
        raise missing_package(entry.name, entry.extra, error) from error
    return found


def missing_package(name: str, extra: str, error: ModuleNotFoundError) -> MissingPackage:
    """Make the error of a backend whose packages are not installed."""
    if not extra:
        return MissingPackage(not_installed(name, error.name, error.name or ""))
    return MissingPackage(not_installed(name, error.name, extra=extra))


def score(key: str, question: ScoringInput) -> ProbeScores:
    """Score the predictions of one probe on one run."""
    scorer: Callable[[Probe, ScoringInput], ProbeScores] = load(PROBES[key].scorer)
    return scorer(PROBES[key], question)


def check(key: str, items: Sequence[Item], trials: Sequence[tuple[bool, str, str]]) -> str:
    """Return why a probe is impossible on these clips, before any model is loaded; '' where it is possible.

    The scorer of a probe of trials may offer ``check(items, trials) -> str`` for conditions beyond the labels.
    """
    if PROBES[key].pairs != "trials":
        return ""
    place = PROBES[key].scorer.rpartition(":")[0]
    try:
        checker: Callable[..., str] | None = load(f"{place}:check")
    except AttributeError:
        return ""
    return "" if checker is None else checker(items, trials)


def applications() -> tuple[str, ...]:
    """Names that ``--application`` takes, besides the keys of single probes."""
    return tuple(APPLICATIONS)
