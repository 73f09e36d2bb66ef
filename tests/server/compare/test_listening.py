"""Blind listening: the test, its key, and what must not give a codec away."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import av
import numpy as np
import pytest
from itsdangerous import URLSafeSerializer
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.compare import rows_of, running_board, store, tone
from support.server.verified import attest

from codec_superb.server.compare.listening import MOST_ASKED, shared_samples
from codec_superb.server.database.models import Account, Submission
from codec_superb.server.database.session import Database, bump_revision
from codec_superb.server.settings import Settings

PITCH = {"opus_12k": 300.0, "mp3_32k": 400.0, "codec2_3200": 500.0}
CLIPS = [f"mini/clip{number:03}" for number in range(6)]
HTML = {"accept": "text/html"}


def fill(session: Session, settings: Settings) -> None:
    """Store three codecs whose sounds are tones of a pitch of their own, with telling tags, and one without sounds.

    And one whose sender has another sound for the original, behind many of an account that has no sounds.
    """
    first = Account(name="who was first")
    for number in range(MOST_ASKED):
        store(session, f"first{number}", rows_of()).account = first
    original = tone(200, title="the reference")
    for name, hertz in PITCH.items():
        sounds = {clip: tone(hertz + number, title=f"made by {name}") for number, clip in enumerate(CLIPS)}
        sent = store(session, name, rows_of(), sounds=sounds, files=settings.files, reference=original)
        sent.account = Account(name=f"who sends {name}")
    forged = {clip: tone(700.0) for clip in CLIPS}
    store(session, "forged", rows_of(), sounds=forged, files=settings.files, reference=tone(700.0))
    store(session, "silent", rows_of())


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Run the service for all tests that only read."""
    with running_board(request, tmp_path_factory.mktemp("board"), fill) as client:
        yield client


def address(*names: str, seed: str = "one") -> str:
    """Write the address of a test."""
    return "/compare/listen?" + "&".join(f"codec={name}" for name in names) + f"&seed={seed}"


def sounds_of(page: str) -> list[list[str]]:
    """Find the addresses of each clip: the original first."""
    return [re.findall(r'src="(/api/v1/listening/[^"]+)"', part) for part in page.split("<fieldset")[1:]]


def payload_of(url: str) -> list[Any]:
    """Read what an address says to everybody: it is signed, not hidden."""
    _, payload = URLSafeSerializer("any").loads_unsafe(url.rpartition("/")[2].removesuffix(".ogg"))
    assert isinstance(payload, list)
    return payload


def pitch(content: bytes) -> float:
    """Measure the pitch of a tone in Hz."""
    with av.open(io.BytesIO(content)) as container:
        samples = np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])
    return float(np.argmax(np.abs(np.fft.rfft(samples, 48000 * 2))) / 2)


def codec_of(content: bytes) -> str:
    """Tell which codec made a tone."""
    found = pitch(content)
    return min(PITCH, key=lambda name: abs(PITCH[name] - found))


def test_what_was_run_again_says_what_the_original_is(database: Database, settings: Settings) -> None:
    """Of a verified submission the reference was compared with the dataset; of others few levels were."""
    sent = {}
    with database.transaction(write=True) as session:
        for name, hertz, status in (
            ("opus_12k", 700.0, "self-reported"), ("mp3_32k", 700.0, "self-reported"),
            ("codec2_3200", 200.0, "verified"),
        ):  # fmt: skip
            sounds = {clip: tone(PITCH[name]) for clip in CLIPS}
            original = tone(hertz)
            sent[name] = store(
                session, name, rows_of(), sounds=sounds, files=settings.files, reference=original, status=status,
                sender=f"who sends {name}",
            ).id  # fmt: skip
    with database.transaction() as session:
        submissions = [session.get_one(Submission, identity) for identity in sent.values()]
        for entry in shared_samples(session, submissions):
            assert entry.original == 2


def test_references_held_to_limits_are_their_accounts_word(database: Database, settings: Settings) -> None:
    """Many verified submissions of one account, with a worse original within limits, outvote nobody."""
    held = ["mini, listening samples: 6 of 6 are not as they are made here, held to limits"]
    sent = {}
    with database.transaction(write=True) as session:
        for name, hertz, lines in (("opus_12k", 700.0, held), ("mp3_32k", 700.0, held), ("codec2_3200", 200.0, [])):
            sounds = {clip: tone(PITCH[name]) for clip in CLIPS}
            sent[name] = store(
                session, name, rows_of(), sounds=sounds, files=settings.files, reference=tone(hertz), status="verified",
                sender=f"who sends {hertz}",
            ).id  # fmt: skip
            attest(session, sent[name], "bits", left_out=lines)
    with database.transaction() as session:
        submissions = [session.get_one(Submission, identity) for identity in sent.values()]
        entries = shared_samples(session, submissions)
        assert [entry.original for entry in entries] == [2] * len(CLIPS)


