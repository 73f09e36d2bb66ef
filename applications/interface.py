"""Interface of model backends and scorers: inputs, predictions, and the scores of a probe.

Conventions: audio is float32 mono in [-1, 1], shape ``(samples,)``, at the backend's own ``rate`` in Hz. A prediction
is a text (a transcript), a float32 array of one dimension (an embedding, class scores, opinion scores) or of two
(frames, ``(frames, dimensions)``, whose hop in seconds is the setting ``hop_s`` of the model).

A *chat* is asked with messages of texts and sounds, and answers with a text, which may be a :class:`Reply`.

A *chain* is a recogniser whose transcripts go through a second stage: a text encoder or a reader. What a transcript is
compared with (documents, candidates, spans) comes from a *collection* of the dataset.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.probe import Side
from codec_superb.applications.task_definitions.messages import Message
from codec_superb.data_manifests.collections import Collection
from codec_superb.metrics.table import Category

Samples = NDArray[np.float32]
Setting = str | int | float | bool


class Reply(str):
    """The answer of a chat, with what is known of how it came about."""

    __slots__ = ("facts",)
    facts: Mapping[str, Setting]
    """``finish`` (its reason), ``tokens``, ``seconds``, ``cost``, ``fingerprint``; journalled beside the answer."""

    def __new__(cls, text: str, facts: Mapping[str, Setting] = MappingProxyType({})) -> Self:
        """Make it of a text."""
        reply = super().__new__(cls, text)
        reply.facts = dict(facts)
        return reply


Prediction = str | NDArray[np.float32]
TextRole = Literal["query", "document", "sentence"]
"""What a text is to an encoder, which decides its prompt; a ``sentence`` (a candidate, a class) has none."""


@dataclass(frozen=True, slots=True)
class Item:
    """Labels of a clip in its dataset; an unknown label is None or empty."""

    clip: str
    category: Category
    text: str | None = None
    language: str | None = None
    """BCP 47 tag."""
    speaker: str | None = None
    emotion: str | None = None
    events: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    """Further published labels (session, fold, …) as sorted name-value pairs."""
    question: str | None = None
    """What is asked about the clip, in writing."""
    choices: tuple[str, ...] = ()
    """Answers to choose from, in the order of their letters."""
    answers: tuple[str, ...] = ()
    """Right answers, any of which will do."""
    cluster: str = ""
    """Opaque id of what makes clips of a dataset alike (the speaker, the recording); '' for a clip on its own."""

    def label(self, name: str) -> str | tuple[str, ...] | None:
        """Return a label by the name that probes use (``text``, ``extra:NAME``); None or empty if unknown."""
        kind, _, own = name.partition(":")
        found: str | tuple[str, ...] | None = dict(self.extra).get(own) if own else getattr(self, kind)
        return found


class Sound(NamedTuple):
    """One side of a clip, the input of a backend."""

    item: Item
    samples: Samples
    """At the backend's rate."""
    reference: Samples | None = None
    """The reference at the same rate, for a backend that compares (``needs_reference``); None for others."""
    messages: tuple[Message, ...] = ()
    """What a chat is asked, in which audio parts stand for ``samples``; empty for other backends."""
    options: tuple[str, ...] = ()
    """Answers to choose from, for a chat that looks at nothing else; a large one reads them in the messages."""
    sha256: str = ""
    """Of a resynthesis, over its 24-bit samples; '' for a reference."""
    dataset: str = ""
    """Name of the dataset, within which clips have their names."""

    @property
    def side(self) -> Side:
        """Whether it is the reference or its resynthesis."""
        return "resynthesis" if self.sha256 else "reference"


@dataclass(frozen=True, slots=True)
class Model:
    """The model that a backend will run: its identity, which decides comparability, and its place."""

    name: str
    """As results name it: ``faster-whisper:tiny.en``, never with a path of this machine."""
    sha256: str
    """Of the model's files: of the one file, or over names and hashes of several; see ``model_files.sha256_of``."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Settings that determine a prediction: decoding, segment length, pooling."""
    path: Path | None = None
    """File or folder on this machine; not part of the identity."""
    random: bool = False
    """Whether its weights are untrained (a test's checkpoint): its results are marked and never packed."""
    remote: bool = False
    """Whether others run it, so that ``sha256`` is of no weights: its results are marked, never ranked with others."""


class Terms(NamedTuple):
    """What the user said of one command, for a backend that keeps answers or costs money."""

    command: str = ""
    """Tells one command from another."""
    anew: bool = False
    """Whether kept answers are not taken (``--overwrite``)."""
    budget: float | None = None
    """Money that the command may spend; None for any."""


