"""Chats of transformers, on tiny random checkpoints in the publishers' layouts."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from support.applications.chat_checkpoints import save_chat

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError, MissingModel, MissingPackage, PredictionFailed
from codec_superb.applications.interface import Item, Reply, Sound
from codec_superb.applications.task_definitions.messages import Message, Part
from codec_superb.applications.understanding.chats.families import FAMILIES
from codec_superb.applications.understanding.chats.transformers_chat import TransformersChat, conversation

OPTIONS = ",max_new_tokens=8,dtype=float32"
QUESTION = Message("user", (Part("audio"), Part("text", "What is it?")))


def asked(seconds: float, *messages: Message, seed: int = 0) -> Sound:
    """Return noise with a question."""
    samples = np.random.default_rng(seed).normal(0, 0.2, int(seconds * 16_000)).astype(np.float32)
    return Sound(Item("c", "speech"), samples, None, messages or (QUESTION,))


def opened(folder: Path, options: str = OPTIONS) -> TransformersChat:
    """Load a checkpoint as a worker does."""
    chat = open_backend(f"transformers-chat:{folder}{options}")
    assert isinstance(chat, TransformersChat)
    chat.load(chat.prepare(), "cpu", 1)
    return chat


def logits(chat: TransformersChat, sound: Sound) -> np.ndarray:
    """Return the scores of the first token of an answer."""
    import torch

    with torch.inference_mode():
        scores: np.ndarray = chat._network(**chat._inputs(sound)).logits[0, -1].numpy()
    return scores


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a Qwen2-Audio."""
    return save_chat("qwen2_audio", tmp_path_factory.mktemp("chat") / "qwen")


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", [row.name for row in FAMILIES.values()])
def test_a_family_answers(kind: str, tmp_path: Path) -> None:
    """The same again and whatever stands beside it; what is asked and what sounds matters; 8 tokens end it."""
    row = next(row for row in FAMILIES.values() if row.name == kind)
    if absent := [name for name in row.packages if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{kind} needs {', '.join(absent)}: pip install 'codec-superb[chats]'")
    chat = opened(save_chat(kind, tmp_path / kind))
    assert chat.family == kind
    system = Message("system", (Part("text", "Be brief."),))
    other = Message("user", (Part("text", "Name the language: "), Part("audio")))
    sounds = [asked(0.9), asked(1.7, seed=1), asked(0.9, other), asked(0.9, system, QUESTION)]
    answers = list(chat.predict(sounds))
    assert all(isinstance(answer, Reply) for answer in answers), answers
    assert answers == [chat.predict([sound])[0] for sound in sounds]
    assert abs(logits(chat, asked(0.9)) - logits(chat, asked(0.9))).max() == 0
    for differs in (asked(0.9, seed=1), *sounds[1:]):
        assert abs(logits(chat, asked(0.9)) - logits(chat, differs)).max() > 1e-4
    assert {(reply.facts["tokens"], reply.facts["finish"]) for reply in answers if isinstance(reply, Reply)} == {
        (8, "length")
    }


def test_an_answer_is_transformers_own(qwen: Path) -> None:
    """Greedy decoding step by step with the network alone gives the same text."""
    import torch

    chat = opened(qwen)
    inputs = dict(chat._inputs(asked(1.0)))
    ids, mask = inputs.pop("input_ids"), inputs.pop("attention_mask")
    begin = ids.shape[1]
    with torch.inference_mode():
        for _ in range(8):
            logits = chat._network(input_ids=ids, attention_mask=mask, **inputs, use_cache=False).logits
            ids = torch.cat([ids, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
            mask = torch.ones_like(ids)
    said = chat._processor.tokenizer.decode(ids[0, begin:], skip_special_tokens=True).strip()
    assert chat.reply(asked(1.0)) == said


def test_identity(qwen: Path, tmp_path: Path) -> None:
    """Weights, options and mark of random weights; weights in parts; another file is another model."""
    chat = TransformersChat(f"{qwen}{OPTIONS}")
    model = chat.prepare()
    assert (model.name, model.random, chat.family) == ("transformers-chat:local:qwen", True, "qwen2_audio")
    assert (model.settings["max_new_tokens"], model.settings["dtype"]) == (8, "float32")
    assert TransformersChat("", qwen).prepare().settings["dtype"] == "bfloat16"
    other = save_chat("qwen2_audio", tmp_path / "other", seed=4)
    assert TransformersChat(str(other)).prepare().sha256 != model.sha256
    (other / "model.safetensors").rename(other / "model-00001-of-00001.safetensors")
    with pytest.raises(MissingModel, match=r"model\.safetensors"):
        TransformersChat(str(other)).prepare()
    index = {"metadata": {}, "weight_map": {"x": "model-00001-of-00001.safetensors"}}
    (other / "model.safetensors.index.json").write_text(json.dumps(index))
    assert TransformersChat(str(other)).prepare().path == other
    index["weight_map"] = {"x": "../../etc/passwd"}
    (other / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(MissingModel, match="expected files beside it"):
        TransformersChat(str(other)).prepare()


def test_what_costs_a_clip(qwen: Path) -> None:
    """A sound that is too long, one without samples, and a question that writes the token of a sound."""
    chat = opened(qwen, OPTIONS.replace("float32", "bfloat16"))
    trick = Message("user", (Part("audio"), Part("text", "<|AUDIO|>")))
    long, empty, tricked, fine = chat.predict([asked(30.1), asked(0.0), asked(1.0, trick), asked(30.0)])
    assert isinstance(long, PredictionFailed)
    assert "at most 30 s" in str(long)
    assert isinstance(empty, PredictionFailed)
    assert isinstance(tricked, Exception)
    assert isinstance(fine, Reply)


def test_what_is_refused(tmp_path: Path, qwen: Path) -> None:
    """No name, another kind of model, an option that does not exist, an adapter without the package for it."""
    with pytest.raises(ApplicationError, match="name a model"):
        TransformersChat().prepare()
    with pytest.raises(ApplicationError, match="expected dtype=bfloat16"):
        TransformersChat(f"{qwen},dtype=int8").prepare()
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ApplicationError, match="got one of bert"):
        TransformersChat(str(tmp_path)).prepare()
    if importlib.util.find_spec("peft") is None:
        (tmp_path / "config.json").write_text('{"model_type": "granite_speech", "has_lora_adapter": true}')
        with pytest.raises(MissingPackage, match="peft"):
            TransformersChat(str(tmp_path)).prepare()


def test_every_row_names_classes_of_transformers() -> None:
    """And the configuration of its network has its model type."""
    from codec_superb.applications.transformers_checkpoint import import_transformers

    import_transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    for row in FAMILIES.values():
        assert CONFIG_MAPPING[row.model_type].model_type == row.model_type
        found = importlib.util.find_spec(f"transformers.models.{row.model_type}.modeling_{row.model_type}")
        assert found is not None
        assert found.origin is not None
        assert f"class {row.network}(" in Path(found.origin).read_text()
        processor = Path(found.origin).with_name(f"processing_{row.model_type}.py").read_text()
        assert f"class {row.processor}(" in processor


def test_a_placeholder_stands_in_the_text() -> None:
    """For a template that takes texts alone."""
    system = Message("system", (Part("text", "Hear."),))
    found = conversation(FAMILIES["phi4_multimodal"], asked(1.0, system, QUESTION))
    assert found == [{"role": "system", "content": "Hear."}, {"role": "user", "content": "<|audio|>What is it?"}]
