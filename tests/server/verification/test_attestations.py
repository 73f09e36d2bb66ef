"""Signed attestations: who may send one, what it changes, and that nothing of it can be forged, changed or replayed."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select
from starlette.testclient import TestClient
from support.server.board import Probed, make_submission
from support.server.people import ON_SQLITE
from support.server.verified import FILE, ROWS, attest, keep_clips, statement

from codec_superb.cli.verification.board_keys import board_key
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.verification.attestation import (
    AttestationError,
    check_signature,
    read_attestation,
    sign,
)
from codec_superb.pipeline.verification.keys import KeyFault, create_key, fingerprint_of, load_key, public_key_of
from codec_superb.pipeline.verification.statement import Statement, beside_rows
from codec_superb.server.database.models import Attestation, AuditEntry, Submission, now
from codec_superb.server.database.session import Database
from codec_superb.server.errors import Conflict, Forbidden, NotFound
from codec_superb.server.settings import Settings
from codec_superb.server.verification import keys
from codec_superb.server.verification.attestations import accept, not_compared, shortened

ADDRESS = "/api/v1/attestations"
DRAWN = len(statement().clips)


@contextmanager
def board_at(client: TestClient) -> Iterator[str]:
    """Give an address that answers what the application in this process answers."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = client.get(self.path)
            self.send_response(answer.status_code)
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def key(database: Database) -> Ed25519PrivateKey:
    """Make a maintainer's key that the board believes."""
    made = Ed25519PrivateKey.generate()
    with database.transaction(write=True) as session:
        keys.add(session, "Mai Ntainer", public_key_of(made), actor="the test")
    return made


def submitted(database: Database, status: str = "self-reported") -> str:
    """Store a submission with the file of the statements."""
    with database.transaction(write=True) as session:
        identity = make_submission(session, status=status, file_sha256=FILE)
        keep_clips(session, identity)
        return identity


def status_of(database: Database, identity: str) -> tuple[str, str | None, str | None]:
    """Read what was decided."""
    with database.transaction() as session:
        found = session.get_one(Submission, identity)
        return found.status, found.decided_by, found.reason


def test_what_was_not_run_again_is_named(database: Database, key: Ed25519PrivateKey) -> None:
    """Of a verified submission the probes that its attestation does not cover; none before there is one."""
    identity = submitted(database)
    sent = statement(compared=("bits", "asr", "sim"), left_out=("mini, sim: another version of its definition",))
    with database.transaction(write=True) as session:
        found = session.get_one(Submission, identity)
        (dataset,) = found.document["datasets"]
        probes = [{"probe": "asv"}, {"probe": "asr"}, {"probe": "sim"}]
        metrics = {"panel": {"label": "Panel"}}  # of a plug-in: nobody else runs it
        found.document = found.document | {"datasets": [dataset | {"probes": probes}], "custom_metrics": metrics}
        assert not_compared(session, found) == []
        accept(session, sign(sent, key))
        assert not_compared(session, found) == ["asv on mini", "sim on mini", "Panel"]
        held = "mini, listening samples: 4 of 20 are not as they are made here, held to limits"
        accept(session, sign(statement(compared=("bits", "asr", "sim", "asv"), left_out=(held,)), key))
        assert not_compared(session, found) == ["listening samples on mini", "Panel"]


def test_a_file_of_many_tasks_can_be_verified(client: TestClient, database: Database, key: Ed25519PrivateKey) -> None:
    """No number of probes that nobody can compare keeps a file from its verdict: as many lines as a file can have."""
    identity = submitted(database)
    most = tuple(f"dataset-{of}, task_{number}: a task" for of in range(100) for number in range(200))
    answer = client.post(ADDRESS, content=sign(statement(left_out=most), key).to_json())
    assert (answer.status_code, answer.json()["status"]) == (201, "verified"), answer.text
    assert client.get(f"/api/v1/submissions/{identity}/attestations").status_code == 200