class Backend(ABC):
    """One model behind a probe: found by ``prepare`` in the calling process, loaded and run in a worker process.

    ``__init__`` takes the variant after the colon of its name (``tiny.en``, a hub repository, a path; '' for the
    default) and the folder of ``--weights`` or None; it does no work and loads nothing.
    """

    rate: ClassVar[int] = 16_000
    """Sampling rate in Hz that ``predict`` is given."""
    needs_reference: ClassVar[bool] = False
    """Whether it needs the reference beside every sound."""
    one_copy_per_worker: ClassVar[bool] = False
    """Whether each worker process may load its own copy; otherwise one process runs it with all cores."""
    remote: ClassVar[bool] = False
    """Whether a server answers: the sides of a clip are asked one after the other, since the server may change."""
    batch_seconds: ClassVar[float] = 60.0
    """Seconds of audio handed over at once at most, in batches of clips of like length."""

    def __init__(self, variant: str = "", weights: Path | None = None) -> None:
        self.variant = variant
        self.weights = weights
        self.terms = Terms()

    @abstractmethod
    def prepare(self) -> Model:
        """Find or fetch the model's files and return the model's identity, loading nothing.

        Raises MissingPackage with the install command, MissingModel with what to download, where to put it, and how.
        """

    @abstractmethod
    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the model onto ``device`` (``cpu`` or ``cuda``); ``threads`` is how many cores it may use."""

    @abstractmethod
    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Answer for each sound, in order; an exception in place of an answer fails that sound alone.

        The answers are those of one sound at a time, whatever the batch. Raises OutOfMemory where the batch is too
        large.
        """

    def train(
        self,
        items: Sequence[Item],  # noqa: ARG002 -- for those that train
        load: Callable[[str], Samples],  # noqa: ARG002
        model: Model,
        device: str = "auto",  # noqa: ARG002
    ) -> Model:
        """Train on references before predictions, once for a dataset, where the backend needs it.

        ``load`` gives the reference of a clip id at ``rate``; ``device`` is what the user asked for (``auto``, ``cpu``,
        ``cuda``). Returns the model with what was trained in its identity.
        Backends without training return ``model``.
        """
        return model

    def classes(self, model: Model) -> Sequence[str]:  # noqa: ARG002 -- for those that classify
        """Name the classes whose scores a prediction holds, in order, from the identity ``model``, loading nothing.

        Empty for backends whose predictions are no class scores.
        """
        return ()

    def entries(self) -> Sequence[int]:
        """Return the entries of each codebook, for a codec whose predictions are tokens; empty for others."""
        return ()

    def foretell(self, seconds: Sequence[float], letters: int) -> str:  # noqa: ARG002 -- for those that cost
        """Return what asking about sounds of these lengths costs, ``letters`` of text each; '' where it is free."""
        return ""

    def close(self) -> None:  # noqa: B027 -- most have nothing to give back
        """Release the model."""


class TextQuestion(NamedTuple):
    """What the second stage of a chain is asked about one clip."""

    item: Item
    text: str
    """Transcript by the first stage; empty where it heard nothing."""
    title: str = ""
    context: str = ""
    """Text in which a reader looks for the answer; empty for other probes."""


class SecondStage(ABC):
    """A model behind a recogniser; ``__init__`` and ``prepare`` are those of :class:`Backend`."""

    one_copy_per_worker: ClassVar[bool] = False
    """Whether each worker process may load its own copy; otherwise one process runs it with all cores."""

    def __init__(self, variant: str = "", weights: Path | None = None) -> None:
        self.variant = variant
        self.weights = weights

    @abstractmethod
    def prepare(self) -> Model:
        """Find or fetch the model's files and return the model's identity, loading nothing."""

    @abstractmethod
    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the model onto ``device`` (``cpu`` or ``cuda``)."""

    @abstractmethod
    def answer(self, questions: Sequence[TextQuestion]) -> Sequence[Prediction | Exception]:
        """Answer each question, in order; an exception in place of an answer fails that clip alone."""

    def close(self) -> None:  # noqa: B027 -- most have nothing to give back
        """Release the model."""


class TextEncoder(SecondStage):
    """A model that turns texts into vectors."""

    @abstractmethod
    def embed(self, texts: Sequence[str], role: TextRole) -> Samples:
        """Return float32 of shape ``(texts, dimensions)`` for at least one text; the empty text has a vector too.

        A vector is the same whatever stands beside its text. Raises PredictionFailed where a text has none.
        """

    def document(self, title: str, text: str) -> str:  # noqa: ARG002 -- for models that were trained on titles
        """Return what stands for a document of a collection in ``embed``: its text alone unless a model takes titles.

        It is called before the model is loaded, in the calling process.
        """
        return text

    def answer(self, questions: Sequence[TextQuestion]) -> Sequence[Prediction | Exception]:
        """Embed the transcripts as queries; one that has no vector fails alone."""
        return [self._embedded(question.text) for question in questions]

    def _embedded(self, text: str) -> Prediction | Exception:
        try:
            vector: Samples = self.embed([text], "query")[0]
        except PredictionFailed as error:
            return error
        return vector


class TextVectors(Protocol):
    """Vectors of texts by the encoder of a chain, computed once for all codecs and kept."""

    @property
    def search(self) -> Mapping[str, Setting]:
        """Settings that tell how rows are found: ``search``, ``exact`` or the kind of an index, with its parameters."""
        ...

    def nearest(self, name: str, role: TextRole, queries: Samples) -> NDArray[np.int64] | None:
        """Return rows of a collection that an index finds near queries, -1 for none; None where search is exact.

        Shape ``(queries, hits)``, best first by the index.
        """
        ...

    def of_collection(self, name: str, role: TextRole) -> Samples:
        """Return the vectors of a collection's texts, ``(rows, dimensions)`` in its order; it may be memory-mapped."""
        ...

    def of_texts(self, texts: Sequence[str], role: TextRole) -> Samples:
        """Return the vectors of texts, ``(texts, dimensions)``."""
        ...


