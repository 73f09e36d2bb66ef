"""Chat ``transformers-chat``: sound-language models of transformers, from the hub or a folder; a row a family.

It decodes greedily, one clip after the other. Run in this project: tiny checkpoints with random weights on a CPU, see
``docs/understanding-models.md``; published weights and graphics cards never.
"""

from __future__ import annotations

import base64
import io
import time
from typing import Any

from codec_superb.applications.embed.options import read_options
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Model, Reply, Samples, Setting, Sound
from codec_superb.applications.memory import raises_out_of_memory
from codec_superb.applications.packages import require_packages
from codec_superb.applications.transformers_checkpoint import import_transformers
from codec_superb.applications.understanding.chat import Chat
from codec_superb.applications.understanding.chats.chat_checkpoint import NAME, ChatCheckpoint, find_chat
from codec_superb.applications.understanding.chats.families import DTYPES, FAMILIES, Family

DEFAULTS: dict[str, Setting] = {"max_new_tokens": 256, "dtype": "bfloat16"}
"""Options behind the name; the checkpoints are published in bfloat16."""


class TransformersChat(Chat):
    """A checkpoint of one of the families.

    ``transformers-chat:OWNER/NAME[@REVISION]``, ``transformers-chat:DIR`` or ``--weights DIR`` names it; options:
    ``…,max_new_tokens=64,dtype=float32``.
    """

    _found: ChatCheckpoint | None = None

    @property
    def family(self) -> str:
        """Whose prompts it is asked with, known after ``prepare``."""
        return self._found.family.name if self._found else super().family

    def prepare(self) -> Model:
        """Find or fetch the files. Raises MissingModel, MissingPackage, ApplicationError."""
        name, options = read_options(self.variant, DEFAULTS)
        if options["dtype"] not in DTYPES or int(options["max_new_tokens"]) < 1:
            raise ApplicationError(
                f"{NAME}: expected dtype={' or '.join(DTYPES)} and max_new_tokens of at least 1, got {options}"
            )
        given = str(self.weights) if self.weights is not None else name
        if not given:
            raise ApplicationError(f"{NAME}: name a model, {NAME}:OWNER/NAME@REVISION or {NAME}:DIR")
        require_packages(NAME, "applications", "torch", "transformers")
        found = self._found = find_chat(given)
        settings = {
            "family": found.family.name, "model_type": found.family.model_type, "decoding": "greedy",
            "longest_s": found.family.longest_s, **options,
        }  # fmt: skip
        return Model(f"{NAME}:{found.source}", found.sha256, settings, found.folder, found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load processor and network. Raises MissingModel for a checkpoint that is not whole."""
        from codec_superb.applications.torch_setup import set_up_torch

        self._row = FAMILIES[str(model.settings["model_type"])]
        self._tokens = int(model.settings["max_new_tokens"])
        self._device = device
        set_up_torch(threads)
        with raises_out_of_memory(model.name):
            self._processor, self._network = _load(self._row, model, device)

    def reply(self, sound: Sound) -> Reply:
        """Generate an answer; tokens of the question and special tokens are no part of it."""
        import torch

        seconds = sound.samples.size / self.rate
        if seconds > self._row.longest_s:
            raise PredictionFailed(
                f"expected at most {self._row.longest_s:g} s of sound, which is what {self._row.name} hears, "
                f"got {seconds:.1f} s; divide the clip"
            )
        began = time.monotonic()
        inputs = self._inputs(sound).to(self._device)
        for name, value in inputs.items():
            if torch.is_tensor(value) and value.is_floating_point():
                inputs[name] = value.to(self._network.dtype)
        with torch.inference_mode():
            # None switches off what a publisher's file sets for sampling
            out = self._network.generate(
                **inputs, do_sample=False, num_beams=1, temperature=None, top_p=None, top_k=None,
                max_new_tokens=self._tokens,
            )  # fmt: skip
        answer = out[0, inputs["input_ids"].shape[1] :]
        text = self._processor.tokenizer.decode(answer, skip_special_tokens=True).strip()
        finish = "length" if len(answer) >= self._tokens else "stop"
        took = round(time.monotonic() - began, 3)
        return Reply(text, {"finish": finish, "tokens": len(answer), "seconds": took})

    def close(self) -> None:
        """Release the model."""
        self._processor = self._network = None

    def _inputs(self, sound: Sound) -> Any:
        """Return the processor's tensors of a question, one row."""
        asked = conversation(self._row, sound)
        if self._row.form == "encoded":
            return self._processor.apply_chat_template(asked)
        # transformers 5.23 drops the template of Phi-4's processor when it reads it; its tokeniser has the same one
        template = self._processor.chat_template or self._processor.tokenizer.chat_template
        text = self._processor.apply_chat_template(
            asked, chat_template=template, tokenize=False, add_generation_prompt=True
        )
        sounds = [sound.samples for message in sound.messages for part in message.parts if part.kind == "audio"]
        start = self._processor.tokenizer.bos_token
        # a template that begins with the first token already would give it twice
        own = {"add_special_tokens": False} if start and text.startswith(start) else {}
        rate = {"sampling_rate": self.rate} if sounds and self._row.name != "granite_speech" else {}
        return self._processor(text=[text], audio=sounds or None, return_tensors="pt", **own, **rate)


def conversation(row: Family, sound: Sound) -> list[dict[str, Any]]:
    """Return the messages as the family's chat template takes them."""
    if row.form == "placeholder":
        return [
            {
                "role": message.role,
                "content": "".join(row.placeholder if part.kind == "audio" else part.text for part in message.parts),
            }
            for message in sound.messages
        ]
    audio = {"type": "audio", "base64": _wav(sound.samples)} if row.form == "encoded" else {"type": "audio"}
    turns: list[dict[str, Any]] = []
    for message in sound.messages:
        content = [audio if part.kind == "audio" else {"type": "text", "text": part.text} for part in message.parts]
        # tokenisers of mistral-common below version 13, as Voxtral's is, take no system message beside a sound
        role = "user" if row.form == "encoded" and message.role == "system" else message.role
        if row.form == "encoded" and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += content
        else:
            turns.append({"role": role, "content": content})
    return turns


def _wav(samples: Samples) -> str:
    """Return samples as a WAV of 32-bit floats, which loses nothing, in base64."""
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, samples, TransformersChat.rate, format="WAV", subtype="FLOAT")
    return base64.b64encode(file.getvalue()).decode()


def _load(row: Family, model: Model, device: str) -> tuple[Any, Any]:
    transformers = import_transformers()
    import torch

    assert model.path is not None
    try:
        processor = getattr(transformers, row.processor).from_pretrained(model.path, local_files_only=True)
        network, report = getattr(transformers, row.network).from_pretrained(
            model.path, local_files_only=True, dtype=getattr(torch, str(model.settings["dtype"])),
            output_loading_info=True,
        )  # fmt: skip
        if row.sound_adapter:
            network.load_adapter(
                model.path, adapter_name="sound", device_map=device, adapter_kwargs={"subfolder": row.sound_adapter}
            )
            network.set_adapter("sound")
    except (RuntimeError, ValueError, OSError, TypeError, KeyError, ImportError) as error:
        raise MissingModel(f"{model.path.name} cannot be loaded as a checkpoint of {row.network}: {error}") from error
    if absent := sorted(report["missing_keys"]):
        raise MissingModel(
            f"{model.path.name} is no checkpoint of {row.network}: it lacks {', '.join(absent[:5])}"
            f"{' and more' if len(absent) > 5 else ''}; fetch it again"  # noqa: PLR2004 -- as many as a line holds
        )
    return processor, network.to(device).eval()
