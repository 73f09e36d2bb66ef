"""Run by a private interpreter, to make checkpoints of random weights and to call the packages without a worker.

``make FAMILY FOLDER`` writes a small model as its publisher does; ``tokens FAMILY FOLDER AUDIO.npy OUT.npz`` codes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

SNAC_CONFIG = {
    "sampling_rate": 24000, "encoder_dim": 8, "encoder_rates": [2, 4, 8, 8], "decoder_dim": 64,
    "decoder_rates": [8, 8, 4, 2], "attn_window_size": None, "codebook_size": 4096, "codebook_dim": 8,
    "vq_strides": [4, 2, 1], "noise": True, "depthwise": True,
}  # fmt: skip


def make_snac(folder):  # noqa: ANN001, ANN201
    """Write config.json and pytorch_model.bin."""
    from snac import SNAC

    (folder / "config.json").write_text(json.dumps(SNAC_CONFIG))
    torch.save(SNAC(**SNAC_CONFIG).state_dict(), folder / "pytorch_model.bin")


def run_snac(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens, flat from coarse to fine, and its sound."""
    from snac import SNAC

    model = SNAC.from_pretrained(str(folder))
    codes = model.encode(audio[None])
    torch.manual_seed(0)
    return np.concatenate([code[0] for code in codes]), model.decode(codes)[0]


def make_encodec(folder):  # noqa: ANN001, ANN201
    """Write the one checkpoint; codebooks are zeros until they are trained, so they are drawn as the latents lie."""
    from encodec import EncodecModel

    model = EncodecModel.encodec_model_24khz(pretrained=False)
    draw_codebooks([layer._codebook.embed for layer in model.quantizer.vq.layers], model.encoder)
    state = model.state_dict()
    for name, value in state.items():
        if name.endswith(".inited"):
            value.fill_(1)
    torch.save(state, folder / "encodec_24khz-d7cc33bc.th")


def draw_codebooks(codebooks, encoder):  # noqa: ANN001, ANN201
    """Fill codebooks around what an encoder makes of noise, so that tokens depend on the sound."""
    with torch.inference_mode():
        latents = encoder(0.1 * torch.randn(1, 1, 48000))[0].T.clone()
    centre, spread = latents.mean(dim=0), latents.std(dim=0)
    for level, codebook in enumerate(codebooks):
        codebook.copy_((centre if level == 0 else 0) + spread * 0.8**level * torch.randn_like(codebook))


