"""Colours and marker shapes: one palette for light and one for dark pages, the same names and order in both.

Figures are built in the light palette; the page replaces each colour by its dark counterpart, so every colour of a
palette must be distinct. Text reaches a contrast of 4.5 : 1 and marks 3 : 1 on the paper. Families differ in hue
*and* in shape, so that colour is never the only distinction; neighbouring hues stay apart for the common kinds of
colour blindness (after Okabe and Ito).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from zlib import crc32

CEILING_SYMBOL = "star"
"""Lossless codecs, of whatever family."""
SYMBOL_PATHS = MappingProxyType({
    "circle": "M-5.4 0a5.4 5.4 0 1 0 10.8 0a5.4 5.4 0 1 0 -10.8 0",
    "square": "M-5-5H5V5H-5Z",
    "diamond": "M0-7L7 0L0 7L-7 0Z",
    "triangle-up": "M0-6L6.5 5H-6.5Z",
    "triangle-down": "M0 6L6.5-5H-6.5Z",
    "cross": "M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z",
    "x": "M-3-6L0-3L3-6L6-3L3 0L6 3L3 6L0 3L-3 6L-6 3L-3 0L-6-3Z",
    "triangle-left": "M-6 0L5-6.5V6.5Z",
    "triangle-right": "M6 0L-5-6.5V6.5Z",
    "hourglass": "M-5.5-5.5H5.5L-5.5 5.5H5.5Z",
    "bowtie": "M-5.5-5.5V5.5L5.5-5.5V5.5Z",
    "pentagon": "M0-6L5.7-1.9L3.5 4.9H-3.5L-5.7-1.9Z",
    "hexagon": "M5.2-3V3L0 6L-5.2 3V-3L0-6Z",
    "octagon": "M-2.4-5.8H2.4L5.8-2.4V2.4L2.4 5.8H-2.4L-5.8 2.4V-2.4Z",
    "diamond-tall": "M0-7.5L4 0L0 7.5L-4 0Z",
    "diamond-wide": "M-7.5 0L0-4L7.5 0L0 4Z",
    "hexagram": "M0-6.8L2-3.4L5.9-3.4L3.9 0L5.9 3.4L2 3.4L0 6.8L-2 3.4L-5.9 3.4L-3.9 0L-5.9-3.4L-2-3.4Z",
    "star-square": "M-6-6Q0-2 6-6Q2 0 6 6Q0 2-6 6Q-2 0-6-6Z",
    "star-diamond": "M0-7Q1.5-1.5 7 0Q1.5 1.5 0 7Q-1.5 1.5-7 0Q-1.5-1.5 0-7Z",
    "star-triangle-up": "M0-6.5Q1.2 1.5 6.5 5Q0 2.6-6.5 5Q-1.2 1.5 0-6.5Z",
    "star-triangle-down": "M0 6.5Q1.2-1.5 6.5-5Q0-2.6-6.5-5Q-1.2-1.5 0 6.5Z",
    CEILING_SYMBOL: "M0-7.5L1.8-2.4L7.1-2.3L2.9 .9L4.4 6.1L0 3L-4.4 6.1L-2.9 .9L-7.1-2.3L-1.8-2.4Z",
})  # fmt: skip
"""Plotly's names, and the same shapes as SVG paths within -8 … 8 for legends."""
_KNOWN_SYMBOLS = 13
SYMBOLS = tuple(name for name in SYMBOL_PATHS if name != CEILING_SYMBOL)[:_KNOWN_SYMBOLS]
"""Of the known families; a count without a common factor with the colours', so that 91 families differ."""
OTHER_SYMBOLS = tuple(name for name in SYMBOL_PATHS if name != CEILING_SYMBOL)[_KNOWN_SYMBOLS:]
"""Of all other families, which no known one has."""

