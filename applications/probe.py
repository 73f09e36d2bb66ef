"""What a probe is: the labels that it needs, the values that it keeps of a clip, and its metrics.

A probe keeps, of each clip, a few numbers from which every figure can be computed again: ``shared`` ones (the words of
the transcript) and ``sided`` ones, once for the reference and once for the resynthesis (the errors made). Results of
more than one clip (trials of two clips, the rank of a clip within a class) are kept as pairs, and those of sets of
vectors as frames.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from codec_superb.metrics.table import Category
from codec_superb.plugins import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from codec_superb.applications.task_definitions.definition import TaskDefinition

Side = Literal["reference", "resynthesis"]
SIDES: tuple[Side, ...] = get_args(Side)
_COLLECTION = "collection:"
PARTS = ("match:", "chance:", "pure:", "clustered:", "abx:", "edit:")
"""What names of counts begin with that are parts of their total; others (``edits:``, ``bits:``) may exceed it."""
SIGNED = ("drift:", "mi:", "nmi:", "control:")
"""The same of those that may be below 0: a change, and what one clip adds to a mutual information."""
LARGEST_COUNT = 1e12
"""Of any count of a clip: far above the bits of an hour of sound, far below what sums cannot hold."""

USUAL_ERRORS = 500.0
"""Per cent: five words heard for each that was said, over a whole dataset."""
MOST_ERRORS = 1000.0
"""For each word or character said: one of them, and 224 tokens of some four letters heard in 30 s, half of Whisper's
context (arXiv:2212.04356)."""


@dataclass(frozen=True, slots=True)
class Field:
    """One number that a probe stores for a clip."""

    name: str
    minimum: float
    maximum: float = inf
    whole: bool = False
    """Whether it is a count."""
    ceiling: float | None = None
    """Its value on every reference by definition; None where a model predicts it."""
    names: bool = False
    """Whether it says which one (a class, a cluster, a row) and not how much."""


@dataclass(frozen=True, slots=True)
class ProbeMetric:
    """One application metric of a probe over a dataset: on the reference, on the resynthesis, and the loss between."""

    key: str
    label: str
    unit: str
    """'' for a plain number, '%' for percent."""
    higher_is_better: bool
    minimum: float
    maximum: float
    decimals: int
    definition: str
    """One-sentence description."""
    target: str
    """``module:function``: ``(Evidence, weights) -> values``, :mod:`codec_superb.applications.metric_functions`."""
    field: str = ""
    """The sided field that a mean is taken of."""
    per: str = ""
    """The shared count that a rate of errors is divided by; a clip where it is 0 is counted in another unit."""
    interval: bool = True
    """Whether it has an interval: the least cost over thresholds chosen on the same trials is too low, and by more than
    its spread."""
    bounds: tuple[float, float] | None = None
    """What a file may say where ``minimum`` or ``maximum``, the ends of the scale of its intervals, is open: nothing
    that was measured lies beyond. None for the two themselves."""
    usual: float = inf
    """Largest value of a dataset that codecs have; beyond, somebody looks first."""
    others: float = 1.0
    """How many times ``usual`` another model than the probe's own may give: a distance has the unit of its vectors."""
    near: float = 0.0
    """By how much its value on the originals may be another one, besides a share of it: what ``verify`` lets the scores
    behind it move gives that much where the value is 0."""
    alike: bool = False
    """Whether it compares a sound with its original: at its best over all clips, it is the original."""

    @property
    def admitted(self) -> tuple[float, float]:
        """Least and largest value that is received."""
        return self.bounds or (self.minimum, self.maximum)


class KeptFrames(NamedTuple):
    """Frames of a clip as they are kept, rounded to half floats."""

    total: int
    """Of the whole clip."""
    scale: float
    """Factor of the half floats."""
    reference: NDArray[np.float64]
    """Shape ``(kept, dimensions)``."""
    resynthesis: NDArray[np.float64]


class KeptClip(NamedTuple):
    """What a probe keeps of a clip on which it is ok, as a check of limits takes it."""

    shared: Mapping[str, float]
    reference: Mapping[str, float]
    resynthesis: Mapping[str, float]
    settings: Mapping[str, str | int | float | bool]
    """Of the probe on the clip's dataset."""
    frames: KeptFrames | None = None
    """None for a probe that keeps none, and for a clip of which none are kept."""


class Fault(NamedTuple):
    """A number that cannot be true with the others."""

    place: str
    """Field, after its side: ``resynthesis.rank``."""
    expected: str
    got: float | str


