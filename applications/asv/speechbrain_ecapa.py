"""Backend ``speechbrain``: ECAPA-TDNN trained on VoxCeleb, the speaker verifier of the paper.

Only SpeechBrain's modules are used, put together as ``SpeakerRecognition.encode_batch`` does without its normalisation
of embeddings: filter banks, mean of the clip taken off, ECAPA-TDNN. The published weights have not been run in
this project: the code is tested on checkpoints of the same files with seeded random weights.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar

from codec_superb.applications.asv.ecapa_parameters import FILE as PARAMETERS
from codec_superb.applications.asv.ecapa_parameters import read_parameters
from codec_superb.applications.asv.torch_embedder import TorchEmbedder, load_state, load_tensors
from codec_superb.applications.interface import Model
from codec_superb.applications.model_files import find_model, sha256_of
from codec_superb.applications.packages import require_packages
from codec_superb.base_codec.torchaudio_import import import_torchaudio

if TYPE_CHECKING:
    import torch

REPOSITORY = "speechbrain/spkrec-ecapa-voxceleb"
WEIGHTS = "embedding_model.ckpt"


class SpeechBrainEcapa(TorchEmbedder):
    """Embeds a clip with ECAPA-TDNN, 192 numbers with the published weights.

    ``speechbrain:OWNER/NAME[@REVISION]``, ``speechbrain:DIR`` or ``--weights DIR`` names other weights of the network;
    of the repository's files only ``hyperparams.yaml`` (as plain data) and ``embedding_model.ckpt`` are needed.
    """

    shortest: ClassVar[int] = 1600

    def prepare(self) -> Model:
        """Find or fetch the two files."""
        require_packages("speechbrain", "applications", "torch", "torchaudio", "speechbrain")
        files = (PARAMETERS, WEIGHTS)
        found = find_model("speechbrain", REPOSITORY, files, given=self.variant or self.weights)
        parameters = read_parameters(found.folder / PARAMETERS)
        name = "speechbrain:ecapa-voxceleb" if found.source == REPOSITORY else f"speechbrain:{found.source}"
        return Model(
            name,
            sha256_of(found.folder / file for file in files),
            {"embedding": "not normalised"},
            found.folder,
            random=parameters.random,
        )

    def load(self, model: Model, device: str, threads: int) -> None:
        """Build the network and load its weights."""
        import_speechbrain()
        from speechbrain.lobes.features import Fbank
        from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
        from speechbrain.processing.features import InputNormalization

        assert model.path is not None
        self.start(device, threads)
        parameters = read_parameters(model.path / PARAMETERS)
        self._features = Fbank(**parameters.features).to(self.device).eval()
        self._normalise = InputNormalization(**parameters.normalisation).to(self.device).eval()
        network = ECAPA_TDNN(**parameters.network)
        load_state(network, load_tensors(model.path / WEIGHTS), WEIGHTS)
        self._network = network.to(self.device).eval()

    def embed(self, clips: torch.Tensor) -> torch.Tensor:
        """Map clips of one length to embeddings."""
        import torch

        whole = torch.ones(len(clips), device=clips.device)  # relative lengths: no clip is padded
        features = self._normalise(self._features(clips), whole)
        embedded: torch.Tensor = self._network(features, whole)
        return embedded.squeeze(1)

    def close(self) -> None:
        """Release the network."""
        del self._features, self._normalise, self._network


def import_speechbrain() -> None:
    """Import SpeechBrain, with torchaudio before it (see :func:`import_torchaudio`).

    SpeechBrain puts redirections of its old module names among the imported modules. On any attribute access they
    import packages that need not be installed, so that code which inspects all modules (Hypothesis, debuggers,
    reloaders) fails. They are removed again; the modules under their new names are not touched.
    """
    import_torchaudio()
    import speechbrain  # noqa: F401
    from speechbrain.utils.importutils import LazyModule

    for name in [name for name, module in sys.modules.items() if isinstance(module, LazyModule)]:
        del sys.modules[name]
