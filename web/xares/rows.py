"""Brings figures of frozen encoders into one row type: of runs and submissions, and of imported records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from codec_superb.applications.frozen.rows import METHODS
from codec_superb.applications.probe import Probe
from codec_superb.applications.table import PROBES
from codec_superb.applications.understanding.own import XARES
from codec_superb.applications.xares.result import REFERENCES, SHUFFLED, Heard, Reading, XaresResult
from codec_superb.metrics.results import Score
from codec_superb.web.application_rows import at_rates_of, differences
from codec_superb.web.applications import APPLICATION_METRICS, application_of
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ApplicationRow, CodecResult, ProbeModel, figure_label
from codec_superb.web.senders import most_sent
from codec_superb.web.understanding.choose import UNREAD

Kind = Literal["encoder", "codec as encoder", "resynthesis"]
KINDS: Mapping[Kind, str] = {
    "encoder": "Encoders, on originals",
    "codec as encoder": "Codecs as encoders, on originals",
    "resynthesis": "Resynthesised sound",
}
"""In the order of the rows, with their headings."""
_AS_ENCODER = ("codec-frames", "code-embeddings", "codec-vectors")
_CHAT = f"{XARES}:"
_CONSTRAINED = "constrained"

_HOPS, _SIZES = (1e-5, 1e3), (1.0, 1e6)
"""Seconds between frames and numbers of a frame that are believed."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads the frames: figures of two are never compared."""

    decoder: str
    """Configuration of the trained decoder; ``linear`` or ``knn`` without one."""
    language_model: str = ""
    track: str = ""
    """On which the decoder was trained; '' without one."""

    @property
    def title(self) -> str:
        """Name for people, and in addresses."""
        if not self.track:
            return METHODS[self.decoder]
        return f"decoder {self.decoder} ({self.language_model}), track {self.track}"


@dataclass(frozen=True, slots=True)
class XaresRow:
    """One figure of one encoder, or of one codec's sound heard by an encoder."""

    reader: Reader
    kind: Kind
    title: str
    """Of the encoder, or of the codec."""
    family: str
    """Of the codec; an encoder is a family of its own."""
    encoder: str
    """Whose frames are read."""
    mode: str
    """What the decoder was trained on: ``references``, ``matched CODEC``, ``shuffled labels``."""
    figure: str
    dataset: str
    value: float
    """Mean over seeds, in the figure's unit."""
    seeds: tuple[float, ...]
    """Value of each decoder."""
    clips: Score
    """95 % interval by clips, of one decoder."""
    n: int
    failed: int
    bits_per_s: float | None = None
    """Measured, of a codec as encoder nominal; None of continuous frames, and where it is not known."""
    frames_per_s: float | None = None
    numbers_per_s: float | None = None
    constrained: float | None = None
    """With the likeliest class in place of what is written; None where it was not asked for."""
    unread: float | None = None
    """Percent of answers in which no class was found, which count as wrong; None where that is not known."""
    tokens_per_s: float | None = None
    """Of the codec; None of continuous frames, and where it is not known."""
    source: str = ""
    url: str = ""
    """Page of the codec; '' for imported ones."""
    sent_by: str = ""
    """Who counts once for it, as :attr:`ApplicationRow.sender` says; '' of imported ones, and where nobody sends."""
    complete: bool = True
    """Whether the codec was run on all of the clips."""
    apart: bool = False
    """Whether its submission says something else of the originals than others, see :attr:`ApplicationRow.apart`."""
    model: ProbeModel | None = None
    """What a submission says of the model and its settings; None of imported ones."""
    encoder_sha256: str = ""
    """Of the encoder's files; '' where it is not known."""
    own: str = ""
    """In what encoder or settings differ from those that most senders have under the same name; see
    :func:`told_apart`."""

    @property
    def quantity(self) -> Quantity:
        """What its figure is."""
        return application_of(self.figure).quantity

    @property
    def subject(self) -> tuple[str, ...]:
        """Return what all of its tasks have in common: a line of a table."""
        return (self.kind, self.title, self.encoder, self.own, self.mode, self.source)

    @property
    def sender(self) -> str:
        """Say who counts once for it: of self-reported results the account, any other by itself."""
        # of as many senders records are the usual ones: in front of any account by its age
        return self.sent_by or f" {self.source} {self.title}"

    @property
    def control(self) -> bool:
        """Whether the decoder learnt labels of other clips."""
        return self.mode == SHUFFLED

    @property
    def settings(self) -> dict[str, str]:
        """Return what a submission says of how it was asked."""
        return dict(self.model.settings) if self.model else {}

    @property
    def heard_by(self) -> str:
        """Name the encoder, one's own with what differs from the usual one of that name."""
        return f"{self.encoder} (own, {self.own})" if self.own else self.encoder

    @property
    def label(self) -> str:
        """Name it where there is room for few letters."""
        return f"own: {self.title}" if self.own else self.title

    @property
    def told(self) -> str:
        """Say by whom it is heard, and the mode where it is no usual one."""
        heard = f"heard by {self.heard_by}" if self.kind == "resynthesis" else ""
        form = self.heard_by if self.kind == "codec as encoder" or (self.own and not heard) else ""
        return ", ".join(filter(None, (heard, form, "" if self.mode == REFERENCES else f"trained on {self.mode}")))


