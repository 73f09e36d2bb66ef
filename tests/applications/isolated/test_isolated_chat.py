"""Chats in an environment of their own: messages go in, a text comes back; and the files of MiniCPM-o."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codecs.isolated import LOCK

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError, MissingModel, ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Item, Model, Reply, Sound
from codec_superb.applications.task_definitions.messages import Message, Part
from codec_superb.applications.understanding.chats.isolated_chat import IsolatedChat
from codec_superb.applications.understanding.chats.minicpm_o import FAMILIES, MiniCPMo
from codec_superb.base_codec.card import Isolation
from codec_superb.base_codec.isolation.lock import open_lock


class Talker(IsolatedChat):
    """The chat of ``guest_chat.py``."""

    isolation = Isolation(lock=str(LOCK), guest=str(Path(__file__).with_name("guest_chat.py")))
    longest_s = 2.0

    def find(self, python: Path) -> Model:
        """Take the variant as the weights."""
        return Model("talker:tiny", "0" * 64, path=Path("/models/fine"))

    def describe(self, model: Model, threads: int) -> dict[str, Any]:
        """Tell the weights."""
        return {"weights": str(model.path), "threads": threads}


def asked(*texts: str, seconds: float = 0.1) -> Sound:
    """Return a sound with messages: texts, the sound before the last one."""
    system = Message("system", tuple(Part("text", text) for text in texts[:-1]))
    messages = (*([system] if texts[:-1] else []), Message("user", (Part("audio"), Part("text", texts[-1]))))
    return Sound(Item("c", "speech"), np.full(int(16_000 * seconds), 0.5, np.float32), None, messages)


def test_messages_go_in_and_a_text_comes_back(tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order and with every letter; a fault costs its clip, and a third dead worker in a row the run."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tiny_home))
    chat = Talker()
    with pytest.raises(ApplicationError, match="run on the cpu"):
        chat.load(chat.prepare(), "cuda", 1)
    chat.load(chat.prepare(), "cpu", 1)
    try:
        questions = [
            asked("Be brief.", '你好\nor "two"?'), asked("number"), asked("raise"), asked("What?", seconds=2.1),
            asked("die"), asked("What?"), asked("die"), asked("die"), asked("die"), asked("What?"),
        ]  # fmt: skip
        first, number, raised, long, died, fine, *others = chat.predict(questions)
    finally:
        chat.close()
    assert first == 'system: Be brief.; user: audio | 你好\nor "two"?; float32 1600; /models/fine on cpu'
    assert isinstance(first, Reply)
    assert set(first.facts) == {"seconds"}
    assert isinstance(fine, Reply)
    assert all(isinstance(failed, PredictionFailed) for failed in (number, raised, long, died))
    assert "got int" in str(number)
    assert "not to my taste" in str(raised)
    assert "at most 2 s of sound, got 2.1 s" in str(long)
    assert [type(other) for other in others] == [PredictionFailed] * 3 + [ModelUnusable]


def test_minicpm_o_is_found_and_named(tmp_path: Path) -> None:
    """Its code is part of its identity; what is not named to the commit is refused, since that code is run."""
    folder = tmp_path / "MiniCPM-o-2_6"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "minicpmo", "codec_superb_random": True}))
    (folder / "model.safetensors").write_bytes(b"weights")
    chat = open_backend(f"minicpm-o:{folder},num_beams=1")
    assert isinstance(chat, MiniCPMo)
    with pytest.raises(MissingModel, match=r"configuration_minicpm\.py"):
        chat.find(Path())
    for name in FAMILIES["minicpmo"].files:
        (folder / name).write_text(name)
    model = chat.find(Path())
    assert (model.name, model.random, chat.family) == ("minicpm-o:local:MiniCPM-o-2_6", True, "minicpm_o")
    assert (model.settings["package"], model.settings["num_beams"]) == ("transformers 4.44.2", 1)
    assert chat.describe(model, 2)["decoding"] == {"max_new_tokens": 128, "num_beams": 1}
    (folder / "modeling_minicpmo.py").write_text("another")
    assert chat.find(Path()).sha256 != model.sha256
    (folder / "config.json").write_text('{"model_type": "minicpmv"}')
    with pytest.raises(ApplicationError, match="expected a checkpoint of minicpmo, got one of minicpmv"):
        chat.find(Path())
    for wrong in ("", "openbmb/MiniCPM-o-2_6", "openbmb/MiniCPM-o-2_6@main", f"{folder},num_beams=0"):
        with pytest.raises(ApplicationError, match=r"expected|COMMIT"):
            MiniCPMo(wrong).prepare()
    assert open_lock("minicpm-o", "cuda").cuda == (13, 0)
