"""Puts what ``xares run`` found into its record: encoder, decoders, codecs with their bitrates, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, log2

from codec_superb.applications.embed.frames_store import encoder_digest
from codec_superb.applications.interface import Model
from codec_superb.applications.xares.chat import encoder_named
from codec_superb.applications.xares.result import EncoderRate, Heard, Reading, TrainedDecoder, XaresResult
from codec_superb.applications.xares.training import WEIGHTS, Training
from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.pipeline.runs.folder import RunFolder

_AS_ENCODER = ("code-embeddings", "codec-frames")


def result_of(encoder: str, trained: Sequence[Training], readings: Sequence[Reading]) -> XaresResult:
    """Return the record of decoders that were trained on an encoder's frames, the first seed first."""
    model = encoder_named(encoder).prepare()
    first, facts = trained[0], trained[0].facts
    card = _card_of(model)
    rate = rate_of(encoder)
    if rate.frames_per_s is not None:
        rate = rate.model_copy(update={"numbers_per_s": rate.frames_per_s * _frame_size(first)})
    return XaresResult(
        encoder=model.name, encoder_sha256=encoder_digest(model),
        codec=None if card is None else Heard(codec=card.name, title=card.title, family=card.family),
        rate=rate, track=first.track.track, track_sha256=first.track.sha256,
        decoder=first.configuration.decoder, configuration_sha256=first.configuration.sha256,
        language_model=first.language.name, language_model_sha256=first.language.sha256,
        mode=facts["mode"], random=model.random or first.language.random,
        decoders=tuple(TrainedDecoder(seed=each.seed, key=each.key) for each in trained),
        figures=tuple(readings),
    )  # fmt: skip


def rate_of(encoder: str) -> EncoderRate:
    """Return what an encoder hands over a second, by its settings and, of a codec's tokens, its card."""
    model = encoder_named(encoder).prepare()
    hop = model.settings.get("hop_s")
    return EncoderRate(frames_per_s=1 / float(hop) if hop else None, bits_per_s=bits_per_s(model))


def heard_of(folder: RunFolder) -> Heard:
    """Return the codec of a run with the bitrate that was measured on its clips."""
    info = folder.info()
    rows = [row for row in folder.rows() if row.seconds]
    seconds = fsum(row.seconds or 0.0 for row in rows)
    bits = [row.bits for row in rows]
    known = seconds and not any(each is None for each in bits)
    kbps = sum(each or 0 for each in bits) / seconds / 1000 if known else None
    condition = f" under {info.condition.label}" if info.condition else ""
    return Heard(codec=info.title, title=info.card.title + condition, family=info.card.family, kbps=kbps or None)


def _card_of(model: Model) -> Card | None:
    kind, _, codec = model.name.partition(":")
    return registry.card(codec) if kind in _AS_ENCODER else None


def bits_per_s(model: Model) -> float | None:
    """Return the nominal bits of the codebooks that are taken; latents before they are quantised have none."""
    card = _card_of(model)
    if card is None or card.frame_rate is None or card.codebook_entries is None:
        return None
    if model.settings.get("latents") == "continuous":
        return None
    taken = card.codebook_entries[: int(model.settings.get("codebooks", 0)) or None]
    return card.frame_rate * fsum(map(log2, taken))


def _frame_size(of: Training) -> int:
    from safetensors import safe_open

    with safe_open(of.folder / WEIGHTS, "numpy") as weights:
        return int(weights.get_slice("mean").get_shape()[0])