def test_a_newer_attestation_reaches_the_marks_at_once(
    client: TestClient, database: Database, key: Ed25519PrivateKey
) -> None:
    """One that compares a probe which the one before left out takes the mark from its figure, without a restart."""
    asked = [Probed("asr_wer_pct", 8.0, 4.0)]
    with database.transaction(write=True) as session:
        identity = make_submission(session, file_sha256=FILE, applications=asked)
        keep_clips(session, identity)
    for compared, run_again in ((("bits",), False), (("bits", "asr"), True)):
        sent = sign(statement(compared=compared), key)
        assert client.post(ADDRESS, content=sent.to_json()).status_code == 201
        (row,) = client.get("/api/v1/leaderboard?category=speech").json()["rows"]
        assert row["applications"]["asr_wer_pct"]["run_again"] is run_again


def test_a_newer_attestation_changes_which_one_stands(database: Database, key: Ed25519PrivateKey) -> None:
    """Under a name that nobody owns figures take a place once they were run again."""
    identity = submitted(database, status="verified")
    with database.transaction(write=True) as session:
        bare = make_submission(session, status="verified", owner="another")
        rich = session.get_one(Submission, identity)
        probes = [Probed("asr_wer_pct", 8.0, 4.0).info().model_dump(mode="json")]
        rich.document = {**rich.document, "datasets": [each | {"probes": probes} for each in rich.document["datasets"]]}
        rich.codec.owner, rich.version = None, 3  # it came last
        for compared, behind in ((("bits",), identity), (("bits", "asr"), bare)):
            accept(session, sign(statement(compared=compared), key))
            assert session.scalars(select(Submission.id).where(Submission.behind)).all() == [behind]


@pytest.mark.parametrize("before", ["self-reported", "held", "verified"])
@pytest.mark.sample(4, among="attestations at a board")
def test_what_agrees_is_verified(client: TestClient, database: Database, key: Ed25519PrivateKey, before: str) -> None:
    """Without a token: the signature is the permission; the row carries the attestation, which anybody can check."""
    identity = submitted(database, before)
    sent = sign(statement(), key)
    answer = client.post(ADDRESS, content=sent.to_json())
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"] == "verified"
    status, who, reason = status_of(database, identity)
    assert status == "verified"
    assert (who, reason) == (
        ("Mai Ntainer", f"run again: {DRAWN} of 60 clips of mini agree") if before != status else (None,) * 2
    )
    (listed,) = client.get(f"/api/v1/submissions/{identity}/attestations").json()["attestations"]
    shown_of = tuple(listed[name] for name in ("signed_by", "agrees", "drawn", "differing"))
    assert shown_of == ("Mai Ntainer", True, DRAWN, 0)
    whole = client.get(f"{ADDRESS}/{listed['sha256']}").content
    (shown,) = client.get("/.well-known/codec-superb-keys.json").json()["keys"]
    check_signature(read_attestation(whole), shown["public_key"])
    assert f"/api/v1/submissions/{identity}/attestations" in client.get(f"/submissions/{identity}").text


@pytest.mark.parametrize("asked_before", [True, False])
def test_what_was_asked_for_before_another_version_differed_is_not_verified(
    database: Database, key: Ed25519PrivateKey, *, asked_before: bool
) -> None:
    """Of versions that two workers run at once one misses what is forged: it waits, and a later run may verify it."""
    identity, began = submitted(database, "held"), now()
    with database.transaction(write=True) as session:
        attest(session, make_submission(session, status="held"), agrees=False)
    with database.transaction(write=True) as session:
        accept(session, sign(statement(), key), asked=began if asked_before else now())
    assert status_of(database, identity)[0] == ("held" if asked_before else "verified")


