"""Backend ``wavlm-large-sv``: WavLM-Large fine-tuned for speaker verification, UltraEval-Audio's and Seed-TTS-Eval's.

One file, ``wavlm_large_finetune.pth`` of 1.3 GB, holds the whole network; no package index carries it, so the user
provides it. Its SHA-256 and size are those that several public repositories pin; only that file is the model behind
published similarities, and results name another one otherwise. The file has not been run in this project: the
code is tested against an independent composition of the network with seeded random weights, and against the file's
published number of weights and bytes, not against similarities that the real weights give.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from codec_superb.applications.asv.torch_embedder import TorchEmbedder, load_tensors
from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import Model, Setting
from codec_superb.applications.model_files import folder_with, is_random, sha256_of
from codec_superb.applications.packages import require_packages
from codec_superb.data_manifests.home import codec_superb_home

if TYPE_CHECKING:
    import torch

NAME = "wavlm-large-sv"
FILE = "wavlm_large_finetune.pth"
PUBLISHED_SHA256 = "51f07e3b94d9e0262a6a675ef5a087be3dd09e8c62e9d886827f44f82fe7f94b"
PUBLISHED_BYTES = 1_301_926_579
PAGE = "https://github.com/microsoft/UniSpeech/tree/main/downstreams/speaker_verification"
_HOW = (
    f"download the row 'WavLM large' with 'Fix pre-train: No' of the table on {PAGE} ({PUBLISHED_BYTES:,} bytes, "
    f"SHA-256 {PUBLISHED_SHA256}) and put it there as {FILE}, or name its folder: --weights DIR"
)


class WavLMLargeSV(TorchEmbedder):
    """Embeds a clip with WavLM-Large and ECAPA-TDNN, 256 numbers with the published weights.

    ``wavlm-large-sv:FILE``, ``wavlm-large-sv:DIR`` or ``--weights DIR`` names another place or another such file.
    """

    shortest: ClassVar[int] = 320 + 400
    """Two frames: one alone has no variance over time."""

    def prepare(self) -> Model:
        """Find the file: as named, else in the folder of ``--weights``, else in the program's own folder.

        Raises MissingModel, which says where it is published and where to put it.
        """
        require_packages(NAME, "applications", "torch", "transformers")
        file = self._file()
        folder_with(NAME, file.parent, [file.name], _HOW)
        sha256 = sha256_of([file])
        name = Path(FILE).stem if sha256 == PUBLISHED_SHA256 else f"local:{file.stem}"
        settings: dict[str, Setting] = {"unit_variance": True, "embedding": "not normalised"}
        return Model(f"{NAME}:{name}", sha256, settings, file, random=is_random(file.parent))

    def _file(self) -> Path:
        place = Path(self.variant or self.weights or codec_superb_home() / "models" / NAME).expanduser()
        return place if place.suffix and not place.is_dir() else place / FILE

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the network. Raises MissingModel for a file that is damaged or of another network."""
        from codec_superb.applications.asv.wavlm_ecapa import speaker_network

        assert model.path is not None
        self.start(device, threads)
        self._network = speaker_network(_state(model.path), model.path.name).to(self.device)

    def embed(self, clips: torch.Tensor) -> torch.Tensor:
        """Map clips of one length to embeddings."""
        embedded: torch.Tensor = self._network(clips)
        return embedded

    def close(self) -> None:
        """Release the network."""
        del self._network


def _state(file: Path) -> Mapping[str, Any]:
    """Return the weights by name; other entries of the file describe its training."""
    import torch

    loaded = load_tensors(file)
    state = loaded.get("model") if isinstance(loaded, dict) else None
    if not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in state.items()
    ):
        came = f"entries {', '.join(map(str, loaded))}"[:200] if isinstance(loaded, dict) else type(loaded).__name__
        raise MissingModel(f"{file.name}: expected weights by name under 'model', got {came}; {_HOW}")
    return state
