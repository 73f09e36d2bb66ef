"""The one sentence about an absent package."""

from __future__ import annotations

import pytest

from codec_superb.missing_package import not_installed


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (not_installed("snac_24k", "torch", extra="neural"),
         "snac_24k needs torch, which is not installed: pip install 'codec-superb[neural]'"),
        (not_installed("higgs", "torchaudio", "torchaudio>=2.6"),
         "higgs needs torchaudio, which is not installed: pip install 'torchaudio>=2.6'"),
        (not_installed("sb", "torch and torchaudio", extra="applications"),
         "sb needs torch and torchaudio, which are not installed: pip install 'codec-superb[applications]'"),
        (not_installed("mine.py:Mine", "a_package", "a_package"),
         "mine.py:Mine needs a_package, which is not installed: pip install a_package"),
    ],
)  # fmt: skip
def test_it_names_who_needs_it_and_the_command(told: str, expected: str) -> None:
    """The command can be pasted into a shell as it is."""
    assert told == expected
