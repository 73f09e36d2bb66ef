"""``serve RUNS``: the board is what the folder holds, with sound, and the folder stays as it is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.pipeline.runs import speech_folder
from support.pipeline.stats import KEYS, card, draw_rows, failed, write_run
from support.server.ingest import categories, register
from support.timing import wait_for

from codec_superb.base_codec.card import Card
from codec_superb.cli.local_runs import RunsOnDisk
from codec_superb.cli.main import call
from codec_superb.pipeline.tables.rows import ResynthesisRow
from codec_superb.server.app import create_app
from codec_superb.server.database.session import Database
from codec_superb.server.errors import Unavailable
from codec_superb.server.ingest import local_file
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.local import feeder
from codec_superb.server.local.feeder import WAITING
from codec_superb.server.settings import Settings

ROWS = draw_rows(1, 12)


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Time and size of every file."""
    return {str(f): (f.stat().st_mtime_ns, f.stat().st_size) for f in sorted(folder.rglob("*"))}


def shown(client: TestClient) -> dict[str, str]:
    """Read the page of local runs: words of each row, by codec."""
    rows = re.findall(r"<tr><th scope=.rowgroup.*?</tr>", client.get("/local").text, re.DOTALL)
    words = [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in rows]
    return {row.partition(" ")[0]: row for row in words}


