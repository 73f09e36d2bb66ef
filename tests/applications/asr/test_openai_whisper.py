"""The original Whisper hears what the CTranslate2 backend hears from the same weights, and says what it needs."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch
import whisper
from support.applications.asr import item, librivox, loaded
from support.applications.ct2 import openai_checkpoint
from support.profile import amount

from codec_superb.applications.asr import openai_checkpoints
from codec_superb.applications.asr.faster_whisper import FasterWhisper
from codec_superb.applications.asr.openai_whisper import OpenAIWhisper
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed, UnknownApplication
from codec_superb.applications.interface import Sound
from codec_superb.applications.model_files import embedded_model_folder

network = pytest.mark.network


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the weights of the embedded tiny.en as a checkpoint of openai-whisper."""
    file = tmp_path_factory.mktemp("openai") / "tiny.en.pt"
    torch.save(openai_checkpoint(embedded_model_folder("whisper-tiny.en")), file)
    return file


@pytest.fixture(scope="session")
def original(checkpoint: Path) -> OpenAIWhisper:
    """Load that checkpoint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # openai-whisper leaves the file of its tokens open
        whisper.tokenizer.get_tokenizer(multilingual=False)
    backend = open_backend("openai-whisper:tiny.en", checkpoint.parent)
    assert isinstance(backend, OpenAIWhisper)
    loaded(backend)
    return backend


@network
class TestTranscripts:
    """What it hears with the weights of tiny.en."""

    @pytest.mark.sample(1, among="recognisers hear")
    def test_both_whisper_backends_agree(self, original: OpenAIWhisper, tiny: FasterWhisper) -> None:
        """From the same weights both give the same transcript of each recording, letter by letter."""
        sounds = librivox()[-amount(1, 5) :]
        transcripts = original.predict(sounds)
        assert transcripts == tiny.predict(sounds)
        assert transcripts[-1] == "He might even have been made amiable himself."

    @pytest.mark.sample(1, among="recognisers hear")
    def test_both_divide_long_sounds_alike(self, original: OpenAIWhisper, tiny: FasterWhisper) -> None:
        """On 33 s in a row, with the words joined, they agree too."""
        long = np.concatenate([sound.samples for sound in (*librivox(), *librivox()[:2])])
        assert long.size > 30 * 16_000
        sound = [Sound(item("long"), long)]
        assert original.predict(sound) == tiny.predict(sound)

    def test_another_language_costs_its_clip(self, original: OpenAIWhisper) -> None:
        """A model of English alone answers for no French clip."""
        (answer,) = original.predict([Sound(item("f", language="fr"), librivox()[4].samples)])
        assert isinstance(answer, PredictionFailed)
        assert "openai-whisper:local:tiny.en knows English alone" in str(answer)


@network
class TestPrepare:
    """Which checkpoint runs."""

    def test_a_file_is_named_without_its_path(self, checkpoint: Path) -> None:
        """A path behind the colon, a file and a folder of `--weights` are the same model."""
        models = [
            OpenAIWhisper(str(checkpoint)).prepare(),
            OpenAIWhisper("", checkpoint).prepare(),
            OpenAIWhisper("tiny.en", checkpoint.parent).prepare(),
        ]
        assert {model.name for model in models} == {"openai-whisper:local:tiny.en"}
        assert {model.sha256 for model in models} == {hashlib.sha256(checkpoint.read_bytes()).hexdigest()}

    def test_both_backends_state_the_same_decoding(self, checkpoint: Path) -> None:
        """Settings of both Whisper backends are equal."""
        assert OpenAIWhisper("", checkpoint).prepare().settings == FasterWhisper().prepare().settings


class TestMissing:
    """What a user without the checkpoint is told."""

    def test_an_unknown_size_names_near_ones(self) -> None:
        """A misspelt size is answered with near matches."""
        with pytest.raises(UnknownApplication, match=r"Did you mean large-v3\b"):
            OpenAIWhisper("large-v33").prepare()

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        """A folder without the checkpoint is answered with the command and the place."""
        with pytest.raises(MissingModel) as caught:
            OpenAIWhisper("large-v3", tmp_path).prepare()
        assert "curl -L -o large-v3.pt https://openaipublic.azureedge.net/" in str(caught.value)
        assert str(tmp_path / "large-v3.pt") in str(caught.value)

    def test_offline_nothing_is_asked(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """With the variable of the hub set no network is asked."""
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        with pytest.raises(MissingModel, match=r"large-v3\.pt is not on this machine.*\n.*curl"):
            OpenAIWhisper().prepare()

    def test_a_broken_checkpoint(self, tmp_path: Path) -> None:
        """A file that is no checkpoint is an error for people."""
        file = tmp_path / "broken.pt"
        file.write_bytes(b"no checkpoint")
        backend = OpenAIWhisper(str(file))
        with pytest.raises(ApplicationError, match="expected a checkpoint of openai-whisper"):
            backend.load(backend.prepare(), "cpu", 1)


class TestFetching:
    """A checkpoint from an address with its SHA-256 in it, served on this machine."""

    CONTENT = b"weights" * 1000

    @pytest.fixture
    def address(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
        """Serve a file and publish it as the size `small`."""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(TestFetching.CONTENT)))
                self.end_headers()
                self.wfile.write(TestFetching.CONTENT)

            def log_message(self, *_: object) -> None:
                """Keep the output of the tests clean."""

        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            yield f"http://127.0.0.1:{server.server_address[1]}"
            server.shutdown()
            thread.join()

    def test_it_is_fetched_once(self, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file with the right SHA-256 is kept, and found again when nothing answers any more."""
        digest = hashlib.sha256(self.CONTENT).hexdigest()
        monkeypatch.setattr(openai_checkpoints, "addresses", lambda: {"small": f"{address}/{digest}/small.pt"})
        file = openai_checkpoints.find_checkpoint("small", None).file
        assert file.read_bytes() == self.CONTENT
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        assert openai_checkpoints.find_checkpoint("small", None) == (file, "small")

    def test_another_file_is_refused(self, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A file with another SHA-256 is not kept."""
        monkeypatch.setattr(openai_checkpoints, "addresses", lambda: {"small": f"{address}/{'0' * 64}/small.pt"})
        with pytest.raises(MissingModel, match=r"expected small\.pt with SHA-256 0000"):
            openai_checkpoints.find_checkpoint("small", None)
        assert not list(tmp_path.rglob("small.p*"))

    def test_no_answer_says_what_to_do(self, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """An address that does not answer is answered with the command."""
        monkeypatch.setattr(openai_checkpoints, "addresses", lambda: {"small": "http://127.0.0.1:9/0/small.pt"})
        with pytest.raises(MissingModel, match=r"could not be had: ConnectionError\n.*curl"):
            openai_checkpoints.find_checkpoint("small", None)
