"""Chats ``xares`` and ``tiny``: a frozen encoder and a decoder that was trained on its frames, as one model.

``xares:ENCODER[,track=offline][,decoder=tiny][,seed=42]`` takes any backend of frames, ``xares:codec-frames:mimi_8cb``;
``tiny`` is ``xares`` with what the program can train offline. A decoder that is not on this machine is trained when the
chat is prepared, once for all codecs; ``trained=KEY`` names one that ``xares train`` left, of whatever sound. It
answers the tasks that it was trained on, and others with the same classes; with ``decoding=constrained`` by the
likeliest class.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codec_superb.applications.catalogue import backend_entry, open_backend
from codec_superb.applications.embed.options import read_options
from codec_superb.applications.errors import ApplicationError, ModelUnusable
from codec_superb.applications.interface import Backend, Model, Reply, Setting, Sound
from codec_superb.applications.understanding.chat import Chat
from codec_superb.applications.xares.configuration import Track, configuration_named, track_named
from codec_superb.applications.xares.examples import FAMILY, asked, examples_of

NAME = "xares"
OWN = "encoder-file"
ENCODER = "faster-whisper-frames"
"""The usual one, whose weights come from a package file."""
GREEDY, CONSTRAINED = "greedy", "constrained"
DEFAULTS: dict[str, Setting] = {"track": "offline", "decoder": "", "seed": 42, "decoding": GREEDY, "trained": ""}
SEEDS = (42, 1, 2)
"""Of three decoders, whose spread is shown; the first is the published one."""


class XaresChat(Chat):
    """One encoder and one decoder; ``--weights`` is the folder of a published language model."""

    def __init__(self, variant: str = "", weights: Path | None = None) -> None:
        super().__init__(variant, weights)
        name, self._options = read_options(variant, DEFAULTS, others=True)
        self.encoder_name = name or ENCODER
        self._track: Track = track_named(str(self._options["track"]))
        self._configuration = configuration_named(str(self._options["decoder"]) or self._track.decoder)
        if self._options["decoding"] not in (GREEDY, CONSTRAINED):
            raise ApplicationError(
                f"option decoding: expected {GREEDY} or {CONSTRAINED}, got {self._options['decoding']!r}"
            )
        # 135 million weights are loaded once, with all cores
        self.one_copy_per_worker = not self._configuration.checkpoint  # type: ignore[misc]

    @property
    def family(self) -> str:
        """Whose prompts it is asked with."""
        return FAMILY

    def prepare(self) -> Model:
        """Find the encoder and the decoder, which is trained here where it is not on this machine.

        Raises MissingPackage, MissingModel; ApplicationError for an encoder that gives no frames; DatasetError for
        training sounds that are not on this machine.
        """
        from codec_superb.applications.embed.frames_store import FramesStore, encoder_digest, home_of
        from codec_superb.applications.xares.language_model import find_language_model
        from codec_superb.applications.xares.training import Training, facts_of, is_trained, train

        encoder = encoder_named(self.encoder_name)
        of_encoder = encoder.prepare()
        if key := str(self._options["trained"]):
            folder = home_of("decoders") / key
        else:
            language = find_language_model(self._configuration, self.weights)
            training = Training(
                self._track, self._configuration, language, examples_of(self._track), int(self._options["seed"]),
                encoder_digest(of_encoder),
            )  # fmt: skip
            folder = training.folder
            if not is_trained(training):
                say = Steps(f"training {self._configuration.decoder} on frames of {of_encoder.name}", training)
                train(training, FramesStore(encoder, of_encoder, "cpu", 1), say)
        return self._identity(of_encoder, folder, facts_of(folder))

    def _identity(self, encoder: Model, folder: Path, facts: Mapping[str, Any]) -> Model:
        from codec_superb.applications.embed.frames_store import encoder_digest

        if facts["encoder_sha256"] != encoder_digest(encoder):
            raise ApplicationError(
                f"decoder {folder.name}: expected the encoder that it was trained on, got {encoder.name}; name that one"
            )
        settings: dict[str, Setting] = {
            "track": facts["track"], "decoder": facts["decoder"], "seed": facts["seed"], "mode": facts["mode"],
            "decoding": self._options["decoding"], "decoder_key": folder.name, "encoder_sha256": encoder.sha256,
            **{f"encoder_{name}": value for name, value in encoder.settings.items()},
        }  # fmt: skip
        return Model(
            f"{NAME}:{encoder.name}+{facts['language_model']}", facts["weights_sha256"], settings, folder,
            encoder.random or facts["random"],
        )  # fmt: skip

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load both. Raises MissingModel for a decoder that is damaged."""
        from codec_superb.applications.embed.frames_store import FramesStore
        from codec_superb.applications.torch_setup import set_up_torch
        from codec_superb.applications.xares.training import facts_of, load_trained

        assert model.path is not None
        set_up_torch(threads)
        self._decoder = load_trained(model.path, self.weights).to(device)
        self._tasks: Mapping[str, Any] = facts_of(model.path)["tasks"]
        encoder = encoder_named(self.encoder_name)
        self._frames = FramesStore(encoder, encoder.prepare(), device, threads)

    def reply(self, sound: Sound) -> Reply:
        """Answer one of the questions that the decoder knows. Raises PredictionFailed, ModelUnusable."""
        from codec_superb.applications.xares.decoder import Question

        task = self._known(sound)
        question = Question(self._frames_of(sound), str(task["prompt"]))
        # of a task that names no classes they are the labels that it was trained on
        options = sound.options or tuple(task["classes"])
        if self._options["decoding"] == GREEDY or not options:
            return Reply(self._decoder.answer([question])[0])
        return Reply(self._decoder.best_of(question, options))

    def _frames_of(self, sound: Sound) -> Any:
        if sound.side == "resynthesis" and not self._options["trained"]:
            return self._frames.encode(lambda _rate: sound.samples)
        # references come again with each codec; all sounds do with each seed and decoding of `xares run`
        return self._frames.of(hashlib.sha256(sound.samples.tobytes()).hexdigest(), lambda _rate: sound.samples)

    def close(self) -> None:
        """Release both."""
        self._frames.close()
        del self._decoder

    def _known(self, sound: Sound) -> Mapping[str, Any]:
        """Return prompt and classes of the task that is asked. Raises ModelUnusable for a question it never saw."""
        text = asked(sound.messages)
        for of in self._tasks.values():
            if text == of["prompt"] or (sound.options and sorted(sound.options) == sorted(of["classes"])):
                return of  # type: ignore[no-any-return]
        raise ModelUnusable(
            f"{NAME}: expected a task that the decoder was trained on ({', '.join(self._tasks)}), or one with the "
            f"same classes, got the question {text!r:.80}; name one of these with --application"
        )


