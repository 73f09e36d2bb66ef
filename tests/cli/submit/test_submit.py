"""``codec-superb submit`` against a real server: what it sends, says, retries and leaves alone."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import requests
from support.pipeline.stats import draw_rows, ok
from support.server.ingest import CLIPS, drawn, make_file

from codec_superb.cli.main import call
from codec_superb.cli.uploading import ServerUnreachable, UploadResult, _retry_after, send
from codec_superb.cli.verification.board_keys import board_key
from codec_superb.pipeline.errors import PipelineError

OTHER = "secret-of-bob-for-submit"


def packed(folder: Path, codec: str, seed: int = 1) -> Path:
    """Write a submission file."""
    path = folder / f"{codec}.zip"
    path.write_bytes(drawn(codec, seed=seed))
    return path


class TestSending:
    """A file that is right."""

    def test_it_arrives_and_the_receipt_is_told(
        self, leaderboard: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:  # fmt: skip
        """With the token of the environment; the second time it is known."""
        server, token = leaderboard
        monkeypatch.setenv("CODEC_SUPERB_TOKEN", token)
        file = packed(tmp_path, "sent_16k")
        assert call(["submit", str(file), "--server", server]) == 0
        assert "sent_16k version 1, self-reported: http" in capsys.readouterr().out
        assert call(["submit", str(file), "--server", f"{server}/", "--json"]) == 0
        (told,) = json.loads(capsys.readouterr().out)
        assert (told["accepted"], told["new"], told["version"]) == (True, False, 1)

    def test_it_is_said_what_holds_it(
        self, leaderboard: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:  # fmt: skip
        """A file with the best values everywhere waits, and its address is nothing to pass on yet."""
        server, token = leaderboard
        monkeypatch.setenv("CODEC_SUPERB_TOKEN", token)
        best = {"stft": ok(0.0), "mel": ok(0.0), "pesq": ok(4.6438885), "stoi": ok(1.0)}
        rows = [row.model_copy(update={"metrics": {**row.metrics, **best}}) for row in draw_rows(1, CLIPS)]
        file = tmp_path / "perfect.zip"
        file.write_bytes(make_file(rows, tmp_path / "run", codec="best_16k"))
        assert call(["submit", str(file), "--server", server]) == 0
        first, *others = capsys.readouterr().out.splitlines()
        assert "best_16k version 1, held, waits for a moderator; its page is public once it is accepted: http" in first
        assert any(line.startswith("  held: ") and "at the best value on every clip" in line for line in others)
        assert not any(line.startswith("  held: ") and "outlier" in line for line in others)

    def test_it_is_taken_back(
        self, leaderboard: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:  # fmt: skip
        """With a reason, by its own account alone; the same file again is refused, and says why."""
        server, token = leaderboard
        file = packed(tmp_path, "back_16k")
        monkeypatch.setenv("CODEC_SUPERB_TOKEN", token)
        assert call(["submit", str(file), "--server", server, "--json"]) == 0
        (sent,) = json.loads(capsys.readouterr().out)
        undo = ["submit", "--withdraw", sent["id"], "--reason", "a wrong bit count", "--server", server]
        monkeypatch.setenv("CODEC_SUPERB_TOKEN", OTHER)
        assert call(undo) == 3
        assert "bob has sent no submission" in capsys.readouterr().out
        monkeypatch.setenv("CODEC_SUPERB_TOKEN", token)
        assert call(undo) == 0
        assert capsys.readouterr().out.startswith(f"{sent['id']}: back_16k version 1, withdrawn\n")
        assert call(["submit", str(file), "--server", server]) == 3
        assert "sent before and withdrawn: a wrong bit count" in capsys.readouterr().out
        assert call([*undo, str(file)]) == 2

    def test_the_token_may_come_from_a_file(self, leaderboard: tuple[str, str], tmp_path: Path) -> None:
        """It is read, never shown in a list of processes."""
        server, token = leaderboard
        secret = tmp_path / "token"
        secret.write_text(f"{token}\n")
        file = packed(tmp_path, "filed_16k")
        assert call(["submit", str(file), "--server", server, "--token-file", str(secret)]) == 0

    def test_a_password_file_is_not_looked_into(
        self, leaderboard: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """~/.netrc would replace the token."""
        server, token = leaderboard
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login a password b\n")
        monkeypatch.setenv("NETRC", str(netrc))
        assert send(packed(tmp_path, "netrc_16k"), server, token).accepted


class TestRefusal:
    """What is wrong is said, and the exit code tells it."""

    def test_a_file_with_a_problem_here_is_not_sent(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:  # fmt: skip
        """No server is needed to find it."""
        file = tmp_path / "a.zip"
        file.write_bytes(b"no zip at all, but long enough")
        assert call(["submit", str(file), "--server", "http://127.0.0.1:9"]) == 3
        assert "not sent: 1 problem found here" in capsys.readouterr().out

    def test_a_name_that_is_taken(
        self, leaderboard: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """Exit 3 with the server's list; the file behind it is sent all the same."""
        server, token = leaderboard
        send(packed(tmp_path, "taken_16k"), server, token)
        monkeypatch.setenv("CODEC_SUPERB_TOKEN", OTHER)
        taken, good = packed(tmp_path, "taken_16k", seed=2), packed(tmp_path, "behind_16k")
        assert call(["submit", str(taken), str(good), "--server", server]) == 3
        out = capsys.readouterr().out
        assert "submission.json: codec.name: expected a name that no other account" in out
        assert "behind_16k version 1" in out

    @pytest.mark.parametrize("token", ["", "wrong-token"])
    def test_a_token_that_is_not_valid_stops(
        self, leaderboard: tuple[str, str], tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:  # fmt: skip
        """Exit 2: the other files would fare no better."""
        monkeypatch.setenv("CODEC_SUPERB_TOKEN", token)
        file = packed(tmp_path, "stopped_16k")
        assert call(["submit", str(file), str(file), "--server", leaderboard[0]]) == 2
        assert capsys.readouterr().out.count("expected") == 1

    def test_an_empty_token_file(self, tmp_path: Path) -> None:
        """Exit 2 before anything is read or sent."""
        (tmp_path / "token").write_text("\n")
        file, token = packed(tmp_path, "never_16k"), str(tmp_path / "token")
        assert call(["submit", str(file), "--server", "http://127.0.0.1:9", "--token-file", token]) == 2


class _Moody(BaseHTTPRequestHandler):
    """Answers from a list, one entry a request; None closes the connection instead."""

    answers: ClassVar[list[tuple[int, dict[str, str], Any] | None]] = []
    seen: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        """Take the file, then do what is next."""
        self.seen.append(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.answers.pop(0)
        if answer is None:
            self.connection.close()
            return
        status, headers, body = answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if isinstance(body, bytes):
            self._drip(body)
            return
        self.wfile.write(json.dumps(body).encode() if body is not None else b"<html>")

    def do_GET(self) -> None:
        """Nest deeper than Python's reader goes."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"[" * 100_000)

    def _drip(self, body: bytes) -> None:
        """Send a byte every tenth of a second, for as long as somebody listens."""
        with suppress(ConnectionError):
            for letter in body:
                self.wfile.write(bytes([letter]))
                time.sleep(0.1)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- name of the base class
        """Say nothing."""


@pytest.fixture
def moody() -> Iterator[str]:
    """Run a server that answers what the test says."""
    server = HTTPServer(("127.0.0.1", 0), _Moody)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    _Moody.answers.clear()
    _Moody.seen.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


RECEIPT: dict[str, Any] = {"codec": "x", "version": 1, "status": "self-reported", "url": ""}
"""What every leaderboard says of a file that it takes."""


class TestRetries:
    """What may pass is tried again."""

    def test_no_server_writes_to_the_terminal(self, moody: str, tmp_path: Path) -> None:
        """Control characters, lone surrogates and turned text of an answer are marks; no server is waited for days."""
        evil = {"detail": "\x1b]0;t\x07 \ud800\u202e", "problems": [{"path": "\x1b[2J", "got": ["\x9b2J"]}]}
        _Moody.answers[:] = [(422, {}, evil)]
        found = send(packed(tmp_path, "evil_16k"), moody, None).answer
        assert found == {"detail": "�]0;t� ��", "problems": [{"path": "�[2J", "got": ["�2J"]}]}
        answer = requests.Response()
        answer.headers["Retry-After"] = "9" * 400
        assert _retry_after(answer) == 3600

    def test_no_server_ends_in_a_traceback(self, moody: str) -> None:
        """What a server calls its keys is read as strictly as its answers to files."""
        with pytest.raises(PipelineError, match="expected the keys of a leaderboard"):
            board_key(moody, "0" * 64)

    def test_until_it_is_there(self, moody: str, tmp_path: Path) -> None:
        """A lost connection, a busy server, a used-up limit: the whole file is sent each time, from its beginning."""
        file = packed(tmp_path, "again_16k")
        _Moody.answers[:] = [None, (503, {}, {}), (429, {"Retry-After": "0"}, {}), (201, {}, RECEIPT)]
        said: list[str] = []
        sent = send(file, moody, None, first_pause=0.01, say=said.append)
        assert (sent.status, sent.answer) == (201, RECEIPT)
        assert _Moody.seen == [file.read_bytes()] * 4
        assert len(said) == 3
        assert "attempt 2 of 8" in said[0]
        assert "429" in said[2]

    def test_an_answer_that_breaks_off(self, moody: str, tmp_path: Path) -> None:
        """The server died between the head of its answer and the body: nobody knows what it kept, so ask again."""
        _Moody.answers[:] = [(201, {"Content-Length": "217"}, {}), (200, {}, RECEIPT)]
        assert send(packed(tmp_path, "half_16k"), moody, None, first_pause=0.01) == UploadResult(200, RECEIPT)

    def test_an_answer_that_drips(self, moody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A byte now and then ends with the time of an answer, however long its sender goes on."""
        monkeypatch.setattr("codec_superb.cli.uploading._ANSWER_SECONDS", 0.3)
        _Moody.answers[:] = [(201, {}, b"x" * 100), (200, {}, RECEIPT)]
        began = time.monotonic()
        assert send(packed(tmp_path, "drip_16k"), moody, None, first_pause=0.01).status == 200
        assert time.monotonic() - began < 5

    def test_not_for_ever(self, moody: str, tmp_path: Path) -> None:
        """After the last attempt it says why."""
        _Moody.answers[:] = [(500, {}, {"detail": "broken"})] * 2
        with pytest.raises(ServerUnreachable, match="in 2 attempts: the server answered 500"):
            send(packed(tmp_path, "never_16k"), moody, None, attempts=2, first_pause=0.01)

    def test_a_refusal_is_an_answer(self, moody: str, tmp_path: Path) -> None:
        """Sending again would change nothing."""
        _Moody.answers[:] = [(422, {}, {"detail": "wrong", "problems": []})]
        assert send(packed(tmp_path, "no_16k"), moody, None, first_pause=0.01).status == 422

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            ((302, {"Location": "https://elsewhere.example/"}, {}), "elsewhere.example"),
            ((200, {}, None), "expected a leaderboard"),
            ((200, {}, [1]), "expected a leaderboard"),
            ((201, {}, {"codec": "x", "notes": 7}), "expected a leaderboard"),
            ((422, {}, {"detail": "no", "problems": {"a": 1}}), "expected a leaderboard"),
            ((422, {}, {"detail": 10**400}), "expected a leaderboard"),
            ((200, {}, RECEIPT | {"reason": "x" * 5_000_000}), "expected a leaderboard"),
        ],
    )
    def test_what_is_no_leaderboard(self, moody: str, tmp_path: Path, answer: Any, words: str) -> None:
        """A token follows no redirection, and any other page is called what it is."""
        _Moody.answers[:] = [answer]
        with pytest.raises(ServerUnreachable, match=words):
            send(packed(tmp_path, "lost_16k"), moody, "secret", first_pause=0.01)

    @pytest.mark.parametrize("server", ["nowhere", "ftp://x", "http://"])
    def test_what_is_no_address(self, tmp_path: Path, server: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Exit 2 with an example of one."""
        assert call(["submit", str(packed(tmp_path, "lost_16k")), "--server", server]) == 2
        assert "expected an address such as https://" in capsys.readouterr().out

    def test_a_name_without_an_address(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is said at once: waiting gives no host a name."""

        def unknown(*_: Any, **__: Any) -> None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        told: list[str] = []
        with pytest.raises(ServerUnreachable, match=r"https://lost\.example is not known .*correct the address"):
            send(packed(tmp_path, "lost_16k"), "https://lost.example", None, first_pause=0.01, say=told.append)
        assert told == []

    def test_a_wrong_port_is_given_up_soon(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A service that restarts is back within seconds: where nobody listens for longer, the address is wrong."""
        pauses: list[float] = []
        monkeypatch.setattr("time.sleep", pauses.append)
        with pytest.raises(ServerUnreachable, match=r"nobody listens at http://127\.0\.0\.1:9 .*check host and port"):
            send(packed(tmp_path, "lost_16k"), "http://127.0.0.1:9", None)
        assert 10 <= sum(pauses) <= 20

    @pytest.mark.parametrize("page", ["/submit", "/api/v1/submissions", "/?category=speech"])
    def test_the_address_of_a_page(self, tmp_path: Path, page: str) -> None:
        """The address to give is named, and nothing is sent."""
        said = r"expected the address of the leaderboard alone, http://127\.0\.0\.1:9, got"
        with pytest.raises(ServerUnreachable, match=said):
            send(packed(tmp_path, "lost_16k"), f"http://127.0.0.1:9{page}", None)

    def test_a_file_that_was_withdrawn(
        self, moody: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:  # fmt: skip
        """It is known and on no board: exit 3, with what to do."""
        _Moody.answers[:] = [(200, {}, RECEIPT | {"status": "withdrawn", "reason": "by mistake"})]
        assert call(["submit", str(packed(tmp_path, "gone_16k")), "--server", moody]) == 3
        assert (
            "sent before and withdrawn: by mistake; pack it again (--submitter), or ask a maintainer"
            in capsys.readouterr().out
        )
        _Moody.answers[:] = [(200, {}, RECEIPT | {"status": "known", "url": ""})]
        assert call(["submit", str(packed(tmp_path, "lent_16k")), "--server", moody]) == 3
        assert "somebody else sent it before, and it is not public: pack it again" in capsys.readouterr().out

    def test_nobody_there(self, tmp_path: Path) -> None:
        """The error names the server and the cause in a line."""
        with pytest.raises(ServerUnreachable, match=r"127\.0\.0\.1:9 .*refused") as caught:
            send(packed(tmp_path, "lost_16k"), "http://127.0.0.1:9", None, attempts=2, first_pause=0.01)
        assert os.linesep not in str(caught.value)
