"""Reads ECAPA-TDNN's ``hyperparams.yaml`` as plain data, without constructing the objects that it names.

SpeechBrain's own reader builds whatever the file names after ``!new:`` or ``!apply:``; an untrusted
folder could run any code. Here a tag is text, and only the parameters of the three parts that compute an embedding are
taken: filter banks, normalisation, network.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from codec_superb.applications.errors import MissingModel

FILE = "hyperparams.yaml"
RANDOM_KEY = "codec_superb_random"
"""Key that marks untrained weights."""
_CLASSES = {
    "compute_features": "speechbrain.lobes.features.Fbank",
    "mean_var_norm": "speechbrain.processing.features.InputNormalization",
    "embedding_model": "speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN",
}
_TAKEN = {
    "compute_features": frozenset(
        {"n_mels", "left_frames", "right_frames", "deltas", "context", "sample_rate", "f_min", "f_max", "n_fft"}
        | {"win_length", "hop_length"}
    ),
    "mean_var_norm": frozenset({"norm_type", "std_norm"}),
    "embedding_model": frozenset(
        {"input_size", "channels", "kernel_sizes", "dilations", "attention_channels", "lin_neurons", "groups"}
        | {"res2net_scale", "se_channels", "global_context"}
    ),
}
# HyperPyYAML writes <name> for the value of another key.
_REFERENCE = re.compile(r"<(\w+)>")


@dataclass(frozen=True, slots=True)
class EcapaParameters:
    """Arguments of the three parts."""

    features: Mapping[str, Any]
    normalisation: Mapping[str, Any]
    network: Mapping[str, Any]
    random: bool


class _Tagged(dict[Any, Any]):
    """A mapping behind ``!new:CLASS``; the class as text."""

    made: str = ""


class _Reader(yaml.SafeLoader):
    """Plain YAML in which every tag of SpeechBrain's dialect is data."""


def _tagged(reader: _Reader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        mapping = _Tagged(reader.construct_mapping(node, deep=True))
        mapping.made = suffix
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return reader.construct_sequence(node, deep=True)
    return reader.construct_scalar(node)  # type: ignore[arg-type]  # no other kind of node is left


_Reader.add_multi_constructor("!new:", _tagged)
_Reader.add_multi_constructor("!", _tagged)


def read_parameters(file: Path) -> EcapaParameters:
    """Read the parameters. Raises MissingModel naming what was expected and what came."""
    try:
        data = yaml.load(file.read_text(encoding="utf-8"), _Reader)  # noqa: S506 -- derived from SafeLoader
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise MissingModel(f"{file.name} cannot be read as YAML: {str(error)[:300]}; fetch it again") from error
    if not isinstance(data, dict):
        raise MissingModel(f"{file.name}: expected a mapping, got {type(data).__name__}")
    features, normalisation, network = (_part(file, data, name) for name in _CLASSES)
    return EcapaParameters(features, normalisation, network, bool(data.get(RANDOM_KEY)))


def _part(file: Path, data: dict[str, Any], name: str) -> dict[str, Any]:
    part = data.get(name)
    if not isinstance(part, _Tagged) or part.made != _CLASSES[name]:
        came = part.made if isinstance(part, _Tagged) else type(part).__name__
        raise MissingModel(f"{file.name}: expected {name} to be {_CLASSES[name]}, got {came}")
    if unknown := sorted(part.keys() - _TAKEN[name]):
        raise MissingModel(f"{file.name}: {name} has {', '.join(unknown)}, of which this program knows nothing")
    return {key: _resolved(file, value, data) for key, value in part.items()}


def _resolved(file: Path, value: Any, data: dict[str, Any]) -> Any:
    """Return a value, or the top-level one that ``<name>`` refers to. Raises MissingModel for anything but data."""
    if isinstance(value, str) and (match := _REFERENCE.fullmatch(value)):
        value = data.get(match[1])
    plain = (int, float, bool, str)
    if isinstance(value, plain) or (isinstance(value, list) and all(isinstance(one, int) for one in value)):
        return value
    raise MissingModel(f"{file.name}: expected a number, a word or a list of numbers, got {value!r:.100}")
