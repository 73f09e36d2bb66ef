"""Published weights for tests: those that this machine has; tests that need others are skipped, and counted so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import MissingDependency, MissingWeights
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.readiness import check_ready
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
    """Skip a test where the published weights of ``name``, or a package that runs them, are not on this machine."""
    lacks = _lacks(name)
    return pytest.mark.skipif(bool(lacks), reason=lacks)


def _lacks(name: str) -> str:
    folder = published_weights(name)
    if folder is None:
        return f"the published weights of {name} are not here: {VARIABLE}=DIR names a folder of weights by codec"
    try:
        check_ready([name], CodecOptions(weights=str(folder)))
    except MissingDependency as error:
        return str(error)
    return ""
