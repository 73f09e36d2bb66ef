"""A small FreqCodec: FunCodec on magnitude and phase."""

from __future__ import annotations

from families import funcodec

CODEC = "funcodec_en_libritts_16k_gr1nq32ds320"
FILE = "config.yaml"
SEANET = {
    **funcodec.SEANET, "ratios": [[4, 1], [4, 1], [4, 2], [4, 1]], "norm_params": {"num_groups": 1},
    "dilation_base": 1, "seq_model": "none",
}  # fmt: skip
CONFIG = {
    **funcodec.CONFIG, "input_size": 3, "model": "freq_codec",
    "encoder": "encodec_seanet_encoder_2d", "encoder_conf": {**SEANET, "conv_group_ratio": 1},
    "decoder": "encodec_seanet_decoder_2d", "decoder_conf": {**SEANET, "channels": 3, "conv_group_ratio": 1},
    "model_conf": {**funcodec.CONFIG["model_conf"], "codec_domain": ["mag_phase", "mag_phase"],
                   "phase_invariant_training": False},
}  # fmt: skip


def make(folder):  # noqa: ANN001, ANN201
    """Write config.yaml and model.pth."""
    funcodec.make_of(CONFIG, folder)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    return funcodec.run_at(folder, audio)
