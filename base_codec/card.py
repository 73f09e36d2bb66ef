"""The card of a codec: its metadata (origin, rates, codebooks, bitrate), readable without the codec's packages."""

from __future__ import annotations

from math import ceil, log2
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from codec_superb.base_codec.errors import CardError
from codec_superb.field_faults import sentences

Kind = Literal["classical", "neural", "lossless", "not stated"]
KINDS = ("classical", "neural", "lossless")
"""Kinds that can be asked for: each stands for all codecs of the kind."""
NOT_STATED: Final = "not stated"
"""What a text field of a card holds that nobody stated."""
EVIDENCE = {"seen": "published weights run", "compared": "code compared", "neither": "neither"}
"""Words of tables for ``Card.evidence``."""


class WeightsFile(BaseModel):
    """One file of weights, pinned."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")
    """File name, at the source and on this machine."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of its bytes."""
    size: int = Field(gt=0)
    """Bytes."""


class Weights(BaseModel):
    """Where a neural codec's parameters come from; a classical codec has none."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    source: str
    """Hub repository, URL or local path; ``random`` marks untrained weights."""
    revision: str | None = None
    """Commit or tag at the source."""
    sha256: str | None = None
    """SHA-256 of the weights file; for several files, the SHA-256 of the list that ``sha256sum`` prints of them."""
    config_sha256: str | None = None
    """SHA-256 of ``config.json``, from which transformers builds the model: the same weights with another
    configuration are another model."""
    files: tuple[WeightsFile, ...] = ()
    """The files, where ``source`` is the address of a folder on a web server that has them by name."""
    skipped: str | None = None
    """What the file holds beside the codec's parameters, which the publisher's own loader leaves out too; known once it
    is opened."""


class Isolation(BaseModel):
    """Lock and guest of a codec that needs a private Python environment; reading them builds nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    lock: str
    """The packages of the environment: the name of a file in ``base_codec/isolation/locks`` without ``.txt``, or a
    path."""
    guest: str
    """The module that runs inside: a name in ``base_codec/isolation/guests``, or a path (``guest.py``)."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Time limit for encoding or decoding one clip, in seconds."""


UNESSENTIAL = frozenset({"evidence", "evidence_date", "conceals_loss"})
"""Fields of a card that change no row of a clean run."""


