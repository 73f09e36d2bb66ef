"""``/api/v1/submissions/{id}/samples/{n}/…``: sounds and their spectrograms."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import av
import numpy as np
import pytest
from sqlalchemy.orm import undefer
from support.server.codec_page import Packed, Site

from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.schema import Sample
from codec_superb.server.database.models import Submission, Token
from codec_superb.server.errors import NotFound, Refused
from codec_superb.server.people.access import secret_hash
from codec_superb.server.people.tokens import account_of
from codec_superb.server.settings import Settings
from codec_superb.server.storage.samples import sample, stored_sound
from codec_superb.server.storage.submission_files import submission_path


def samples(identity: str, what: str, number: int | str = 0) -> str:
    """Address of something of a sample."""
    return f"/api/v1/submissions/{identity}/samples/{number}/{what}"


class TestListen:
    """``…/reference.ogg`` and ``…/resynthesis.ogg``."""

    def test_sends_the_packed_files(self, site: Site, files: Packed) -> None:
        """Byte for byte, to be kept for good, and of a type that a browser plays."""
        members = read_archive(files.second)
        for number in (0, 1):
            for side in ("reference", "resynthesis"):
                answer = site.get(samples(site.stored.second, f"{side}.ogg", number))
                assert answer.content == members[f"samples/{number:02}-{side}.ogg"]
                assert answer.headers["content-type"] == "audio/ogg"
                assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"

    def test_sends_parts(self, site: Site, files: Packed) -> None:
        """A range of bytes, an open one, the last ones; a range beyond the end; one that makes no sense."""
        whole = read_archive(files.second)["samples/00-reference.ogg"]
        path = samples(site.stored.second, "reference.ogg")
        end = len(whole) - 1
        for asked, first, last in (("0-99", 0, 99), ("100-", 100, end), ("-7", end - 6, end), ("50-99999999", 50, end)):
            answer = site.get(path, range=f"bytes={asked}")
            assert answer.status_code == 206
            assert answer.content == whole[first : last + 1]
            assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(whole)}"
        beyond = site.get(path, range="bytes=99999999-")
        assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(whole)}")
        for odd in ("bytes=9-3", "bytes=0-1,5-6", "lines=1-2", "bytes=-", "bytes=a-b", "bytes=" + "9" * 40 + "-"):
            assert site.get(path, range=odd).status_code in {200, 416}

    def test_is_kept_by_its_tag(self, site: Site) -> None:
        """304 where the browser has it; a range of another state gets the whole."""
        path = samples(site.stored.second, "reference.ogg")
        tag = site.get(path).headers["etag"]
        assert site.get(path, if_none_match=f'"other", {tag}').status_code == 304
        assert site.get(path, range="bytes=0-9", if_range='"other"').status_code == 200
        assert site.get(path, range="bytes=0-9", if_range=tag).status_code == 206

    def test_only_what_is_listed(self, site: Site) -> None:
        """Other numbers, sides, names and submissions are not found or refused; nothing is opened by a path."""
        identity = site.stored.second
        for path, status in (
            (samples(identity, "reference.ogg", 2), 404),
            (samples(identity, "reference.ogg", 10**6), 404),
            (samples(identity, "reference.ogg", "9" * 400), 400),
            (samples(identity, "reference.ogg", -1), 400),
            (samples(identity, "original.ogg"), 400),
            (samples(identity, "..%2f..%2fsubmission.json"), 404),
            (samples(identity, "%2e%2e/reference.ogg"), 404),
            (samples("..", "reference.ogg"), 404),
            (samples("%2e%2e%2f", "reference.ogg"), 404),
            (samples("nobody", "reference.ogg"), 404),
            (samples("a%00b", "reference.ogg"), 400),
            (samples(site.stored.tokens, "reference.ogg"), 404),
        ):
            assert site.get(path).status_code == status, path

    def test_a_pending_submission_is_for_moderators(self, own_site: Site, files: Packed) -> None:
        """Nobody else hears it, and it is kept nowhere."""
        with own_site.database.transaction(write=True) as session:
            stored = session.get_one(Submission, own_site.stored.second)
            stored.status = "pending"
            account = account_of(session, "moderator")
            for scope in ("moderate", "submit"):
                session.add(
                    Token(account_id=account.id, prefix=scope, secret_sha256=secret_hash(scope), scopes=[scope])
                )
        path = samples(own_site.stored.second, "reference.ogg")
        assert own_site.get(path).status_code == 404
        assert own_site.get(path, authorization="Bearer submit").status_code == 404
        heard = own_site.get(path, authorization="Bearer moderate")
        assert heard.content == read_archive(files.second)["samples/00-reference.ogg"]
        assert heard.headers["cache-control"] == "private, no-store"


class TestSpectrogram:
    """``…/spectrogram/{reference,resynthesis,difference}.png``."""

    def test_is_a_small_picture(self, site: Site) -> None:
        """PNG of 192 rows that decodes, kept for good, below 120 kB."""
        for name in ("reference", "resynthesis", "difference"):
            answer = site.get(samples(site.stored.second, f"spectrogram/{name}.png"))
            assert answer.headers["content-type"] == "image/png"
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert len(answer.content) < 120_000
            with av.open(io.BytesIO(answer.content), "r") as opened:
                picture = next(opened.decode(video=0)).to_ndarray(format="rgb24")
            assert picture.shape[0] == 192
            assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3

    def test_only_what_there_is(self, site: Site) -> None:
        """Other pictures and samples are refused or not found."""
        assert site.get(samples(site.stored.second, "spectrogram/phase.png")).status_code == 400
        assert site.get(samples(site.stored.second, "spectrogram/reference.png", 7)).status_code == 404
        assert site.get(samples(site.stored.pending, "spectrogram/reference.png")).status_code == 404

    def test_computing_is_limited_and_looking_is_not(self, own_site: Site) -> None:
        """What is kept costs nothing; with the limit used up a new picture waits, and says how long."""
        own_site.app.state.settings = own_site.settings.model_copy(update={"computations_per_minute": 1})
        for picture in ("reference", "difference", "reference"):
            assert own_site.get(samples(own_site.stored.second, f"spectrogram/{picture}.png")).status_code == 200
        answer = own_site.get(samples(own_site.stored.second, "spectrogram/reference.png", 1))
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1


class TestDamage:
    """Files that were changed after they were checked."""

    @pytest.fixture
    def kept(self, files: Packed, tmp_path: Path) -> tuple[Settings, Submission, Sample]:
        """Give a storage folder's settings, a submission in it and its first sample."""
        settings = Settings(storage=tmp_path)
        settings.files.mkdir()
        content = files.first.read_bytes()
        document = json.loads(read_archive(files.first)["submission.json"])
        row = Submission(id="abc", file_sha256=sha256(content).hexdigest(), document=document)
        submission_path(settings, row.file_sha256).write_bytes(content)
        return settings, row, sample(row, 0)

    def rewrite(self, kept: tuple[Settings, Submission, Sample], change: Callable[[dict[str, bytes]], None]) -> None:
        """Change members of the stored zip."""
        settings, row, _ = kept
        file = submission_path(settings, row.file_sha256)
        members = read_archive(file)
        change(members)
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    def test_a_whole_one_is_read(self, kept: tuple[Settings, Submission, Sample], files: Packed) -> None:
        """The untouched file gives its sounds."""
        assert stored_sound(*kept, "resynthesis") == read_archive(files.first)["samples/00-resynthesis.ogg"]

    def test_what_has_another_hash_is_not_sent(self, kept: tuple[Settings, Submission, Sample]) -> None:
        """A sound that is not the one that was checked does not leave the service."""
        self.rewrite(kept, lambda members: members.update({"samples/00-resynthesis.ogg": b"another"}))
        with pytest.raises(Refused, match="not the file whose SHA-256"):
            stored_sound(*kept, "resynthesis")

    def test_what_is_gone_is_not_found(self, kept: tuple[Settings, Submission, Sample]) -> None:
        """A missing member, a damaged zip and a missing zip are told apart."""
        self.rewrite(kept, lambda members: members.pop("samples/00-resynthesis.ogg") and None)
        with pytest.raises(NotFound, match="not stored here"):
            stored_sound(*kept, "resynthesis")
        file = submission_path(kept[0], kept[1].file_sha256)
        file.write_bytes(file.read_bytes()[:-30])
        with pytest.raises(Refused, match="damaged"):
            stored_sound(*kept, "reference")
        file.unlink()
        with pytest.raises(NotFound, match="not stored here"):
            stored_sound(*kept, "reference")

    def test_a_picture_of_no_sound_is_refused_in_words(self, own_site: Site, files: Packed) -> None:
        """What does not decode is never drawn, and never a fault of the service."""
        noise = b"not a sound" * 999
        with own_site.database.transaction(write=True) as session:
            row = session.get_one(Submission, own_site.stored.second, options=[undefer(Submission.document)])
            changed = json.loads(json.dumps(row.document))
            changed["samples"][0]["resynthesis_sha256"] = sha256(noise).hexdigest()
            row.document = changed
            where = own_site.settings, row, sample(row, 0)
        self.rewrite(where, lambda members: members.update({"samples/00-resynthesis.ogg": noise}))
        answer = own_site.get(samples(own_site.stored.second, "spectrogram/difference.png"))
        assert answer.status_code == 422
        assert "cannot be shown" in answer.json()["detail"]
