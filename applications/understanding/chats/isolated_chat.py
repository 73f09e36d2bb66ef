"""Base class of chats in a private environment: a worker process answers messages about a sound.

The guest is ``Guest(description, device)`` with ``reply(samples, messages)``: samples float32 ``(samples,)`` at
``rate``, messages ``[[role, [[kind, text], …]], …]`` in which a part of the kind ``audio`` stands for the sound. It
returns a text. What a crash, a hang or an exception costs is what it costs other models (``isolated/backend.py``).
"""

from __future__ import annotations

import time
from typing import ClassVar

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Reply, Sound
from codec_superb.applications.isolated.backend import IsolatedBackend
from codec_superb.applications.understanding.chat import Chat


class IsolatedChat(Chat, IsolatedBackend):
    """A chat whose packages contradict those of the main environment."""

    longest_s: ClassVar[float]
    """Longest sound in seconds that its packages hear whole."""

    def reply(self, sound: Sound) -> Reply:
        """Ask the guest. Raises PredictionFailed for this clip, ModelUnusable after three dead workers in a row."""
        seconds = sound.samples.size / self.rate
        if seconds > self.longest_s:
            raise PredictionFailed(
                f"expected at most {self.longest_s:g} s of sound, got {seconds:.1f} s; divide the clip"
            )
        messages = [[message.role, [list(part) for part in message.parts]] for message in sound.messages]
        began = time.monotonic()
        text = self.call(lambda worker: worker.reply(sound.samples, messages), "reply")
        return Reply(text.strip(), {"seconds": round(time.monotonic() - began, 3)})
