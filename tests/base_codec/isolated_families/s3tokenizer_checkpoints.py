"""Run by the private interpreter of s3tokenizer: writes checkpoints of random weights, and asks the package directly.

``make NAME FOLDER`` writes ``NAME.onnx``; ``empty NAME FOLDER`` one without parameters;
``tokens NAME FOLDER AUDIO.npy OUT.npy`` encodes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import onnx
import s3tokenizer
import torch
from onnx import TensorProto, helper, numpy_helper

CONVOLUTIONS = {
    "speech_tokenizer_v1": ("onnx::Conv_1519", "onnx::Conv_1520", "onnx::Conv_1521", "onnx::Conv_1522"),
    "speech_tokenizer_v2_25hz": ("onnx::Conv_2216", "onnx::Conv_2217", "onnx::Conv_2218", "onnx::Conv_2219"),
}
"""What the publisher's files call the weights and biases of the first two layers; version 3 is read by nodes."""
FIXED = {
    "encoder.positional_embedding": ("encoders.positional_embedding", "/Add"),
    "quantizer._codebook.embed": ("embed", "/quantizer/rq/model/layers.0/_codebook/Pow_1"),
    "quantizer._codebook.project_down.bias": ("quantizer.project_in.bias", "/quantizer/project_in/Add"),
    "quantizer._codebook.project_down.weight": ("onnx::MatMul_2536", "/quantizer/project_in/MatMul"),
}


def model_of(name):  # noqa: ANN001, ANN201
    """Return the package's model, which always has its full size."""
    kinds = {"v1": s3tokenizer.S3Tokenizer, "v2": s3tokenizer.S3TokenizerV2, "v3": s3tokenizer.S3TokenizerV3}
    return next(kind for version, kind in kinds.items() if f"_{version}" in name)(name)


def names_of(key, name):  # noqa: ANN001, ANN201
    """Return the input and the node under which the package's reader looks for a parameter."""
    if key in FIXED:
        return FIXED[key]
    first = re.fullmatch(r"encoder\.conv([12])\.(weight|bias)", key)
    if first:
        return CONVOLUTIONS[name][2 * (int(first[1]) - 1) + (first[2] == "bias")], f"/conv{first[1]}/Conv"
    path, _, kind = key.removeprefix("encoder.").rpartition(".")
    path = re.sub(r"\.mlp\.(\d)", r".mlp.mlp.\1", path)
    path = re.sub(r"\.(?!\d)", "/", path)
    return key, f"/{path}/" + ("Conv" if "fsmn" in path else "MatMul" if kind == "weight" else "Add")


def draw_codebook(codebook, model):  # noqa: ANN001, ANN201
    """Fill a codebook with what the encoder makes of noise, so that tokens depend on the sound."""
    with torch.inference_mode():
        mel = s3tokenizer.log_mel_spectrogram(0.1 * torch.randn(160000))
        latents = torch.nn.functional.normalize(model.encoder(mel[None], torch.tensor([mel.shape[1]]))[0][0], dim=-1)
        chosen = latents[torch.randint(len(latents), (len(codebook),))]
        codebook.copy_(chosen + 0.1 * latents.std(dim=0) * torch.randn_like(codebook))


def save(nodes, values, file):  # noqa: ANN001, ANN201
    """Write a graph of nodes and named values."""
    ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, None) for end in "xy"]
    onnx.save(helper.make_model(helper.make_graph(nodes, "random", ends[:1], ends[1:], values)), file)


def make_version_3(name, folder):  # noqa: ANN001, ANN201
    """Write a file of version 3, whose reader goes by the names of nodes and takes what they get as input."""
    nodes, values = [], []
    state = model_of(name).state_dict()
    for parameter, value in state.items():
        key = parameter
        path, _, kind = key.removeprefix("encoder.").rpartition(".")
        path = re.sub(r"\.(?!\d)", "/", re.sub(r"\.mlp\.(\d)", r".mlp.mlp.\1", path))
        layer, entries = "Add" if kind == "bias" else "MatMul", [key]
        array = value.numpy().T if value.ndim == 2 else value.numpy()
        if "fsmn" in path:
            key = key.removeprefix("encoder.")
            entries = [key]
        elif path.endswith("_ln"):
            layer = "Add" if kind == "bias" else "Mul"
            array = array + 0.1 * np.random.default_rng(1).standard_normal(array.shape).astype(np.float32)
        elif path.startswith("conv"):
            layer, entries = "Conv", [key, key.replace("weight", "bias")]
        elif path.startswith("quantizer"):
            path = path.replace("_codebook/project_down", "project_in")
            key = "quantizer.project_in.bias" if kind == "bias" else "onnx::MatMul_3536"
            entries = [key]
        values.append(numpy_helper.from_array(np.ascontiguousarray(array), key))
        if not (path.startswith("conv") and kind == "bias"):
            nodes.append(helper.make_node(layer, ["x", *entries], ["y"], name=f"/{path}/{layer}"))
    save(nodes, values, folder / f"{name}.onnx")


def make(name, folder):  # noqa: ANN001, ANN201
    """Write a file that has a node for each parameter, as far as the package reads it."""
    if "_v3" in name:
        make_version_3(name, folder)
        return
    model = model_of(name).eval()
    state = model.state_dict()
    if "quantizer._codebook.embed" in state:
        draw_codebook(state["quantizer._codebook.embed"], model)
    nodes, values = [], []
    for key, value in state.items():
        array = value.float().numpy()
        if key.endswith("_ln.bias"):
            continue
        entry, node = names_of(key, name)
        if key.endswith("_ln.weight"):
            bias = key.removesuffix("weight") + "bias"
            values += [numpy_helper.from_array(array, key), numpy_helper.from_array(state[bias].numpy(), bias)]
            nodes.append(
                helper.make_node(
                    "LayerNormalization", ["x", key, bias], ["y"], name=node.replace("MatMul", "LayerNormalization")
                )
            )
            continue
        turned = array.T if array.ndim == 2 and "positional" not in key else array
        values.append(numpy_helper.from_array(np.ascontiguousarray(turned), entry))
        nodes.append(helper.make_node("MatMul", ["x", entry], ["y"], name=node))
    save(nodes, values, folder / f"{name}.onnx")


def tokens(name, folder, audio):  # noqa: ANN001, ANN201
    """Return what the package itself makes of ``audio``."""
    model = model_of(name)
    model.init_from_onnx(str(folder / f"{name}.onnx"))
    mel = s3tokenizer.log_mel_spectrogram(torch.from_numpy(audio[0]))
    codes, lengths = model.eval().quantize(mel[None], torch.tensor([mel.shape[1]]))
    return codes[0, : lengths[0]].numpy()


def main(action, name, folder, *files):  # noqa: ANN001, ANN002, ANN201
    """Do what the command line says."""
    torch.manual_seed(1)
    if action == "make":
        make(name, Path(folder))
    elif action == "empty":
        save([], [], Path(folder) / f"{name}.onnx")
    else:
        np.save(files[1], tokens(name, Path(folder), np.load(files[0])))


if __name__ == "__main__":
    main(*sys.argv[1:])
