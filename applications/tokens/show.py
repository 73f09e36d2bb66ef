"""Everything about a codec's tokens on a few clips: rates, entropies, stability at a glance, and the metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log2

from codec_superb.applications.clips import item_of, reference_at
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Item
from codec_superb.applications.tokens.costs import SIZES, USUAL, Cost, cost
from codec_superb.applications.tokens.disturbed_codec import stability
from codec_superb.applications.tokens.entropy import nominal_bits
from codec_superb.applications.tokens.matches import ALL, FIRST, Counts, Tokens, chances
from codec_superb.applications.tokens.rate import folds_of, rates
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.interface import Codec
from codec_superb.data_manifests.dataset import Dataset

CODINGS = (2, 5)
GLANCE = ("recode_2", "recode_5", "shift_half", "shift_frame", "noise_20", "quieter", "mp3")
"""Disturbances that are shown."""


@dataclass(frozen=True, slots=True)
class Book:
    """One codebook."""

    entries: int
    used: int
    unigram_bits: float
    after_bits: float
    """Given the frame before."""
    coded_bits: float
    """By the context model; all in bits a token."""
    perplexity: float
    same: dict[str, float]
    """Share of equal tokens by disturbance, in percent."""
    chance: float
    """In percent."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One codec on all clips."""

    codec: str
    random: bool
    """Whether its weights are untrained."""
    clips: int
    seconds: float
    frame_rate: float
    """Measured."""
    tokens_per_second: float
    nominal_kbps: float
    """log2 of the codebooks' entries by the card's frame rate."""
    kbps: float | None
    """Measured; None where the codec does not count."""
    entropy_kbps: float
    """What the entropy coder wrote."""
    trained_on_others: bool
    """Whether the coder's model saw other clips before it coded one: not with a single clip, or one speaker."""
    use: float
    """Entries that occur, in percent."""
    perplexity: float
    same: dict[str, float]
    same_first: dict[str, float]
    """Of the first codebook."""
    chance: float
    metrics: dict[str, float]
    """Mean over the clips that have a value."""
    cost: Cost
    model: str
    """Whose cost it is."""
    books: tuple[Book, ...]
    failed: dict[str, str] = field(default_factory=dict)
    """Reason by clip."""


def refuse_bytes(card: Card) -> tuple[Sequence[int], float]:
    """Return the entries of each codebook and the frame rate. Raises ApplicationError for a codec without tokens."""
    if card.codebook_entries is not None and card.frame_rate is None:
        raise ApplicationError(f"{card.name}: expected a card with frame_rate, the frames a second; state it")
    if card.codebook_entries is None or card.frame_rate is None:
        raise ApplicationError(f"{card.name} has no tokens: its payload is bytes; choose a codec with codebooks")
    return card.codebook_entries, card.frame_rate


def shown(
    codec: Codec, dataset: Dataset, clip_ids: Sequence[str], advance: Callable[[], None], model: str = USUAL
) -> Shown:
    """Return what is to be said of a codec's tokens. Raises ApplicationError where no clip could be coded."""
    card = codec.card
    entries, frame_rate = refuse_bytes(card)
    tokens: dict[str, Tokens] = {}
    totals: Counts = {}
    items, failed = list[Item](), dict[str, str]()
    seconds, bits = 0.0, list[int | None]()
    for clip_id in clip_ids:
        item = item_of(dataset.clip(clip_id))
        try:
            sound = reference_at(dataset.clip(clip_id), card.sampling_rate)
            codec.wake()
            found = stability(codec, clip_id, sound, card.sampling_rate, item.category, CODINGS)
        except CodecUnusable:
            raise
        except Exception as error:  # noqa: BLE001 -- one clip is lost, whatever a codec raises
            failed[clip_id] = f"{type(error).__name__}: {error}"
        else:
            items.append(item)
            tokens[clip_id] = found.tokens
            seconds += sound.size / card.sampling_rate
            bits.append(found.bits)
            _add(totals, found.counts)
        advance()
    if not tokens:
        raise ApplicationError(f"{card.name}: no clip could be coded: {next(iter(failed.values()), 'there is none')}")
    folds = folds_of(items, tokens)
    for counts in rates(tokens, entries, folds).values():
        _add(totals, counts)
    for counts in chances(tokens).values():
        _add(totals, counts)
    frames = sum(of.shape[1] for of in tokens.values())
    counted = None if None in bits else sum(of or 0 for of in bits) / seconds / 1000
    said = _Totals(totals, frames)
    drift = {name.split(":")[1]: value / count for name, (count, value) in totals.items() if _is_first_drift(name)}
    return Shown(
        card.name, card.weights is not None and card.weights.source == "random", len(tokens), seconds,
        frames / seconds, frames * len(entries) / seconds,
        nominal_bits(entries, 1) * frame_rate / 1000, counted,
        totals[f"bits:coded:{ALL}"][1] / seconds / 1000, max(folds.values()) > 0, said.share(f"use:{ALL}"),
        2 ** said.per_token("unigram", ALL, len(entries)), said.same(ALL), said.same(FIRST),
        said.share(f"chance:{ALL}"), drift, cost(frame_rate, len(entries), SIZES[model]), model,
        tuple(said.book(number, size) for number, size in enumerate(entries, start=1)), failed,
    )  # fmt: skip


def _is_first_drift(name: str) -> bool:
    return name.startswith("drift:") and name.endswith(":1")


def _add(totals: Counts, counts: Counts) -> None:
    for name, (total, value) in counts.items():
        before = totals.get(name, (0.0, 0.0))
        totals[name] = (before[0] + total, before[1] + value)


@dataclass(frozen=True, slots=True)
class _Totals:
    """Counts over all clips."""

    counts: Counts
    frames: int

    def share(self, name: str) -> float:
        """Return a count in percent of its total."""
        total, value = self.counts[name]
        return 100 * value / total if total else 0.0

    def same(self, book: str) -> dict[str, float]:
        """Return shares of equal tokens in percent, by disturbance; some do not apply to silence."""
        return {key: self.share(f"match:{key}:{book}") for key in GLANCE if f"match:{key}:{book}" in self.counts}

    def per_token(self, kind: str, book: str, books: int = 1) -> float:
        """Return bits a token."""
        return self.counts[f"bits:{kind}:{book}"][1] / (self.frames * books)

    def book(self, number: int, size: int) -> Book:
        """Return a codebook."""
        name = str(number)
        unigram = self.per_token("unigram", name)
        return Book(
            size, round(self.counts[f"use:{name}"][1]), unigram, self.per_token("after", name),
            self.per_token("coded", name), 2**unigram if log2(size) else 1.0, self.same(name),
            self.share(f"chance:{name}"),
        )  # fmt: skip
