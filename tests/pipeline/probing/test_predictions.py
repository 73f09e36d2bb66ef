"""Predictions in journals, references shared by processes, and batches."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pydantic import TypeAdapter, ValidationError
from support.timing import wait_for

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Item, Model
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.clip import SoundPlace
from codec_superb.pipeline.probing.predictions import (
    Answer,
    Failure,
    PredictionSet,
    answer_of,
    check_dimensions,
    checked,
    model_digest,
    needs_prediction,
    split_failures,
    to_line,
)
from codec_superb.pipeline.probing.reference_predictions import file_of, open_references
from codec_superb.pipeline.tables.rows import PredictionLine
from codec_superb.pipeline.workers.batches import BatchQueue, Length, batches, halves
from codec_superb.pipeline.workers.progress import SilentProgress

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def kept(answer: Answer) -> Answer:
    """Return what a later command reads of an answer in a journal."""
    written = TypeAdapter(PredictionLine).dump_python(to_line("a", "speech", answer))
    return answer_of(PredictionLine.model_validate_json(json.dumps(written)))


class TestLines:
    """A prediction goes through JSON unharmed."""

    @given(st.text())
    def test_text_comes_back(self, text: str) -> None:
        """Whatever a recogniser writes, nothing at all included."""
        assert kept(text) == text

    @given(arrays.arrays(np.float32, st.integers(1, 40), elements=FINITE))
    def test_vectors_come_back_to_the_last_bit(self, vector: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
        """Embeddings and scores, float32."""
        back = kept(vector)
        assert isinstance(back, np.ndarray)
        assert back.dtype == np.float32
        assert back.tobytes() == vector.tobytes()

    @pytest.mark.parametrize(
        "wrong",
        [
            None, 1.5, ["a"], np.zeros(3), np.zeros((1, 1, 3), np.float32), np.zeros(0, np.float32),
            np.array([1, np.inf], np.float32), "half \ud83d a pair",
        ],
    )  # fmt: skip
    def test_anything_else_is_a_failure(self, wrong: object) -> None:
        """A model that breaks its contract costs the clip; it is not written down as an answer."""
        with pytest.raises(PredictionFailed, match=r"expected .* from the model, got"):
            checked(wrong)

    def test_failures_are_told_apart(self) -> None:
        """A reason stays a reason; only a final one closes the question."""
        answers = {"a": kept("yes"), "b": kept(Failure("crashed")), "c": kept(Failure("no speech", final=True))}
        assert split_failures(answers) == PredictionSet({"a": "yes"}, {"b": "crashed", "c": "no speech"})
        assert [needs_prediction(answer) for answer in (None, *answers.values())] == [True, False, True, False]

    @pytest.mark.parametrize(
        ("line", "written"),
        [
            (to_line("a", "speech", "yes"), {"clip": "a", "category": "speech", "text": "yes"}),
            (to_line("a", "speech", ""), {"clip": "a", "category": "speech", "text": ""}),
            (to_line("a", "music", Failure("x")), {"clip": "a", "category": "music", "failed": "x"}),
            (
                to_line("a", "music", Failure("x", final=True), sha256="s", model="m"),
                {"clip": "a", "sha256": "s", "category": "music", "model": "m", "failed": "x", "final": True},
            ),
            (
                to_line("a", "audio", np.array([1.0], np.float32), sha256="s", model="m"),
                {"clip": "a", "sha256": "s", "category": "audio", "model": "m", "vector": "AACAPw=="},
            ),
        ],
    )
    def test_form_of_a_line(self, line: PredictionLine, written: dict[str, object]) -> None:
        """Fields in this order, none at its default: journals of earlier versions are read, and look the same."""
        assert list(line.model_dump().items()) == list(written.items())

    @pytest.mark.parametrize("answers", [{}, {"text": "a", "failed": "b"}])
    def test_a_line_has_one_answer(self, answers: dict[str, str]) -> None:
        """Neither none nor two."""
        with pytest.raises(ValidationError, match="expected one of text, vector and failed"):
            PredictionLine(clip="a", category="speech", **answers)


def test_identity_of_a_model_is_name_files_and_settings() -> None:
    """A path or the order of settings makes no other model; a setting does."""
    model = Model("m", "0" * 64, {"beam": 1, "length": 30.0}, Path("/here"))
    assert model_digest(model) == model_digest(Model("m", "0" * 64, {"length": 30.0, "beam": 1}, Path("/there")))
    others = [Model("n", "0" * 64, {"beam": 1}), Model("n", "0" * 64, {"beam": 5}), Model("n", "1" * 64, {"beam": 1})]
    assert len({model_digest(other) for other in (model, *others)}) == 4


class TestReferences:
    """One process at a time works on the predictions of a dataset and a model."""

    ITEM = Item("a", "speech")

    def test_a_second_process_waits_and_finds_everything(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It says that it waits, then has nothing to ask."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        told: list[str] = []
        missing: list[bool] = []

        class Listening(SilentProgress):
            def message(self, text: str) -> None:
                """Keep what is said."""
                told.append(text)

        def second() -> None:
            with open_references("d" * 64, "e" * 64, Listening()) as known:
                missing.append(known.missing(self.ITEM))

        with open_references("d" * 64, "e" * 64, SilentProgress()) as known:
            waiting = threading.Thread(target=second)
            waiting.start()
            wait_for(lambda: told, "the second process does not say that it waits")
            assert told == ["another process predicts on the same references with the same model: waiting for it"]
            assert known.missing(self.ITEM)
            known.record(self.ITEM, "a")
        waiting.join()
        assert missing == [False]
        assert file_of("d" * 64, "e" * 64).is_file()

    def test_a_clip_of_another_category_is_asked_about_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A model may listen to music in another way, and the dataset's hash does not tell categories."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        with open_references("d" * 64, "e" * 64, SilentProgress()) as known:
            known.record(self.ITEM, "a")
            assert known.missing(Item("a", "music"))


class TestBatches:
    """Clips of like length go together."""

    @given(st.lists(st.floats(0.1, 30), max_size=40), st.floats(1, 60))
    def test_every_sound_is_in_one_batch_within_the_limit(self, seconds: list[float], limit: float) -> None:
        """Padded to its longest, no batch exceeds the limit, unless a single sound does."""
        sounds = [Length(length, SoundPlace(f"c{number}")) for number, length in enumerate(seconds)]
        made = list(batches(sounds, limit))
        assert sorted(place for batch in made for place in batch) == sorted(sound.place for sound in sounds)
        lengths = {sound.place: sound.seconds for sound in sounds}
        for batch in made:
            assert len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= limit

    def test_an_empty_queue_takes_what_comes_back(self) -> None:
        """What a dead worker left is handed out after the last batch was."""
        queue = BatchQueue(["ab"])
        assert list(queue) == ["ab"]
        queue.put_back(["a", "b"])
        assert list(queue) == ["a", "b"]

    def test_a_batch_is_halved_down_to_one(self) -> None:
        """The first half is the larger one, and there is never an empty one."""
        assert halves((1, 2, 3)) == ((1, 2), (3,))
        assert halves((1,)) == ((1,),)


class TestDimensions:
    """Vectors of one model lie in one space."""

    def test_one_size_passes_whatever_the_number_of_frames(self) -> None:
        """Frames differ in number, and texts have no size."""
        frames = PredictionSet({"a": np.ones((3, 4), np.float32), "b": np.ones((7, 4), np.float32)}, {"c": "silent"})
        check_dimensions("model", [frames, frames])
        check_dimensions("model", [PredictionSet({"a": "one", "b": "one two"}, {})])

    @pytest.mark.parametrize("other", [np.ones(5, np.float32), np.ones((4, 4), np.float32)])
    def test_another_size_ends_the_run(self, other: np.ndarray) -> None:
        """On either side, of a vector or of frames where vectors were: the error names the model and two clips."""
        usual = PredictionSet({"a": np.ones(4, np.float32), "b": np.ones(4, np.float32)}, {})
        with pytest.raises(
            PipelineError, match=r"^model: expected .* got 4 numbers for a and \d numbers for b; .*--overwrite"
        ):
            check_dimensions("model", [usual, PredictionSet({"b": other}, {})])
