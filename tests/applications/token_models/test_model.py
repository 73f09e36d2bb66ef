"""Shipped configurations: what is known of the published one, and that each of them trains."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.applications.token_models import small_training, uniform_clips

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.token_models.configuration import configuration_named, configurations
from codec_superb.applications.token_models.likelihood import token_bits
from codec_superb.applications.token_models.model import make_model
from codec_superb.applications.token_models.patterns import PATTERNS, pattern_named
from codec_superb.applications.token_models.training import load_trained, train


def test_the_published_model_has_the_published_size() -> None:
    """AudioCodecBench calls it a model of 100 million: so it has with eight codebooks of 1,024 entries."""
    configuration = configuration_named("published")
    with torch.device("meta"):
        model = make_model((1024,) * 8, pattern_named(configuration.pattern), configuration, 0)
    assert 100e6 < sum(value.numel() for value in model.parameters()) < 103e6
    assert (configuration.rate, configuration.betas, configuration.warmup) == (1e-4, (0.8, 0.99), 50)
    assert configuration.rate_at(configuration.steps - 1) == pytest.approx(0.99e-4, rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"num_hiden_layers": 2}, "shape: expected hidden_size, intermediate_size, num_hidden_layers"),
        ({"num_key_value_heads": 3}, "multiple of num_key_value_heads, got 96, 4 and 3"),
        ({"hidden_size": 97}, "got 97, 4 and 4"),
    ],
)
def test_sizes_that_no_transformer_has_are_refused(wrong: dict[str, int], said: str, tmp_path: Path) -> None:
    """A misspelt size would leave the library's usual 32 layers; heads that do not fit fail within a layer."""
    file = tmp_path / "mine.yaml"
    tiny = configurations()["tiny"].model_dump(mode="json")
    file.write_text(json.dumps(tiny | {"shape": tiny["shape"] | wrong}))
    with pytest.raises(ApplicationError, match=said):
        configuration_named(str(file))


@pytest.mark.parametrize("name", ["tiny", "small"])
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_first_weights_say_nothing(name: str, pattern: str) -> None:
    """Before training every token costs log2 of its codebook's entries, whatever the pattern and the sizes."""
    sizes = (7, 2, 30)
    model = make_model(sizes, PATTERNS[pattern], configurations()[name], 0).eval()
    grid = np.zeros((1, 3), np.int64) if not PATTERNS[pattern].interleaved else np.diag([1, 1, 1]) - 1
    found = model.losses([grid.astype(np.int64)]).sum(dim=1)[0]
    np.testing.assert_allclose(found.detach(), np.log(sizes), rtol=1e-5)


def test_training_in_bfloat16_learns_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A codebook of two entries that is always the first: both learn it, each by itself; bits differ a little."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    found = []
    for bf16 in (False, True):
        clips = uniform_clips((1, 3), 6, 40)
        training = small_training(clips, (2, 3), steps=25, passes=1000, rate=0.02, dropout=0.0)
        training = replace(training, bf16=bf16)
        train(training)
        found.append(token_bits(load_trained(training.folder), clips[0].tokens).mean(axis=1))
    np.testing.assert_allclose(found[0], found[1], atol=0.05)
    assert found[1][0] < 0.1
    assert not np.array_equal(*found)  # a kept model of one is not taken for the other