class SystemNeed(BaseModel):
    """A shared library or a program of the system that a codec calls; pip does not install it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    kind: Literal["library", "program"]
    """A ``library`` is loaded into the process, a ``program`` is run for each clip."""
    name: str
    """As the linker or the shell knows it: ``speex`` for libspeex.so.1, ``mpcenc``."""
    packages: dict[str, str] = Field(min_length=1)
    """System (``Debian``) to the package there that brings it."""

    def __hash__(self) -> int:
        return hash((self.kind, self.name))


_STATED = (
    "title", "version", "kind", "standard", "year", "channels", "nominal_kbps", "frame_rate", "causal",
    "delay_samples", "latency_ms", "licence", "paper", "homepage",
)  # fmt: skip
"""Fields that each card of the catalogue states, None where there is none; they stand in every identity."""


class Card(BaseModel):
    """Metadata of one named configuration of a codec family, the unit that is benchmarked, packed and ranked.

    ``Card(name="mine", sampling_rate=24000)`` is enough for a codec of one's own: what is not stated is shown as not
    stated. The catalogue's cards state everything.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.]*$")
    """Name of the configuration, as given on the command line: ``opus_12k``."""
    family: str = Field(default="", pattern=r"^[a-z0-9][a-z0-9_]*$")
    """Family whose configurations form one rate–score curve: ``opus``; where it is not stated, the name."""
    title: str = ""
    """Name for people: ``Opus 12 kbps``; where it is not stated, the name."""
    version: str = NOT_STATED
    """Implementation: library and its version or the package that carries it."""
    kind: Kind = NOT_STATED
    """``lossless`` returns its input exactly and shows the highest score that can be reached."""
    standard: str = NOT_STATED
    """Standard or document that defines the codec."""
    year: int | None = Field(default=None, ge=1900)
    """Year in which the standard or document was first published; None where it is not stated."""
    sampling_rate: int = Field(ge=1000)
    """Hz (not kHz) at which the codec itself works; other input is resampled to it and back (soxr VHQ)."""
    encoder_rates: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Hz that the encoder takes as they are, ascending, where it takes more than ``sampling_rate``, which is then the
    decoder's, or the highest of them where the decoder answers at the encoder's: a clip is encoded at the lowest not
    below its own rate, else at the highest."""
    input_rate: bool = False
    """True for a codec that works at the rate of its input, without resampling (lossless codecs);
    ``sampling_rate`` is then only the rate at which frame rate and latency are stated."""
    channels: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(1,), min_length=1)
    """Channel counts it takes; other counts are averaged to mono (or mono is doubled where it only takes stereo)."""
    nominal_kbps: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Nominal bitrate in kbps; computed from the codebooks for a token codec; None for a lossless codec, and where it
    is not stated."""
    bit_source: Literal["measured", "declared", "unknown"] = "measured"
    """Where the bits of its clips come from. ``measured``: counted, clip by clip, from what is sent. ``declared``: from
    ``nominal_kbps`` and the clip's length, as nothing that is sent could be counted. ``unknown``: clips have none."""
    nominal_tolerance: float | None = Field(default=0.15, ge=0, allow_inf_nan=False)
    """Largest |measured / nominal - 1| on ten seconds of speech or more (on shorter clips the silence that fills
    the last frame counts too); None when ``bitrate_note`` says why."""
    bitrate_note: str | None = None
    """How the measured bitrate may differ from nominal, and by how much."""
    level_note: str | None = None
    """How the codec changes a clip's level, or which level change of the publisher's own pipeline is not done here;
    None where neither changes it."""
    frame_rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Frames per second; None where there are none, or it is not stated."""
    codebooks: int | None = Field(default=None, ge=1)
    """Codebooks in each frame; None for a codec without tokens."""
    codebook_size: int | None = Field(default=None, ge=1)
    """Entries of a codebook; None where the codebooks differ."""
    codebook_sizes: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    """Entries of each codebook, first to last, where they differ; else None."""
    block_frames: int = Field(default=1, ge=1)
    """Frames that are coded together: the last block of a clip is padded with silence. 1 where single frames are."""
    causal: bool | None = None
    """Whether it can run on a stream, with a look-ahead of at most ``latency_ms``; None where it is not stated."""
    delay_samples: int | Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Algorithmic delay of encoder and decoder in samples at ``sampling_rate``; the wrapper removes it. The fractional
    part is removed only where the clip's rate is higher than the codec's. None where it is not stated: runs find it."""
    delay_source: Literal["declared", "found"] = "declared"
    """``found``: ``delay_samples`` is the lag of the first clips of the run, measured and not stated by anybody."""
    latency_ms: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Algorithmic latency in milliseconds from a sample going in to the same sample coming out: the frame length plus
    the look-ahead of a frame's first sample through encoder and decoder (decision 13). None: the codec needs the whole
    clip (attention over the clip, a backward layer, normalisation over the clip), or its look-ahead is unknown. A
    causal codec has a number."""
    parameters: int | None = Field(default=None, ge=0)
    """Number of trained parameters."""
    training_data: str | None = None
    """What a neural codec was trained on."""
    licence: str = NOT_STATED
    """Licence of the implementation; of a neural codec ``code: …; weights: …``, each with its source in brackets where
    that is not the package or repository itself, and ``none stated`` where the publisher says nothing."""
    paper: str = NOT_STATED
    """Publication to cite."""
    homepage: str = NOT_STATED
    """Where the codec is published."""
    weights: Weights | None = None
    """None for a codec that was not trained."""
    extra: str | None = None
    """The extra of this package that the codec needs, None for the core install."""
    requirements: tuple[str, ...] = ()
    """Packages that it needs, as pip requirements."""
    system: SystemNeed | None = None
    """The library or program of the system that it needs besides; None for most."""
    isolation: Isolation | None = None
    """None for a codec that runs in the environment of this package."""
    cpu_only: bool = False
    """True for a neural codec of the main environment whose library runs on the CPU alone."""
    encode_only: bool = False
    """True for a tokeniser without a decoder."""
    evidence: Literal["seen", "compared", "neither"] = "neither"
    """For a neural codec: ``seen`` - its published weights were run here and gave known figures; ``compared`` - its
    wrapper was compared with the publisher's code on random weights; ``neither``."""
    evidence_date: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    """Date of that check (ISO 8601); None where there was none."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings that the wrapper passes to its library."""
    conceals_loss: str | None = None
    """What the codec's own decoder does about a lost packet, one sentence; None where it does nothing, and silence, or
    the last frame of tokens, takes the packet's place."""

    if not TYPE_CHECKING:  # the fields are the parameters

        def __init__(self, *unnamed: object, **fields: object) -> None:
            if unnamed:
                raise CardError('a card takes its fields by name: Card(name="mine", sampling_rate=24000)')
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise CardError(f"the card is not valid: {sentences(error)}") from error

        # pydantic's own mark: files are validated as before, without a call of this
        __init__.__pydantic_base_init__ = True

    @model_serializer(mode="wrap")
    def _without_usual_sources(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out sources that are the usual ones: submissions of earlier versions keep their hash."""
        written: dict[str, Any] = handler(self)
        for name, usual in (("bit_source", "measured"), ("delay_source", "declared")):
            if getattr(self, name) == usual:
                written.pop(name, None)
        return written

    @property
    def lost_packets(self) -> str:
        """What becomes of a lost packet or frame of tokens, one sentence."""
        if self.conceals_loss is not None:
            return self.conceals_loss
        if self.codebooks is not None:
            return "the last frame of tokens that arrived is repeated"
        return "silence takes the place of a lost packet"

    def identity(self) -> dict[str, Any]:
        """Return the fields that make its runs what they are, without defaults: a new optional field changes no run.

        What was checked about a codec is not among them: a check of today changes no result of yesterday. Nor is what
        its decoder does about lost packets, which is part of the runs where some are lost alone.
        """
        given = self
        if self.delay_source == "found":  # by each run for itself
            given = self.model_copy(update={"delay_samples": None, "delay_source": "declared"})
        stated = given.model_dump(mode="json", include=set(_STATED))
        return stated | given.model_dump(mode="json", exclude_defaults=True, exclude=set(UNESSENTIAL))

    def missing_statements(self) -> list[str]:
        """Return the names of the fields that a card of the catalogue states and this one does not, in their order.

        A latency that is None says that the codec needs the whole clip, and no bitrate is that of a lossless codec.
        """
        empty = [name for name in _STATED if getattr(self, name) in (None, NOT_STATED)]
        absent = {"latency_ms", "frame_rate"} | ({"nominal_kbps"} if self.kind == "lossless" else set())
        return [name for name in empty if name not in absent]

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
        """Return the size in bits of ``frames`` frames of tokens, rounded up once, not for each token.

        Raises ValueError for a card without tokens.
        """
        if self.frame_bits is None:
            raise ValueError(f"{self.name}: expected a card with codebooks, it has none")
        # log2 of a codebook size is rounded in float64: the margin keeps a whole number of bits from becoming one more.
        return ceil(frames * self.frame_bits - 1e-9)

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second over all codebooks (TPS)."""
        if self.frame_rate is None or self.codebooks is None:
            return None
        return self.frame_rate * self.codebooks

    @model_validator(mode="after")
    def _what_follows(self) -> Self:
        """Fill in what follows from the rest and is not stated: family and title, and the bitrate of tokens."""
        follows = {"family": self.name.replace(".", "_"), "title": self.name, "nominal_kbps": self.token_kbps}
        for field in follows.keys() - self.model_fields_set:
            object.__setattr__(self, field, follows[field])  # the model is frozen from here on
        return self

    @model_validator(mode="after")
    def _declared_bits_have_a_bitrate(self) -> Self:
        """Refuse bits that are computed from a bitrate which nobody stated."""
        if self.bit_source == "declared" and not self.nominal_kbps:
            raise ValueError(
                f"{self.name}: expected nominal_kbps above 0, since its bits are declared, got {self.nominal_kbps}"
            )
        return self

    @model_validator(mode="after")
    def _encoder_rates_ascend(self) -> Self:
        """Refuse rates out of order, and beside ``input_rate``, which takes every rate."""
        if list(self.encoder_rates) != sorted(set(self.encoder_rates)) or (self.encoder_rates and self.input_rate):
            raise ValueError(
                f"{self.name}: expected encoder_rates in ascending order, and none beside input_rate, got "
                f"{list(self.encoder_rates)} and input_rate {self.input_rate}"
            )
        return self

    @model_validator(mode="after")
    def _causal_codecs_have_a_latency(self) -> Self:
        """Refuse a causal codec without a latency."""
        if self.causal and self.latency_ms is None:
            raise ValueError(
                f"{self.name}: expected latency_ms as a number, for a causal codec, got none; "
                "state frame plus look-ahead in milliseconds, or causal: false"
            )
        return self

    @model_validator(mode="after")
    def _evidence_is_dated(self) -> Self:
        """Refuse a check without a date, a date without a check, and either of a codec without trained weights."""
        checked = self.evidence != "neither"
        if checked != (self.evidence_date is not None) or (checked and self.kind != "neural"):
            raise ValueError(
                f"{self.name}: expected evidence of a neural codec together with its evidence_date, or neither "
                f"of them, got evidence {self.evidence}, evidence_date {self.evidence_date}, kind {self.kind}"
            )
        return self

    @model_validator(mode="after")
    def _bitrate_is_computed(self) -> Self:
        """Refuse a typed-in bitrate that disagrees with the tokens, and codebooks that contradict each other."""
        if self.codebook_sizes is not None and (
            self.codebook_size is not None or len(self.codebook_sizes) != self.codebooks
        ):
            raise ValueError(
                f"{self.name}: expected as many codebooks as codebook_sizes and no codebook_size, got codebooks "
                f"{self.codebooks}, {len(self.codebook_sizes)} sizes and codebook_size {self.codebook_size}"
            )
        computed = self.token_kbps
        # relative 1e-6: rates in catalogues are rounded decimals
        if computed is not None and (self.nominal_kbps is None or abs(self.nominal_kbps - computed) > 1e-6 * computed):
            raise ValueError(f"{self.name}: nominal_kbps is {self.nominal_kbps}, but its tokens give {computed:.6g}")
        if self.nominal_tolerance is None and not self.bitrate_note:
            raise ValueError(f"{self.name}: a card without nominal_tolerance needs a bitrate_note that says why")
        return self