FAMILIES = (
    "opus", "codec2", "mp3", "lyra", "amrnb", "aac", "lc3", "encodec", "g722", "g711", "dac_16k", "mimi", "vorbis",
    "amrwb", "speex_nb", "snac", "dac_24k", "g726", "speechtokenizer", "gsm", "wavtokenizer", "ac3", "speex_wb",
    "dac_44k", "bigcodec", "eac3", "g729", "funcodec", "ilbc", "focalcodec", "mp2", "encodec_48k", "wma", "sbc",
    "xcodec2", "g723_1", "xcodec_hubert_general", "musepack", "audiodec", "aptx", "academicodec", "flac", "auv",
    "alac", "wavpack", "ima_adpcm", "nellymoser", "ra144", "audiodec_48k", "chattts_dvae", "dac_original",
    "dac_original_16kbps", "dualcodec", "encodec_original", "higgs_audio_v2", "kanade", "l3ac", "llmcodec",
    "longcat_audio_codec", "mimo_audio_tokenizer", "moss_audio_tokenizer", "nanocodec", "neucodec",
    "neucodec_distilled", "qwen3_tts_tokenizer", "s3tokenizer", "semanticodec", "spark_bicodec",
    "speechtokenizer_snake", "sqcodec", "stable_codec", "stable_codec_base", "unicodec", "vocos", "xcodec",
    "xcodec_hubert_general_balanced", "xcodec_wavlm_mls", "xcodec_wavlm_more_data", "xy_tokenizer",
)  # fmt: skip
"""The families of the catalogue and of the published tables; the place decides colour and shape. New ones come at the
end, so that a family looks the same in every chart, page and version. Those often run together differ in colour."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one scheme, as ``#rrggbb``."""

    paper: str
    raised: str
    """Background of table heads, selected tabs and hover labels."""
    ink: str
    muted: str
    line: str
    accent: str
    """Links, focus, the selected clip."""
    warning: str
    front: str
    """Pareto front, ceilings and other reference lines."""
    soft: str
    """Inside of boxes."""
    families: tuple[str, ...]

    def colours(self) -> tuple[str, ...]:
        """All colours in a fixed order, the same in every palette."""
        fixed = (self.paper, self.raised, self.ink, self.muted, self.line, self.accent)
        return (*fixed, self.warning, self.front, self.soft, *self.families)

    def variables(self) -> dict[str, str]:
        """Names of CSS custom properties and their values."""
        names = ("paper", "raised", "ink", "muted", "line", "accent", "warning", "front", "soft")
        fixed = {name: getattr(self, name) for name in names}
        return {**fixed, **{f"family-{index}": colour for index, colour in enumerate(self.families)}}


# WCAG 2.2: 4.5 : 1 for text (1.4.3), 3 : 1 for marks of charts (1.4.11)
LIGHT = Palette(
    paper="#fcfcfa",
    raised="#f1f1ec",
    ink="#1c2430",
    muted="#56606e",
    line="#dcdcd4",
    accent="#155fa6",
    warning="#a03c00",
    front="#868d97",
    soft="#e6e8ea",
    families=("#0b63b0", "#cc5206", "#00805c", "#a0428a", "#8b6a00", "#2789b3", "#4b515a"),
)

DARK = Palette(
    paper="#14181d",
    raised="#1f252c",
    ink="#e7e9ec",
    muted="#a2abb6",
    line="#323a44",
    accent="#86bbf5",
    warning="#f2a26b",
    front="#77808c",
    soft="#29313a",
    families=("#5ea8f2", "#f58d50", "#40c49c", "#df92c9", "#dab53f", "#82d2ee", "#c4c9d1"),
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a family is drawn."""

    colour: str
    """Of the light palette."""
    colour_index: int
    symbol: str

    @property
    def path(self) -> str:
        """The shape as an SVG path."""
        return SYMBOL_PATHS[self.symbol]


@lru_cache(maxsize=4096)
def family_style(family: str) -> Style:
    """Give a family its colour and shape by its name alone, the same in every chart, page, report and paper.

    The families of :data:`FAMILIES` all differ. Any other gets one of 56 looks that none of them has, by the hash of
    its name. A name with a source in brackets, ``opus (a table)``, has the family's own colour and such a shape.
    """
    name, apart, _ = family.partition(" (")
    number = crc32(family.encode("utf-8", "surrogatepass"))
    place = FAMILIES.index(name) if name in FAMILIES else crc32(name.encode("utf-8", "surrogatepass"))
    index = place % len(LIGHT.families)
    known = name in FAMILIES and not apart
    symbol = SYMBOLS[place % len(SYMBOLS)] if known else OTHER_SYMBOLS[number // 7 % len(OTHER_SYMBOLS)]
    return Style(LIGHT.families[index], index, symbol)


def family_styles(families: Iterable[str]) -> dict[str, Style]:
    """Give each of the families its look, see :func:`family_style`."""
    return {name: family_style(name) for name in sorted(set(families))}
