"""Small WavTokenizers at 75 and 40 Hz; their encoders have one size."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import torch
from families.drawing import draw_codebooks

CODEC = "wavtokenizer_24k_small_320_4096"
CONFIG_FILE = "wavtokenizer_smalldata_frame75_3s_nq1_code4096_dim512_kmeans200_attn.yaml"
FILE = "WavTokenizer_small_320_24k_4096.ckpt"


def config(strides, hop):  # noqa: ANN001, ANN201
    """Return a configuration as the publisher's, the decoder small."""
    extractor = {"encodec_model": "encodec_24khz", "bandwidths": [6.6, 6.6, 6.6, 6.6], "train_codebooks": True,
                 "num_quantizers": 1, "dowmsamples": strides, "vq_bins": 4096, "vq_kmeans": 200}  # fmt: skip
    backbone = {"input_channels": 512, "dim": 64, "intermediate_dim": 96, "num_layers": 2, "adanorm_num_embeddings": 4}
    head = {"dim": 64, "n_fft": 4 * hop, "hop_length": hop, "padding": "same"}
    parts = {
        "feature_extractor": {"class_path": "decoder.feature_extractors.EncodecFeatures", "init_args": extractor},
        "backbone": {"class_path": "decoder.models.VocosBackbone", "init_args": backbone},
        "head": {"class_path": "decoder.heads.ISTFTHead", "init_args": head},
    }
    return {"data": {}, "model": {"class_path": "decoder.experiment.WavTokenizer", "init_args": parts}}


def wavtokenizer():  # noqa: ANN201
    """Return the authors' class out of the package, which has its folder on the path."""
    sys.path.insert(0, str(Path(importlib.util.find_spec("outetts").origin).with_name("wav_tokenizer")))
    from decoder.pretrained import WavTokenizer

    return WavTokenizer


def make(folder):  # noqa: ANN001, ANN201
    """Write both models: a configuration, and a checkpoint of the whole training, discriminators beside the codec."""
    write(folder / CONFIG_FILE, folder / FILE, config([8, 5, 4, 2], 320))
    at_40 = (folder / CONFIG_FILE.replace("frame75", "frame40"), folder / FILE.replace("320", "600"))
    write(*at_40, config([6, 5, 5, 4], 600))


def write(config_file, checkpoint, settings):  # noqa: ANN001, ANN201
    """Write one model."""
    import yaml

    config_file.write_text(yaml.safe_dump(settings))
    model = wavtokenizer().from_hparams0802(str(config_file)).eval()
    codebooks = [layer._codebook for layer in model.feature_extractor.encodec.quantizer.vq.layers]
    draw_codebooks([codebook.embed for codebook in codebooks], model.feature_extractor.encodec.encoder)
    for codebook in codebooks:
        codebook.inited.fill_(1)
    other = {"multiresddisc.discriminators.0.band_convs.0.0.0.bias": torch.ones(3)}
    torch.save({"epoch": 3, "state_dict": {**model.state_dict(), **other}, "optimizer_states": []}, checkpoint)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the tokens, and the sound of the features that they were made with, as the authors' README does."""
    model = wavtokenizer().from_pretrained0802(str(folder / CONFIG_FILE), str(folder / FILE))
    bandwidth = torch.tensor([0])
    features, codes = model.encode_infer(audio, bandwidth_id=bandwidth)
    return codes[:, 0], model.decode(features, bandwidth_id=bandwidth)
