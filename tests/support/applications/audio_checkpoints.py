"""Tiny AST, CLAP and WavLM checkpoints with seeded random weights, saved as ``--weights`` takes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codec_superb.applications.transformers_checkpoint import CONFIG, PREPROCESSOR, import_transformers
from codec_superb.base_codec.weight_folders import RANDOM_KEY

AST_CLASSES = ("Speech", "Dog", "Bark", "Cat", "Music")
AST_FRAMES = 64


def save(network: Any, folder: Path, preprocessor: dict[str, object]) -> Path:
    """Save a network with its preprocessor, marked as one that nobody trained."""
    network.save_pretrained(folder)
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(config | {RANDOM_KEY: True}))
    (folder / PREPROCESSOR).write_text(json.dumps(preprocessor))
    return folder


def save_ast(folder: Path, seed: int = 0) -> Path:
    """Save an AST of two layers over 0.64 s and 32 bands."""
    transformers = import_transformers()
    seeded(seed)
    config = transformers.ASTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_length=AST_FRAMES,
        num_mel_bins=32, id2label=dict(enumerate(AST_CLASSES)), initializer_range=0.2,
        label2id={name: number for number, name in enumerate(AST_CLASSES)},
    )  # fmt: skip
    network = transformers.ASTForAudioClassification(config)
    wanted = {"num_mel_bins": 32, "max_length": AST_FRAMES, "sampling_rate": 16_000, "mean": -4.0, "std": 4.5}
    return save(network, folder, wanted)


def save_clap(folder: Path, words: Sequence[str], seed: int = 0, *, fused: bool = False) -> Path:
    """Save a CLAP over one second and 16 bands, with a tokeniser of these words."""
    transformers = import_transformers()
    seeded(seed)
    vocabulary = _save_tokeniser(folder, words)
    text = {
        "vocab_size": vocabulary, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 32, "projection_dim": 16, "initializer_factor": 3.0,
    }  # fmt: skip
    audio = {
        "num_mel_bins": 16, "window_size": 4, "spec_size": 64, "patch_size": 4, "patch_stride": [4, 4], "freq_ratio": 4,
        "hidden_size": 32, "depths": [2, 2], "num_attention_heads": [2, 2], "patch_embeds_hidden_size": 16,
        "projection_dim": 16, "enable_fusion": fused, "initializer_factor": 3.0,
    }  # fmt: skip
    config = transformers.ClapConfig(text_config=text, audio_config=audio, projection_dim=16)
    wanted = {"feature_size": 16, "max_length_s": 1, "sampling_rate": 48_000, "hop_length": 480, "frequency_min": 50,
        "frequency_max": 14_000, "fft_window_size": 1024, "truncation": "rand_trunc", "padding": "repeatpad",
    }  # fmt: skip
    return save(transformers.ClapModel(config), folder, wanted)


def _save_tokeniser(folder: Path, words: Sequence[str]) -> int:
    """Save a tokeniser of whole words between RoBERTa's marks; return the size of its vocabulary."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = ["<s>", "<pad>", "</s>", "<unk>", *dict.fromkeys(words)]
    tokeniser: Any = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    tokeniser.pre_tokenizer = pre_tokenizers.Whitespace()
    tokeniser.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    folder.mkdir(parents=True, exist_ok=True)
    tokeniser.save(str(folder / "tokenizer.json"))
    return len(names)


def seeded(seed: int) -> None:
    """Seed torch, whose generator draws the weights."""
    import torch

    torch.manual_seed(seed)


def save_wavlm(folder: Path, seed: int = 0) -> Path:
    """Save a WavLM of two layers."""
    transformers = import_transformers()
    seeded(seed)
    config = transformers.WavLMConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, conv_dim=[16] * 7,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, num_buckets=16, max_bucket_distance=40,
        feat_extract_norm="layer", do_stable_layer_norm=True,
    )  # fmt: skip
    return save(transformers.WavLMModel(config), folder, {"do_normalize": True, "sampling_rate": 16_000})
