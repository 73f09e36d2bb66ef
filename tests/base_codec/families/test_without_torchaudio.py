"""Where torchaudio is not installed: who needs it says so, and others work. One process: torch is imported once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.codecs.checkpoints import checkpoint
from support.profile import some

PROGRAM = """
import sys
sys.modules["torchaudio"] = None
import numpy
from codec_superb.base_codec.errors import MissingDependency
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import open_codec
for name, folder in {models!r}:
    try:
        codec = open_codec(name, options=CodecOptions(weights=folder))
        print(codec.decode(codec.encode(numpy.full((1, 1600), 0.1, dtype=numpy.float32), 16000)).shape)
    except MissingDependency as error:
        print(error)
"""
ASKS = {"higgs_audio_v2_1k": "higgs_audio_v2"}
OTHERS = {"xcodec_2k": "xcodec", "xcodec2": "xcodec2", "neucodec": "neucodec"}
MODELS = ASKS | {name: OTHERS[name] for name in some(OTHERS, 1)}


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """Give what came of each codec, by name: the shape of its sound, or what it asked for."""
    program = PROGRAM.format(models=[(name, str(checkpoint(family))) for name, family in MODELS.items()])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return dict(zip(MODELS, done.stdout.splitlines(), strict=True))


@pytest.mark.sample(1, among="torchaudio beside torch")
def test_who_needs_it_names_the_command(said: dict[str, str]) -> None:
    """Higgs Audio V2 says what is missing, with the command that installs it."""
    told = "higgs_audio_v2_1k needs torchaudio, which is not installed: pip install 'torchaudio>=2.6'"
    assert said["higgs_audio_v2_1k"] == told


@pytest.mark.sample(1, among="torchaudio beside torch")
@pytest.mark.parametrize("name", [name for name in MODELS if name in OTHERS])
def test_the_others_do_not_need_it(said: dict[str, str], name: str) -> None:
    """The extra neural does not ask for it: a clip is coded all the same, after another codec was refused too."""
    assert said[name] == "(1, 1600)"
