"""Backend ``wavlm-sv``: WavLM with an x-vector head, through transformers.

``microsoft/wavlm-base-plus-sv`` unless another checkpoint of ``WavLMForXVector`` is named. The speaker model that
UltraEval-Audio and Seed-TTS-Eval use, ``wavlm_large_finetune.pth``, is WavLM-Large under an ECAPA-TDNN head in a format
of its own: it is not such a checkpoint, and figures of the two are not comparable. The weights of the hub could not be
had where this was written; the code is tested on checkpoints with seeded random weights.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from codec_superb.applications.asv.torch_embedder import TorchEmbedder
from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import Model
from codec_superb.applications.model_files import FoundModel, find_model, sha256_of
from codec_superb.applications.packages import require_packages
from codec_superb.applications.torchaudio_import import mend_torchaudio
from codec_superb.base_codec.weights import RANDOM_KEY

if TYPE_CHECKING:
    import torch

REPOSITORY = "microsoft/wavlm-base-plus-sv"
CONFIG, PREPROCESSOR = "config.json", "preprocessor_config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Either will do; older repositories have only the second."""
_UNUSED = frozenset({"wavlm.masked_spec_embed"})
"""Tensors that only training needs."""
_VARIANCE_FLOOR = 1e-7


class WavLMSV(TorchEmbedder):
    """Embeds a clip with WavLM and an x-vector head, 512 numbers with the usual weights.

    ``wavlm-sv:OWNER/NAME[@REVISION]``, ``wavlm-sv:DIR`` or ``--weights DIR`` names another checkpoint.
    """

    shortest: ClassVar[int] = 15 * 320 + 400
    """16 frames: the layers of the head see 15 at once, and a deviation needs two numbers."""

    def prepare(self) -> Model:
        """Find or fetch configuration, preprocessor and weights."""
        require_packages("wavlm-sv", "applications", "torch", "transformers")
        found, weights = self._find()
        config = _read_json(found.folder / CONFIG)
        preprocessor = _read_json(found.folder / PREPROCESSOR)
        name = "wavlm-base-plus-sv" if found.source == REPOSITORY else found.source
        return Model(
            f"wavlm-sv:{name}",
            sha256_of(found.folder / file for file in (CONFIG, PREPROCESSOR, weights)),
            {"unit_variance": bool(preprocessor.get("do_normalize", True))},
            found.folder,
            random=bool(config.get(RANDOM_KEY)),
        )

    def _find(self) -> tuple[FoundModel, str]:
        """Find a checkpoint with either file of weights; the error is that of the first."""
        given = self.variant or self.weights
        missing: MissingModel | None = None
        for weights in WEIGHTS:
            try:
                return find_model("wavlm-sv", REPOSITORY, (CONFIG, PREPROCESSOR, weights), given=given), weights
            except MissingModel as error:
                missing = missing or error
        assert missing is not None
        raise missing

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the network. Raises MissingModel for a checkpoint without the head."""
        mend_torchaudio()
        import torch
        from transformers import WavLMForXVector

        assert model.path is not None
        self.start(device, threads)
        self._unit_variance = bool(model.settings["unit_variance"])
        model_class: Any = WavLMForXVector
        network, report = model_class.from_pretrained(
            model.path, local_files_only=True, dtype=torch.float32, output_loading_info=True
        )
        if absent := sorted(set(report["missing_keys"]) - _UNUSED):
            raise MissingModel(
                f"{model.name} is no checkpoint of WavLMForXVector: it lacks {', '.join(absent[:5])}"
                f"{' and more' if len(absent) > 5 else ''}; name one that has them, such as {REPOSITORY}"  # noqa: PLR2004
            )
        self._network = network.to(self.device).eval()

    def embed(self, batch: torch.Tensor) -> torch.Tensor:
        """Map clips of one length to embeddings, each clip scaled to mean 0 and variance 1 where the model asks so."""
        if self._unit_variance:
            centred = batch - batch.mean(dim=1, keepdim=True)
            batch = centred / (centred.square().mean(dim=1, keepdim=True) + _VARIANCE_FLOOR).sqrt()
        embedded: torch.Tensor = self._network(batch).embeddings
        return embedded

    def close(self) -> None:
        """Give the network back."""
        del self._network


def _read_json(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MissingModel(f"{file.name} cannot be read as JSON: {error}; fetch it again") from error
    if not isinstance(data, dict):
        raise MissingModel(f"{file.name}: expected a JSON object, got {type(data).__name__}")
    return data
