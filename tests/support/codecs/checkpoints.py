"""Tiny models of each neural family with seeded random weights, saved as checkpoints that ``--weights`` takes."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codec_superb.base_codec import registry
from codec_superb.base_codec.interface import Codec
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import open_codec
from codec_superb.base_codec.torchaudio_import import mend_torchaudio
from codec_superb.base_codec.weight_folders import RANDOM_KEY


def _encodec(**changes: Any) -> Any:
    from transformers import EncodecConfig, EncodecModel

    return EncodecModel(EncodecConfig(**{"hidden_size": 8, "num_filters": 2, "num_lstm_layers": 1, **changes}))


def _encodec_48k() -> Any:
    return _encodec(
        num_filters=4, target_bandwidths=[3.0, 6.0, 12.0, 24.0], sampling_rate=48000, audio_channels=2, normalize=True,
        chunk_length_s=1.0, overlap=0.01, norm_type="time_group_norm", use_causal_conv=False,
    )  # fmt: skip


def _dac(rate: int, codebooks: int, strides: list[int]) -> Any:
    from transformers import DacConfig, DacModel

    return DacModel(
        DacConfig(
            sampling_rate=rate, n_codebooks=codebooks, downsampling_ratios=strides, encoder_hidden_size=2,
            decoder_hidden_size=32, codebook_dim=4,
        )
    )  # fmt: skip


def _mimi() -> Any:
    from transformers import MimiConfig, MimiModel

    return MimiModel(
        MimiConfig(
            hidden_size=16, num_filters=2, codebook_dim=8, vector_quantization_hidden_dimension=8, upsample_groups=16,
            num_hidden_layers=2, intermediate_size=32, num_attention_heads=2, num_key_value_heads=2, sliding_window=20,
            layer_scale_initial_scale=0.5,
        )
    )  # fmt: skip


def _xcodec(semantic: str = "Hubert") -> Any:
    import transformers

    listener = getattr(transformers, f"{semantic}Config")(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, conv_dim=[8] * 7,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
    )  # fmt: skip
    acoustic = {"encoder_hidden_size": 2, "decoder_hidden_size": 32, "downsampling_ratios": [8, 5, 4, 2]}
    config = transformers.XcodecConfig(acoustic_model_config=acoustic, semantic_model_config=listener)
    return transformers.XcodecModel(config)


def _higgs() -> Any:
    from transformers import HiggsAudioV2TokenizerConfig, HiggsAudioV2TokenizerModel

    semantic = {
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
        "conv_dim": [8] * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
    }  # fmt: skip
    strides = [8, 5, 4, 2, 3]
    acoustic = {
        "encoder_hidden_size": 2, "decoder_hidden_size": 32, "hidden_size": 16, "downsampling_ratios": strides,
        "upsampling_ratios": strides,
    }  # fmt: skip
    config = HiggsAudioV2TokenizerConfig(
        target_bandwidths=[0.5, 1, 1.5, 2], acoustic_model_config=acoustic, semantic_model_config=semantic,
        codebook_dim=8,
    )  # fmt: skip
    return HiggsAudioV2TokenizerModel(config)


def xcodec2(name: str, **changes: Any) -> Any:
    """Return a tiny ``Xcodec2`` or ``NeuCodec``, which have the same parts."""
    import transformers

    semantic = transformers.Wav2Vec2BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, output_hidden_size=32,
        conv_depthwise_kernel_size=7,
    )  # fmt: skip
    # Two channels for each of the 32 groups of its normalisation: one alone has no variance in a clip of one frame.
    own = {
        "hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 32, "encoder_hidden_size": 2, "quantization_dim": 96,
    }  # fmt: skip
    config = getattr(transformers, f"{name}Config")(**{**own, "semantic_model_config": semantic, **changes})
    return getattr(transformers, f"{name}Model")(config)


MODELS: dict[str, Callable[[], Any]] = {
    "encodec": _encodec,
    "encodec_48k": _encodec_48k,
    "dac_16k": lambda: _dac(16000, 12, [2, 4, 5, 8]),
    "dac_24k": lambda: _dac(24000, 32, [2, 4, 5, 8]),
    "mimi": _mimi,
    "xcodec": _xcodec,
    "xcodec_wavlm_mls": lambda: _xcodec("WavLM"),
    "higgs_audio_v2": _higgs,
    "xcodec2": lambda: xcodec2("Xcodec2"),
    "neucodec": lambda: xcodec2("NeuCodec"),
    "dac_44k": lambda: _dac(44100, 9, [2, 4, 8, 8]),
}

GAIN = {"encodec": 2.0, "dac_16k": 4.0, "dac_24k": 4.0, "dac_44k": 4.0, "xcodec": 2.0, "xcodec_wavlm_mls": 2.0,
    "xcodec2": 6.0, "neucodec": 6.0, "higgs_audio_v2": 3.0,
}  # fmt: skip
"""By how much the weights that transformers draws are too small for tokens that differ."""
FAMILIES = [("encodec_24k_6bps", "encodec"), ("encodec_48k_3bps", "encodec_48k"),
    ("dac_16k", "dac_16k"), ("dac_24k_3cb", "dac_24k"), ("dac_44k_2cb", "dac_44k"), ("mimi_8cb", "mimi"),
    ("xcodec_2k", "xcodec"), ("xcodec_wavlm_mls_2k", "xcodec_wavlm_mls"), ("xcodec2", "xcodec2"),
    ("neucodec", "neucodec"), ("higgs_audio_v2_1k", "higgs_audio_v2"),
]  # fmt: skip
"""A codec of each family, and the model that serves it."""
ALIKE = {
    "xcodec_hubert_general": "xcodec", "xcodec_hubert_general_balanced": "xcodec",
    "xcodec_wavlm_more_data": "xcodec_wavlm_mls",
}  # fmt: skip
"""Families that differ from another one in their trained weights alone."""
OF_TOKENS = [
    (name, ALIKE.get(card.family, card.family))
    for name, card in ((name, registry.card(name)) for name in registry.names())
    if card.codebooks and not card.isolation and card.family != "lyra"
]
"""Every codec of tokens that runs here with random weights, and the model that serves it; Lyra's are published."""


def save_checkpoint(family: str, folder: Path, *, marked: bool = True, seed: int = 0) -> Path:
    """Write a tiny model of ``family`` into ``folder`` as transformers does, marked as never trained."""
    import torch

    mend_torchaudio()
    torch.manual_seed(seed)
    model = MODELS[family]().eval()
    _enliven(model, GAIN.get(family, 1))
    model.save_pretrained(folder)
    if marked:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {RANDOM_KEY: True}))
    return folder


def _enliven(model: Any, gain: float) -> None:
    """Make a new model answer to its input: larger weights, and codebooks that are not zeros."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(gain)
    for name, buffer in model.named_buffers():
        if name.endswith(("codebook.embed", "codebook.embed_sum")):
            buffer.copy_(0.3 * torch.randn(buffer.shape))


@functools.cache
def checkpoint(family: str) -> Path:
    """Return a checkpoint of ``family``, made once in a test process."""
    import atexit
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=f"codec-superb-{family}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return save_checkpoint(family, folder)


@functools.cache
def opened(name: str, family: str, device: str = "cpu") -> Codec:
    """Open codec ``name`` with the tiny model of ``family``, once in a test process."""
    return open_codec(name, device, CodecOptions(weights=str(checkpoint(family))))
