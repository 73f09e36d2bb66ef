"""What the service knows of datasets: one current state each, older ones kept."""

from __future__ import annotations

import zlib

import pytest
from sqlalchemy import select
from support.pipeline.stats import sha

from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset
from codec_superb.server.database.models import AuditEntry, Dataset, Revision
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.clips import pack_clips, unpack_clips
from codec_superb.server.datasets.service import (
    DatasetFacts,
    add,
    ensure_builtin,
    facts_of_manifest,
    known,
    packed_states,
)
from codec_superb.server.errors import BadRequest


def facts(digest: str, clips: int = 2) -> DatasetFacts:
    """Describe a state of a dataset."""
    known = {f"c{n}": KnownClip("speech", 16000, n, frozenset()) for n in range(clips)}
    return DatasetFacts("tiny", "Tiny", "CC0-1.0", KnownDataset(sha(digest), known))


def add_known(database: Database, described: DatasetFacts) -> bool:
    """Add a state in a transaction of its own."""
    with database.transaction(write=True) as session:
        return add(session, described)


def revision(database: Database) -> int:
    """How often the public data changed."""
    with database.transaction() as session:
        return session.scalars(select(Revision.number)).one()


class TestAdd:
    """A new state becomes the current one."""

    def test_it_is_known_and_recorded(self, database: Database) -> None:
        """Hash and clips come back as they were given; the public is told; the log says it."""
        assert add_known(database, facts("one"))
        with database.transaction() as session:
            assert known(session, "tiny") == facts("one").known
            assert known(session, "other") is None
            assert set(packed_states(session)) == {"tiny"}
            row = session.scalars(select(Dataset)).one()
            assert row.counts == {"speech": 2}
            entry = session.scalars(select(AuditEntry)).one()
            assert (entry.actor, entry.action, entry.subject) == ("command line", "dataset.added", "tiny")
        assert revision(database) == 1

    def test_an_older_state_stays_and_may_come_back(self, database: Database) -> None:
        """One is current at any time."""
        for digest in ("one", "two", "one"):
            assert add_known(database, facts(digest))
            with database.transaction() as session:
                current = session.scalars(select(Dataset.manifest_hash).where(Dataset.current)).all()
                assert current == [sha(digest)]
        with database.transaction() as session:
            assert len(session.scalars(select(Dataset)).all()) == 2

    def test_the_same_state_again_changes_nothing(self, database: Database) -> None:
        """No revision is counted for nothing."""
        assert add_known(database, facts("one"))
        assert not add_known(database, facts("one"))
        assert revision(database) == 1

    def test_a_dataset_without_clips_is_refused(self, database: Database) -> None:
        """There would be nothing to check against."""
        with pytest.raises(BadRequest, match="expected a dataset with clips"):
            add_known(database, facts("one", clips=0))


class TestBuiltin:
    """``mini`` is known from the start."""

    def test_it_is_registered_once_from_its_manifest(self, database: Database) -> None:
        """Hash, clips and categories are those of the published list; a second start adds nothing."""
        for _ in range(2):
            with database.transaction(write=True) as session:
                ensure_builtin(session)
        with database.transaction() as session:
            found = known(session, "mini")
        manifest = load_manifest("mini")
        assert found is not None
        assert manifest.expected_clips is not None
        assert len(found.clips) == manifest.expected_clips.count
        assert found.manifest_hash == getattr(manifest.source, "manifest_hash", None)
        assert found.clips["speech/cards_001"].category == "speech"
        assert revision(database) == 1

    def test_a_manifest_without_its_clips_says_what_to_do(self) -> None:
        """Others must be on the machine first."""
        with pytest.raises(BadRequest, match="codec-superb admin datasets add librispeech"):
            facts_of_manifest(load_manifest("librispeech"))


def test_clips_are_packed_the_same_in_any_order() -> None:
    """Equal clips give equal bytes, and come back."""
    whole = KnownClip("speech", 16000, 7, frozenset({"pesq", "f0corr"}), b"\x00\xff", "0123456789ab", "")
    one, two = {"b": KnownClip("music"), "ä": whole}, {"ä": whole, "b": KnownClip("music")}
    assert pack_clips(one) == pack_clips(two)
    assert unpack_clips(pack_clips(one)) == one


def test_clips_of_an_earlier_version_have_no_facts() -> None:
    """Clip id to category, as it was kept first: nothing else is known. Later everything but clusters was."""
    old = zlib.compress(b'{"a": "music", "format": "speech"}')
    assert unpack_clips(old) == {"a": KnownClip("music"), "format": KnownClip("speech")}
    missing = KnownDataset(sha("x"), unpack_clips(old)).missing_facts()
    assert missing == "lengths, where metrics are undefined, sound, clusters"
    former = unpack_clips(zlib.compress(b'{"format": 2, "clips": {"a": ["music", 8000, 7, [], "AA=="]}}'))
    assert former == {"a": KnownClip("music", 8000, 7, frozenset(), b"\0")}
    assert KnownDataset(sha("x"), former).missing_facts() == "clusters"
