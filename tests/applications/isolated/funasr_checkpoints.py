"""Run by the private interpreter of funasr: makes small random models, and asks the package without a worker.

``make MODEL FOLDER`` writes a model as its publisher does; ``ask MODEL FOLDER AUDIO.npy OUT.json`` predicts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
import yaml

TOKENS = ["<blank>", "<s>", "</s>", *"天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往", "he@@", "llo", "<unk>"]
LABELS = [
    "生气/angry", "厌恶/disgusted", "恐惧/fearful", "开心/happy", "中立/neutral", "其他/other", "难过/sad",
    "吃惊/surprised", "<unk>",
]  # fmt: skip
FRONTEND = {
    "frontend": "WavFrontend",
    "frontend_conf": {"fs": 16000, "window": "hamming", "n_mels": 80, "frame_length": 25, "frame_shift": 10,
                      "lfr_m": 7, "lfr_n": 6, "dither": 0.0},
}  # fmt: skip
SAME = {"dropout_rate": 0.1, "positional_dropout_rate": 0.1, "self_attention_dropout_rate": 0.1,
        "src_attention_dropout_rate": 0.1, "kernel_size": 11, "sanm_shfit": 0}  # fmt: skip
PARAFORMER = {
    "model": "SeacoParaformer",
    "model_conf": {"ctc_weight": 0.0, "lsm_weight": 0.1, "length_normalized_loss": True, "predictor_weight": 1.0,
                   "predictor_bias": 1, "sampling_ratio": 0.75, "inner_dim": 32, "bias_encoder_type": "lstm",
                   "bias_encoder_bid": False, "NO_BIAS": 3},
    "encoder": "SANMEncoder",
    "encoder_conf": {"output_size": 32, "attention_heads": 2, "linear_units": 64, "num_blocks": 2, "dropout_rate": 0.1,
                     "positional_dropout_rate": 0.1, "attention_dropout_rate": 0.1, "input_layer": "pe",
                     "pos_enc_class": "SinusoidalPositionEncoder", "normalize_before": True, "kernel_size": 11,
                     "sanm_shfit": 0, "selfattention_layer_type": "sanm"},
    "decoder": "ParaformerSANMDecoder",
    "decoder_conf": {"attention_heads": 2, "linear_units": 64, "num_blocks": 2, "att_layer_num": 2, **SAME},
    "seaco_decoder": "ParaformerSANMDecoder",
    "seaco_decoder_conf": {"attention_heads": 2, "linear_units": 64, "num_blocks": 2, "use_output_layer": False,
                           "wo_input_layer": True, **SAME},
    "predictor": "CifPredictorV3",
    "predictor_conf": {"idim": 32, "threshold": 1.0, "l_order": 1, "r_order": 1, "tail_threshold": 0.45,
                       "smooth_factor2": 0.25, "noise_threshold2": 0.01, "upsample_times": 3, "use_cif1_cnn": False,
                       "upsample_type": "cnn_blstm"},
    "tokenizer": "CharTokenizer",
    "tokenizer_conf": {"unk_symbol": "<unk>", "split_with_space": True},
    **FRONTEND,
}  # fmt: skip
EMOTION2VEC = {
    "model": "Emotion2vec",
    "model_conf": {
        "loss_beta": 0.0, "loss_scale": None, "depth": 2, "start_drop_path_rate": 0.0, "end_drop_path_rate": 0.0,
        "num_heads": 2, "norm_eps": 1e-5, "norm_affine": True, "encoder_dropout": 0.1, "post_mlp_drop": 0.1,
        "attention_dropout": 0.1, "activation_dropout": 0.0, "dropout_input": 0.0, "layerdrop": 0.05, "embed_dim": 32,
        "mlp_ratio": 4.0, "layer_norm_first": False, "average_top_k_layers": 2, "end_of_block_targets": False,
        "clone_batch": 8, "normalize": True,
        "modalities": {"audio": {
            "type": "AUDIO", "prenet_depth": 1, "prenet_layerdrop": 0.05, "prenet_dropout": 0.1,
            "start_drop_path_rate": 0.0, "end_drop_path_rate": 0.0, "num_extra_tokens": 10,
            "init_extra_token_zero": True, "mask_noise_std": 0.01, "mask_prob_min": None, "mask_prob": 0.5,
            "inverse_mask": False, "mask_prob_adjust": 0.05, "keep_masked_pct": 0.0, "mask_length": 5,
            "add_masks": False, "remove_masks": False, "mask_dropout": 0.0, "encoder_zero_mask": True,
            "mask_channel_prob": 0.0, "mask_channel_length": 64, "ema_local_encoder": False, "local_grad_mult": 1.0,
            "use_alibi_encoder": True, "alibi_scale": 1.0, "learned_alibi": False, "alibi_max_pos": None,
            "learned_alibi_scale": True, "learned_alibi_scale_per_head": True, "learned_alibi_scale_per_layer": False,
            "num_alibi_heads": 2, "model_depth": 2, "decoder": None, "extractor_mode": "layer_norm",
            "feature_encoder_spec": "[(16, 10, 5)] + [(16, 3, 2)] * 4 + [(16,2,2)] + [(16,2,2)]",
            "conv_pos_width": 15, "conv_pos_groups": 4, "conv_pos_depth": 3, "conv_pos_pre_ln": False,
        }},
    },
    "tokenizer": "CharTokenizer",
    "tokenizer_conf": {"unk_symbol": "<unk>", "split_with_space": True},
    "scope_map": ["d2v_model.", "none"],
}  # fmt: skip
CMVN = """<Nnet>
<Splice> 560 560
[ 0 ]
<AddShift> 560 560
<LearnRateCoef> 0 [ {shift} ]
<Rescale> 560 560
<LearnRateCoef> 0 [ {scale} ]
</Nnet>
"""


def make(name, folder):  # noqa: ANN001, ANN201
    """Write config.yaml, model.pt, the tokens and, for recognition, am.mvn."""
    from funasr.register import tables

    config = {"paraformer": PARAFORMER, "emotion2vec": EMOTION2VEC}[name]
    (folder / "config.yaml").write_text(yaml.safe_dump({**config, "codec_superb_random": True}))
    if name == "paraformer":
        (folder / "tokens.json").write_text(json.dumps(TOKENS))
        (folder / "am.mvn").write_text(CMVN.format(shift=" ".join(["-8"] * 560), scale=" ".join(["0.2"] * 560)))
    else:
        (folder / "tokens.txt").write_text("\n".join(LABELS) + "\n", encoding="utf-8")
    size = len(TOKENS) if name == "paraformer" else len(LABELS)
    given = {**config, "vocab_size": size, "input_size": 560}
    model = tables.model_classes[config["model"]](**{**config["model_conf"], **given})
    if name == "paraformer":  # an untrained predictor fires almost never: each frame shall weigh a third of a token
        torch.nn.init.constant_(model.predictor.cif_output.bias, -0.7)
    torch.save({"model": model.state_dict()}, folder / "model.pt")


def ask(folder, audio):  # noqa: ANN001, ANN201
    """Return what the package itself says of ``audio``, loaded as its guide loads models."""
    from funasr import AutoModel

    model = AutoModel(model=str(folder), device="cpu", ncpu=1, disable_update=True, disable_pbar=True)
    found = model.generate(input=[audio], granularity="utterance", extract_embedding=False)
    return found[0]["text"] if "text" in found[0] else found[0]["scores"]


def main(action, name, folder, *files):  # noqa: ANN001, ANN002, ANN201
    """Do what the command line says."""
    torch.manual_seed(4)
    import funasr  # noqa: F401 - registers the models

    if action == "make":
        make(name, Path(folder))
    else:
        Path(files[1]).write_text(json.dumps(ask(Path(folder), np.load(files[0]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