class TestTheTest:
    """``GET /compare/listen``."""

    def test_without_a_seed_one_is_drawn(self, board: TestClient) -> None:
        """The address then repeats the test."""
        answer = board.get("/compare/listen?codec=opus_12k&codec=mp3_32k", follow_redirects=False)
        assert answer.status_code == 303
        again = board.get("/compare/listen?codec=opus_12k&codec=mp3_32k", follow_redirects=False)
        assert answer.headers["location"] != again.headers["location"]

    def test_a_seed_repeats_the_order(self, board: TestClient) -> None:
        """The same seed gives the same page, another one another order of clips or versions."""
        one, two = board.get(address(*PITCH)).text, board.get(address(*PITCH)).text
        assert one == two
        heard = [[codec_of(board.get(url).content) for url in urls[1:]] for urls in sounds_of(one)]
        other = board.get(address(*PITCH, seed="two")).text
        heard_other = [[codec_of(board.get(url).content) for url in urls[1:]] for urls in sounds_of(other)]
        assert heard != heard_other
        assert all(sorted(versions) == sorted(PITCH) for versions in [*heard, *heard_other])

    def test_every_version_is_a_codec_and_the_original_is_open(self, board: TestClient) -> None:
        """Each clip has the original first and each codec once."""
        for urls in sounds_of(board.get(address(*PITCH)).text):
            assert pitch(board.get(urls[0]).content) == pytest.approx(200, abs=2)

    def test_no_sender_says_alone_what_the_original_is(self, board: TestClient) -> None:
        """Of two the one that most senders of the board have is heard, in whatever order codecs are named."""
        for names in (("forged", "opus_12k"), ("opus_12k", "forged")):
            for urls in sounds_of(board.get(address(*names)).text):
                assert pitch(board.get(urls[0]).content) == pytest.approx(200, abs=2)

    def test_nothing_shared_is_an_answer_in_words(self, board: TestClient) -> None:
        """A codec without samples has no test."""
        answer = board.get(address("opus_12k", "silent"))
        assert answer.status_code == 404
        assert "no clip that can be heard through all" in answer.json()["detail"]

    @pytest.mark.parametrize("seed", ["", "a b", "x" * 41, "%3Cscript%3E"])
    def test_an_odd_seed_is_refused(self, board: TestClient, seed: str) -> None:
        """Only what this site draws is a seed."""
        assert board.get(address(*PITCH, seed=seed)).status_code == 400


class TestBlindness:
    """Nothing tells which version is which."""

    def test_addresses_do_not_tell(self, board: TestClient) -> None:
        """What can be read out of an address is the same for every version but its place."""
        for urls in sounds_of(board.get(address(*PITCH)).text):
            contents = [payload_of(url) for url in urls]
            assert [content[-1] for content in contents] == [0, 1, 2, 3]
            assert len({json.dumps(content[:-1]) for content in contents}) == 1

    def test_places_do_not_tell(self, board: TestClient) -> None:
        """Over many clips and seeds every codec stands at every place about equally often."""
        counts: Counter[tuple[int, str]] = Counter()
        for seed in range(8):
            for urls in sounds_of(board.get(address(*PITCH, seed=f"s{seed}")).text):
                for place, url in enumerate(urls[1:]):
                    counts[place, codec_of(board.get(url).content)] += 1
        assert len(counts) == 9
        assert min(counts.values()) >= 5  # 16 expected of 48
        assert max(counts.values()) <= 30

    def test_headers_do_not_tell(self, board: TestClient) -> None:
        """The headers of all versions are the same but for length and request; no name, no entity tag."""
        for urls in sounds_of(board.get(address(*PITCH)).text):
            headers = [dict(board.get(url).headers) for url in urls]
            for entry in headers:
                del entry["content-length"], entry["x-request-id"]
                assert "etag" not in entry
                assert not any(name in json.dumps(entry) for name in PITCH)
            assert len({json.dumps(entry, sort_keys=True) for entry in headers}) == 1

    def test_tags_do_not_tell(self, board: TestClient) -> None:
        """A title that the submitter wrote into the file does not reach the listener."""
        for urls in sounds_of(board.get(address(*PITCH)).text):
            for url in urls:
                assert b"made by" not in board.get(url).content

    def test_the_page_does_not_tell(self, board: TestClient) -> None:
        """Chosen in another order, the names stand in that order; the versions of a clip carry none."""
        page = board.get(address(*PITCH)).text
        for part in page.split("<fieldset")[1:]:
            assert not any(name in part.split("</fieldset")[0] for name in PITCH)


