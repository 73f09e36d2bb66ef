"""UTMOS: naturalness of synthetic speech by the strong learner of the VoiceMOS Challenge 2022; no reference.

A wav2vec 2.0 base encoder, the embeddings of one data domain and one listener beside every frame, a bidirectional LSTM
and two linear layers give a score a frame; a clip's opinion is their mean, times 2, plus 3. The weights are those of
the common export, a plain state dict of 103 million numbers, which no package index carries: the user provides
the file. Sizes are read off the file; the encoder is that of transformers, under the export's names.

This was written from the export's published names and shapes, and is tested against an independent composition of the
same network with random weights; scores of the published weights have not been compared.

Paper: Saeki et al., UTMOS: UTokyo-SaruLab System for VoiceMOS Challenge 2022, Interspeech 2022.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import nn

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import Model
from codec_superb.applications.model_files import folder_with, is_random, sha256_of
from codec_superb.applications.quality.torch_mos import TorchMosBackend
from codec_superb.base_codec.torchaudio_import import mend_torchaudio
from codec_superb.data_manifests.home import codec_superb_home

FILE = "utmos22_strong_step7459_v1.pt"
URL = f"https://github.com/tarepan/SpeechMOS/releases/download/v1.0.0/{FILE}"

STRIDES = (5, 2, 2, 2, 2, 2, 2)
"""Of the encoder's convolutions: a frame is 320 samples, 20 ms."""
_HEAD = 64
"""Width of one head of attention, in every wav2vec 2.0."""
_NAMES = (
    (r"^wav2vec2\.mask_emb$", "encoder.masked_spec_embed"),
    (r"^wav2vec2\.layer_norm\.", "encoder.feature_projection.layer_norm."),
    (r"^wav2vec2\.post_extract_proj\.", "encoder.feature_projection.projection."),
    (r"^wav2vec2\.feature_extractor\.conv_layers\.(\d+)\.0\.", r"encoder.feature_extractor.conv_layers.\1.conv."),
    (r"^wav2vec2\.feature_extractor\.conv_layers\.(\d+)\.2\.", r"encoder.feature_extractor.conv_layers.\1.layer_norm."),
    (r"^wav2vec2\.encoder\.pos_conv\.0\.bias$", "encoder.encoder.pos_conv_embed.conv.bias"),
    (r"^wav2vec2\.encoder\.pos_conv\.0\.weight_g$",
     "encoder.encoder.pos_conv_embed.conv.parametrizations.weight.original0"),
    (r"^wav2vec2\.encoder\.pos_conv\.0\.weight_v$",
     "encoder.encoder.pos_conv_embed.conv.parametrizations.weight.original1"),
    (r"^wav2vec2\.(encoder\.layers\.\d+\.)self_attn\.", r"encoder.\1attention."),
    (r"^wav2vec2\.(encoder\.layers\.\d+\.)self_attn_layer_norm\.", r"encoder.\1layer_norm."),
    (r"^wav2vec2\.(encoder\.layers\.\d+\.)fc1\.", r"encoder.\1feed_forward.intermediate_dense."),
    (r"^wav2vec2\.(encoder\.layers\.\d+\.)fc2\.", r"encoder.\1feed_forward.output_dense."),
    (r"^wav2vec2\.", "encoder."),
)  # fmt: skip
"""Names of weights in the export and in transformers; the first match applies."""


class Utmos(TorchMosBackend):
    """Answers float32 ``[mos]``, about 1 to 5, higher is better; ``utmos:FILE`` names another copy of the file."""

    shortest = 400
    """The first frame needs 400 samples, 25 ms."""

    def prepare(self) -> Model:
        """Find the state dict: ``utmos:FILE``, else in the folder of ``--weights``, else in the program's own folder.

        Raises MissingModel, which says from where to download it and where to put it.
        """
        path = self._found()
        settings = {"scale": "2 x + 3", "pooling": "mean of frames"}
        return Model("utmos:utmos22_strong", sha256_of([path]), settings, path, random=is_random(path.parent))

    def _found(self) -> Path:
        own = codec_superb_home() / "models" / "utmos"
        given = Path(self.variant).expanduser() if self.variant else None
        folder = given.parent if given else self.weights or own
        name = given.name if given else FILE
        how = f"download {URL} and put it there, or name its folder: --weights DIR"
        return folder_with("utmos", folder, [name], how) / name

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the state dict onto ``device``. Raises MissingModel for a file that is none of this network."""
        assert model.path is not None
        self.use(strong_learner(_read(model.path), model.path.name), device, threads)

    def opinion(self, samples: Any) -> Any:
        """Return the mean over the clip's frames."""
        return self.network(samples[None])


