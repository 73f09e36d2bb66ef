"""FunCodec on the waveform is EnCodec's architecture: its weights in transformers' EnCodec give the same tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codecs.families import make_model, random_codec, renamed

from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.torchaudio_import import mend_torchaudio

pytestmark = pytest.mark.isolated

NAME = "funcodec_en_libritts_16k_nq32ds320"
NAMES = (
    (r"^(encoder|decoder)\.model\.", r"\1.layers."),
    (r"\.(conv|convtr)\.\1\.", ".conv."),
    (r"\.(conv|convtr)\.norm\.", ".norm."),
)
"""How transformers renames what FunCodec's package calls its layers."""
BOOKS = "quantizer.rq.model."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a small FunCodec by its own package."""
    made = tmp_path_factory.mktemp("funcodec")
    make_model("funcodec", "funcodec", made)
    return made


@pytest.fixture(scope="module")
def codec(folder: Path) -> Iterator[IsolatedCodec]:
    """Open the codec with that model."""
    opened = random_codec(NAME, folder).load()
    yield opened
    opened.close()


def clip() -> Any:
    """Return a second of noise."""
    return (0.1 * np.random.default_rng(3).standard_normal((1, 16000))).astype(np.float32)


def parameters(state: dict[str, Any]) -> dict[str, Any]:
    """Return the package's parameters under the names of transformers, which keeps each codebook for itself."""
    result = {}
    for name, value in renamed(state, NAMES).items():
        if name.startswith(BOOKS):
            part = name.removeprefix(BOOKS)
            result |= {f"quantizer.layers.{number}.codebook.{part}": each for number, each in enumerate(value)}
        elif name.startswith(("encoder.", "decoder.")):
            result[name] = value
    return result


def transformers_model(folder: Path) -> Any:
    """Return transformers' EnCodec with every parameter of the checkpoint in ``folder``."""
    import torch

    mend_torchaudio()
    from transformers import EncodecConfig, EncodecModel

    config = EncodecConfig(
        sampling_rate=16000, num_filters=4, norm_type="time_group_norm", use_causal_conv=False, normalize=True,
        target_bandwidths=[16.0],
    )  # fmt: skip
    model: Any = EncodecModel(config).eval()  # its hints promise tensors where it takes and gives others
    model.load_state_dict(parameters(torch.load(folder / "model.pth", weights_only=True)), strict=True)
    return model


def test_funcodec_and_transformers_give_the_same_tokens(folder: Path, codec: IsolatedCodec) -> None:
    """All 32 codebooks and the loudness are those of transformers' EnCodec, the sound within 1e-4."""
    import torch

    model = transformers_model(folder)
    encoded = codec.encode(clip(), 16000)
    with torch.inference_mode():
        found = model.encode(torch.from_numpy(clip())[None], bandwidth=16.0)
        sound = model.decode(found.audio_codes, found.audio_scales)[0]
    assert isinstance(encoded.payload, np.ndarray)
    assert len(np.unique(encoded.payload)) > 30  # the model listens
    assert np.array_equal(found.audio_codes[0, 0].numpy(), encoded.payload)
    assert found.audio_scales[0].item() == pytest.approx(np.frombuffer(encoded.side, "<f4").item())
    assert np.abs(sound[0, 0, :16000].numpy() - codec.decode(encoded)[0]).max() < 1e-4


def test_a_louder_clip_has_the_same_tokens_and_comes_back_louder(codec: IsolatedCodec) -> None:
    """Loudness goes beside the tokens, 32 bits a clip, and the decoder multiplies by it."""
    quiet, loud = (codec.encode(clip() * gain, 16000) for gain in (1, 4))
    assert isinstance(quiet.payload, np.ndarray)
    assert np.array_equal(quiet.payload, loud.payload)
    assert quiet.bits == loud.bits == 10 * quiet.payload.size + 32
    assert np.allclose(4 * codec.decode(quiet), codec.decode(loud), atol=1e-5)


def test_codebooks_that_were_never_trained_are_refused(folder: Path, tmp_path: Path) -> None:
    """A checkpoint whose codebooks the package would fill with the first clip is an error at load."""
    import torch

    state = torch.load(folder / "model.pth", weights_only=True)
    state[BOOKS + "inited"].zero_()
    torch.save(state, tmp_path / "model.pth")
    (tmp_path / "config.yaml").symlink_to(folder / "config.yaml")
    with pytest.raises(CodecUnusable, match=r"expected trained codebooks in model\.pth"):
        random_codec(NAME, tmp_path).load()


def test_what_does_not_match_is_skipped_as_the_publisher_does_and_listed(
    folder: Path, codec: IsolatedCodec, tmp_path: Path
) -> None:
    """Losses, names that the model lacks and statistics of another size change no token; the card lists them."""
    import torch

    state = torch.load(folder / "model.pth", weights_only=True)
    state[BOOKS + "cluster_size"] = torch.zeros(1)
    state |= {"unheard.of": torch.zeros(2), "unheard.too": torch.zeros(2)}
    torch.save(state, tmp_path / "model.pth")
    (tmp_path / "config.yaml").symlink_to(folder / "config.yaml")
    other = random_codec(NAME, tmp_path).load()
    try:
        tokens = [np.asarray(each.encode(clip(), 16000).payload) for each in (codec, other)]
        assert np.array_equal(*tokens)
        assert other.card.weights is not None
        assert other.card.weights.skipped is not None
        assert other.card.weights.skipped.endswith(f"mel_spec_transforms (2), unheard (2), {BOOKS}cluster_size")
    finally:
        other.close()
    assert codec.card.weights is not None
    assert (codec.card.weights.skipped or "").endswith("mel_spec_transforms (2)")


def test_a_file_that_lacks_a_parameter_is_refused(folder: Path, tmp_path: Path) -> None:
    """The package leaves what the file does not give as it was drawn: no trained codec, so it is named."""
    import torch

    state = torch.load(folder / "model.pth", weights_only=True)
    lost = next(name for name in sorted(state) if name.startswith("decoder."))
    state[lost] = torch.zeros(1)
    del state[BOOKS + "embed"]
    torch.save(state, tmp_path / "model.pth")
    (tmp_path / "config.yaml").symlink_to(folder / "config.yaml")
    with pytest.raises(CodecUnusable, match=rf"got none that fits {lost}, {BOOKS}embed"):
        random_codec(NAME, tmp_path).load()
