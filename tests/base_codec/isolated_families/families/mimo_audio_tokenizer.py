"""A narrow tokenizer of MiMo-Audio: rates and codebooks of the published configuration, few layers and channels."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec

import torch
from families.drawing import draw_residual

CODEC = "mimo_audio_tokenizer_8cb"
FILE = "model.safetensors"
CODEBOOKS = 8
CONFIG = {
    "avg_pooler": 2, "d_model": 48, "encoder_layers": 4, "encoder_skip_layer_id": 3, "encoder_attention_heads": 4,
    "encoder_ffn_dim": 96, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 96, "nfft": 960,
    "vocoder_dim": 32, "vocoder_intermediate_dim": 64, "vocoder_num_layers": 2, "n_mels": 128, "hop_length": 240,
    "window_size": 960, "num_quantizers": 20, "codebook_size": [1024, 1024, *[128] * 18],
    "vocoder_attention_heads": 4, "scale_embedding": False,
}  # fmt: skip


def attention(q, k, v, starts, _, *__, causal, window_size):  # noqa: ANN001, ANN002, ANN201
    """Compute attention as flash-attn's README defines it, over whole matrices, for one sequence."""
    assert len(starts) == 2
    rows = torch.arange(len(q))
    distance = rows[None] - rows[:, None]
    before, after = (len(q) if reach < 0 else reach for reach in window_size)
    allowed = (distance >= -before) & (distance <= (0 if causal else after))
    scores = torch.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("hqk,khd->qhd", scores.masked_fill(~allowed, -torch.inf).softmax(-1), v)


def package():  # noqa: ANN201
    """Return the package, with attention for a CPU in the place of flash-attn."""
    module = module_from_spec(ModuleSpec("flash_attn", None))
    module.flash_attn_varlen_func = attention
    sys.modules.setdefault("flash_attn", module)
    import mimo_audio_tokenizer

    return mimo_audio_tokenizer


def spectrum(audio):  # noqa: ANN001, ANN201
    """Return the logarithm of the mel spectrum ``(frames, 128)`` as the authors' program takes it."""
    from torchaudio.transforms import MelSpectrogram

    transform = MelSpectrogram(
        sample_rate=24000, n_fft=960, hop_length=240, win_length=960, f_min=0, f_max=None, n_mels=128, power=1.0,
        center=True,
    )  # fmt: skip
    return torch.log(torch.clip(transform(audio), min=1e-7)).squeeze(0).T


def make(folder):  # noqa: ANN001, ANN201
    """Write config.json and model.safetensors."""
    code = package()
    model = code.MiMoAudioTokenizer(code.MiMoAudioTokenizerConfig(**CONFIG)).eval()
    frames = spectrum(0.1 * torch.randn(1, 96000))
    with torch.inference_mode():
        heard = model.encoder.encode(frames, input_lens=torch.tensor([len(frames)]), use_quantizer=False)[1]
        draw_residual([layer._codebook.embed for layer in model.encoder.quantizer.vq.layers], heard)
    model.save_pretrained(folder)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound; of a clip of whole frames it codes one frame more, left out here."""
    model = package().MiMoAudioTokenizer.from_pretrained(folder).eval()
    frames = spectrum(audio)
    tokens, _ = model.encoder.encode(frames, input_lens=torch.tensor([len(frames)]), return_codes_only=True)
    tokens = tokens[:CODEBOOKS, : -(-audio.shape[1] // 960)]
    return tokens, model.decode(tokens)[0]
