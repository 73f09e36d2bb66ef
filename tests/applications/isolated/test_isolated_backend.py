"""A backend in an environment of its own: texts and numbers come back, and what each fault of the worker costs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codecs.isolated import LOCK
from support.pipeline.workers import alive
from support.timing import PATIENCE_S

from codec_superb.applications.errors import ApplicationError, MissingPackage, ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Item, Model, Prediction, Sound
from codec_superb.applications.isolated.backend import IsolatedBackend
from codec_superb.base_codec.card import Isolation
from codec_superb.base_codec.isolation.environment import find_environment
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.isolation.process import Timeouts, WorkerProcess
from codec_superb.pipeline.probing.clip import _ask

GUEST = Path(__file__).with_name("guest_listener.py")


class Listener(IsolatedBackend):
    """The backend of ``guest_listener.py``."""

    isolation = Isolation(lock=str(LOCK), guest=str(GUEST), timeout_s=PATIENCE_S)

    def find(self, python: Path) -> Model:
        """Take the variant as the weights, and the interpreter as the identity."""
        return Model("listener:tiny", "0" * 64, path=Path("/models") / (self.variant or "fine"))

    def describe(self, model: Model, threads: int) -> dict[str, Any]:
        """Tell weights and threads."""
        return {"weights": str(model.path), "threads": threads}


class Elsewhere(Listener):
    """The same with packages that no index has."""

    isolation = Isolation(lock="/nowhere/lock.txt", guest=str(GUEST))


def sounds(*faults: int, samples: int = 1600) -> list[Sound]:
    """Return sounds whose lengths ask the guest for faults."""
    lengths = [samples + fault for fault in faults]
    return [Sound(Item(f"c{size}", "speech"), np.full(size, 0.5, np.float32)) for size in lengths]


@pytest.fixture
def listener(tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    """Prepare and load the backend."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tiny_home))
    backend = Listener()
    backend.load(backend.prepare(), "cpu", 3)
    yield backend
    backend.close()


def worker_of(backend: IsolatedBackend) -> WorkerProcess:
    """Return the worker."""
    assert backend._host is not None
    assert backend._host.worker is not None
    return backend._host.worker


def pid_of(backend: IsolatedBackend) -> int:
    """Return the worker's process id."""
    return worker_of(backend).pid


def only(answers: Sequence[Prediction | Exception]) -> Prediction | Exception:
    """Return the one answer."""
    (answer,) = answers
    return answer


def test_texts_and_numbers_come_back_in_order(listener: Listener) -> None:
    """A text stays a text, numbers become float32, whatever the batch; the guest was told its threads."""
    text, numbers = listener.predict(sounds(0, 6))
    assert text == "1600 samples, float32, loudest 0.50, 3"
    assert isinstance(numbers, np.ndarray)
    assert (numbers.dtype, numbers.tolist()) == (np.float32, [0.25, 0.75])
    assert only(listener.predict(sounds(0))) == text


def test_a_text_that_is_no_text_is_mended(listener: Listener) -> None:
    """Half a character that no encoding has does not break the wire."""
    assert only(listener.predict(sounds(12))) == "你好 ?"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            1,
            r"the model's worker: killed by SIGKILL \(out of memory\?\); end of its log: Traceback: about to be killed",
        ),
        (2, "ended with exit code 9"),
        (3, "no answer within 1 s"),
        (5, "ran out of memory; end of its log: (.|\n)*MemoryError"),
    ],
)
def test_a_dead_worker_costs_one_clip(listener: Listener, fault: int, message: str) -> None:
    """A crash, a hang, a full memory stand in place of the answer with the last words; the next clip works."""
    dead = pid_of(listener)
    before = only(listener.predict(sounds(0)))
    if "no answer" in message:
        worker_of(listener).patience = Timeouts(call=1.0)  # of this worker alone: the next one is given its time
    failed, after = listener.predict(sounds(fault, 0))
    assert isinstance(failed, PredictionFailed)
    assert re.search(message, str(failed))
    assert before == after == "1600 samples, float32, loudest 0.50, 3"
    assert not alive(dead)
    assert pid_of(listener) != dead


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (4, "ValueError: this clip is not to my taste"),
        (7, r"expected a text or numbers in one row, got float64 of shape \(1, 1\)"),
        (8, "expected finite numbers"),
        (9, "expected an array or bytes from the guest, got NoneType"),
        (10, "expected an array from the guest, got bytes"),
        (11, r"numbers in one row, got float64 of shape \(0,\)"),
    ],
)
def test_an_exception_or_a_wrong_answer_keeps_the_worker(listener: Listener, fault: int, message: str) -> None:
    """What the package raises, and what is no prediction, fail the clip and not the worker."""
    before = pid_of(listener)
    failed = only(listener.predict(sounds(fault)))
    assert isinstance(failed, PredictionFailed)
    assert re.search(message, str(failed))
    assert pid_of(listener) == before


