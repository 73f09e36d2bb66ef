"""A codec's card in words and units, line by line; a test checks that every field is described."""

from __future__ import annotations

from pathlib import PurePath

from codec_superb.applications.tokens.costs import SIZES, USUAL, cost
from codec_superb.base_codec.card import EVIDENCE, NOT_STATED, Card
from codec_superb.server.names import catalogue
from codec_superb.web.site.codec.view import Fact
from codec_superb.web.text import MISSING, count, kbps, number, significant

_KINDS = {
    "classical": "classical codec, designed by hand",
    "neural": "neural codec, trained on sound",
    "lossless": "lossless codec: its output is its input, and shows the best that can be reached",
    NOT_STATED: NOT_STATED,
}
_BIT_SOURCES = {
    "measured": "",
    "declared": "declared: nothing that is sent was counted",
    "unknown": "its bits are not known",
}


def summary(card: Card) -> str:
    """Say in one sentence what the codec is; a standard and a year in the catalogue's words alone, nobody's by name."""
    rate = "" if card.nominal_kbps is None else f" at {kbps(card.nominal_kbps)} kbps"
    kind = "Codec" if card.kind == NOT_STATED else f"{card.kind.capitalize()} codec"
    stated = (card.standard, card.year) if card.name in catalogue.cards() else ()
    known = [str(part).rstrip(".") for part in stated if part not in (None, NOT_STATED, "none")]
    return f"{kind}{rate} that {_hertz(card)}." + (f" {', '.join(known)}." if known else "")


def card_facts(card: Card) -> list[Fact]:
    """Describe every field of the card."""
    return [*_identity(card), *_signal(card), *_rate(card), *_origin(card)]


def said_by(card: Card, sender: str) -> str:
    """Say on whose word a card rests."""
    if card.name in catalogue.cards():
        return "As the catalogue of this program has it; version, weights and settings are those of the run."
    return f"In the words of {sender}: size, latency, year and frame rate are declared; nobody here measured them."


def _identity(card: Card) -> list[Fact]:
    return [
        Fact("Name", card.name, "name on the command line and in addresses"),
        Fact("Family", card.family, "what the points of one rate–score curve share"),
        Fact("Kind", _KINDS[card.kind]),
        Fact("Standard", f"{card.standard}, first published {card.year or NOT_STATED}"),
        Fact("Implementation", card.version),
    ]


def _signal(card: Card) -> list[Fact]:
    samples = card.delay_samples or 0
    milliseconds = significant(1000 * samples / card.sampling_rate, 3)
    delay = NOT_STATED
    if card.delay_samples is not None:
        delay = f"{samples:g} samples at {card.sampling_rate:,} Hz ({milliseconds} ms)"
        delay = f"{samples:g} samples at the rate of its input" if card.input_rate and samples else delay
    found = "; found on the first clips, not declared" if card.delay_source == "found" else ""
    causal = "yes: it can run on a stream" if card.causal else "no: it needs the sound as a whole, or far ahead"
    if card.causal is None:
        causal = NOT_STATED
    return [
        Fact("Sampling rate", _hertz(card)),
        Fact("Channels", " or ".join(map(str, card.channels)), "other counts are averaged to mono"),
        Fact("Causal", causal),
        _latency(card),
        Fact("Delay", delay, f"of the wrapper’s chain; removed before scoring{found}"),
        Fact("Level", card.level_note or "as it comes: neither the codec nor its publisher’s programs change it"),
        Fact("Lost packets", card.lost_packets),
        Fact("Encodes only", "yes: it gives tokens and no resynthesis" if card.encode_only else "no"),
    ]


def _latency(card: Card) -> Fact:
    if card.latency_ms is None and card.causal is None:
        return Fact("Latency", NOT_STATED)
    if card.latency_ms is None:
        return Fact("Latency", "the whole clip", "a sample may wait for the clip’s last one before it comes out")
    return Fact("Latency", f"{significant(card.latency_ms, 3)} ms", "frame and look-ahead: the shortest way in and out")


def _blocks(card: Card) -> str:
    if card.block_frames == 1:
        return ""
    return f"coded in blocks of {count(card.block_frames, 'frame')}; silence fills the last one"


def _hertz(card: Card) -> str:
    if card.input_rate:
        return f"works at the rate of its input (stated at {card.sampling_rate:,} Hz)"
    if card.encoder_rates:
        *rates, last = (f"{rate:,}" for rate in card.encoder_rates)
        taken = f"the nearest of {', '.join(rates)} and {last}" if rates else last
        return f"encodes at {taken} Hz and decodes at {card.sampling_rate:,} Hz"
    return f"works at {card.sampling_rate:,} Hz"


