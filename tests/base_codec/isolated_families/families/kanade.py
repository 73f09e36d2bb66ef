"""A narrow Kanade on a WavLM of full size, which the package builds in no other, and a small Vocos."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch

CODEC = "kanade_25hz"
FILE = "model.safetensors"
WAVLM = "wavlm_base_plus.pth"
FRAME, LOST = 960, 135
NARROW = {"n_layers": 1, "n_heads": 2, "window_size": 15}
VOCOS = {
    "feature_extractor": {"class_path": "vocos.feature_extractors.MelSpectrogramFeatures", "init_args": {}},
    "backbone": {
        "class_path": "vocos.models.VocosBackbone",
        "init_args": {"input_channels": 100, "dim": 32, "intermediate_dim": 64, "num_layers": 2},
    },
    "head": {"class_path": "vocos.heads.ISTFTHead", "init_args": {"dim": 32, "n_fft": 1024, "hop_length": 256}},
}


def model_of(folder):  # noqa: ANN001, ANN201
    """Return the package's model of config.yaml with the WavLM of the folder, which torchaudio would fetch."""
    import torchaudio
    from kanade_tokenizer import KanadeModel

    state = torch.load(folder / WAVLM)
    torchaudio.pipelines.WAVLM_BASE_PLUS._get_state_dict = lambda _: state
    model = KanadeModel.from_hparams(str(folder / "config.yaml")).eval()
    for part in model.modules():
        # Its attention drops a tenth at random where flash-attn is not installed; with it, nothing outside training.
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0
    return model


def vocoder_of(folder):  # noqa: ANN001, ANN201
    """Return Vocos as its configuration in the folder says."""
    from vocos import Vocos

    return Vocos.from_hparams(str(folder / "vocos-mel-24khz" / "config.yaml")).eval()


def make(folder):  # noqa: ANN001, ANN201
    """Write WavLM, configuration and parameters of Kanade as its own script exports them, and Vocos."""
    import torchaudio
    import yaml
    from safetensors.torch import save_file

    listener = torchaudio.models.wavlm_base()
    with torch.inference_mode():
        for name, weight in listener.named_parameters():
            if name.endswith("attention.out_proj.weight"):  # random attention is even: what is far would count as much
                weight.mul_(0.1)
    torch.save(listener.state_dict(), folder / WAVLM)
    top = Path(next(iter(find_spec("kanade_tokenizer").submodule_search_locations))).parents[1]
    config = yaml.safe_load((top / "config/model/25hz.yaml").read_text())
    for name, part in config["model"]["init_args"].items():
        if name in ("local_encoder", "mel_prenet", "mel_decoder", "feature_decoder"):
            part["init_args"].update(NARROW)
    config["model"]["init_args"]["global_encoder"]["init_args"].update(dim=32, intermediate_dim=64, num_layers=1)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    model = model_of(folder)
    with torch.inference_mode():
        model.local_quantizer.proj_in.weight.mul_(3)  # else few of the levels are met
        for name, weight in model.mel_decoder.named_parameters():
            if "condition_proj" in name:  # drawn as zeros, which make the decoder deaf to the voice
                weight.normal_(std=0.002)
    save_file(model.weights_to_save(include_modules=["feature_decoder", "conv_upsample"]), folder / FILE)
    (folder / "vocos-mel-24khz").mkdir()
    (folder / "vocos-mel-24khz" / "config.yaml").write_text(yaml.safe_dump(VOCOS))
    torch.save(vocoder_of(folder).state_dict(), folder / "vocos-mel-24khz" / "pytorch_model.bin")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound, of whole frames."""
    from kanade_tokenizer import vocode
    from safetensors.torch import load_file

    model, vocoder = model_of(folder), vocoder_of(folder)
    model.load_state_dict(load_file(folder / FILE), strict=False)
    vocoder.load_state_dict(torch.load(folder / "vocos-mel-24khz" / "pytorch_model.bin"))
    padded = torch.nn.functional.pad(audio[0], (0, -(-(audio.shape[1] + LOST) // FRAME) * FRAME - audio.shape[1]))
    features = model.encode(padded)
    spectrum = model.decode(features.global_embedding, content_token_indices=features.content_token_indices)
    return features.content_token_indices[None], vocode(vocoder, spectrum[None])
