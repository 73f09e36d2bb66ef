"""A small NanoCodec: the strides of the model with 12.5 frames a second, few channels."""

from __future__ import annotations

import io
import re
import tarfile

import torch

CODEC = "nanocodec_0.6k"
FILE = "nemo-nano-codec-22khz-0.6kbps-12.5fps.nemo"
TAKEN = {
    "audio_encoder": ("down_sample_rates", "encoded_dim", "base_channels"),
    "audio_decoder": ("up_sample_rates", "input_dim", "base_channels", "output_activation"),
    "vector_quantizer": ("num_groups", "num_levels_per_group"),
}
"""What the package's model is made of, among the settings of the file."""


def config_of(strides, groups, levels):  # noqa: ANN001, ANN201
    """Return settings as the publisher's file has them, with few channels."""
    modules, width = "nemo.collections.tts.modules.audio_codec_modules", groups * len(levels)
    return {
        "sample_rate": 22050,
        "audio_encoder": {
            "_target_": f"{modules}.HiFiGANEncoder", "down_sample_rates": strides, "encoded_dim": width,
            "base_channels": 4, "activation": "lrelu", "pad_mode": "replicate",
        },
        "audio_decoder": {
            "_target_": f"{modules}.CausalHiFiGANDecoder", "up_sample_rates": strides[::-1], "input_dim": width,
            "base_channels": 64, "activation": "half_snake", "output_activation": "clamp", "pad_mode": "zeros",
            "n_groups_equal_to_out_channels": True,
        },
        "vector_quantizer": {
            "_target_": f"{modules}.GroupFiniteScalarQuantizer", "num_groups": groups, "num_levels_per_group": levels,
        },
    }  # fmt: skip


CONFIG = config_of([2, 3, 6, 7, 7], 4, [9, 8, 8, 7])


def empty_model(config):  # noqa: ANN001, ANN201
    """Return a model of the package, padded as its authors' toolkit pads: by half of the kernel minus the stride."""
    from nanocodec_torch.models.audio_codec import AudioCodecModel

    parts = ("audio_encoder", "audio_decoder", "vector_quantizer")
    taken = [{name: config[part][name] for name in TAKEN[part]} for part in parts]
    model = AudioCodecModel(config["sample_rate"], *taken)
    for layer, stride in zip(model.audio_encoder.down_sample_conv_layers, taken[0]["down_sample_rates"], strict=True):
        layer.padding_left = layer.padding_right = -(-stride // 2)
    return model.eval()


def small_model(config):  # noqa: ANN001, ANN201
    """Return a model of random weights; the encoder's last layer is set so that the lattice is used."""
    model = empty_model(config)
    with torch.no_grad():
        for layer in model.audio_decoder.up_sample_conv_layers:
            layer.weight.copy_(0.5 * torch.randn_like(layer.weight))
            layer.bias.copy_(0.01 * torch.randn_like(layer.bias))
        for name, value in model.named_parameters():
            if name.endswith("alpha"):
                value.copy_(0.5 + torch.rand_like(value))
        # A causal layer drawn evenly answers late; the newest of its seven frames counts most here.
        model.audio_decoder.pre_conv.conv.weight.mul_(0.5 ** torch.arange(6.0, -1, -1))
        last = model.audio_encoder.post_conv.conv
        latents = model.audio_encoder(0.1 * torch.randn(1, 1, 25 * model.samples_per_frame))[0][0]
        last.weight.div_(latents.std(dim=1)[:, None, None])
        last.bias.sub_(latents.mean(dim=1)).div_(latents.std(dim=1))
    return model


def publishers(state):  # noqa: ANN001, ANN201
    """Return parameters under the names and in the shapes of the publisher's toolkit."""
    found = {}
    for name, value in state.items():
        if name.endswith(("num_levels", "dim_base_index")):
            found[name] = value[None, :, None]
        elif name.endswith("alpha"):
            found[name.removesuffix("alpha") + "activation.snake_act.alpha"] = value
        else:
            layer, kind = re.sub(r"(up_sample_conv_layers\.\d+)\.", r"\1.conv.", name).rsplit(".", 1)
            turned = value.transpose(1, 2).contiguous() if "up_sample" in name and kind == "weight" else value
            if kind == "weight":
                length = turned.flatten(1).norm(dim=1)[:, None, None]
                found[f"{layer}.parametrizations.weight.original0"] = length
                found[f"{layer}.parametrizations.weight.original1"] = 2 * turned
            else:
                found[f"{layer}.bias"] = value
    return found


def write(folder, file, config):  # noqa: ANN001, ANN201
    """Write the publisher's archive of settings and parameters, and the parameters as the package itself reads them."""
    import yaml
    from safetensors.torch import save_file

    state = publishers(small_model(config).state_dict())
    checkpoint = io.BytesIO()
    torch.save(state, checkpoint)
    entries = {"model_config.yaml": yaml.safe_dump(config).encode(), "model_weights.ckpt": checkpoint.getvalue()}
    with tarfile.open(folder / file, "w") as archive:
        for name, content in entries.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    save_file(state, folder / "model.safetensors")


def call(folder, config, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound of whole frames, which the publisher's toolkit makes of any clip."""
    from nanocodec_torch.utils import load_safetensors_weights

    model = empty_model(config)
    load_safetensors_weights(model, str(folder / "model.safetensors"))
    whole = torch.nn.functional.pad(audio, (0, -audio.shape[1] % model.samples_per_frame))
    tokens, lengths = model.encode(whole[None], torch.tensor([whole.shape[1]]))
    return tokens[0], model.decode(tokens, lengths)[0][0]


def make(folder):  # noqa: ANN001, ANN201
    """Write a model with 12.5 frames a second."""
    write(folder, FILE, CONFIG)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    return call(folder, CONFIG, audio)
