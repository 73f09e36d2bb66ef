"""A model of FunASR: transcripts by Paraformer, emotions by emotion2vec; run by the package ``funasr``."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

UNUSED = {
    "SeacoParaformer": ("bias_encoder.", "seaco_decoder.", "hotword_output_layer.", "lstm_proj."),  # hot words
    "Emotion2vec": ("modality_encoders.AUDIO.decoder.",),  # of the pre-training task
}
"""Parameters that no prediction here uses, by model: a checkpoint may lack them."""
_MISSING = re.compile(r"miss key in ckpt: ([^,\s]+)")


class Guest:
    """One model of a local folder, asked for one sound at a time."""

    def __init__(self, description: dict[str, Any], device: str) -> None:
        # The package registers its models while it is imported.
        from funasr import AutoModel

        said = io.StringIO()
        with contextlib.redirect_stdout(said):  # FunASR only prints missing parameters and leaves them random
            self.model = AutoModel(
                model=description["weights"],
                device=device,
                ncpu=description["threads"],
                ignore_init_mismatch=False,
                disable_update=True,
                disable_pbar=True,
                log_level="ERROR",
            )
        kind = type(self.model.model).__name__
        if kind not in description["kinds"]:
            raise ValueError(f"expected weights of a model {' or '.join(description['kinds'])}, got {kind}")
        missing = [name for name in _MISSING.findall(said.getvalue()) if not name.startswith(UNUSED.get(kind, ()))]
        if missing:
            raise ValueError(
                f"expected weights of the whole model, {len(missing)} parameters are missing: "
                f"{', '.join(missing[:3])} …"
            )

    def predict(self, samples: Any) -> Any:
        """Return a transcript, or the scores of the emotions in the order of the model's own list."""
        found = self.model.generate(input=[samples], granularity="utterance", extract_embedding=False)
        if not found:  # not one token
            return ""
        return found[0]["text"] if "text" in found[0] else found[0]["scores"]