@pytest.mark.parametrize("before", ["self-reported", "verified", "held"])
@pytest.mark.sample(4, among="attestations at a board")
def test_what_differs_is_held(client: TestClient, database: Database, key: Ed25519PrivateKey, before: str) -> None:
    """With the differences as the reason; the public no longer sees it, nor what was signed about it."""
    identity = submitted(database, before)
    answer = client.post(ADDRESS, content=sign(statement(differs=True), key).to_json())
    assert (answer.status_code, answer.json()["status"]) == (201, "held")
    status, who, reason = status_of(database, identity)
    assert status == "held"
    if before != "held":
        assert who == "Mai Ntainer"
        assert reason is not None
        assert f"mini, {statement().clips[0].clip}: pesq: 3.5 submitted, 2.5 found, 0.001 allowed" in reason
    assert client.get(f"/api/v1/submissions/{identity}/attestations").status_code == 404
    assert client.get(f"{ADDRESS}/{answer.json()['attestation']['sha256']}").status_code == 404


@pytest.mark.sample(4, among="attestations at a board")
def test_replayed_it_changes_nothing(client: TestClient, database: Database, key: Ed25519PrivateKey) -> None:
    """Sent again, or written in another way, after somebody held the row: a conflict, and it stays held."""
    identity = submitted(database)
    sent = sign(statement(), key)
    assert client.post(ADDRESS, content=sent.to_json()).status_code == 201
    assert client.post(ADDRESS, content=sign(statement(differs=True), key).to_json()).status_code == 201
    other_form = json.dumps(dict(reversed(json.loads(sent.to_json()).items())), indent=7).encode()
    for data in (sent.to_json(), other_form):
        assert client.post(ADDRESS, content=data).status_code == 409
    assert status_of(database, identity)[0] == "held"


def test_nobody_else_can(client: TestClient, database: Database, key: Ed25519PrivateKey) -> None:
    """An unknown key, a revoked one, a changed statement, another's fingerprint, another file: each is refused."""
    identity = submitted(database)
    stranger = sign(statement(), Ed25519PrivateKey.generate())
    good = json.loads(sign(statement(differs=True), key).to_json())
    softened = json.loads(sign(statement(), key).to_json())["statement"]
    refused: list[tuple[int, Any]] = [
        (403, json.loads(stranger.to_json())),
        (400, good | {"statement": softened}),
        (400, json.loads(stranger.to_json()) | {"fingerprint": good["fingerprint"]}),
        (400, good | {"signature": "A" * 86 + "=="}),
        (404, json.loads(sign(statement(file_sha256="9" * 64), key).to_json())),
        (400, good | {"more": 1}),
        (400, json.loads(sign(statement(left_out=("a\0b",)), key).to_json())),  # PostgreSQL would keep and not read it
        (400, {}),
    ]
    for status, data in refused:
        assert client.post(ADDRESS, json=data).status_code == status, data
    for raw in (b"", b"[" * 5000, b'{"format": NaN}', b"\xff", b'{"format": 1, "format": 1}'):
        assert client.post(ADDRESS, content=raw).status_code == 400
    assert client.post(ADDRESS, content=b" " * 1_000_001).status_code == 413
    with database.transaction(write=True) as session:
        keys.revoke(session, good["fingerprint"][:12], actor="the test")
    assert client.post(ADDRESS, json=good).status_code == 403
    assert status_of(database, identity) == ("self-reported", None, None)
    with database.transaction() as session:
        assert session.scalars(select(Attestation)).all() == []
        assert {entry.action for entry in session.scalars(select(AuditEntry))} == {"key.added", "key.revoked"}


def _chosen(good: Statement) -> Statement:
    """Name another clip than one that was drawn."""
    drawn = {entry.clip for entry in good.clips}
    other = good.clips[0].model_copy(update={"clip": next(row.clip for row in ROWS if row.clip not in drawn)})
    return good.model_copy(update={"clips": tuple(sorted((other, *good.clips[1:]), key=lambda of: of.clip))})


