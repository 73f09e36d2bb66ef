"""AUV at its full size, the only one that its package makes."""

from __future__ import annotations

import torch

CODEC = "auv"
FILE = "auv.pt"


def blank():  # noqa: ANN201
    """Return the package's model, whose sizes stand in its reader of checkpoints."""
    from auv.model import AUV

    model = AUV()
    reading, AUV.load_state_dict = AUV.load_state_dict, lambda self, state: None
    torch_load, torch.load = torch.load, lambda *_, **__: {}
    try:
        model.from_pretrained("")
    finally:
        AUV.load_state_dict, torch.load = reading, torch_load
    return model.eval()


def make(folder):  # noqa: ANN001, ANN201
    """Write the one file of parameters."""
    torch.save(blank().state_dict(), folder / FILE)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound, of a clip that fills its last frame."""
    from auv.model import AUV

    model = AUV()
    model.from_pretrained(str(folder / FILE))
    coded = model.eval().encode(
        {"sample": torch.nn.functional.pad(audio, (0, -audio.shape[1] % 320)), "sample_rate": 16000}
    )
    return coded["tokens"][:, 0], model.decode(coded["quantized"])[0]