def _rate(card: Card) -> list[Fact]:
    nominal = "none: it depends on the sound" if card.nominal_kbps is None else f"{kbps(card.nominal_kbps)} kbps"
    within = None if card.nominal_tolerance is None else f"{100 * card.nominal_tolerance:g} %"
    tolerance = f"a measured one is to lie within {within} of it" if within else ""
    frames = MISSING if card.frame_rate is None else f"{number_of(card.frame_rate)} Hz"
    books = "none: no tokens"
    if card.codebooks is not None:
        sizes = card.codebook_sizes or ([] if card.codebook_size is None else [card.codebook_size])
        size = f" of {' + '.join(f'{entries:,}' for entries in sizes)} entries" if sizes else ""
        books = f"{count(card.codebooks, 'codebook')}{size}"
    tokens = card.tokens_per_second
    rate = MISSING if tokens is None else f"{number_of(tokens)} per second over all codebooks (TPS)"
    return [
        Fact(
            "Nominal bitrate",
            nominal,
            _BIT_SOURCES[card.bit_source] or card.bitrate_note or tolerance,
        ),
        Fact("Frame rate", frames, _blocks(card)),
        Fact("Codebooks", books),
        Fact("Tokens", rate),
        *_cost(card),
    ]


def _cost(card: Card) -> list[Fact]:
    """Say what an hour of tokens is to a language model; nothing of a codec of bytes."""
    if card.frame_rate is None or card.codebooks is None:
        return []
    model = SIZES[USUAL]
    found = cost(card.frame_rate, card.codebooks, model)
    text = f"{found.context_of_an_hour:,} positions an hour, {found.context_of_an_hour_frames:,} where a frame is one"
    memory = f"{found.cache_mb_per_minute:,.1f} MB, or {found.cache_mb_per_minute_frames:,.1f} MB"
    return [Fact("To a language model", text, f"keys and values of a minute for {model.name}: {memory}")]


def number_of(value: float) -> str:
    """Write a rate with up to three decimals, as many as it has."""
    text = number(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _origin(card: Card) -> list[Fact]:
    settings = ", ".join(f"{name} = {value}" for name, value in sorted(card.settings.items()))
    own = [] if card.system is None else [f"{card.system.name} ({card.system.kind} of the system)"]
    needs = " ".join([*card.requirements, *own]) or "nothing beyond the core install"
    extra = [f"pip install codec-superb[{card.extra}]"] if card.extra else []
    extra += [f"{where}: {package}" for where, package in card.system.packages.items()] if card.system else []
    return [
        Fact("Trained parameters", parameters(card)),
        Fact("Trained on", card.training_data or ("nothing" if card.kind != "neural" else NOT_STATED)),
        *_weights(card),
        *_evidence(card),
        Fact("Licence", card.licence, "of the implementation and its parameters"),
        Fact("Paper", card.paper, url=web_address(card.paper)),
        Fact("Homepage", card.homepage, url=web_address(card.homepage)),
        Fact("Requires", needs, "; ".join(extra)),
        Fact("Runs in", _place(card)),
        Fact("Settings", settings or "the library’s own", "passed to the library" if settings else ""),
    ]


def _place(card: Card) -> str:
    if card.isolation is None:
        return f"the environment of the benchmark{', on the CPU alone' if card.cpu_only else ''}"
    return f"an environment of its own, with the locked packages {PurePath(card.isolation.lock).name}"


def parameters(card: Card) -> str:
    """Say how many parameters were trained."""
    if card.parameters is not None:
        return f"{card.parameters:,}"
    return NOT_STATED if card.kind == "neural" else "none"


def _weights(card: Card) -> list[Fact]:
    if card.weights is None:
        return [Fact("Weights", NOT_STATED if card.kind == "neural" else "none: it was not trained")]
    weights = card.weights
    parts = (("revision", weights.revision), ("SHA-256", weights.sha256))
    note = ", ".join(f"{name} {value}" for name, value in parts if value)
    return [Fact("Weights", weights.source, note, web_address(weights.source))]


def _evidence(card: Card) -> list[Fact]:
    """Say what was checked of a neural codec of the catalogue, and when: of others nobody here did."""
    if card.kind != "neural" or card.name not in catalogue.cards():
        return []
    when = f", {card.evidence_date}" if card.evidence_date else ""
    note = "published weights run here, the wrapper compared with the publisher’s code on random weights, or neither"
    return [Fact("Checked", f"{EVIDENCE[card.evidence]}{when}", note)]


def web_address(text: str) -> str | None:
    """Return the text where it is an address that a page may link to; a card is untrusted input."""
    return text if text.startswith(("https://", "http://")) and not any(map(str.isspace, text)) else None
