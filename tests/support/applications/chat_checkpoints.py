"""Tiny chats with random weights in the publishers' layouts."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.applications import omni_checkpoints
from support.applications.checkpoint_parts import EARS, PARTS, TEXT, Made, tokenizer

from codec_superb.applications.transformers_checkpoint import import_transformers


def save_chat(kind: str, folder: Path, seed: int = 3) -> Path:
    """Save a checkpoint of a family with seeded weights, which are large enough to hear a sound."""
    import torch

    network, save_processor = _MAKERS[kind]()
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0.0, 0.3)
    network.generation_config.eos_token_id = None
    network.save_pretrained(folder)
    save_processor(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "codec_superb_random": True}))
    return folder


def _qwen2_audio() -> Made:
    transformers = import_transformers()
    ears = {
        "d_model": 16, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32,
        "model_type": "qwen2_audio_encoder", **EARS,
    }  # fmt: skip
    words = tokenizer("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
    config = transformers.Qwen2AudioConfig(
        audio_config=ears, text_config={"model_type": "qwen2", "vocab_size": len(words), **TEXT},
        audio_token_index=words.convert_tokens_to_ids("<|AUDIO|>"),
    )  # fmt: skip
    processor = transformers.Qwen2AudioProcessor(
        transformers.WhisperFeatureExtractor(feature_size=16), words,
        chat_template=PARTS.replace("SOUND", "<|audio_bos|><|AUDIO|><|audio_eos|>"),
    )  # fmt: skip
    return transformers.Qwen2AudioForConditionalGeneration(config), processor.save_pretrained


def _audio_flamingo_3() -> Made:
    transformers = import_transformers()
    ears = {
        "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
        "model_type": "audioflamingo3_encoder", **EARS,
    }  # fmt: skip
    words = tokenizer("<sound>")
    config = transformers.AudioFlamingo3Config(
        audio_config=ears, text_config={"model_type": "qwen2", "vocab_size": len(words), **TEXT},
        audio_token_id=words.convert_tokens_to_ids("<sound>"),
    )  # fmt: skip
    processor = transformers.AudioFlamingo3Processor(
        transformers.WhisperFeatureExtractor(feature_size=16), words, chat_template=PARTS.replace("SOUND", "<sound>")
    )
    return transformers.AudioFlamingo3ForConditionalGeneration(config), processor.save_pretrained


def _granite_speech() -> Made:
    transformers = import_transformers()
    words = tokenizer("<|audio|>")
    config = transformers.GraniteSpeechConfig(
        encoder_config={"num_layers": 2, "hidden_dim": 16, "num_heads": 2, "output_dim": 8, "context_size": 20},
        projector_config={
            "model_type": "blip_2_qformer", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
            "intermediate_size": 32, "encoder_hidden_size": 16,
        },
        text_config={"model_type": "granite", "vocab_size": len(words), **TEXT},
        audio_token_index=words.convert_tokens_to_ids("<|audio|>"), has_lora_adapter=False,
    )  # fmt: skip
    turn = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    processor = transformers.GraniteSpeechProcessor(
        transformers.GraniteSpeechFeatureExtractor(), words, chat_template=f"{turn}<|im_start|>assistant\n"
    )
    return transformers.GraniteSpeechForConditionalGeneration(config), processor.save_pretrained


def _voxtral() -> Made:
    transformers = import_transformers()
    ears = {
        "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
        "model_type": "voxtral_encoder", **EARS,
    }  # fmt: skip
    config = transformers.VoxtralConfig(
        audio_config=ears,
        text_config={"model_type": "llama", "vocab_size": 100 + 256, "head_dim": 8, **TEXT},
        audio_token_id=24,
    )

    def save(folder: Path) -> None:
        transformers.WhisperFeatureExtractor(feature_size=16).save_pretrained(folder)
        (folder / "tekken.json").write_text(json.dumps(_tekken()))

    return transformers.VoxtralForConditionalGeneration(config), save


def _tekken() -> dict[str, Any]:
    """Return a tokeniser of bytes in the form of mistral-common; token 24 stands for a sound."""
    from mistral_common.tokens.tokenizers.base import SpecialTokens

    named = {0: "<unk>", 1: "<s>", 2: "</s>", 3: "[INST]", 4: "[/INST]", 11: "<pad>", 24: "[AUDIO]"}
    others = [token.value for token in SpecialTokens if token.value not in named.values()]
    named |= dict(zip([rank for rank in range(100) if rank not in named], others, strict=False))
    special = [
        {"rank": rank, "token_str": named.get(rank, f"<SPECIAL_{rank}>"), "is_control": True} for rank in range(100)
    ]
    vocabulary = [
        {"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode(), "token_str": None}
        for byte in range(256)
    ]
    return {
        "config": {
            "pattern": r"[\s\S]", "num_vocab_tokens": 256, "default_vocab_size": 356,
            "default_num_special_tokens": 100, "version": "v7",
        },
        "audio": {
            "sampling_rate": 16000, "frame_rate": 12.5,
            "audio_encoding_config": {"num_mel_bins": 16, "window_size": 400, "hop_length": 160},
            "chunk_length_s": 30.0,
        },
        "special_tokens": special,
        "vocab": vocabulary,
    }  # fmt: skip


_MAKERS: dict[str, Callable[[], Made]] = {
    "qwen2_audio": _qwen2_audio,
    "audio_flamingo_3": _audio_flamingo_3,
    "granite_speech": _granite_speech,
    "voxtral": _voxtral,
    **omni_checkpoints.MAKERS,
}