def run_encodec(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound at 6 kbps."""
    from encodec import EncodecModel

    model = EncodecModel.encodec_model_24khz(pretrained=False)
    model.load_state_dict(torch.load(folder / "encodec_24khz-d7cc33bc.th"))
    model.set_target_bandwidth(6.0)
    frames = model.encode(audio[None])
    return frames[0][0][0], model.decode(frames)[0]


SPEECHTOKENIZER_CONFIG = {
    "sample_rate": 16000, "n_q": 8, "dimension": 64, "semantic_dimension": 32, "n_filters": 8, "strides": [8, 5, 4, 2],
    "lstm_layers": 2, "bidirectional": True, "dilation_base": 2, "residual_kernel_size": 3, "n_residual_layers": 1,
    "activation": "ELU", "codebook_size": 1024,
}  # fmt: skip


def make_speechtokenizer(folder):  # noqa: ANN001, ANN201
    """Write config.json and SpeechTokenizer.pt."""
    from speechtokenizer import SpeechTokenizer

    model = SpeechTokenizer(SPEECHTOKENIZER_CONFIG).eval()
    draw_codebooks([layer._codebook.embed for layer in model.quantizer.vq.layers], model.encoder)
    (folder / "config.json").write_text(json.dumps(SPEECHTOKENIZER_CONFIG))
    torch.save(model.state_dict(), folder / "SpeechTokenizer.pt")


def run_speechtokenizer(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    from speechtokenizer import SpeechTokenizer

    files = (str(folder / "config.json"), str(folder / "SpeechTokenizer.pt"))
    model = SpeechTokenizer.load_from_checkpoint(*files).eval()
    codes = model.encode(audio[None])
    return codes[:, 0], model.decode(codes)[0]


def make_dac(folder):  # noqa: ANN001, ANN201
    """Write the one checkpoint, as the package saves weights."""
    from dac.model import DAC

    DAC(encoder_dim=8, decoder_dim=64).save(folder / "weights_44khz_8kbps_0.0.1.pth", package=False)


def run_dac(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens of four codebooks, and the sound of its own forward pass."""
    from dac.model import DAC

    model = DAC.load(folder / "weights_44khz_8kbps_0.0.1.pth").eval()
    result = model(audio[None], model.sample_rate, n_quantizers=4)
    return result["codes"][0], result["audio"][0]


VOCOS_CONFIG = {
    "feature_extractor": {
        "class_path": "vocos.feature_extractors.EncodecFeatures",
        "init_args": {"encodec_model": "encodec_24khz", "bandwidths": [1.5, 3.0, 6.0, 12.0]},
    },
    "backbone": {
        "class_path": "vocos.models.VocosBackbone",
        "init_args": {"input_channels": 128, "dim": 32, "intermediate_dim": 64, "num_layers": 2,
                      "adanorm_num_embeddings": 4},
    },
    "head": {
        "class_path": "vocos.heads.ISTFTHead",
        "init_args": {"dim": 32, "n_fft": 1280, "hop_length": 320, "padding": "same"},
    },
}  # fmt: skip


def vocos_model(folder):  # noqa: ANN001, ANN201
    """Return the package's model of config.yaml with EnCodec's checkpoint of the folder, which it would fetch."""
    from encodec import EncodecModel
    from vocos import Vocos

    empty, state = EncodecModel.encodec_model_24khz, torch.load(folder / "encodec_24khz-d7cc33bc.th")

    def local(pretrained):  # noqa: ANN001, ANN202
        model = empty(pretrained=False)
        model.load_state_dict(state)
        return model

    EncodecModel.encodec_model_24khz = staticmethod(local)
    return Vocos.from_hparams(str(folder / "config.yaml")).eval()


def make_vocos(folder):  # noqa: ANN001, ANN201
    """Write config.yaml, pytorch_model.bin without the parameters of EnCodec, and EnCodec's checkpoint."""
    import yaml

    make_encodec(folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(VOCOS_CONFIG))
    state = vocos_model(folder).state_dict()
    own = {name: value for name, value in state.items() if not name.startswith("feature_extractor.encodec.")}
    torch.save(own, folder / "pytorch_model.bin")


def run_vocos(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens at 6 kbps, and the sound of its own forward pass."""
    model = vocos_model(folder)
    own = torch.load(folder / "pytorch_model.bin")
    model.load_state_dict(own, strict=False)
    bitrate = torch.tensor([2])
    sound = model(audio, bandwidth_id=bitrate)
    return model.feature_extractor.get_encodec_codes(audio)[:, 0], sound


MAKE = {
    "snac": make_snac,
    "encodec": make_encodec,
    "speechtokenizer": make_speechtokenizer,
    "dac": make_dac,
    "vocos": make_vocos,
}
RUN = {
    "snac": run_snac,
    "encodec": run_encodec,
    "speechtokenizer": run_speechtokenizer,
    "dac": run_dac,
    "vocos": run_vocos,
}


def main(action, family, folder, *files):  # noqa: ANN001, ANN002, ANN201
    """Do what the command line says."""
    torch.manual_seed(1)
    if action == "make":
        MAKE[family](Path(folder))
        return
    with torch.inference_mode():
        tokens, sound = RUN[family](Path(folder), torch.from_numpy(np.load(files[0])))
    np.savez(files[1], tokens=np.asarray(tokens), sound=np.asarray(sound))


if __name__ == "__main__":
    main(*sys.argv[1:])
