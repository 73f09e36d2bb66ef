"""For tests of speaker verification: clips of real speech, the original Resemblyzer, and tiny checkpoints."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.speech import CLIPS, SPEECH_RATE, _read, _sdist, real_speech

from codec_superb.applications.interface import Backend, Item, ScoringInput, Sound
from codec_superb.applications.model_files import embedded_models
from codec_superb.applications.table import PROBES
from codec_superb.applications.transformers_checkpoint import import_transformers
from codec_superb.data_manifests.home import packages_home
from codec_superb.data_manifests.packages.archive import read_members
from codec_superb.data_manifests.packages.fetch import Fetcher
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings

Samples = NDArray[np.float32]
ASV, SIM = PROBES["asv"], PROBES["sim"]

_ORIGINAL = """
import sys, types
import numpy, scipy.ndimage
moved = types.ModuleType("scipy.ndimage.morphology")  # where SciPy had the function when the package was written
moved.binary_dilation = scipy.ndimage.binary_dilation
sys.modules[moved.__name__] = moved
sys.path[:0] = [sys.argv[1], sys.argv[4]]
import support.librosa_uncompiled
from resemblyzer import VoiceEncoder, preprocess_wav
encoder = VoiceEncoder("cpu", verbose=False)
with numpy.load(sys.argv[2]) as clips:
    prepared = {name: preprocess_wav(clip) for name, clip in clips.items()}
numpy.savez(sys.argv[3], **{f"{name}.prepared": clip for name, clip in prepared.items()},
    **{f"{name}.embedding": encoder.embed_utterance(clip) for name, clip in prepared.items()})
"""


@functools.cache
def clips() -> dict[str, Samples]:
    """Return clips of read speech of several lengths at 16 kHz: one quiet, one shorter than a partial utterance."""
    speech = real_speech(SPEECH_RATE, 30.0)[0]
    return {
        "middle": speech[:80_000],
        "long": speech[80_000:280_001],
        "short": speech[:20_000],
        "quiet": (0.001 * speech[300_000:370_007]).astype(np.float32),
    }


@functools.cache
def librivox() -> tuple[Samples, ...]:
    """Return five sentences of one reader at 16 kHz, 25 s in all."""
    names = [f"pocketsphinx-5.1.1/test/data/{clip}" for clip in CLIPS if clip.startswith("librivox")]
    content = dict(read_members(_sdist(), names))
    return tuple(_read(content[name]) for name in names)


def sound(samples: Samples) -> Sound:
    """Wrap samples as a backend takes them."""
    return Sound(Item("clip", "speech"), np.asarray(samples, np.float32))


def answers(backend: Backend, sounds: Sequence[Samples]) -> list[Any]:
    """Return the answers to all clips at once."""
    return list(backend.predict([sound(samples) for samples in sounds]))


def original_embeddings(folder: Path, sounds: Mapping[str, Samples]) -> dict[str, Samples]:
    """Run the package Resemblyzer itself, in a process of its own; NAME.prepared and NAME.embedding of each clip."""
    wheel = Fetcher(packages_home(), read_pip_settings()).fetch(embedded_models()["resemblyzer"].file, lambda _: None)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    np.savez(folder / "clips.npz", **dict(sounds))
    files = [folder, folder / "clips.npz", folder / "answers.npz", Path(__file__).parents[2]]
    command = [sys.executable, "-W", "ignore", "-c", _ORIGINAL, *files]
    subprocess.run(command, check=True, capture_output=True)
    with np.load(folder / "answers.npz") as found:
        return dict(found.items())


ECAPA_PARAMETERS = """
# as the hub's file, with fewer channels
n_mels: 80
pretrained_path: speechbrain/spkrec-ecapa-voxceleb
codec_superb_random: true
out_n_neurons: 7205
compute_features: !new:speechbrain.lobes.features.Fbank
    n_mels: !ref <n_mels>
mean_var_norm: !new:speechbrain.processing.features.InputNormalization
    norm_type: sentence
    std_norm: False
embedding_model: !new:speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN
    input_size: !ref <n_mels>
    channels: [16, 16, 16, 16, 48]
    kernel_sizes: [5, 3, 3, 3, 1]
    dilations: [1, 2, 3, 4, 1]
    attention_channels: 8
    lin_neurons: 24
classifier: !new:speechbrain.lobes.models.ECAPA_TDNN.Classifier
    input_size: 24
    out_neurons: !ref <out_n_neurons>
modules:
    embedding_model: !ref <embedding_model>
label_encoder: !new:speechbrain.dataio.encoder.CategoricalEncoder
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
    loadables:
        embedding_model: !ref <embedding_model>
    paths:
        embedding_model: !ref <pretrained_path>/embedding_model.ckpt
"""


def save_ecapa(folder: Path, seed: int = 0, *, sizes: tuple[int, int, int] = (16, 8, 24)) -> Path:
    """Write a tiny ECAPA-TDNN with seeded random weights as the files of the hub's repository.

    ``sizes`` are channels, channels of the attention, and numbers of an embedding.
    """
    import torch

    from codec_superb.applications.asv.speechbrain_ecapa import import_speechbrain

    import_speechbrain()
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN

    torch.manual_seed(seed)
    width, attention, embedding = sizes
    channels = [width, width, width, width, 3 * width]
    network = ECAPA_TDNN(80, channels=channels, attention_channels=attention, lin_neurons=embedding)
    for name, buffer in network.named_buffers():  # statistics that are not those of a new layer
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2.0)
        elif name.endswith("running_mean"):
            buffer.normal_(0.0, 0.1)
    folder.mkdir(parents=True, exist_ok=True)
    described = ECAPA_PARAMETERS.replace("[16, 16, 16, 16, 48]", str(channels)).replace(": 24", f": {embedding}")
    described = described.replace("attention_channels: 8", f"attention_channels: {attention}")
    (folder / "hyperparams.yaml").write_text(described, encoding="utf-8")
    torch.save(network.state_dict(), folder / "embedding_model.ckpt")
    return folder


TINY_WAVLM: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "conv_dim": [8] * 7,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "tdnn_dim": [16, 16, 16, 16, 48],
    "xvector_output_dim": 24, "use_weighted_layer_sum": True,
}  # fmt: skip


def save_wavlm(
    folder: Path, seed: int = 0, *, unit_variance: bool = True, sizes: Mapping[str, Any] = TINY_WAVLM
) -> Path:
    """Write a tiny WavLM, or one of other sizes, with an x-vector head and random weights as transformers does."""
    import_transformers()
    import torch
    from transformers import Wav2Vec2FeatureExtractor, WavLMConfig, WavLMForXVector

    torch.manual_seed(seed)
    network = WavLMForXVector(WavLMConfig(**sizes)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8.0)  # what transformers draws is too small for clips to differ
    network.save_pretrained(folder)
    Wav2Vec2FeatureExtractor(do_normalize=unit_variance).save_pretrained(folder)
    described = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(described | {"codec_superb_random": True}))
    return folder


def question(speakers: Mapping[str, str | None], dimensions: int = 8, seed: int = 0, **changes: Any) -> ScoringInput:
    """Return a question with a random embedding for each side of each clip (id to speaker)."""
    generator = np.random.default_rng(seed)
    items = tuple(Item(clip, "speech", speaker=speaker) for clip, speaker in sorted(speakers.items()))
    sides = {
        side: {item.clip: generator.normal(size=dimensions).astype(np.float32) for item in items}
        for side in ("reference", "resynthesis")
    }
    return ScoringInput(**{"dataset": "set", "items": items, **sides, **changes})
