"""Backend ``aisfx``: the embedding of sound effects of Ma and Lerch, 512 numbers, from a package file, on torch.

The network is written out here and loads the published weights (X-Sequential-CE), so that the package aisfx with its
old numpy need not be installed. The spectrogram is that of the package's own ``librosa`` route: the clip is divided by
its largest sample, so its level does not count. The authors' figures rest on Essentia's spectrogram, which the package
offers besides.

Paper: Ma and Lerch, Representation Learning for the Automatic Indexing of Sound Effects Libraries, ISMIR 2022.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from codec_superb.applications.aec.framing import bin_hertz, frame
from codec_superb.applications.asv.torch_embedder import load_state
from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.applications.model_files import embedded_model_folder, folder_with, refuse_variant, sha256_of
from codec_superb.applications.torch_setup import set_up_torch
from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import Floats, htk_mel, mel_edges, triangles

NAME, FILE = "aisfx", "checkpoint.pth"
RATE = 44_100
# 46.4 ms every 23.2 ms, 96 bands up to half the rate; 100 frames make a block of 2.3 s, and blocks overlap by half
TRANSFORM, HOP, BANDS = 2048, 1024, 96
BLOCK, BLOCK_HOP = 100, 50
# log10(10000 x + 1) of Essentia's shift_scale_log, over the largest value in the authors' training data
_SHIFT, _LARGEST = 1e4, 9.457798957824707
_CHANNELS = (1, 64, 128, 256, 512)
_BODY = "embedding_net."
"""What the published names begin with; the classifiers of single libraries are left out."""


class AiSfx(FrameBackend):
    """One vector ``(512,)`` a clip, pooled over blocks of 2.3 s; spectra of zeros fill up a shorter clip.

    As in the package, a block that the clip does not fill is left out where there is a whole one.
    """

    rate: ClassVar[int] = RATE
    defaults: ClassVar[Mapping[str, Setting]] = {"pooling": "mean"}

    def prepare(self) -> Model:
        """Find the weights: in the folder of ``--weights``, else in the package file. Raises MissingModel."""
        refuse_variant(NAME, self.chosen)
        if self.weights is None:
            folder = embedded_model_folder(NAME)
        else:
            source = "take it out of the package aisfx 0.1.2 (aisfx/models), or leave --weights out"
            folder = folder_with(NAME, self.weights, [FILE], source)
        settings: dict[str, Setting] = {
            "front_end": "44.1 kHz, peak 1, power of 46.4 ms every 23.2 ms, 96 HTK mel bands of unit sum",
            "block_s": BLOCK * HOP / RATE,
            "hop_s": BLOCK_HOP * HOP / RATE,
        }
        return Model(NAME, sha256_of([folder / FILE]), settings | self.options, folder)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the weights onto ``device``."""
        assert model.path is not None
        set_up_torch(threads)
        state = _read(model.path / FILE)
        network = AiSfxNetwork()
        load_state(network, {name.removeprefix(_BODY): its for name, its in state.items() if _BODY in name}, FILE)
        self._network, self._device = network.eval().to(device), device

    def frames(self, samples: Samples) -> Frames:
        """Return one vector a block, ``(blocks, 512)``."""
        with torch.inference_mode():
            inputs = torch.from_numpy(blocks(spectrogram(samples))).to(self._device)
            # one by one: a matrix product rounds differently with its size
            return np.concatenate([self._network(block[None]).cpu().numpy() for block in inputs])

    def close(self) -> None:
        """Release the network."""
        del self._network


def spectrogram(samples: Samples) -> Floats:
    """Return the network's input for ``(samples,)`` at 44.1 kHz: ``(frames, 96)``, about 0 to 1."""
    peak = float(np.abs(samples).max())
    centred = np.pad(samples / (peak or 1.0), TRANSFORM // 2)
    power = np.square(np.abs(np.fft.rfft(frame(centred, TRANSFORM, HOP) * hann(TRANSFORM))))
    return np.asarray(np.log10(_SHIFT * (power @ _filters()) + 1.0) / _LARGEST)


def blocks(spectra: Floats) -> NDArray[np.float32]:
    """Cut ``(frames, 96)`` into whole blocks ``(blocks, 100, 96)``; less than one is filled with zeros."""
    count = max(1, 1 + (len(spectra) - BLOCK) // BLOCK_HOP)
    filled = np.pad(spectra, ((0, max(0, BLOCK - len(spectra))), (0, 0)))
    return np.stack([filled[BLOCK_HOP * n : BLOCK_HOP * n + BLOCK] for n in range(count)]).astype(np.float32)


@functools.cache
def _filters() -> Floats:
    """Triangles between HTK's mels, straight in Hz, the weights of each adding up to 1."""
    # HTK: mel = 1127 ln(1 + f / 700)
    hertz = 700.0 * np.expm1(mel_edges(BANDS, 0.0, RATE / 2.0, htk_mel) / 1127.0)
    filters = triangles(hertz, bin_hertz(TRANSFORM, RATE))
    return np.ascontiguousarray((filters / filters.sum(axis=1, keepdims=True)).T)


def _read(file: Path) -> dict[str, Any]:
    """Read the checkpoint: tensors by name, and the libraries it was trained on, whose numbers are numpy's.

    It is a pickle, which may name nothing but tensors and numbers here. Raises MissingModel for anything else.
    """
    numbers = np.dtype("int64")
    # numpy 2 calls numpy.core numpy._core; the checkpoint was written before
    known: list[Any] = [(np.int64(0).__reduce__()[0], "numpy.core.multiarray.scalar"), np.dtype, type(numbers)]
    try:
        with torch.serialization.safe_globals(known):
            tensors, _ = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise MissingModel(
            f"{file.name} cannot be read as a checkpoint of aisfx: {type(error).__name__}: {str(error)[:300]}; "
            "fetch it again"
        ) from error
    return dict(tensors)


class AiSfxNetwork(nn.Module):
    """The network: blocks of shape ``(blocks, 100, 96)`` in, embeddings of shape ``(blocks, 512)`` out."""

    def __init__(self) -> None:
        super().__init__()
        for number, (inside, outside) in enumerate(itertools.pairwise(_CHANNELS), 1):
            self.add_module(f"conv_block{number}", _Block(inside, outside))

    def forward(self, spectra: torch.Tensor) -> torch.Tensor:
        """Four blocks of convolutions, the first three halving both axes; mean over frequency, maximum over time."""
        maps = spectra[:, None]
        *halving, last = self.children()
        for block in halving:
            maps = nn.functional.max_pool2d(block(maps), 2)
        pooled: torch.Tensor = last(maps).mean(dim=3).amax(dim=2)
        return pooled


class _Block(nn.Module):
    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.bn2 = nn.BatchNorm2d(outside)

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        maps = nn.functional.relu(self.bn1(self.conv1(maps)))
        return nn.functional.relu(self.bn2(self.conv2(maps)))
