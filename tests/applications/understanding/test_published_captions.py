"""FENSE and DATE as published, on checkpoints of random weights in the layout of their publishers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.captions import VOCABULARY, WORDS, CaptionModels, write_caption_models

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.task_definitions.definition import Use
from codec_superb.applications.understanding.cases import Case
from codec_superb.applications.understanding.measures.date_score import DELTAS, harmonic
from codec_superb.applications.understanding.measures.semantic import DETECTOR, published_models
from codec_superb.applications.understanding.measures.table import made


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> CaptionModels:
    """Write the models below a home."""
    return write_caption_models(tmp_path_factory.mktemp("home"))


@pytest.fixture
def published(networks: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make that home the program's."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(networks[0]))
    return networks


def _ids(text: str, most: int) -> torch.Tensor:
    own = [VOCABULARY.get(word, 1) for word in text.split()][: most - 2]
    return torch.tensor([[2, *own, 3]])


def _vector(encoder: Any, text: str) -> np.ndarray:
    with torch.no_grad():
        mean = encoder(_ids(text, 8)).last_hidden_state[0].mean(dim=0).double().numpy()
    return mean / np.linalg.norm(mean)


def _error(detector: Any, head: torch.nn.Linear, text: str) -> float:
    with torch.no_grad():
        return float(head(detector(_ids(text, 64)).last_hidden_state[:, 0])[0, -1].sigmoid())


CAPTIONS = ["a dog barks loudly", "rain falls on the roof", "a man speaks and then", "the cat meows"]


def test_fense_is_the_cosine_times_a_tenth_where_an_error_is_sure(published: Any) -> None:
    """As torch computes both; the largest of the detector's answers is made sure, and the others unsure."""
    home, encoder, detector, head = published
    errors = [_error(detector, head, text) for text in CAPTIONS]
    worst = int(np.argmax(errors))
    # a bias between the two largest logits parts them: the margin is far above float32's rounding
    logits = np.sort(np.log(errors) - np.log1p(-np.array(errors)))
    file = home / "models" / DETECTOR
    state = torch.load(file, weights_only=True)
    state["state_dict"]["clf.bias"][-1] += float(np.log(9) - (logits[-1] + logits[-2]) / 2)
    torch.save(state, file)
    cases = [Case(str(at), "en", (CAPTIONS[at], CAPTIONS[at - 1])) for at in range(4)]
    measure = made(Use(name="fense"), cases)
    for at, case in enumerate(cases):
        answer = CAPTIONS[at]
        likeness = np.mean([_vector(encoder, answer) @ _vector(encoder, truth) for truth in case.truth])
        wanted = 100 * max(0.0, likeness * (0.1 if at == worst else 1.0))
        assert measure(answer, case) == pytest.approx(wanted, abs=1e-3)
        # case and ASCII punctuation change nothing, and what stands behind the longest text is cut off
        assert measure(f"{answer.upper()}!", case) == pytest.approx(wanted, abs=1e-3)
    assert measure(" ", cases[0]) is None
    assert set(published_models()) == {"encoder_sha256", "detector_sha256", "detector_base_sha256"}
    long = " ".join(WORDS)
    case = Case("long", "en", (" ".join(WORDS[:6]),))
    assert measure(long, case) / (0.1 if _sure(state, detector, long) else 1) == pytest.approx(100, abs=1e-3)

    answers = dict(zip("0123", CAPTIONS, strict=True))
    of_run = made(Use(name="date", arguments={"domain": "music"}), cases, answers)
    scores = [of_run(answers[case.clip], case) for case in cases]
    state["state_dict"]["clf.bias"][-1] = -50.0
    torch.save(state, file)
    without = made(Use(name="date", arguments={"domain": "music"}), cases, answers)
    for at, case in enumerate(cases):
        value = without(answers[case.clip], case)
        assert 0 < value <= 100
        assert (value > 3 * scores[at]) if at == worst else value == pytest.approx(scores[at], abs=1e-3)


def _sure(state: Any, detector: Any, text: str) -> bool:
    head = torch.nn.Linear(16, 5)
    head.load_state_dict({name: state["state_dict"][f"clf.{name}"] for name in ("weight", "bias")})
    return _error(detector, head, text) > 0.9


def test_date_has_the_published_example() -> None:
    """Three clips, the band of long captions: .6027."""
    similarity = np.array([[0.9, 0.2, 0.1], [0.85, 0.8, 0.1], [0.1, 0.1, 0.5]])
    assert harmonic(similarity, DELTAS["long"]).mean() == pytest.approx(0.6027, abs=5e-5)
    assert DELTAS == {
        "long": 0.1703, "short": 0.1772, "speech": 0.2078, "music": 0.1566, "sound": 0.1988, "environment": 0.2150,
    }  # fmt: skip


def test_a_file_that_is_missing_is_named(published: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the folder that it belongs into; another file in its place is refused by what it lacks."""
    place = tmp_path / "home" / "models"
    (place / "paraphrase-TinyBERT-L6-v2").mkdir(parents=True)
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    with pytest.raises(MissingModel, match=r"no file .*paraphrase-TinyBERT-L6-v2/config.json"):
        made(Use(name="fense"), [])
    for name in ("paraphrase-TinyBERT-L6-v2", "bert-base-uncased"):
        (place / name).mkdir(exist_ok=True)
        for file in (published[0] / "models" / name).iterdir():
            (place / name / file.name).write_bytes(file.read_bytes())
    torch.save({"state_dict": {"head.weight": torch.zeros(2)}}, place / DETECTOR)
    with pytest.raises(MissingModel, match=r"expected a detector of FENSE's release: it has no 'clf.weight'"):
        made(Use(name="fense"), [])