def _read(path: Path) -> Mapping[str, Any]:
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError, OSError) as error:
        raise MissingModel(f"utmos: {path} cannot be read as a state dict: {error}; download {URL} again") from error
    if not isinstance(loaded, dict) or not all(isinstance(value, torch.Tensor) for value in loaded.values()):
        raise MissingModel(f"utmos: expected a plain state dict in {path}, got {type(loaded).__name__}; download {URL}")
    return loaded


def strong_learner(published: Mapping[str, Any], name: str) -> StrongLearner:
    """Build the network that ``published`` is the state of. Raises MissingModel for another network's state."""
    try:
        network = StrongLearner(_encoder(published), published)
        network.load_state_dict({renamed(key): value.float() for key, value in published.items()}, assign=True)
    except (KeyError, RuntimeError, ValueError) as error:
        raise MissingModel(f"utmos: {name} is not the state dict of {FILE}: {error}; download {URL}") from error
    return network


def renamed(name: str) -> str:
    """Return the name in :class:`StrongLearner` of a weight of the export."""
    for theirs, ours in _NAMES:
        changed, count = re.subn(theirs, ours, name)
        if count:
            return changed
    return name


def _encoder(published: Mapping[str, Any]) -> Any:
    """Make transformers' encoder of the export's sizes, without weights of its own."""
    mend_torchaudio()  # transformers takes it along where there is one, whether or not it fits this torch
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    kernels = [published[f"wav2vec2.feature_extractor.conv_layers.{i}.0.weight"].shape for i in range(len(STRIDES))]
    hidden, per_group, span = published["wav2vec2.encoder.pos_conv.0.weight_v"].shape
    layers = {key.split(".")[3] for key in published if key.startswith("wav2vec2.encoder.layers.")}
    config = Wav2Vec2Config(
        conv_dim=[shape[0] for shape in kernels],
        conv_kernel=[shape[2] for shape in kernels],
        conv_stride=list(STRIDES),
        conv_bias=False,
        feat_extract_norm="group",
        do_stable_layer_norm=False,
        hidden_size=hidden,
        num_hidden_layers=len(layers),
        num_attention_heads=max(1, hidden // _HEAD),
        intermediate_size=published["wav2vec2.encoder.layers.0.fc1.weight"].shape[0],
        num_conv_pos_embeddings=span,
        num_conv_pos_embedding_groups=hidden // per_group,
        mask_time_prob=0.05,  # gives the encoder the mask embedding that the export holds; nothing is masked here
    )
    return Wav2Vec2Model(config)


class StrongLearner(nn.Module):
    """The network: sound of shape ``(clips, samples)`` at 16 kHz in, opinions of shape ``(clips,)`` out."""

    def __init__(self, encoder: Any, published: Mapping[str, Any]) -> None:
        super().__init__()
        self.encoder = encoder
        self.domain_emb = nn.Parameter(torch.empty_like(published["domain_emb"]), requires_grad=False)
        self.judge_emb = nn.Parameter(torch.empty_like(published["judge_emb"]), requires_grad=False)
        gates, features = published["blstm.weight_ih_l0"].shape
        beside = self.domain_emb.shape[1] + self.judge_emb.shape[1]
        if encoder.config.hidden_size + beside != features:
            raise ValueError(f"expected {features - encoder.config.hidden_size} numbers beside a frame, got {beside}")
        width = published["projection.0.weight"].shape[0]
        self.blstm = nn.LSTM(features, gates // 4, batch_first=True, bidirectional=True)
        self.projection = nn.Sequential(nn.Linear(gates // 2, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, sounds: Any) -> Any:
        """Return the opinions, about 1 to 5."""
        frames = self.encoder(sounds).last_hidden_state
        beside = [emb[:, None].expand(*frames.shape[:2], -1) for emb in (self.domain_emb, self.judge_emb)]
        scores = self.projection(self.blstm(torch.cat([frames, *beside], dim=2))[0])
        # Scores of -1 to 1 stand for opinions of 1 to 5.
        return 2 * scores.mean(dim=1).squeeze(1) + 3