def xares_probe(row: ApplicationRow) -> Probe | None:
    """Return the probe of a row of the groups ``xares``, ``xares.linear`` and ``xares.knn``; None for any other."""
    found = APPLICATION_METRICS.get(row.numbers.figure)
    return found.probe if found and found.probe and is_xares(found.probe) else None


def is_xares(probe: Probe) -> bool:
    """Whether the page shows a probe's figures."""
    return probe.group in {XARES, *METHODS} and bool(probe.definition or probe.key.startswith(XARES))


def rows_of_submission(
    rows: Iterable[ApplicationRow], result: CodecResult, codecs: Mapping[str, CodecResult], source: str, url: str
) -> list[XaresRow]:
    """Return the main figures of one codec, each on the original and on its sound; ``codecs`` are those known by name.

    Chats that are no trained decoders take no part.
    """
    found = []
    for row in rows:
        probe = xares_probe(row)
        if probe is None or probe.primary != row.numbers.figure or row.numbers.slice or not row.numbers.dataset:
            continue
        if probe.group != XARES or row.model.backend.startswith(_CHAT):
            found += _of_application(row, probe, result, codecs, source, url)
    return found


def _of_application(
    row: ApplicationRow, probe: Probe, result: CodecResult, codecs: Mapping[str, CodecResult], source: str, url: str
) -> list[XaresRow]:
    settings = dict(row.model.settings)
    chat = probe.group == XARES
    name, language = encoder_of(row.model.backend)
    begin = "encoder_" if chat else ""
    hop, size = (
        _number(settings.get(f"{begin}{name}"), ends) for name, ends in (("hop_s", _HOPS), ("output_dim", _SIZES))
    )
    frames = 1 / hop if hop else None
    numbers = None if frames is None or size is None else frames * size
    reader = Reader(settings.get("decoder", ""), language, settings.get("track", "?")) if chat else Reader(probe.group)
    mode = settings.get("mode", REFERENCES)
    if settings.get("decoding") == _CONSTRAINED:
        mode += ", constrained"
    codec = codec_named(row.model.backend)
    sides: list[tuple[Kind, str, str, float | None, float | None, Score]] = []
    if codec is not None:
        known = codecs.get(codec)
        quantised = settings.get(f"{begin}latents", "quantised") == "quantised"
        rate = 1000 * known.nominal_kbps if known and known.nominal_kbps and quantised else None
        tokens = known.summary.tokens_per_second if known and quantised else None
        title, family = (known.title, known.family) if known else (codec, codec)
        sides.append(("codec as encoder", title, family, rate, tokens, row.numbers.reference))
    else:
        sides.append(("encoder", name, name, None, None, row.numbers.reference))
    own = at_rates_of(row, result).summary
    measured, tokens = None if own.kbps is None else 1000 * own.kbps, own.tokens_per_second
    sides.append(("resynthesis", result.title, result.family, measured, tokens, row.numbers.resynthesis))
    return [
        XaresRow(
            reader, of, title, family, name, mode, row.numbers.figure, row.numbers.dataset, score.value,
            (score.value,), score, row.numbers.n, row.numbers.failed, bits, frames, numbers,
            tokens_per_s=tokens, source=figure_label(source, row), url=url if of == "resynthesis" else "",
            sent_by=row.sender, complete=result.summary.complete, apart=row.apart, model=row.model,
            encoder_sha256=settings.get("encoder_sha256", "") if chat else row.model.sha256,
        )
        for of, title, family, bits, tokens, score in sides
        if score.value is not None
    ]  # fmt: skip


def codec_named(backend: str) -> str | None:
    """Return the name of the codec whose own frames a backend hears; None of any other encoder."""
    kind, _, codec = encoder_of(backend)[0].partition(":")
    return codec if kind in _AS_ENCODER else None


def encoder_of(backend: str) -> tuple[str, str]:
    """Return encoder and language model of a chat, or the backend of a frozen encoder, without a language model."""
    if not backend.startswith(_CHAT):
        return backend, ""
    name, _, language = backend.removeprefix(_CHAT).rpartition("+")
    return name, language


