"""What must hold of the figures of tokens of any codec: one with a checkpoint, or in an environment of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from support.applications.token_models import clip_of, small_training
from support.audio import speech_like

from codec_superb.applications.interface import Item
from codec_superb.applications.token_contents.labelled_codec import LabelledTokens
from codec_superb.applications.token_contents.labels import Segment
from codec_superb.applications.token_contents.scoring import contents
from codec_superb.applications.token_models.clips import divide
from codec_superb.applications.token_models.likelihood import score as likelihood
from codec_superb.applications.token_models.training import load_trained, train
from codec_superb.applications.tokens.disturbed_codec import stability
from codec_superb.applications.tokens.matches import ALL
from codec_superb.applications.tokens.table import DISTURBANCES
from codec_superb.base_codec.interface import Codec


def check_disturbed(codec: Codec) -> None:
    """Assert that each disturbance is counted, and that the tokens are those of the codec."""
    rate = codec.card.sampling_rate
    sound = speech_like(0.6, rate, seed=1)
    found = stability(codec, "c", sound, rate, "speech")
    assert len(found.tokens) == codec.card.codebooks
    np.testing.assert_array_equal(found.tokens, codec.encode(sound[None], rate).payload)
    again = ("recode_", "step_") if codec.card.encode_only else ()
    books = {
        key: ALL if key.startswith("step_") else str(len(found.tokens))
        for key in DISTURBANCES
        if not key.startswith(again)
    }
    assert {f"match:{key}:{book}" for key, book in books.items()} <= found.counts.keys()


def check_learnt(codec: Codec) -> None:
    """Assert that a model trains on the codec's tokens, and that their contents are counted."""
    rate, sizes = codec.card.sampling_rate, codec.card.codebook_entries
    assert sizes is not None
    tokens = [codec.encode(speech_like(0.5, rate, seed=at)[None], rate).payload for at in range(4)]
    clips = [clip_of(np.asarray(of, np.int64), at, f"s{at}") for at, of in enumerate(tokens)]
    divided = divide(clips)
    training = small_training(list(divided.trained), sizes, steps=1, batch=1)
    train(training)
    bits = likelihood(load_trained(training.folder), divided.held_out[0]).bits
    assert len(bits) == codec.card.codebooks
    assert np.isfinite(bits).all()
    found = {of.clip: labelled(of.tokens, ["A", *["B"] * (of.frames - 1)], ["1"] * of.frames) for of in clips}
    items = [Item(of.clip, "speech", speaker=of.cluster) for of in clips]
    for counts in contents(items, found).values():
        assert {f"{each}:phone:{len(sizes)}" for each in ("mi", "nmi", "pure", "control")} <= counts.keys()


def labelled(tokens: NDArray[np.int64], phones: Sequence[str], pitch: Sequence[str]) -> LabelledTokens:
    """Return tokens at 50 frames a second with a phone and a pitch of each frame."""
    segments = tuple(Segment(phone, at / 50, (at + 1) / 50) for at, phone in enumerate(phones) if phone)
    return LabelledTokens(tokens, 50.0, tuple(pitch), tuple(phones), segments, "", "an aligner")