@dataclass(frozen=True, slots=True)
class Probe:
    """One row of the table."""

    key: str
    label: str
    needs: tuple[str, ...]
    """Labels without which a clip is left out, and counted: ``text``, ``speaker``, ``emotion``, ``events``, or
    ``extra:NAME`` for one of the dataset's own; ``collection:NAME`` is a collection that the dataset must have, and
    ``collection:NAME?`` one that the scorer uses where the dataset has it."""
    categories: tuple[Category, ...]
    """Clips of other categories take no part."""
    shared: tuple[Field, ...]
    sided: tuple[Field, ...]
    pairs: Literal["", "trials", "ranks", "detections", "frames", "counts"]
    """What it keeps beyond numbers of clips: trials of two clips with a score, ranks of a clip among all within a
    class, detections of a clip with their confidence, frames (vectors of both sides), or counts of a clip by name, each
    a total (as the reference's number) and what there is of it (as the resynthesis's); see :data:`PARTS`."""
    metrics: tuple[ProbeMetric, ...]
    version: str
    """Version of the definition; a change of numbers changes it."""
    paper: str
    backend: str
    """Name of the default backend, see :mod:`codec_superb.applications.backends`; ``:NAME`` for
    one of a plug-in's own file."""
    scorer: str
    """``module:function`` taking (:class:`Probe`, ``ScoringInput``) -> ``ProbeScores``; ``:function`` as above."""
    takes: tuple[str, ...] = ()
    """Roles of backends, one of which can answer (:class:`~codec_superb.applications.backends.BackendEntry`); empty
    for those that name the probe."""
    options: tuple[tuple[str, str], ...] = ()
    """Parameters of a task as sorted name-value pairs, read by the scorer."""
    group: str = ""
    """Super task of a benchmark that it belongs to: ``retrieval``."""
    task: str = ""
    """That benchmark's own name of it: ``PassageInLang``."""
    primary: str = ""
    """Key of the metric that stands for it where one number is shown."""
    limits: str = ""
    """``module:function``: :class:`KeptClip` -> ``Iterable[Fault]``, which numbers of a clip cannot be true together;
    '' where the limits of each field are all."""
    of_codec: tuple[str, ...] = ()
    """Settings that follow from each codec's own tokens, as the hash of a model that was trained on them: every codec
    has its own, and they set no figures apart."""
    joint: bool = False
    """Whether a clip's numbers depend on which others are run: classes, clusters, or what was learnt from them."""
    of_all: bool = False
    """Whether they depend on how the others sound after the codec too: clusters, and the answers of all clips. Heads
    that are trained on originals do not, nor what is counted in labels."""
    datasets: tuple[str, ...] = ()
    """Datasets on which it is part of its benchmark; empty for any with its labels. By its own key it runs on all."""
    definition: TaskDefinition | None = field(default=None, hash=False)
    """Of a task that is data and nothing else; a submission carries it."""
    origin: str = ""
    """'' for a row of the table; the distribution or the file that a plug-in comes from, set where it is found."""
    sha256: str = ""
    """Of the file of a plug-in that is one, set where it is found."""

    @property
    def target(self) -> str:
        """What is behind it: its scorer."""
        return self.scorer

    @property
    def roles(self) -> frozenset[str]:
        """Roles of backends, one of which can answer."""
        return frozenset(self.takes or (self.key,))

    @property
    def collections(self) -> tuple[str, ...]:
        """Names of the collections that it needs."""
        return tuple(name for name in self._collections if not name.endswith("?"))

    def collections_of(self, present: Container[str]) -> tuple[str, ...]:
        """Return the names of the collections that it uses of a dataset that has those ``present``."""
        return tuple(name.removesuffix("?") for name in self._collections if name.removesuffix("?") in present)

    @property
    def _collections(self) -> tuple[str, ...]:
        return tuple(need.removeprefix(_COLLECTION) for need in self.needs if need.startswith(_COLLECTION))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that it needs of a clip."""
        return tuple(need for need in self.needs if not need.startswith(_COLLECTION))

    def option(self, name: str) -> str:
        """Return a parameter of the task, '' where it has none of that name."""
        return dict(self.options).get(name, "")

    def plugged(self, source: Source) -> Probe:
        """Return the row as a plug-in's: its version includes its source."""
        return replace(
            self,
            version=source.version(self.version),
            metrics=tuple(replace(metric, target=source.target(metric.target)) for metric in self.metrics),
            backend=source.target(self.backend),
            scorer=source.target(self.scorer),
            limits=source.target(self.limits),
            origin=source.origin,
            sha256=source.sha256,
        )