def on_board(client: TestClient) -> set[str]:
    """Names of the codecs that are ranked."""
    return {row["codec"] for row in client.get("/api/v1/leaderboard?source=runs").json()["rows"]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a folder with a run of real sound under no licence, one that was begun, two broken ones, one set aside."""
    root = tmp_path_factory.mktemp("local")
    folder, clips = root / "runs", speech_folder(root / "mine", 2)
    options = ["--codec", "g711_alaw", "--dataset", str(clips), "--category", "speech", "--out", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(root / "home"))
        patch.setattr(feeder, "LOOK_SECONDS", 0.1)
        assert call(["resynth", *options, "--workers", "1"]) == 0
        assert call(["score", str(folder), "--metric", "stft", "--workers", "1"]) == 0
        write_run(folder, ROWS, card=card("begun"), status="started")
        broken = write_run(folder, ROWS, card=card("broken"))
        (broken.path / "run.json").write_text("{")
        cut = write_run(folder, ROWS, card=card("cut"))
        (cut.path / "clips.parquet").write_bytes(b"PAR1")
        shutil.copytree(broken.path, folder / "broken" / ".mini.old1")
        yield folder


@pytest.fixture(scope="module")
def client(runs: Path, migrated_sqlite: Path) -> Iterator[TestClient]:
    """Show the folder; the service knows the clips of the drawn rows as ``mini``."""
    settings = Settings(storage=runs.parent / "storage", secret_key="x" * 40)
    settings.storage.mkdir()
    shutil.copy(migrated_sqlite, settings.storage / "leaderboard.sqlite")
    with closing(Database(settings.database_url)) as database:
        register(database, "mini", categories())
    with TestClient(create_app(settings, RunsOnDisk(runs)), base_url="http://127.0.0.1:8000") as running:
        wait_for(lambda: WAITING not in str(told := shown(running)) and len(told) == 4, "expected all codecs")
        yield running


def test_the_board_follows_the_folder(client: TestClient, runs: Path) -> None:
    """Runs appear, change and go while it stands; what is unfinished or broken is named; no file is touched."""
    found = shown(client)
    assert "unfinished 0 of 12 clips resynthesised" in found["begun"]
    assert re.search(r"broken .*run\.json is not what this version writes: Invalid JSON", found["broken"])
    assert re.search(r"broken .*clips\.parquet", found["cut"])
    assert "finished 2 clips as custom" in found["g711_alaw"]
    assert on_board(client) == set()

    before = state_of(runs)
    run = write_run(runs, ROWS, card=card("opus_16k"))
    added = {path: state for path, state in state_of(runs).items() if path not in before}
    # its dataset is not on this machine: it is shown without sound, and says so
    wait_for(lambda: "yes without sound" in shown(client).get("opus_16k", ""), "expected the new run")
    assert on_board(client) == {"opus_16k"}
    assert {**state_of(runs), str(runs): None} == {**before, **added, str(runs): None}

    first = client.get("/local/revision").text
    # a page carries what it shows, so that no change between it and its first question is missed
    assert f'data-revision="{first}"' in client.get("/local").text
    assert f'data-revision="{first.partition(" ")[0]}"' in client.get("/").text
    run.write_rows(draw_rows(2, 12), KEYS)
    wait_for(lambda: client.get("/api/v1/codecs/opus_16k").json()["submission"]["version"] == 2, "expected new rows")
    assert client.get("/local/revision").text != first
    shutil.rmtree(run.path.parent)
    wait_for(lambda: "opus_16k" not in shown(client), "expected the removed run to be gone")
    assert on_board(client) == set()


def test_a_card_that_leaves_much_open_is_no_reason_here(client: TestClient, runs: Path) -> None:
    """A codec of a name and a rate is shown with its marks, and the board says why nobody has a rank."""
    own = Card(name="mine", sampling_rate=16000, bit_source="unknown", delay_samples=0, delay_source="found")
    run = write_run(runs, [row.model_copy(update={"bits": None}) for row in ROWS], card=own)
    wait_for(lambda: "mine" in (told := shown(client)) and WAITING not in told["mine"], "expected the run")
    assert "yes" in shown(client)["mine"]
    (row,) = client.get("/api/v1/leaderboard?source=runs").json()["rows"]
    assert (row["codec"], row["bit_source"], row["unranked"]) == ("mine", "unknown", "its bitrate is not stated")
    board, codec = (client.get(path, headers={"accept": "text/html"}).text for path in ("/", "/codecs/mine"))
    assert "No codec shown here has a rank: its bitrate is not stated (1 codec)." in board
    assert "Ranks are ranges" not in board
    assert "not stated, first published not stated" in codec
    shutil.rmtree(run.path.parent)
    wait_for(lambda: on_board(client) == set(), "expected the removed run to be gone")


def test_a_copy_of_a_run_is_the_same_submission(client: TestClient, runs: Path) -> None:
    """It stays on the board until the last copy is gone."""
    run = write_run(runs, ROWS, card=card("opus_16k")).path.parent
    shutil.copytree(run, runs / "copy")
    wait_for(lambda: all(" yes " in shown(client).get(name, "") for name in (run.name, "copy")), "expected both")
    shutil.rmtree(runs / "copy")
    wait_for(lambda: "copy" not in shown(client), "expected the copy to be gone")
    assert on_board(client) == {"opus_16k"}
    shutil.copytree(run, runs / "copy")
    wait_for(lambda: " yes " in shown(client).get("copy", ""), "expected it again")
    for folder in (run, runs / "copy"):
        shutil.rmtree(folder)
    wait_for(lambda: on_board(client) == set() and "copy" not in shown(client), "expected both to be gone")


def test_a_busy_checker_is_asked_again(client: TestClient, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the service has no process for a check at the moment is no property of the run."""
    asked: list[Path] = []

    def take(database: Database, settings: Settings, checker: Checker, path: Path, *rest: Any, **named: Any) -> Any:
        asked.append(path)
        if len(asked) == 1:
            raise Unavailable("the process that checks submissions cannot be started; try again in a minute")
        return local_file.take_file(database, settings, checker, path, *rest, **named)

    monkeypatch.setattr(feeder, "take_file", take)
    run = write_run(runs, draw_rows(3, 12), card=card("opus_16k"))
    wait_for(lambda: on_board(client) == {"opus_16k"}, "expected the run on the board")
    shutil.rmtree(run.path.parent)
    wait_for(lambda: on_board(client) == set(), "expected the removed run to be gone")


def test_own_sound_is_heard_whatever_its_licence(client: TestClient) -> None:
    """Clips without a licence are packed for this machine: both sides of a sample play."""
    (entry,) = client.get("/api/v1/submissions?custom=true").json()["submissions"]
    for side in ("reference", "resynthesis"):
        sound = client.get(f"/api/v1/submissions/{entry['id']}/samples/0/{side}.ogg")
        assert sound.headers["content-type"] == "audio/ogg"
        assert sound.content.startswith(b"OggS")


def test_it_takes_nothing_and_says_so(client: TestClient) -> None:
    """Uploads, logins and decisions are refused with a sentence, and every page says that it is local."""
    for method, path in [
        ("POST", "/api/v1/submissions"), ("POST", "/submit"), ("GET", "/submit"), ("POST", "/login"),
        ("GET", "/moderation"), ("POST", "/moderation/abc"), ("POST", "/api/v1/submissions/abc/decision"),
    ]:  # fmt: skip
        answer = client.request(method, path)
        assert answer.status_code == 403, path
        assert "only shows the runs of a folder on this machine" in answer.json()["detail"]
    for path in ("/", "/compare", "/charts", "/mseb", "/about", "/local", "/codecs/opus_12k", "/nothing"):
        page = client.get(path, headers={"accept": "text/html"}).text
        assert "local-mark" in page, path
        assert 'href="/submit"' not in page, path


def test_only_this_machine_is_answered(client: TestClient) -> None:
    """A site whose name resolves to this machine reads nothing in a visitor's browser (DNS rebinding)."""
    assert client.get("/", headers={"host": "evil.example:8000"}).status_code == 403
    assert client.get("/", headers={"host": "127.0.0.1.evil.example"}).status_code == 403
    for host in ("localhost:8000", "127.0.0.1", "127.9.9.9:80", "[::1]:8000", "::1"):
        assert client.get("/healthz", headers={"host": host}).status_code == 200, host


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "local runs are shown on this machine only"),
        (["--host", "example.org"], "local runs are shown on this machine only"),
        (["--workers", "2"], "--workers: of a leaderboard"),
        (["--anonymous-uploads"], "--anonymous-uploads: of a leaderboard"),
    ],
)
def test_what_others_could_see_is_refused(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of runs is for this machine alone."""
    assert call(["serve", str(tmp_path), *options]) == 2
    assert words in re.sub(r"[\s│]+", " ", capsys.readouterr().err)


def test_any_level_of_the_folder_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A codec's runs are one submission whether their own folder, that of all codecs or a run itself is named."""
    run = write_run(tmp_path, ROWS, card=card("opus_16k")).path
    write_run(tmp_path, draw_rows(1, 12, dataset="second"), card=card("opus_16k"))
    own = write_run(tmp_path, draw_rows(1, 12, dataset="own"), card=card("opus_16k"), location="/own")

    def look(folder: Path) -> dict[str, list[str]]:
        return {found.name: [one.place for one in found.runs] for found in RunsOnDisk(folder).look()}

    assert own.path.parent == run.parent
    places = ["mini", "second"]
    assert look(tmp_path) == {
        "opus_16k": [f"opus_16k/{name}" for name in places], "opus_16k on own datasets": ["opus_16k/own"],
    }  # fmt: skip
    assert look(run.parent) == {"opus_16k": places, "opus_16k on own datasets": ["own"]}
    monkeypatch.chdir(run)
    assert look(run) == look(Path()) == {"opus_16k": ["mini"]}


def test_failures_are_counted(tmp_path: Path) -> None:
    """Clips that failed are named beside those that are done, of a finished run and of one that is under way."""
    write_run(tmp_path, [*ROWS[1:], failed(ROWS[0].clip)], card=card("done"))
    begun = write_run(tmp_path, ROWS, card=card("begun"), status="started")
    folder = RunsOnDisk(tmp_path)

    def details() -> dict[str, str]:
        return {found.name: found.runs[0].detail for found in folder.look()}

    with begun.resynth_journal() as journal:
        for clip, status in [("a", "failed"), ("b", "failed"), ("a", "ok")]:
            journal.append(ResynthesisRow(clip=clip, dataset="mini", category="speech", status=status))
        assert details() == {
            "done": "12 clips, 1 failed",
            "begun": "2 of 12 clips resynthesised, 1 failed; codec-superb resynth goes on with it, unless it runs now",
        }
        journal.append(ResynthesisRow(clip="c", dataset="mini", category="speech", status="ok"))
    with begun.import_journal():  # what resyntheses were taken from: these were made elsewhere
        pass
    assert details()["begun"] == (
        "3 of 12 clips resynthesised, 1 failed; codec-superb import goes on with it, unless it runs now"
    )


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence says what makes it."""
    assert call(["serve", str(tmp_path / "runs"), "--port", "0"]) == 2
    assert "expected a folder of runs" in capsys.readouterr().err