def test_what_does_not_follow_from_the_file_is_refused(
    client: TestClient, database: Database, key: Ed25519PrivateKey
) -> None:
    """Chosen clips, too few, another state or size of a dataset, other rows, another codec, another day."""
    identity = submitted(database)
    good = statement()
    (mini,) = good.datasets
    for wrong, why in (
        (_chosen(good), "they were chosen"),
        (statement(drawn=DRAWN - 1), f"expected {DRAWN} clips or more"),
        (statement(datasets=(mini.model_copy(update={"manifest_hash": "5" * 64}),)), "expected the state"),
        (statement(datasets=(mini.model_copy(update={"clips": 1000}),)), "expected 60 clips"),
        (statement(rows_sha256="1" * 64), "got others"),
        (statement(codec="opus_64k"), "got others"),
        (statement(made="2999-01-01T00:00:00+00:00"), "2999"),
    ):
        answer = client.post(ADDRESS, content=sign(wrong, key).to_json())
        assert answer.status_code == 409, answer.text
        assert why in answer.json()["detail"]
    text = sign(good, key).to_json().decode()
    for old, new in (('"format": 1', '"format": true'), ('"format": 1', '"format": 1.0'), ("2026-01-02", "9999-99-99")):
        assert old in text
        assert client.post(ADDRESS, content=text.replace(old, new)).status_code == 400
    assert status_of(database, identity)[0] == "self-reported"
    assert client.post(ADDRESS, content=text).status_code == 201


@pytest.mark.parametrize("before", ["pending", "withdrawn"])
@pytest.mark.sample(4, among="attestations at a board")
def test_it_comes_too_late(client: TestClient, database: Database, key: Ed25519PrivateKey, before: str) -> None:
    """What is withdrawn, or was never let in, does not become public by a signature."""
    identity = submitted(database, before)
    assert client.post(ADDRESS, content=sign(statement(), key).to_json()).status_code == 409
    assert status_of(database, identity)[0] == before


@pytest.mark.sample(4, among="attestations at a board")
def test_a_download_without_contact_counts(client: TestClient, database: Database, key: Ed25519PrivateKey) -> None:
    """Its hash is another; named with the submission, the rows and what lies beside them decide."""
    identity = submitted(database)
    with database.transaction() as session:
        document = session.get_one(Submission, identity).document
    download = {"file_sha256": "9" * 64}
    its = {**download, "rows_sha256": document["clips_sha256"]}
    sent = sign(statement(**its, beside_sha256=beside_rows(document)), key).to_json()
    assert client.post(ADDRESS, content=sent).status_code == 404
    with_other_pairs = beside_rows(document | {"pairs_sha256": "8" * 64})
    for wrong in ({"rows_sha256": "8" * 64}, {"beside_sha256": with_other_pairs}, {"beside_sha256": None}):
        other = sign(statement(**{**its, "beside_sha256": beside_rows(document), **wrong}), key).to_json()
        assert client.post(ADDRESS, params={"submission": identity}, content=other).status_code == 404
    assert client.post(ADDRESS, params={"submission": identity}, content=sent).status_code == 201
    assert status_of(database, identity)[0] == "verified"


def test_keys(database: Database, settings: Settings) -> None:
    """The board's own is made once, readable by its owner alone, and registered, as the next is; a revoked one ends."""
    settings.storage.mkdir(parents=True)
    with database.transaction(write=True) as session:
        own = public_key_of(keys.board_key(session, settings))
        assert public_key_of(keys.board_key(session, settings)) == own
        assert [(key.name, key.public_key) for key in keys.all_keys(session)] == [("the board", own)]
        file = settings.storage / "verification_key"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.rename(old := file.with_name("old"))
        new = public_key_of(keys.board_key(session, settings))  # what the old one signed still verifies
        assert [(key.public_key, key.revoked) for key in keys.all_keys(session)] == [(own, None), (new, None)]
        old.replace(file)
        with pytest.raises(NotFound, match="first 8"):
            keys.revoke(session, fingerprint_of(own)[:7], actor="the test")
        keys.revoke(session, fingerprint_of(own)[:8], actor="the test")
        with pytest.raises(Forbidden, match="was revoked"):
            keys.board_key(session, settings)
        with pytest.raises(Conflict, match="stays revoked"):
            keys.add(session, "again", own, actor="the test")


