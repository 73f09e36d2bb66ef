"""A mapped checkpoint after a long clip: nothing of it is resident, and nothing of it has changed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from support.codecs.checkpoints import opened

from codec_superb.base_codec.families import transformers_codec
from codec_superb.base_codec.families.paging import page_out


def resident(file: Path) -> int:
    """Return how many KiB of a mapped file this process has in memory."""
    total, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", line):
            ours = line.endswith(os.path.realpath(file))
        elif ours and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


def test_pages_are_given_back_and_values_stay(tmp_path: Path) -> None:
    """Megabytes that were read leave memory; what is read again is the same."""
    values = torch.arange(2_000_000, dtype=torch.float32)
    stored = tmp_path / "blob"
    save_file({"values": values}, stored)
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "model.safetensors").symlink_to(stored)  # as the hub's cache has it
    mapped = load_file(tmp_path / "hub" / "model.safetensors")["values"]
    assert torch.equal(mapped, values)
    assert resident(stored) > 7000
    page_out(tmp_path / "hub")
    assert resident(stored) < 100
    assert torch.equal(mapped, values)


def test_what_was_written_to_is_kept(tmp_path: Path) -> None:
    """A mapped parameter that a program changed keeps the change."""
    save_file({"values": torch.zeros(1_000_000)}, tmp_path / "model.safetensors")
    mapped = load_file(tmp_path / "model.safetensors")["values"]
    mapped += 1
    page_out(tmp_path)
    assert float(mapped.min()) == float(mapped.max()) == 1.0


def test_a_folder_without_checkpoint_is_no_error(tmp_path: Path) -> None:
    """Nothing is mapped, nothing happens."""
    page_out(tmp_path)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("seconds", "times"), [(0.5, 0), (63.0, 2)])
def test_only_long_clips_let_go(seconds: float, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, after encoding and decoding what goes in pieces; for short ones pages would be read over and over."""
    codec = opened("xcodec_2k", "xcodec")
    calls: list[Path] = []
    monkeypatch.setattr(transformers_codec, "page_out", calls.append)
    clip = (0.1 * np.random.default_rng(0).standard_normal((1, round(seconds * 16000)))).astype(np.float32)
    codec.decode(codec.encode(clip, 16000))
    assert len(calls) == times