class Steps:
    """Says on standard error how training goes: about twenty lines."""

    def __init__(self, title: str, training: Any) -> None:
        self._title = f"{title}, {training.track.track} track, seed {training.seed}"
        self._steps = training.configuration.steps
        print(f"{self._title}: {self._steps} steps, once for all codecs", file=sys.stderr)

    def __call__(self, step: int, loss: float) -> None:
        """Say a line every twentieth of the way."""
        if step % max(1, self._steps // 20) == 0 or step == self._steps:
            print(f"{self._title}: step {step}/{self._steps}, loss {loss:.3f}", file=sys.stderr)


def encoder_named(name: str) -> Backend:
    """Return a backend of frames, nothing being loaded; a file of Python is an encoder of one's own.

    Raises ApplicationError for another one.
    """
    if own := re.match(rf"(?:{OWN}:)?(.+?\.py)(:\w+)?(,|$)", name):
        if not Path(own[1]).expanduser().is_file():
            raise ApplicationError(f"{own[1]}: expected a file with an encoder, found none; look at its name")
        name = f"{OWN}:{name.removeprefix(f'{OWN}:')}"
    if "frames" not in backend_entry(name).probes:
        raise ApplicationError(
            f"{name}: expected an encoder of frames, such as {ENCODER}, got a backend of "
            f"{', '.join(backend_entry(name).probes)}; see codec-superb applications"
        )
    return open_backend(name)