class TestAddresses:
    """``GET /api/v1/listening/….ogg``."""

    def test_a_changed_address_is_nothing(self, board: TestClient) -> None:
        """The signature covers codecs, seed, clip and place."""
        url = sounds_of(board.get(address(*PITCH)).text)[0][1]
        payload, _, signature = url.rpartition("/")[2].removesuffix(".ogg").rpartition(".")
        other = URLSafeSerializer("another key", salt="listening").dumps([*payload_of(url)[:-1], 2])
        swapped = f"{other.rpartition('.')[0]}.{signature}"
        for token in (other, swapped, f"{payload}.{signature[:-2]}", payload, "nonsense", "a.b"):
            answer = board.get(f"/api/v1/listening/{token}.ogg")
            assert answer.status_code == 404
            assert "open the listening test again" in answer.json()["detail"]

    def test_a_withdrawn_codec_is_heard_no_more(
        self, client: TestClient, database: Database, settings: Settings
    ) -> None:
        """Addresses that were given out before end with its publication."""
        with database.transaction(write=True) as session:
            fill(session, settings)
        urls = sounds_of(client.get(address(*PITCH)).text)[0]
        assert client.get(urls[1]).status_code == 200
        with database.transaction(write=True) as session:
            for submission in session.query(Submission):
                submission.status = "withdrawn"
        assert client.get(urls[1]).status_code == 404

    def test_a_withdrawn_vote_counts_no_more(self, client: TestClient, database: Database, settings: Settings) -> None:
        """Which original is heard follows from what is public, not from what was when somebody first listened."""
        other, usual = tone(200.0), tone(700.0)
        with database.transaction(write=True) as session:
            for name in ("opus_12k", "mp3_32k", "voter0", "voter1"):
                sounds = {clip: tone(PITCH.get(name, 900.0)) for clip in CLIPS}
                store(
                    session, name, rows_of(), sounds=sounds, files=settings.files, status="verified",
                    reference=other if name == "opus_12k" else usual, sender=f"who sends {name}",
                )  # fmt: skip
        asked = address("opus_12k", "mp3_32k")
        heard = pitch(client.get(sounds_of(client.get(asked).text)[0][0]).content)
        with database.transaction(write=True) as session:
            for submission in session.query(Submission):
                if submission.codec.name.startswith("voter"):
                    submission.status = "withdrawn"
            bump_revision(session)
        after = pitch(client.get(sounds_of(client.get(asked).text)[0][0]).content)
        assert (round(heard, -1), round(after, -1)) == (700, 200)

    @pytest.mark.parametrize(
        ("asked", "status", "part"),
        [
            ("bytes=0-9", 206, slice(0, 10)),
            ("bytes=10-", 206, slice(10, None)),
            ("bytes=-5", 206, slice(-5, None)),
            ("bytes=0-99999999", 206, slice(0, None)),
            ("bytes=99999999-", 416, slice(0, 0)),
            ("bytes=-", 200, slice(0, None)),
            ("items=1-2", 200, slice(0, None)),
        ],
    )
    def test_parts_can_be_asked_for(self, board: TestClient, asked: str, status: int, part: slice) -> None:
        """Some browsers play only what they can seek in."""
        url = sounds_of(board.get(address(*PITCH)).text)[0][1]
        whole = board.get(url).content
        answer = board.get(url, headers={"range": asked})
        assert (answer.status_code, answer.content) == (status, whole[part])


class TestKey:
    """``POST /compare/listen``."""

    def answer(self, board: TestClient, choices: Mapping[str, str]) -> str:
        """Send the form."""
        sent = board.post(address(*PITCH), data=choices)
        assert sent.status_code == 200
        return sent.text

    def test_the_key_is_what_was_heard(self, board: TestClient) -> None:
        """The names in the key are those of the sounds, clip by clip."""
        page = self.answer(board, {})
        test = board.get(address(*PITCH)).text
        rows = re.findall(r"<tr><th scope=\"row\">\d+ <small>(.*?)</small></th>\s*(.*?)</tr>", page, re.DOTALL)
        assert len(rows) == len(CLIPS)
        for (_, cells), urls in zip(rows, sounds_of(test), strict=True):
            names = re.findall(r"<td>([a-z0-9_]+)</td>", cells)
            assert names == [codec_of(board.get(url).content) for url in urls[1:]]

    def test_choices_are_counted(self, board: TestClient) -> None:
        """Who always picks one codec sees it chosen for every clip."""
        test = board.get(address(*PITCH)).text
        choices = {}
        for part, urls in zip(test.split("<fieldset")[1:], sounds_of(test), strict=True):
            place = [codec_of(board.get(url).content) for url in urls[1:]].index("mp3_32k") + 1
            choices[re.findall(r'name="(choice-\d+)"', part)[0]] = str(place)
        page = self.answer(board, choices)
        assert "You answered 6 of 6 clips" in page
        assert '<th scope="row">mp3_32k</th><td class="number">6</td>' in page
        assert '<th scope="row">opus_12k</th><td class="number">0</td>' in page

    def test_no_difference_and_no_answer_are_told_apart(self, board: TestClient) -> None:
        """The first is an answer."""
        page = self.answer(board, {"choice-0": "0", "choice-1": "99", "choice-x": "1", "other": "1"})
        assert '<th scope="row">No difference</th><td class="number">1</td>' in page
        assert page.count("no answer") == 4

    def test_nothing_is_stored(self, board: TestClient) -> None:
        """No cookie is set, and the answer may not be kept by anybody."""
        sent = board.post(address(*PITCH), data={"choice-0": "1"})
        assert "set-cookie" not in sent.headers
        assert sent.headers["cache-control"] == "private, no-store"
