"""A small tokenizer of Qwen3-TTS: Mimi's encoder with the published strides, and the package's decoder, both narrow."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import torch
from families.drawing import draw_residual

CODEC = "qwen3_tts_tokenizer_12hz"
FILE = "model.safetensors"
LOOKS_AT_ONSET = True
ENCODER = {
    "hidden_size": 32, "num_filters": 4, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
    "head_dim": 16, "intermediate_size": 64, "codebook_dim": 16, "vector_quantization_hidden_dimension": 16,
    "upsample_groups": 32, "sliding_window": 25, "num_quantizers": 32,
}  # fmt: skip
DECODER = {
    "hidden_size": 32, "latent_dim": 48, "codebook_dim": 32, "decoder_dim": 64, "num_hidden_layers": 2, "head_dim": 16,
    "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 64, "sliding_window": 12,
}  # fmt: skip


def package():  # noqa: ANN201
    """Return the package's module of the tokenizer, without the speech synthesis beside it."""
    sys.path.insert(0, str(Path(importlib.util.find_spec("qwen_tts").origin).with_name("core")))
    from tokenizer_12hz import modeling_qwen3_tts_tokenizer_v2

    return modeling_qwen3_tts_tokenizer_v2


def make(folder):  # noqa: ANN001, ANN201
    """Write config.json and model.safetensors."""
    code = package()
    model = code.Qwen3TTSTokenizerV2Model(
        code.Qwen3TTSTokenizerV2Config(encoder_config=ENCODER, decoder_config=DECODER)
    ).eval()
    encoder, quantizer = model.encoder, model.encoder.quantizer
    with torch.inference_mode():
        states = encoder.encoder(0.1 * torch.randn(1, 1, 96000))
        states = encoder.encoder_transformer(states.transpose(1, 2))[0].transpose(1, 2)
        heard = encoder.downsample(states)
        for part in (quantizer.semantic_residual_vector_quantizer, quantizer.acoustic_residual_vector_quantizer):
            draw_residual([layer.codebook.embed_sum for layer in part.layers], part.input_proj(heard)[0].T)
        for weight in model.decoder.parameters():
            if weight.dim() > 1:  # as loud after as before, where the package's first weights fade away
                weight.normal_(std=weight[0].numel() ** -0.5)
        for part in (model.decoder.quantizer.rvq_first, model.decoder.quantizer.rvq_rest):
            for layer in part.vq.layers:
                layer._codebook.embedding_sum.normal_()
    model.save_pretrained(folder)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    model = package().Qwen3TTSTokenizerV2Model.from_pretrained(folder).eval()
    tokens = model.encode(audio, torch.ones_like(audio, dtype=int)).audio_codes
    return tokens[0].T, model.decode(torch.stack(tokens)).audio_values[0][None]
