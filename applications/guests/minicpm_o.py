"""MiniCPM-o 2.6, by the code that its publisher keeps beside the weights; run by transformers 4.44."""

from __future__ import annotations

from typing import Any

import guest_tools

VISION_AND_VOICE = ("vpm.", "resampler.", "tts.")
"""Parameters of the parts that see and speak, which are not loaded."""


class Guest:
    """The parts that listen and write, of a local folder."""

    def __init__(self, description: dict[str, Any], device: str) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        torch.set_num_threads(description["threads"])
        guest_tools.Device(device)
        folder, self.decoding = description["weights"], description["decoding"]
        model, report = AutoModel.from_pretrained(
            folder, trust_remote_code=True, local_files_only=True, attn_implementation="sdpa",
            torch_dtype=getattr(torch, description["dtype"]), init_vision=False, init_audio=True, init_tts=False,
            output_loading_info=True,
        )  # fmt: skip
        guest_tools.refuse_gaps("weights", report["missing_keys"], VISION_AND_VOICE)
        self.model = model.eval().to(device)
        self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True, local_files_only=True)

    def reply(self, samples: Any, messages: list[Any]) -> str:
        """Return the answer, by beam search without sampling."""
        asked = [
            {"role": role, "content": [samples if kind == "audio" else text for kind, text in parts]}
            for role, parts in messages
        ]
        said = self.model.chat(
            msgs=asked, tokenizer=self.tokenizer, sampling=False, stream=False, use_tts_template=True,
            generate_audio=False, **self.decoding,
        )  # fmt: skip
        return str(said)
