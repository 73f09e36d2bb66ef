"""Datasets of the hub: its own client fetches the files of one commit, and what is asked once is kept to."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.datasets.archives import published

from codec_superb.cli.main import call
from codec_superb.data_manifests.catalogue import load_manifest, manifest_names
from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.indexers.svq.tasks import WAYS
from codec_superb.data_manifests.manifest import Manifest, is_wanted
from codec_superb.data_manifests.progress import ignore_progress
from codec_superb.data_manifests.published.plan import plan
from codec_superb.data_manifests.published.prepare import _fetch

pytest.importorskip("huggingface_hub")

_FIRST, _SECOND = "1" * 40, "2" * 40
_FILES = {"data/test-0.parquet": b"first" * 1000, "data/train-0.parquet": b"train", "README.md": b"read me"}


class _Hub:
    """The part of the hub's protocol that its client asks for: information, heads of files, files."""

    def __init__(self) -> None:
        self.commit, self.error = _FIRST, ""
        self.asked: list[str] = []


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[_Hub]:
    """Serve one repository on this machine."""
    its = _Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            its.asked.append(self.path)
            path = self.path.partition("?")[0]
            if path.startswith("/api/datasets/them/sound"):
                files = [{"rfilename": name, "size": len(content)} for name, content in _FILES.items()]
                self._send(json.dumps({"id": "them/sound", "sha": its.commit, "siblings": files}).encode(), {})
                return
            commit, _, name = path.removeprefix("/datasets/them/sound/resolve/").partition("/")
            headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha256(_FILES.get(name, b"")).hexdigest()}"'}
            self._send(_FILES.get(name, b""), headers, its.error)

        def do_HEAD(self) -> None:
            self.do_GET()

        def _send(self, body: bytes, headers: dict[str, str], error: str = "") -> None:
            self.send_response(401 if error else 200)
            for name, value in (headers | ({"X-Error-Code": error} if error else {})).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield its
        server.shutdown()


def _manifest(**fields: Any) -> Manifest:
    return published("speech_massive", hub={"repo": "them/sound", "files": ["data/test-*"], **fields})


def test_the_files_of_the_first_commit_are_fetched_and_kept_to(hub: _Hub, tmp_path: Path) -> None:
    """Only what the patterns name; the size is told before; a newer commit changes nothing here."""
    what = plan(_manifest(), tmp_path / "place")
    assert (what.bytes, what.size) == (5000, "5.0 kB")
    _fetch(what, ignore_progress)
    assert (tmp_path / "place" / "data" / "test-0.parquet").read_bytes() == _FILES["data/test-0.parquet"]
    assert not (tmp_path / "place" / "data" / "train-0.parquet").exists()
    hub.commit = _SECOND
    asked = len(hub.asked)
    assert plan(_manifest(), tmp_path / "place").done
    assert len(hub.asked) == asked
    (tmp_path / "place" / "data" / "test-0.parquet").unlink()
    again = plan(_manifest(), tmp_path / "place")
    assert not again.done
    assert f"/revision/{_FIRST}" in hub.asked[-2]


def test_what_is_known_is_said_before_the_hub_is_asked(
    hub: _Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Place and licence stand there also where the hub does not answer; then the size follows them."""
    (tmp_path / "tiny.yaml").write_text(_manifest().model_dump_json())
    command = ["datasets", "prepare", str(tmp_path / "tiny.yaml"), str(tmp_path / "place"), "--yes"]
    hub.error = "GatedRepo"
    assert call(command) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("Tiny: size not known from https://")
    assert said[1].startswith("  licence: CC0-1.0")
    assert said[2].startswith(f"  into: {tmp_path / 'place'} (")
    assert "them/sound cannot be fetched" in said[-1]
    hub.error = ""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert call(command[:-1]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[3].startswith("Tiny: 5.0 kB from https://")
    assert sum(line.startswith("  into: ") for line in said) == 1


def test_a_commit_of_the_manifest_is_asked_for(hub: _Hub, tmp_path: Path) -> None:
    """Whatever is newest."""
    plan(_manifest(revision=_SECOND), tmp_path)
    assert any(f"/api/datasets/them/sound/revision/{_SECOND}" in path for path in hub.asked)


def test_what_the_hub_does_not_give_is_told(hub: _Hub, tmp_path: Path) -> None:
    """Files behind conditions, with the page to accept them at; no file of that name."""
    hub.error = "GatedRepo"
    with pytest.raises(FetchError, match=r"accept it at http://127\.0\.0\.1:\d+/datasets/them/sound, then log in with"):
        plan(_manifest(), tmp_path)
    with pytest.raises(FetchError, match=r"them/sound has no file \*\.flac at 1{40}: it is laid out otherwise now"):
        plan(_manifest(files=["*.flac"]), tmp_path)


def test_of_the_indexes_of_svq_those_that_are_read_are_fetched() -> None:
    """As tables or folders of tables, with the files of the locale; the indexes of whole Wikipedias are not."""
    for name in (name for name in manifest_names() if name.startswith("svq_") and name != "svq_ten"):
        download = load_manifest(name).download
        assert download is not None
        assert download.hub is not None
        files = download.hub.files
        for way, _ in WAYS:
            assert is_wanted(f"passage_retrieval_{way}_index.parquet", files)
            assert is_wanted(f"document_retrieval_{way}_small_index/part.parquet", files)
            assert not is_wanted(f"document_retrieval_{way}_index.parquet", files)
        assert is_wanted("utt_index.jsonl", files)
        assert is_wanted(f"audio/{name.removeprefix('svq_')}_clean.parquet", files)
