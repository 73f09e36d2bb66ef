"""Doubts about figures of tokens, by the codec's card and what it sent: no other codec answers for its tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from codec_superb.applications.table import PROBE_METRICS, probe_of_metric
from codec_superb.base_codec.card import Card
from codec_superb.server.database.models import Result
from codec_superb.web.text import significant

CODED = 0.25
"""Share of their nominal bits that an entropy coder leaves of tokens at least; of Lyra 0.88 to 0.95 were measured."""
LEAST = 0.05
"""Share of their nominal bits that any entropy, coder or model leaves; of Lyra 0.9 were measured. The lowest
published perplexity, 7.9, is 3 bits: more than a twentieth of any codebook's."""
_WITHOUT_LEAST = frozenset({"tokens_after_bits", "tokens_beside_bits"})
"""Of few tokens hardly a pair occurs twice, and nothing is left: of a codebook of 65,536 entries 2 % after 15,000."""
SLACK = 0.05
"""Share by which nominal bits may differ from those of the card, or be more than was sent."""
NEARLY = 0.9995
"""Share of the tokens that is shown as all of them."""
_CHANGED = {"tokens_recode_5_pct": "after five codings", "tokens_noise_20_pct": "beside noise 20 dB below the sound"}
"""What changes some token of every codec; of Lyra a sixth to a third stayed."""
_MOST_BITS = {
    "tokens_unigram_bits": 1 + 1e-9, "tokens_after_bits": 1 + 1e-9, "tokens_beside_bits": 1 + 1e-9,
    "tokens_coded_bits": 1 + SLACK, "tokens_lm_bits": 2.0,
}  # fmt: skip
"""Times log2 of the entries that a token may take: no entropy is larger, a coder or a model may do a little worse."""


class Sent(NamedTuple):
    """What a codec sent of a dataset."""

    kbps: float | None = None
    tokens: float | None = None
    """A second, in the category with the most bits."""
    fewest: float | None = None
    """Tokens a second in the category with the fewest."""


def sent_of(results: Iterable[Result]) -> dict[str, Sent]:
    """Return what was sent of each dataset, from the rows of its categories."""
    found: dict[str, Sent] = {}
    for row in sorted(results, key=lambda row: row.kbps or 0.0):
        before = found.get(row.dataset, Sent()).fewest
        fewest = min(filter(None, (row.tokens_per_second, before)), default=None)
        found[row.dataset] = Sent(row.kbps, row.tokens_per_second, fewest)
    return found


def is_of_tokens(figure: str) -> bool:
    """Whether the codec's own tokens are asked: on the side of the originals stands what they are worth."""
    probe = probe_of_metric(figure) if figure in PROBE_METRICS else None
    return probe is not None and ("codec", "own") in probe.options


def token_doubts(figure: Mapping[str, Any], sent: Sent, card: Card) -> Iterator[str]:
    """Yield tokens that hardly say anything, that are worth more or less than they can be, and that nothing changes."""
    coded, nominal = (figure[side]["value"] for side in ("resynthesis", "reference"))
    if coded is None or nominal is None:
        return
    key = figure["figure"]
    entries = card.codebook_entries
    bits = None if not entries or card.frame_bits is None else card.frame_bits / len(entries)
    if key == "tokens_entropy_kbps":
        yield from _of_rate(coded, nominal, sent, bits)
    elif key in _CHANGED and coded >= NEARLY * nominal:
        yield f"every token is the same {_CHANGED[key]}"
    elif key in _MOST_BITS:
        least = 0.0 if key in _WITHOUT_LEAST else LEAST * nominal
        if not least <= coded <= _MOST_BITS[key] * nominal:
            yield f"{key}: {significant(coded)} bits a token of {significant(nominal)} nominal ones"
        if bits is not None and abs(nominal - bits) > SLACK * bits:
            yield f"{key}: {significant(nominal)} nominal bits a token, of codebooks of {significant(bits)} bits"
        elif sent.kbps is not None and sent.tokens and nominal * sent.tokens > 1000 * sent.kbps * (1 + SLACK):
            yield f"{key}: {significant(nominal)} nominal bits a token, more than was sent"


def _of_rate(coded: float, nominal: float, sent: Sent, bits: float | None) -> Iterator[str]:
    if coded < CODED * nominal:
        yield f"entropy-coded, {significant(coded)} of {significant(nominal)} kbps of tokens are left"
    told = f"tokens are worth {significant(nominal)} kbps"
    if sent.kbps is not None and nominal > sent.kbps * (1 + SLACK):
        yield f"{told}, {significant(sent.kbps)} were sent"
    if sent.fewest and bits and nominal < (worth := sent.fewest * bits / 1000) * (1 - SLACK):
        yield f"{told}, {significant(worth)} by their number and codebooks"
