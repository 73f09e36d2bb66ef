"""Blind listening: the clips that all chosen codecs carry, the hidden order of their versions, and their addresses.

The order of the versions X1, X2 … of a clip is drawn from the service's key, the seed in the address, the codecs and
the clip. The same seed gives the same test; without the key, neither a page, an address nor an answer shows
which version is which. Addresses are signed, so that only sounds of an issued page can be requested. The listener's
choices are sent once, compared with the key, and not stored.
"""

from __future__ import annotations

import hmac
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import av
from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy.orm import Session

from codec_superb.pipeline.submission.schema import Sample
from codec_superb.server.compare.repository import datasets_of, first_samples, samples_of
from codec_superb.server.database.models import Submission
from codec_superb.server.errors import NotFound, ServerError
from codec_superb.server.listening_tests.order import shuffled
from codec_superb.server.settings import Settings
from codec_superb.server.storage.samples import Side, stored_sound
from codec_superb.web.site.listening import BlindClip, BlindTest, Revealed, RevealedClip, Tally

_SALT = "listening"
MOST_ASKED = 30
"""Submissions besides those compared whose references are looked at where theirs differ."""
REFERENCE = 0
"""Place of the open reference; the versions are 1, 2 …"""


@dataclass(frozen=True, slots=True)
class SharedSample:
    """A clip that every one of the submissions carries."""

    samples: tuple[Sample, ...]
    """One for each submission, in their order."""
    original: int = 0
    """Place of the submission whose reference is heard."""

    @property
    def key(self) -> tuple[str, str]:
        """Dataset and clip id."""
        return self.samples[0].dataset, self.samples[0].clip


def shared_samples(session: Session, submissions: Sequence[Submission]) -> list[SharedSample]:
    """Find the clips of the same datasets that can be heard through all submissions, by dataset and clip id."""
    states = datasets_of(session, [submission.id for submission in submissions])
    found: list[dict[tuple[str, str], Sample]] = []
    for submission in submissions:
        hashes = {info.name: info.manifest_hash for info in states[submission.id]}
        listed = [Sample.model_validate(entry) for entry in samples_of(session, submission.id)]
        found.append({(hashes.get(sample.dataset, ""), sample.clip): sample for sample in listed})
    shared = [SharedSample(tuple(each[key] for each in found)) for key in set.intersection(*map(set, found))]
    differing = any(len({sample.reference_sha256 for sample in entry.samples}) > 1 for entry in shared)
    names = {sample.dataset for entry in shared for sample in entry.samples}
    votes = _originals(session, submissions, names) if differing else {}
    return sorted((_with_original(entry, votes) for entry in shared), key=lambda entry: entry.key)


def _originals(
    session: Session, submissions: Sequence[Submission], datasets: Collection[str]
) -> Mapping[str, tuple[int, int]]:
    """Count who sends each reference, by its SHA-256: verified submissions, then accounts, each once.

    Asked are these submissions and the first of the board. Files of one coder are equal. The reference of a verified
    one is the dataset's; of others it is checked by its levels alone, and another sound of the same levels would be
    that of all codecs.
    """
    asked = first_samples(session, MOST_ASKED, [submission.id for submission in submissions], datasets)
    senders: dict[str, set[str]] = {}
    for sender, sample in asked:
        senders.setdefault(sample["reference_sha256"], set()).add(sender)
    verified = {digest: sum(sender.startswith("verified:") for sender in its) for digest, its in senders.items()}
    return {digest: (verified[digest], len(its)) for digest, its in senders.items()}


def _with_original(entry: SharedSample, votes: Mapping[str, tuple[int, int]]) -> SharedSample:
    counts = [votes.get(sample.reference_sha256, (0, 0)) for sample in entry.samples]
    return replace(entry, original=counts.index(max(counts)))


@dataclass(frozen=True, slots=True)
class HiddenSound:
    """One sound of a test, and the sample that it plays."""

    submission: Submission
    sample: Sample
    side: Side

    @property
    def key(self) -> tuple[str, str, str]:
        """Cache key: the same in every test that plays the sound."""
        return (
            "sound",
            self.submission.id,
            self.sample.reference if self.side == "reference" else self.sample.resynthesis,
        )

    def read(self, settings: Settings) -> bytes:
        """Read it and remove metadata that identify its codec. NotFound where it cannot be played."""
        try:
            return without_tags(stored_sound(settings, self.submission, self.sample, self.side))
        except (ServerError, OSError, ValueError) as error:
            # Neither file nor member is named: the error goes to the listener, and would identify the codec.
            raise NotFound("this sample cannot be played; leave the clip out") from error


