"""Codecs whose codebooks differ in size: one account of their bits, from the card to the refusal of wrong tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from support.codecs.cards import make_card
from support.codecs.isolated import tiny_card

from codec_superb.base_codec.catalogue_file import read_catalogue
from codec_superb.base_codec.errors import CatalogueError, CodingFailed
from codec_superb.base_codec.interface import Encoded
from codec_superb.base_codec.isolation.codec import IsolatedCodec

SIZES: dict[str, Any] = {"frame_rate": 12.5, "codebooks": 3, "codebook_sizes": (16384, 4096, 4096)}
CATALOGUE = """
family: net
target: package.module:Class
card: {title: Net, version: "1", kind: neural, standard: none, year: 2025, sampling_rate: 24000, channels: [1],
       frame_samples: 1920, causal: true, delay_samples: 0, licence: MIT, paper: none, homepage: "https://example.org"}
codecs:
  net_3cb: {codebooks: 3, codebook_sizes: [16384, 4096, 4096]}
"""


def test_bitrate_and_bits_are_those_of_each_codebook() -> None:
    """14 + 12 + 12 bits a frame: 38 bits at 12.5 Hz are 0.475 kbps, and seven frames are 266 bits."""
    card = make_card("net_3cb", nominal_kbps=0.475, **SIZES)
    assert (card.frame_bits, card.token_kbps, card.tokens_per_second) == (38, 0.475, 37.5)
    assert card.codebook_entries == (16384, 4096, 4096)
    assert card.bits_of(7) == 266


def test_equal_codebooks_are_the_special_case() -> None:
    """One size counts for each codebook; bits are rounded up once a clip, not once a token."""
    card = make_card("net_2cb", frame_rate=50.0, codebooks=2, codebook_size=1024, nominal_kbps=1.0)
    assert (card.frame_bits, card.codebook_entries, card.bits_of(3)) == (20, (1024, 1024), 60)
    odd = make_card("net_odd", frame_rate=50.0, codebooks=1, codebook_size=6561, nominal_kbps=50 * 12.67970000576925e-3)
    assert odd.bits_of(100) == 1268  # 1267.97


def test_a_card_without_tokens_has_no_bits_of_frames() -> None:
    """Bytes have no codebooks: asking for the bits of their frames is an error."""
    card = make_card()
    assert (card.frame_bits, card.codebook_entries) == (None, None)
    with pytest.raises(ValueError, match="expected a card with codebooks"):
        card.bits_of(1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codebook_size": 4096}, "no codebook_size"),
        ({"codebooks": 4}, "got codebooks 4, 3 sizes"),
        ({"codebooks": None}, "got codebooks None, 3 sizes"),
        ({"nominal_kbps": 0.5}, "its tokens give 0.475"),
        ({"codebook_sizes": (0, 4096, 4096)}, "codebook_sizes"),
    ],
)
def test_codebooks_that_contradict_each_other_are_refused(changes: dict[str, Any], message: str) -> None:
    """Sizes stand beside no single size, one for each codebook, and the bitrate follows from them."""
    with pytest.raises(ValidationError, match=message):
        make_card("net_3cb", **{"nominal_kbps": 0.475, **SIZES, **changes})


def test_the_catalogue_computes_the_bitrate() -> None:
    """A catalogue entry needs no nominal bitrate where its codebooks give it; a wrong one is an error."""
    (entry,) = read_catalogue(CATALOGUE, "here")
    assert entry.card.nominal_kbps == 0.475
    with pytest.raises(CatalogueError, match=r"nominal_kbps is 0.45, but its tokens give 0\.475"):
        read_catalogue(CATALOGUE.replace("codebooks: 3,", "codebooks: 3, nominal_kbps: 0.45,"), "here")


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([[16384], [0], [0]], "expected tokens from 0 to 16383, got 16384 to 16384"),
        ([[16383], [0], [4096]], "expected tokens from 0 to 4095, got 4096 to 4096"),
        ([[0], [0]], r"expected integer tokens \(3, frames\), got int64 \(2, 1\)"),
    ],
)
def test_a_token_outside_its_own_codebook_is_refused(tokens: list[list[int]], message: str) -> None:
    """A token that the first codebook has is none of the third's."""
    codec = IsolatedCodec(tiny_card().model_copy(update={**SIZES, "codebook_size": None}))
    with pytest.raises(CodingFailed, match=message):
        codec.decode(Encoded(np.array(tokens), 38, 1600, 16000, 1))