@pytest.mark.sample(1, among="isolated backends end")
def test_three_in_a_row_end_the_run(listener: Listener) -> None:
    """A good clip in between starts the count anew; after three dead workers the next clip ends the run."""
    assert sum(isinstance(answer, PredictionFailed) for answer in listener.predict(sounds(2, 2, 0, 2, 2, 2))) == 5
    last = only(listener.predict(sounds(0)))
    assert isinstance(last, ModelUnusable)
    assert str(last).startswith("listener:tiny: its worker died 3 times in a row")


def test_what_was_answered_before_the_third_death_is_kept(listener: Listener) -> None:
    """The stage gets every answer and reason of a batch, and then ends."""
    answers = _ask(listener, sounds(0, 2, 2, 2, 0, 0))
    assert next(answers) == "1600 samples, float32, loudest 0.50, 3"
    assert all(isinstance(next(answers), PredictionFailed) for _ in range(3))
    with pytest.raises(ModelUnusable, match="died 3 times in a row"):
        next(answers)


def test_an_empty_sound_is_not_asked_about(listener: Listener) -> None:
    """A clip without samples fails by itself."""
    failed = only(listener.predict([Sound(Item("empty", "speech"), np.zeros(0, np.float32))]))
    assert isinstance(failed, PredictionFailed)
    assert "got no samples" in str(failed)


def test_closing_ends_the_worker_and_asking_then_says_so(listener: Listener) -> None:
    """No process is left; a question without a loaded model is an error of the caller."""
    pid = pid_of(listener)
    listener.close()
    assert not alive(pid)
    with pytest.raises(ApplicationError, match=r"load\(\) was not called"):
        listener.predict(sounds(0))


def test_loading_twice_leaves_one_worker(listener: Listener) -> None:
    """A second load replaces the first worker."""
    pid = pid_of(listener)
    listener.load(listener.prepare(), "cpu", 1)
    assert not alive(pid)
    assert only(listener.predict(sounds(0))) == "1600 samples, float32, loudest 0.50, 1"


def test_what_cannot_be_loaded_says_why(tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device without packages and a model that does not open are errors before the first clip."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tiny_home))
    backend = Listener("broken")
    model = backend.prepare()
    with pytest.raises(ApplicationError, match="run on the cpu, got device 'cuda'"):
        backend.load(model, "cuda", 1)
    with pytest.raises(ApplicationError, match=r"listener:tiny cannot be opened: FileNotFoundError: no file"):
        backend.load(model, "cpu", 1)
    backend.close()


@pytest.mark.sample(1, among="isolated backends end")
def test_an_environment_that_cannot_be_built_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an index the installer's reason comes through, and the command to call again; it is announced first."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CODEC_SUPERB_INSTALLER", "pip")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    lock = tmp_path / "models.txt"
    lock.write_text(LOCK.read_text() + "no-such-package==1.0 --hash=sha256:" + 64 * "0" + "\n")
    monkeypatch.setattr(Elsewhere, "isolation", Isolation(lock=str(lock), guest=str(GUEST)))
    with pytest.raises(MissingPackage, match="`codec-superb codecs env build models` again"):
        Elsewhere().prepare()
    assert find_environment(open_lock(str(lock))).state == "not built"
