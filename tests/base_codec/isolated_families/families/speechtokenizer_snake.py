"""A small SpeechTokenizer with Snake activation, under the other names of its publisher."""

from __future__ import annotations

from families import speechtokenizer

CODEC = "speechtokenizer_snake_4k"
FILE = "ckpt.dev"


def make(folder):  # noqa: ANN001, ANN201
    """Write config.json and ckpt.dev."""
    speechtokenizer.make(folder, {**speechtokenizer.CONFIG, "activation": "Snake"}, FILE)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    return speechtokenizer.run(folder, audio, FILE)
