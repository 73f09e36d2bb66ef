"""A codec's card: what it is, where it comes from, and the bitrate it claims, readable without its packages."""

from __future__ import annotations

from math import ceil, log2
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Weights(BaseModel):
    """Where a neural codec's parameters come from; a classical codec has none."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    source: str
    """Hub repository, URL or local path; ``random`` marks a model that was never trained."""
    revision: str | None = None
    """Commit or tag at the source."""
    sha256: str | None = None
    """Of the file of parameters; of several files, of the list that ``sha256sum`` prints of them."""
    config_sha256: str | None = None
    """Of ``config.json``, by which a checkpoint of transformers is built: the same parameters make other models."""


class Isolation(BaseModel):
    """How a codec runs that needs a Python environment of its own; both are data, read without building anything."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    lock: str
    """Its packages: a file of ``base_codec/isolation/locks`` without ``.txt``, or a path."""
    guest: str
    """What runs inside: a module of ``base_codec/isolation/guests``, or the path of one (``guest.py``)."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Longest that the coding of one clip may take."""


class Card(BaseModel):
    """One named configuration of a codec family; the unit that is benchmarked, packed and ranked."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.]*$")
    """Name of the configuration, as given on the command line: ``opus_12k``."""
    family: str = Field(pattern=r"^[a-z0-9][a-z0-9_]*$")
    """What the points of one rate–score curve share: ``opus``."""
    title: str
    """Name for people: ``Opus 12 kbps``."""
    version: str
    """Implementation: library and its version or the package that carries it."""
    kind: Literal["classical", "neural", "lossless"]
    """``lossless`` returns its input exactly and shows the best that can be reached."""
    standard: str
    """Standard or document that defines the codec."""
    year: int
    """When that was first published."""
    sampling_rate: int
    """Hz at which the codec itself works; other input is resampled to it and back (soxr VHQ)."""
    input_rate: bool = False
    """True for a codec that works at the rate of whatever it is given, without resampling (lossless codecs);
    ``sampling_rate`` is then only the rate at which frame rate and latency are stated."""
    channels: tuple[int, ...]
    """Channel counts it takes; other counts are averaged to mono (or mono is doubled where it only takes stereo)."""
    nominal_kbps: float | None
    """None for a lossless codec; for a token codec computed, never typed."""
    nominal_tolerance: float | None = 0.15
    """Largest |measured / nominal - 1| on ten seconds of speech or more (on shorter clips the silence that fills
    the last frame counts too); None when ``bitrate_note`` says why."""
    bitrate_note: str | None = None
    """How the measured bitrate may differ from nominal, and by how much."""
    level_note: str | None = None
    """What happens to a clip's level on its way, or what the publisher's own way does to it that is not done here; None
    where neither changes it."""
    frame_rate: float | None
    """Frames per second."""
    codebooks: int | None = None
    """Codebooks in each frame; None for a codec without tokens."""
    codebook_size: int | None = None
    """Entries of a codebook; None where the codebooks differ."""
    codebook_sizes: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    """Entries of each codebook, first to last, where they differ; else None."""
    block_frames: int = Field(default=1, ge=1)
    """Frames that are coded at one go: silence fills the last block of a clip. 1 where it fills single frames."""
    causal: bool
    """Whether it can run on a stream, with no more than ``latency_ms`` of the future."""
    delay_samples: int | float
    """Algorithmic delay of this wrapper's chain in samples at ``sampling_rate``; the wrapper removes it. The part of a
    sample is removed where the clip's rate is higher than the codec's."""
    latency_ms: float | None
    """Shortest time in milliseconds from a sample going in to the same sample coming out: a frame, and the look-ahead
    of a frame's first sample through encoder and decoder. None: a sample waits for the whole clip (attention over all
    of it, a layer that runs backwards, a level taken over it), or nobody knows for how much of it. A causal codec has a
    number."""
    parameters: int | None = None
    """Number of trained parameters."""
    training_data: str | None = None
    """What a neural codec was trained on."""
    licence: str
    """Of the implementation and its parameters."""
    paper: str
    """What to cite."""
    homepage: str
    """Where the codec is published."""
    weights: Weights | None = None
    """None for a codec that was not trained."""
    extra: str | None = None
    """The extra of this package that the codec needs, None for the core install."""
    requirements: tuple[str, ...] = ()
    """What to install for it, as pip takes it."""
    isolation: Isolation | None = None
    """None for a codec that runs in this very environment."""
    encode_only: bool = False
    """It gives tokens and no resynthesis."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """What the wrapper passes to its library."""

    @property
    def token_kbps(self) -> float | None:
        """Bitrate computed from frame rate x codebooks x log2(codebook size), None where there are no tokens."""
        if self.frame_rate is None or self.frame_bits is None:
            return None
        return self.frame_rate * self.frame_bits / 1000

    @property
    def frame_bits(self) -> float | None:
        """Bits of one frame: log2(codebook size) summed over the codebooks; None where there are no tokens."""
        if self.codebook_sizes is not None:
            return sum(map(log2, self.codebook_sizes))
        if self.codebooks is None or self.codebook_size is None:
            return None
        return self.codebooks * log2(self.codebook_size)

    @property
    def codebook_entries(self) -> tuple[int, ...] | None:
        """Entries of each codebook, whether they differ or not; None where there are no tokens."""
        if self.codebook_sizes is not None or self.codebooks is None or self.codebook_size is None:
            return self.codebook_sizes
        return (self.codebook_size,) * self.codebooks

    def bits_of(self, frames: int) -> int:
        """Return the size in bits of so many frames of tokens, rounded up once, not for each token.

        Raises ValueError for a card without tokens.
        """
        if self.frame_bits is None:
            raise ValueError(f"{self.name}: expected a card with codebooks, it has none")
        return ceil(frames * self.frame_bits - 1e-9)

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second over all codebooks (TPS)."""
        if self.frame_rate is None or self.codebooks is None:
            return None
        return self.frame_rate * self.codebooks

    @model_validator(mode="after")
    def _causal_codecs_have_a_latency(self) -> Self:
        """Refuse a codec that runs on a stream and waits for the whole of it."""
        if self.causal and self.latency_ms is None:
            raise ValueError(
                f"{self.name}: expected latency_ms as a number, for a causal codec, got none; "
                "state frame plus look-ahead in milliseconds, or causal: false"
            )
        return self

    @model_validator(mode="after")
    def _bitrate_is_computed(self) -> Self:
        """Refuse a typed-in bitrate that disagrees with the tokens, and codebooks that contradict each other."""
        if self.codebook_sizes is not None and (
            self.codebook_size is not None or len(self.codebook_sizes) != self.codebooks
        ):
            raise ValueError(
                f"{self.name}: expected codebook_sizes for each of {self.codebooks} codebooks and no codebook_size, "
                f"got {len(self.codebook_sizes)} sizes and codebook_size {self.codebook_size}"
            )
        computed = self.token_kbps
        if computed is not None and (self.nominal_kbps is None or abs(self.nominal_kbps - computed) > 1e-6 * computed):
            raise ValueError(f"{self.name}: nominal_kbps is {self.nominal_kbps}, but its tokens give {computed:.6g}")
        if self.nominal_tolerance is None and not self.bitrate_note:
            raise ValueError(f"{self.name}: a card without nominal_tolerance needs a bitrate_note that says why")
        return self
