"""Published weights for tests: those that this machine has; tests that need others are skipped, and counted so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import MissingWeights
from codec_superb.base_codec.weight_folders import VARIABLE
from codec_superb.base_codec.weights import locate_weights

BESIDE = Path(__file__).parents[4] / "shared" / "real"
"""Folder of published weights by codec, beside a checkout."""


def published_weights(name: str) -> Path | None:
    """Return the folder of the published weights of codec ``name``, where this machine has them."""
    own = BESIDE / registry.card(name).family
    if own.is_dir() and not os.environ.get(VARIABLE):
        return own
    try:
        return locate_weights(registry.card(name), download=False).folder
    except MissingWeights:
        return None


def needs_published(name: str) -> pytest.MarkDecorator:
    """Skip a test where the published weights of ``name`` are not on this machine."""
    why = f"the published weights of {name} are not on this machine: {VARIABLE}=DIR names a folder of weights by codec"
    return pytest.mark.skipif(published_weights(name) is None, reason=why)
