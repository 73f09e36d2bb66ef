"""A small FunCodec on the waveform, and what it shares with FreqCodec."""

from __future__ import annotations

import torch
import yaml

CODEC = "funcodec_en_libritts_16k_nq32ds320"
FILE = "model.pth"
SEANET = {"n_filters": 4, "norm": "time_group_norm", "causal": False}
CONFIG = {
    "input_size": 1, "frontend": None, "frontend_conf": {}, "sampling_rate": 16000,
    "encoder": "encodec_seanet_encoder", "encoder_conf": SEANET,
    "quantizer": "costume_quantizer",
    "quantizer_conf": {"codebook_size": 1024, "num_quantizers": 32, "kmeans_init": True, "sampling_rate": 16000},
    "decoder": "encodec_seanet_decoder", "decoder_conf": SEANET,
    "discriminator": "multiple_disc",
    "discriminator_conf": {
        "disc_conf_list": [{"name": "encodec_multi_scale_stft_discriminator", "filters": 2}],
    },
    "model": "encodec",
    "model_conf": {
        "odim": 128, "multi_spectral_window_powers_of_two": [5, 6], "target_sample_hz": 16000,
        "audio_normalize": True, "use_power_spec_loss": True, "segment_dur": None, "overlap_ratio": None,
    },
}  # fmt: skip


def make(folder):  # noqa: ANN001, ANN201
    """Write config.yaml and model.pth."""
    make_of(CONFIG, folder)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    return run_at(folder, audio)


def make_of(config, folder):  # noqa: ANN001, ANN201
    """Write the files of a model of ``config``; its file holds the losses' parameters too, as the publisher's."""
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    model = speech2token(folder, None).model
    draw(model)
    losses = {f"mel_spec_transforms.{at}.window": torch.hann_window(2**size) for at, size in enumerate((5, 6))}
    torch.save({**model.state_dict(), **losses}, folder / "model.pth")


def run_at(folder, audio):  # noqa: ANN001, ANN201
    """Return the tokens and the sound of the package's own inference, which loads the checkpoint itself."""
    codes, _, sound, _ = speech2token(folder, folder / "model.pth")(audio)
    return codes[0][:, 0], sound[0]


def speech2token(folder, file):  # noqa: ANN001, ANN201
    """Open a folder as the package's README says; only the spectra of its losses are left out, they want a GPU."""
    from funcodec.bin.codec_inference import Speech2Token

    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["model_conf"]["multi_spectral_window_powers_of_two"] = []
    other = folder / "config_without_losses.yaml"
    other.write_text(yaml.safe_dump(config))
    return Speech2Token(other, file)


def draw(model):  # noqa: ANN001, ANN201
    """Fill the codebooks, which are zeros, around the latents of noise, so that tokens depend on the sound."""
    with torch.inference_mode():
        ((latents, _),) = model._encode(0.1 * torch.randn(1, 1, 48000))
        centre, spread = latents[0].mean(dim=0), latents[0].std(dim=0)
    model.quantizer.rq.model.inited.fill_(1)
    for level, codebook in enumerate(model.quantizer.rq.model.embed):
        codebook.copy_((centre if level == 0 else 0) + spread * 0.8**level * torch.randn_like(codebook))
