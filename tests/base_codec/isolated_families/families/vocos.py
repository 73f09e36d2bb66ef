"""A small Vocos on EnCodec's tokens."""

from __future__ import annotations

import torch
from families import encodec

CODEC = "vocos_24k_6k"
FILE = "pytorch_model.bin"
CONFIG = {
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


def model_of(folder):  # noqa: ANN001, ANN201
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


def make(folder):  # noqa: ANN001, ANN201
    """Write config.yaml, pytorch_model.bin without the parameters of EnCodec, and EnCodec's checkpoint."""
    import yaml

    encodec.make(folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    state = model_of(folder).state_dict()
    own = {name: value for name, value in state.items() if not name.startswith("feature_extractor.encodec.")}
    torch.save(own, folder / "pytorch_model.bin")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens at 6 kbps, and the sound of its own forward pass."""
    model = model_of(folder)
    own = torch.load(folder / "pytorch_model.bin")
    model.load_state_dict(own, strict=False)
    bitrate = torch.tensor([2])
    sound = model(audio, bandwidth_id=bitrate)
    return model.feature_extractor.get_encodec_codes(audio)[:, 0], sound