def _number(text: str | None, ends: tuple[float, float]) -> float | None:
    """Read a setting, which is a stranger's word: a rate of 300 digits made the page as wide."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if ends[0] <= found <= ends[1] else None


def rows_of_result(result: XaresResult, source: str) -> list[XaresRow]:
    """Return the main figures of an imported record, those that this program ships in the same version."""
    beside: dict[tuple[str, ...], float] = {
        (of.figure, of.dataset, of.codec, of.decoding): of.mean for of in result.figures
    }
    return [
        replace(
            _of_reading(result, of, source),
            constrained=beside.get((of.figure, of.dataset, of.codec, _CONSTRAINED)),
            unread=beside.get((f"{of.task}_{UNREAD}", of.dataset, of.codec, of.decoding)),
        )
        for of in result.figures
        if of.decoding != _CONSTRAINED and of.by_seed and is_current(of) and PROBES[of.task].primary == of.figure
    ]


def is_current(reading: Reading) -> bool:
    """Whether a figure is of a task that the program ships in this version."""
    found = APPLICATION_METRICS.get(reading.figure)
    return found is not None and found.probe is not None and found.probe.version == reading.version


def _of_reading(result: XaresResult, of: Reading, source: str) -> XaresRow:
    shown: Heard | None = of.heard or result.codec
    kind: Kind = "resynthesis" if of.heard else "codec as encoder" if result.codec else "encoder"
    measured = of.heard.kbps if of.heard else None
    bits = result.rate.bits_per_s if of.heard is None else None if measured is None else 1000 * measured
    return XaresRow(
        Reader(result.decoder_label, result.language_model, result.track_label), kind,
        shown.title if shown else result.encoder, shown.family if shown else result.encoder, result.encoder,
        result.mode, of.figure, of.dataset, of.mean, tuple(of.by_seed.values()), of.clips, of.n, of.failed, bits,
        result.rate.frames_per_s, result.rate.numbers_per_s, source=source,
        encoder_sha256=result.encoder_sha256,
    )  # fmt: skip


def without_repetitions(rows: Iterable[XaresRow], look: Callable[[str], str] = str) -> list[XaresRow]:
    """Return each figure of each subject once, over the most clips: every submission has its encoder's on originals.

    What has another encoder than most senders under the same name, or other settings, is a subject of its own.
    """
    found: dict[tuple[object, ...], XaresRow] = {}
    for row in told_apart(rows, look):
        key = (row.reader, row.subject, row.figure, row.dataset)
        if key not in found or found[key].n < row.n:
            found[key] = row
    return list(found.values())


def told_apart(rows: Iterable[XaresRow], look: Callable[[str], str]) -> list[XaresRow]:
    """Mark what has another encoder, or other settings, than most senders have of a task under the same name.

    Names, and modes, of one ``look`` are the same. An imported record states its encoder's hash alone; of several as
    frequent, records are the usual ones.
    """
    groups: dict[tuple[object, ...], list[XaresRow]] = {}
    for row in rows:
        groups.setdefault((row.reader, look(row.encoder), look(row.mode), row.figure, row.dataset), []).append(row)
    return [row for members in groups.values() for row in _marked(members)]


def _marked(rows: Sequence[XaresRow]) -> list[XaresRow]:
    imported_first = sorted(rows, key=lambda row: row.model is not None)
    # a submission once, not by both of its sides
    votes = [row for row in imported_first if row.model is None or row.kind == "resynthesis"] or imported_first
    sha256 = most_sent((row.encoder_sha256, row.sender) for row in votes)
    models = [(row.model, row.sender) for row in rows if row.model and row.encoder_sha256 == sha256]
    usual = most_sent(models) if models else None
    return [replace(row, own=_own(row, sha256, usual)) for row in rows]


def _own(row: XaresRow, sha256: str, usual: ProbeModel | None) -> str:
    if row.model and usual:
        return differences(row.model, usual)
    return "" if row.encoder_sha256 == sha256 else row.encoder_sha256[:8] or "hash not known"


def readers_of(rows: Sequence[XaresRow]) -> list[tuple[Reader, int]]:
    """List what reads frames with the number of its subjects, those that most senders have results of first.

    One account with many codecs would otherwise decide what the page shows, or several with a few clips each.
    """
    subjects: dict[Reader, set[tuple[str, ...]]] = {}
    senders: dict[Reader, set[str]] = {}
    whole: dict[Reader, set[str]] = {}
    for row in rows:
        subjects.setdefault(row.reader, set()).add(row.subject)
        senders.setdefault(row.reader, set()).add(row.sender)
        whole.setdefault(row.reader, set()).update([row.sender] if row.complete else [])
    order = sorted(subjects, key=lambda of: (-len(whole[of]), -len(senders[of]), -len(subjects[of]), of.title))
    return [(reader, len(subjects[reader])) for reader in order]
