"""Guest for NanoCodec of NVIDIA NeMo, with the third-party package ``nanocodec-torch``."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import guest_tools

KINDS = {
    "audio_encoder": "HiFiGANEncoder",
    "audio_decoder": "CausalHiFiGANDecoder",
    "vector_quantizer": "GroupFiniteScalarQuantizer",
}
"""Parts of the publisher's model and their classes, which the package reimplements."""
TAKEN = {
    "audio_encoder": ("down_sample_rates", "encoded_dim", "base_channels"),
    "audio_decoder": ("up_sample_rates", "input_dim", "base_channels", "output_activation"),
    "vector_quantizer": ("num_groups", "num_levels_per_group"),
}
"""Settings that the package's constructors accept."""
DEFAULTS: dict[str, dict[str, str]] = {
    "audio_encoder": {"activation": "lrelu", "pad_mode": "reflect"},
    "audio_decoder": {"activation": "lrelu", "pad_mode": "zeros", "output_activation": "tanh"},
    "vector_quantizer": {},
}
"""Defaults of the publisher's classes for settings that a file omits."""
RESIDUAL = {"in_kernel_size": 7, "resblock_kernel_sizes": [3, 7, 11], "resblock_dilation_sizes": [1, 3, 5]}
BUILT_IN: dict[str, dict[str, Any]] = {
    "audio_encoder": {**RESIDUAL, "out_kernel_size": 7, "activation": "lrelu", "pad_mode": "replicate"},
    "audio_decoder": {
        **RESIDUAL, "out_kernel_size": 3, "activation": "half_snake", "pad_mode": "zeros",
        "n_groups_equal_to_out_channels": True,
    },
    "vector_quantizer": {"eps": 1e-3},
}  # fmt: skip
"""Settings that are fixed in the package; a file with other values is refused."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files((card["settings"]["file"],))]


class Guest:
    """Parallel FSQ codebooks (finite scalar quantisation) of one size; the decoder is causal, the encoder is not."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        file = guest_tools.weights_folder(card, *weights(card)[0]) / card["settings"]["file"]
        self.device = guest_tools.Device(device)
        config, state = _read(file)
        model = _model(config)
        _load(model, state)
        self.model, self.frame = model.eval().to(device), model.samples_per_frame
        guest_tools.expect(
            card,
            sampling_rate=model.sample_rate,
            codebooks=model.vector_quantizer.num_groups,
            codebook_size=model.vector_quantizer.fsqs[0].codebook_size,
            frame_rate=model.sample_rate / self.frame,
        )

    def encode_batch(self, audios: list[Any]) -> Any:
        """Return tokens ``(codebooks, frames)`` of each mono clip, the last frame padded with silence."""
        whole = [guest_tools.filled(audio, self.frame) for audio in audios]
        return self.device.stacked(whole, lambda audio: self.model.encode(audio)[0])

    def decode_batch(self, payloads: list[Any], _channels: int) -> Any:
        """Return audio ``(1, samples)`` of each clip's tokens."""
        return self.device.stacked(payloads, lambda tokens: self.model.decode(tokens)[0])


def _read(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return settings and parameters of a ``.nemo`` file: an archive that holds one YAML and one checkpoint."""
    import torch
    import yaml

    with tarfile.open(file) as archive:
        found = {Path(member.name).suffix: member for member in archive.getmembers() if member.isfile()}
        if not {".yaml", ".ckpt"} <= found.keys():
            raise ValueError(f"{file}: expected an archive with a .yaml and a .ckpt, got {archive.getnames()}")
        config = yaml.safe_load(archive.extractfile(found[".yaml"]))  # type: ignore[arg-type]
        checkpoint: Any = archive.extractfile(found[".ckpt"])
        return config, torch.load(checkpoint, map_location="cpu", weights_only=True)


def _model(config: dict[str, Any]) -> Any:
    """Return the package's model with the settings of the file."""
    from nanocodec_torch.models.audio_codec import AudioCodecModel  # type: ignore[import-not-found]  # in the private environment alone

    chosen = []
    for part, kind in KINDS.items():
        settings = {**DEFAULTS[part], **config[part]}
        _same(f"{part}: class", settings["_target_"].rpartition(".")[2], kind)
        for name, value in BUILT_IN[part].items():
            _same(f"{part}: {name}", settings.get(name, value), value)
        chosen.append({name: settings[name] for name in TAKEN[part]})
    model = AudioCodecModel(config["sample_rate"], *chosen)
    for layer in model.audio_encoder.down_sample_conv_layers:
        # The package's padding is right for the strides 2, 3, 6, 7, 7 only.
        layer.padding_left = layer.padding_right = (layer.kernel_size - layer.stride + 1) // 2
    return model


def _same(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise ValueError(f"{what}: the package has {expected}, got a file with {found}")


class _Watched(dict[str, Any]):
    """A dictionary that records which of its entries were not read."""

    def __init__(self, entries: dict[str, Any]) -> None:
        super().__init__(entries)
        self.unread = set(entries)

    def __getitem__(self, name: str) -> Any:
        self.unread.discard(name)
        return super().__getitem__(name)


def _load(model: Any, state: dict[str, Any]) -> None:
    """Load parameters by the package's own loader, and check them: it ignores missing and misfitting ones."""
    from nanocodec_torch.utils import weight_loader_v2 as loader  # type: ignore[import-not-found]

    arrays = _Watched({name: value.numpy() for name, value in state.items() if name.partition(".")[0] in KINDS})
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    for parameter in model.parameters():
        parameter.data.fill_(float("nan"))
    loader.load_encoder_weights(model, arrays)
    loader.load_decoder_weights(model, arrays)
    loader.load_quantizer_weights(model, arrays)
    for name, value in model.state_dict().items():
        if value.shape != shapes[name] or value.isnan().any():
            raise ValueError(
                f"expected {name} of shape {tuple(shapes[name])} in the file, got {tuple(value.shape)} or NaN"
            )
    if arrays.unread:
        raise ValueError(f"expected a file whose parameters the package knows, got also {sorted(arrays.unread)[:5]}")