def without_tags(content: bytes) -> bytes:
    """Write the packets of an Ogg Opus file anew: without tags, stream number and the paging of another program.

    Head (with the pre-skip), packets and granule position of the end stay, and so does every sample; the same packets
    give the same bytes. ValueError for what is not one Opus stream with sound.
    """
    out = io.BytesIO()
    try:
        with av.open(io.BytesIO(content), "r", format="ogg") as source:
            found = [stream.codec_context.name for stream in source.streams.audio]
            packets = [packet for packet in source.demux(audio=0) if packet.size] if len(found) == 1 else []
            if not packets or "opus" not in found[0]:
                raise ValueError(f"expected one Opus stream with sound, got {found or 'none'}")
            # bitexact: stream number 0, and a vendor without version.
            with av.open(out, "w", format="ogg", options={"fflags": "+bitexact"}) as sink:
                stream = sink.add_stream_from_template(source.streams.audio[0])
                for packet in packets:
                    packet.stream = stream
                    sink.mux(packet)
    except av.FFmpegError as error:
        raise ValueError(f"expected an Ogg Opus file: {error}") from error
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class BlindTestKey:
    """The hidden side of one test: derived for each request from the address and the service's key."""

    key: str
    """Secret of the service."""
    seed: str
    submissions: Sequence[Submission]
    clips: Sequence[SharedSample]

    def order(self) -> list[int]:
        """Order in which the clips are heard, as positions in ``clips``."""
        return shuffled(range(len(self.clips)), self._stream("clips"))

    def versions(self, clip: int) -> list[int]:
        """Which submission stands behind X1, X2 … of a clip, as positions in ``submissions``."""
        identity = "\x1f".join(self.clips[clip].key)
        return shuffled(range(len(self.submissions)), self._stream(identity))

    def _stream(self, *names: str) -> bytes:
        ids = [submission.id for submission in self.submissions]
        return _digest(self.key, self.seed, *ids, *names)

    def test(self) -> BlindTest:
        """Make the view of the test without its key."""
        clips = []
        for clip in self.order():
            sample = self.clips[clip].samples[0]
            places = range(len(self.submissions) + 1)
            reference, *versions = (self._address(clip, place) for place in places)
            clips.append(
                BlindClip(
                    number=clip,
                    dataset=sample.dataset,
                    category=sample.category,
                    clip=sample.clip,
                    licence=sample.licence,
                    attribution=sample.attribution,
                    reference=reference,
                    versions=versions,
                )
            )
        return BlindTest(seed=self.seed, codecs=[entry.codec.name for entry in self.submissions], clips=clips)

    def _address(self, clip: int, place: int) -> str:
        ids = [submission.id for submission in self.submissions]
        token = URLSafeSerializer(self.key, salt=_SALT).dumps([ids, self.seed, clip, place])
        return f"/api/v1/listening/{token}.ogg"

    def sound(self, clip: int, place: int) -> HiddenSound:
        """Find the reference (place 0) or a version of a clip. NotFound where there is none."""
        if not (0 <= clip < len(self.clips) and REFERENCE <= place <= len(self.submissions)):
            raise NotFound("there is no such clip or version any more; open the listening test again")
        position = self.clips[clip].original if place == REFERENCE else self.versions(clip)[place - 1]
        side: Side = "reference" if place == REFERENCE else "resynthesis"
        return HiddenSound(self.submissions[position], self.clips[clip].samples[position], side)

    def reveal(self, choices: Mapping[int, int]) -> Revealed:
        """Return the key of the test; ``choices`` maps a clip's number to the version preferred, 0 for none."""
        names = [entry.codec.name for entry in self.submissions]
        clips, wins, undecided = [], dict.fromkeys(names, 0), 0
        for clip in self.order():
            behind = [names[position] for position in self.versions(clip)]
            choice = choices.get(clip)
            chosen = behind[choice - 1] if choice is not None and 1 <= choice <= len(behind) else None
            if chosen is not None:
                wins[chosen] += 1
            elif choice == 0:
                undecided += 1
            dataset, identity = self.clips[clip].key
            clips.append(RevealedClip(dataset, identity, versions=behind, chosen=chosen, decided=choice is not None))
        tally = [Tally(name, wins[name]) for name in names]
        answered = sum(entry.decided for entry in clips)
        return Revealed(clips=clips, tally=tally, no_difference=undecided, answered=answered)


def opened_address(key: str, token: str) -> tuple[list[str], str, int, int]:
    """Read submission ids, seed, clip and place out of an address. NotFound for an address that was not signed here."""
    try:
        ids, seed, clip, place = URLSafeSerializer(key, salt=_SALT).loads(token)
    except (BadSignature, ValueError, TypeError):
        raise NotFound("no sound is at this address; open the listening test again") from None
    return [str(identity) for identity in ids], str(seed), int(clip), int(place)


def _digest(key: str, *names: str) -> bytes:
    # Keyed: who knows the seed, which is in the address, cannot tell the order.
    return hmac.new(key.encode(), "\x1e".join([_SALT, *names]).encode(), sha256).digest()


def parse_choices(fields: Mapping[str, Any]) -> dict[int, int]:
    """Read ``choice-<clip>=<version>`` out of a form; what is neither is ignored."""
    found = {}
    for name, value in fields.items():
        clip = name.removeprefix("choice-")
        if name.startswith("choice-") and clip.isdecimal() and str(value).isdecimal():
            # Python refuses to read numbers of more than 4,300 digits: int() raises.
            found[int(clip[:6])] = int(str(value)[:6])
    return found
