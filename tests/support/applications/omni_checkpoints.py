"""Tiny chats with random weights whose processors need torchvision, in the publishers' layouts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.applications.checkpoint_parts import EARS, PARTS, TEXT, Made, tokenizer

from codec_superb.applications.transformers_checkpoint import import_transformers

OMNI = {
    "image_token": "<|IMAGE|>", "audio_token": "<|AUDIO|>", "video_token": "<|VIDEO|>",
    "vision_bos_token": "<|vision_bos|>", "vision_eos_token": "<|vision_eos|>",
    "audio_bos_token": "<|audio_bos|>", "audio_eos_token": "<|audio_eos|>",
}  # fmt: skip
ROPE = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [1, 1, 2]}
EYES = {"depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32, "out_hidden_size": 16}


def _omni(prefix: str, audio: dict[str, Any], vision: dict[str, Any], text: dict[str, Any]) -> Made:
    """Return one of Qwen's Omni models without the part that speaks."""
    transformers = import_transformers()
    words = tokenizer(*OMNI.values(), named=OMNI)
    ids = {name: words.convert_tokens_to_ids(token) for name, token in OMNI.items()}
    ending = "token_index" if prefix == "Qwen2_5Omni" else "token_id"
    thinker = {
        "audio_config": {
            "d_model": 16, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32, "output_dim": 16,
            **EARS, **audio,
        },
        "vision_config": {**EYES, **vision},
        "text_config": {**TEXT, "vocab_size": len(words), "head_dim": 8, "rope_parameters": ROPE, **text},
        "audio_start_token_id": ids["audio_bos_token"], "audio_end_token_id": ids["audio_eos_token"],
        "vision_start_token_id": ids["vision_bos_token"], "vision_end_token_id": ids["vision_eos_token"],
        **{f"{kind}_{ending}": ids[f"{kind}_token"] for kind in ("audio", "image", "video")},
    }  # fmt: skip
    config = getattr(transformers, f"{prefix}Config")(thinker_config=thinker, enable_audio_output=False)
    processor = getattr(transformers, f"{prefix}Processor")(
        transformers.Qwen2VLImageProcessor(), transformers.Qwen2VLVideoProcessor(),
        transformers.WhisperFeatureExtractor(feature_size=16), words,
        chat_template=PARTS.replace("SOUND", "<|audio_bos|><|AUDIO|><|audio_eos|>"),
    )  # fmt: skip
    return getattr(transformers, f"{prefix}ForConditionalGeneration")(config), processor.save_pretrained


def _qwen2_5_omni() -> Made:
    return _omni("Qwen2_5Omni", {"n_window": 100}, {"fullatt_block_indexes": [0]}, {})


def _qwen3_omni() -> Made:
    text = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    audio = {"n_window": 50, "n_window_infer": 800, "downsample_hidden_size": 8}
    return _omni("Qwen3OmniMoe", audio, {"deepstack_visual_indexes": [0]}, text)


def _phi4() -> Made:
    transformers = import_transformers()
    named = {"image_token": "<|image|>", "audio_token": "<|audio|>"}
    words = tokenizer(*named.values(), named=named)
    config = transformers.Phi4MultimodalConfig(
        **TEXT, vocab_size=len(words), pad_token_id=0, bos_token_id=0, eos_token_id=1,
        audio_config={
            "hidden_size": 16, "intermediate_size": 32, "num_blocks": 2, "num_attention_heads": 2,
            "ext_pw_out_channel": 16, "depthwise_separable_out_channel": 16, "nemo_conv_channels": 16,
            "audio_token_id": words.convert_tokens_to_ids("<|audio|>"),
        },
        vision_config={
            "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
            "image_size": 28, "crop_size": 28, "image_token_id": words.convert_tokens_to_ids("<|image|>"),
        },
    )  # fmt: skip
    turn = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|im_end|>{% endfor %}"
    processor = transformers.Phi4MultimodalProcessor(
        transformers.Phi4MultimodalImageProcessor(size={"height": 28, "width": 28}, dynamic_hd=1),
        transformers.Phi4MultimodalFeatureExtractor(), words, chat_template=f"{turn}<|assistant|>",
    )  # fmt: skip
    return transformers.Phi4MultimodalForCausalLM(config), _with_adapter(processor)


def _with_adapter(processor: Any) -> Callable[[Path], Any]:
    """Save the processor, and low-rank weights of the sound in a folder of their own."""

    def save(folder: Path) -> None:
        import torch
        from peft import LoraConfig, get_peft_model

        processor.save_pretrained(folder)
        base = import_transformers().Phi4MultimodalForCausalLM.from_pretrained(folder)
        torch.manual_seed(7)
        low_rank = LoraConfig(r=2, target_modules=["qkv_proj"], init_lora_weights=False)
        with warnings.catch_warnings():  # peft 0.21 asks transformers 5.23 for a property under its old name
            warnings.simplefilter("ignore", FutureWarning)
            get_peft_model(base, low_rank).save_pretrained(folder / "speech-lora")

    return save


def _gemma3n() -> Made:
    transformers = import_transformers()
    named = {
        "image_token": "<image_soft_token>", "audio_token": "<audio_soft_token>", "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>", "boa_token": "<start_of_audio>", "eoa_token": "<end_of_audio>",
    }  # fmt: skip
    words = tokenizer(*named.values(), named=named)
    ids = {f"{name}_id": words.convert_tokens_to_ids(token) for name, token in named.items()}
    size = len(words)
    config = transformers.Gemma3nConfig(
        text_config={
            **TEXT, "num_hidden_layers": 4, "vocab_size": size + 256, "vocab_size_per_layer_input": size,
            "head_dim": 8, "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 2, "laurel_rank": 4,
            "layer_types": ["sliding_attention", "full_attention"] * 2, "activation_sparsity_pattern": [0.0] * 4,
        },
        audio_config={
            "hidden_size": 16, "conf_num_attention_heads": 2, "conf_num_hidden_layers": 1, "vocab_offset": size + 128,
            "sscp_conv_channel_size": [8, 4],
        },
        vision_config={"architecture": "mobilenetv3_small_050", "hidden_size": 16, "vocab_offset": size},
        audio_soft_tokens_per_image=188, **ids,
    )  # fmt: skip
    processor = transformers.Gemma3nProcessor(
        transformers.Gemma3nAudioFeatureExtractor(),
        transformers.SiglipImageProcessor(),
        words,
        chat_template=PARTS.replace("SOUND", "<audio_soft_token>"),
    )
    return transformers.Gemma3nForConditionalGeneration(config), processor.save_pretrained


MAKERS: dict[str, Callable[[], Made]] = {
    "qwen2_5_omni": _qwen2_5_omni,
    "qwen3_omni": _qwen3_omni,
    "phi4_multimodal": _phi4,
    "gemma3n": _gemma3n,
}