@pytest.mark.sample(4, among="attestations at a board")
def test_keys_of_a_board(client: TestClient, database: Database, key: Ed25519PrivateKey) -> None:
    """What the service shows is what `verify --server` believes; unknown and revoked keys are refused."""
    fingerprint = fingerprint_of(public_key_of(key))
    with board_at(client) as address:
        found = board_key(address, fingerprint)
        assert (found.name, found.public_key) == ("Mai Ntainer", public_key_of(key))
        with pytest.raises(PipelineError, match="knows no key"):
            board_key(address, "0" * 64)
        with database.transaction(write=True) as session:
            keys.revoke(session, fingerprint, actor="the test")
        with pytest.raises(PipelineError, match="has revoked the key"):
            board_key(address, fingerprint)
        with pytest.raises(PipelineError, match="expected the keys of a leaderboard"):
            board_key(f"{address}/api/openapi.json?", fingerprint)
    with pytest.raises(PipelineError, match="cannot be fetched"):
        board_key(address, fingerprint)
    with pytest.raises(PipelineError, match="expected the address"):
        board_key("leaderboard.example.org", fingerprint)


@ON_SQLITE
def test_files_of_keys(tmp_path: Path, database: Database) -> None:
    """A key is never overwritten, and one that others can read is not used; nor is what is no such key."""
    assert database
    file = tmp_path / "key"
    public = create_key(file)
    assert public_key_of(load_key(file)) == public
    with pytest.raises(KeyFault, match="never overwritten"):
        create_key(file)
    os.chmod(file, 0o640)  # noqa: PTH101
    with pytest.raises(KeyFault, match="others can read"):
        load_key(file)
    (tmp_path / "none").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    os.chmod(tmp_path / "none", 0o600)  # noqa: PTH101
    for wrong, why in ((tmp_path / "none", "expected a private key"), (tmp_path / "missing", "No such file")):
        with pytest.raises(KeyFault, match=why):
            load_key(wrong)


@ON_SQLITE
def test_the_signature_is_ed25519_over_the_stated_bytes(database: Database) -> None:
    """Checked with the library alone: prefix, then strict JSON of fingerprint and statement with sorted names."""
    assert database
    key = Ed25519PrivateKey.generate()
    sent = json.loads(sign(statement(), key).to_json())
    content = {"fingerprint": sent["fingerprint"], "statement": sent["statement"]}
    signed = json.dumps(content, ensure_ascii=False, sort_keys=True, indent=1).encode() + b"\n"
    key.public_key().verify(base64.b64decode(sent["signature"]), b"codec-superb attestation 1\n" + signed)
    sent["statement"]["clips"][0]["clip"] += "x"
    with pytest.raises(AttestationError, match="changed after"):
        check_signature(read_attestation(json.dumps(sent).encode()), public_key_of(key))
    sent["statement"]["verdict"] = "differs"
    with pytest.raises(AttestationError, match="verdict that follows"):
        read_attestation(json.dumps(sent).encode())


def test_long_reasons_end_at_a_line() -> None:
    """2,000 characters at most, with how many lines are left out."""
    text = shortened("\n".join(f"line {number} of many" for number in range(500)))
    assert len(text) <= 2000
    last = text.split("\n")[-1]
    assert last == f"and {500 - (len(text.splitlines()) - 1)} more"
    assert shortened("short") == "short"


def test_half_a_letter_is_answered(client: TestClient, database: Database) -> None:
    """A name that is no Unicode is refused with a sentence that has it as its escape, in JSON as on a page."""
    known = json.loads(sign(statement(), Ed25519PrivateKey.generate()).to_json())
    sent = json.dumps(known).removesuffix("}") + ',"\\ud800":1}'
    for kind in ("application/json", "text/html"):
        refused = client.post(ADDRESS, content=sent.encode(), headers={"Accept": kind})
        assert refused.status_code == 400, refused.text
        assert "\ud800 is unknown" in refused.json()["detail"]