Status = Literal["ok", "left_out", "failed"]


@dataclass(frozen=True, slots=True)
class ClipOutcome:
    """Result of a probe on one clip."""

    status: Status
    """``left_out``: the clip takes no part (no transcript); ``failed``: a model gave no answer."""
    reason: str = ""
    shared: Mapping[str, float] = field(default_factory=dict)
    reference: Mapping[str, float] = field(default_factory=dict)
    resynthesis: Mapping[str, float] = field(default_factory=dict)


class ScoredPair(NamedTuple):
    """A trial of two clips, or a clip and one of its classes."""

    left: str
    """Clip id: of the enrolment, or of the ranked clip."""
    right: str
    """Clip id of the test; or the name of the class."""
    target: bool
    """Whether one person speaks in both; always true for ranks."""
    reference: float
    """Score of the trial on the references; or the clip's rank in its class, from 1, ties counted against it."""
    resynthesis: float
    enrol_clean: float | None = None
    """Score with the reference as enrolment and the resynthesis as test; None for ranks."""


class ScoredFrames(NamedTuple):
    """Frames of a clip that a probe keeps: the same moments of both sides."""

    clip: str
    frames: int
    """Of the whole clip, of which some are kept."""
    reference: NDArray[np.float32]
    """Shape ``(kept, dimensions)``."""
    resynthesis: NDArray[np.float32]
    """Shape ``(kept, dimensions)``."""


@dataclass(frozen=True, slots=True)
class ProbeScores:
    """All results of a probe on one run."""

    outcomes: Mapping[str, ClipOutcome]
    """By clip id; one for every item."""
    pairs: tuple[ScoredPair, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """How it was scored: normaliser, trial list with its seed, parameters of the cost."""
    frames: tuple[ScoredFrames, ...] = ()
    """Of probes that keep frames: at most one entry a clip, all with one number of dimensions."""


@dataclass(frozen=True, slots=True)
class ScoringInput:
    """Input of a scorer; a scorer is a pure function ``score(question) -> Scored``.

    A clip whose prediction is missing has the reason in ``failures`` under its id; ``None`` for a side that has one.
    """

    dataset: str
    items: Sequence[Item]
    """Clips of the probe's categories, sorted by id."""
    reference: Mapping[str, Prediction]
    resynthesis: Mapping[str, Prediction]
    failures: Mapping[str, str] = field(default_factory=dict)
    """Reason by clip id, where the codec or a model gave nothing."""
    trials: Sequence[tuple[bool, str, str]] = ()
    """Published trials (same speaker, enrolment, test) where the dataset has a list; else the scorer builds its own."""
    trial_list: str = ""
    """Name of that list, such as ``veri_test2``."""
    classes: Sequence[str] = ()
    """Names of the model's classes, where it has some; the order of a prediction's scores."""
    entries: Sequence[int] = ()
    """Entries of each codebook, where predictions are tokens."""
    collections: Mapping[str, Collection] = field(default_factory=dict)
    """Collections of the dataset that the probe needs, by name."""
    vectors: TextVectors | None = None
    """Of the encoder whose vectors the predictions are; None where the model encodes no texts."""
    heard: Mapping[Side, Mapping[str, str]] = field(default_factory=dict)
    """Transcripts by the first stage of a chain, by side and clip id; empty for other models."""
    judgements: Mapping[str, str | PredictionFailed] = field(default_factory=dict)
    """Replies of a judge by the key of the request, for judged tasks."""
