"""``pack``: real run folders become one honest file, or an error that says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import KEYS, card, draw_rows, failed, ok, row, sha, stamp, with_audio, write_run
from support.profile import examples

from codec_superb.base_codec.card import Weights
from codec_superb.pipeline.errors import RunFolderError, SubmissionError
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submission, Submitter
from codec_superb.pipeline.tables.clips import read_rows
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

CARD = card()


def document(file: Path) -> Submission:
    """Read submission.json."""
    return Submission.model_validate_json(read_archive(file)["submission.json"])


class TestWhatIsPacked:
    """A submission holds what its runs hold."""

    def test_two_runs_become_one_submission(self, tmp_path: Path) -> None:
        """Datasets sorted by name, all rows, counts, the card, and nothing for the check to find."""
        other = [*draw_rows(2, 12, dataset="another"), failed("x", dataset="another")]
        runs = [write_run(tmp_path, draw_rows(1, 9), card=CARD), write_run(tmp_path, other, card=CARD)]
        packed = pack([runs[0], runs[1].path], tmp_path / "deep" / "a.zip", submitter=Submitter(name="Ann"))
        found = document(packed)
        assert [entry.name for entry in found.datasets] == ["another", "mini"]
        assert [(entry.ok, entry.failed, entry.selected) for entry in found.datasets] == [(12, 1, 13), (9, 0, 9)]
        assert found.codec == CARD
        assert found.kind == "named"
        assert found.submitter == Submitter(name="Ann")
        assert found.created == stamp().started
        assert check(packed).ok
        assert check(packed).clips == 22

    def test_the_same_runs_give_the_same_bytes(self, tmp_path: Path) -> None:
        """Neither the time of packing nor the order of runs nor the file's name leaves a trace."""
        runs = [
            write_run(tmp_path, draw_rows(1, 9), card=CARD),
            write_run(tmp_path, draw_rows(2, 9, dataset="b"), card=CARD),
        ]
        one, two = pack(runs, tmp_path / "1.zip"), pack(runs[::-1], tmp_path / "2.zip")
        assert one.read_bytes() == two.read_bytes()

    def test_rows_are_packed_unchanged(self, tmp_path: Path) -> None:
        """Every value of every row is in the file, bit for bit."""
        rows = draw_rows(1, 9)
        pack([write_run(tmp_path, rows, card=CARD)], tmp_path / "a.zip")
        (tmp_path / "clips.parquet").write_bytes(read_archive(tmp_path / "a.zip")["clips.parquet"])
        assert list(read_rows(tmp_path / "clips.parquet")) == rows

    def test_a_limited_run_says_so(self, tmp_path: Path) -> None:
        """Partial submissions are welcome: 9 of 60 clips is incomplete and in order."""
        packed = pack([write_run(tmp_path, draw_rows(1, 9), card=CARD, clips=60)], tmp_path / "a.zip")
        (entry,) = document(packed).datasets
        assert (entry.clips, entry.selected) == (60, 9)
        assert not any(part.complete for part in document(packed).aggregates.datasets)
        assert check(packed).ok

    def test_an_own_folder_is_custom_and_its_place_is_not_told(self, tmp_path: Path) -> None:
        """A custom dataset can be packed, marked, without the folder it lies in."""
        run = write_run(tmp_path, draw_rows(1, 9), card=CARD, location="/home/ann lee/my voices", category="speech")
        packed = pack([run], tmp_path / "a.zip")
        assert document(packed).kind == "custom"
        assert "shown as custom, never ranked" in " ".join(check(packed).notes)
        assert b"ann lee" not in read_archive(packed)["submission.json"]

    def test_no_path_of_this_machine_is_packed(self, tmp_path: Path) -> None:
        """Commands, errors, reasons, settings and local weights lose their folders."""
        secret = str(tmp_path.resolve())
        mine = card(
            "mine",
            weights=Weights(source=f"{secret}/model.pt"),
            settings={"codebook": f"{secret}/cb.npy"},
        )
        bad = failed("x").model_copy(update={"error": f"cannot read {secret}/x.wav"})
        scored = draw_rows(1, 9)
        odd = {**scored[0].metrics, "pesq": MetricValue(status="failed", reason=f"see {secret}/core")}
        run = write_run(tmp_path, [*scored, bad, row("y", metrics=odd)], card=mine)
        info = run.info()
        run.write_info(
            info.model_copy(update={"provenance": (stamp(command=f"codec-superb score '{secret}/my runs'"),)})
        )
        members = read_archive(pack([run], tmp_path / "a.zip"))
        assert not [name for name, data in members.items() if secret.encode() in data]
        submission = document(tmp_path / "a.zip")
        assert submission.codec.weights == Weights(source="…/model.pt")
        assert submission.datasets[0].provenance[0].command == "codec-superb score '…/my runs'"

    def test_a_folder_with_a_space_is_found_in_messages(self, tmp_path: Path) -> None:
        """No pattern ends at the right place in such a name: the run's folder and the dataset's are known, and cut."""
        place = tmp_path.resolve() / "ann lee"
        bad = failed("x").model_copy(update={"error": f"cannot read {place / CARD.name}/x.wav"})
        scored = draw_rows(1, 9)
        odd = {**scored[0].metrics, "pesq": MetricValue(status="failed", reason=f"see {place / CARD.name}/core")}
        run = write_run(place, [*scored, bad, row("y", metrics=odd)], card=CARD)
        members = read_archive(pack([run], tmp_path / "a.zip"))
        assert not [name for name, data in members.items() if b"lee" in data]
        (tmp_path / "clips.parquet").write_bytes(members["clips.parquet"])
        packed = {entry.clip: entry for entry in read_rows(tmp_path / "clips.parquet")}
        assert packed["x"].error == "cannot read …/x.wav"
        assert packed["y"].metrics["pesq"].reason == "see …/core"

    @examples(10)
    @given(
        clips=st.integers(3, 12),
        broken=st.sets(st.integers(0, 11)),
        silent=st.sets(st.integers(0, 11)),
        tokens=st.booleans(),
    )
    def test_whatever_a_run_holds_passes_its_check(
        self, tmp_path_factory: pytest.TempPathFactory, clips: int, broken: set[int], silent: set[int], tokens: bool
    ) -> None:
        """Failed clips, undefined and crashed metrics, tokens or none: pack and check agree on every number."""

        def vary(number: int, entry: ClipRow) -> ClipRow:
            if number in broken:
                return failed(entry.clip, category=entry.category)
            if number in silent:
                undefined = MetricValue(status="undefined", reason="silence")
                entry = entry.model_copy(update={"metrics": {**entry.metrics, "pesq": undefined}})
            return entry.model_copy(update={"tokens": 1600, "bits": 16000}) if tokens else entry

        codec = card("tok", frame_rate=100.0, codebooks=16, codebook_size=1024) if tokens else CARD
        rows = [vary(number, entry) for number, entry in enumerate(draw_rows(3, clips))]
        folder = tmp_path_factory.mktemp("run")
        report = check(pack([write_run(folder, rows, card=codec)], folder / "a.zip"))
        assert report.problems == ()
        assert report.clips == clips


class TestSamples:
    """Clips to listen to."""

    def test_samples_are_packed_by_turns_and_pass_the_check(self, tmp_path: Path) -> None:
        """Four samples: categories take turns, two small Opus files each, credited."""
        rows = draw_rows(1, 9)
        run = write_run(tmp_path, rows, card=CARD)
        dataset = with_audio(run, rows, tmp_path / "audio")
        packed = pack([run], tmp_path / "a.zip", samples=4, datasets={"mini": dataset})
        samples = document(packed).samples
        assert [sample.category for sample in samples] == ["speech", "audio", "music", "speech"]
        assert {sample.attribution for sample in samples} == {"by the test"}
        members = read_archive(packed)
        assert len(members) == 2 + 8
        assert all(members[sample.reference].startswith(b"OggS") for sample in samples)
        assert check(packed).ok
        again = pack([run], tmp_path / "b.zip", samples=4, datasets={"mini": dataset})
        assert again.read_bytes() == packed.read_bytes()

    def test_samples_of_an_own_folder_are_found_where_it_lies(self, tmp_path: Path) -> None:
        """The folder of the run is opened where the caller has not; it states no licence, so nothing is passed on."""
        import soundfile
        from support.audio import speech_like

        from codec_superb.data_manifests import open_dataset

        (tmp_path / "voices").mkdir()
        soundfile.write(tmp_path / "voices" / "a.wav", speech_like(0.5, 16000), 16000)
        opened = open_dataset(tmp_path / "voices", category="speech")
        (clip,) = opened.clip_ids()
        rows = [entry.model_copy(update={"clip": clip, "dataset": opened.name}) for entry in draw_rows(1, 1)]
        run = write_run(
            tmp_path,
            rows,
            card=CARD,
            location=str(tmp_path / "voices"),
            category="speech",
            manifest_hash=opened.manifest_hash,
        )
        assert document(pack([run], tmp_path / "a.zip", samples=1)).samples == ()

    def test_clips_that_may_not_be_passed_on_stay(self, tmp_path: Path) -> None:
        """An unknown or restrictive licence gives no sample, and no error."""
        rows = draw_rows(1, 9)
        run = write_run(tmp_path, rows, card=CARD)
        for licence in ("LDC-User-Agreement", "CC-BY-ND-4.0", "unknown", ""):
            dataset = with_audio(run, rows, tmp_path / "audio", licence)
            packed = pack([run], tmp_path / "a.zip", samples=3, datasets={"mini": dataset})
            assert document(packed).samples == ()

    def test_a_dataset_that_changed_since_gives_no_samples(self, tmp_path: Path) -> None:
        """Another audio under the same name would be a false reference."""
        rows = draw_rows(1, 9)
        run = write_run(tmp_path, rows, card=CARD, manifest_hash=sha("older"))
        dataset = with_audio(run, rows, tmp_path / "audio")
        with pytest.raises(RunFolderError, match="has changed since the run"):
            pack([run], tmp_path / "a.zip", samples=1, datasets={"mini": dataset})

    @pytest.mark.parametrize("count", [-1, 21])
    def test_a_count_out_of_range_is_refused(self, tmp_path: Path, count: int) -> None:
        """At most twenty samples."""
        with pytest.raises(SubmissionError, match="0 to 20"):
            pack([write_run(tmp_path, draw_rows(1, 9), card=CARD)], tmp_path / "a.zip", samples=count)


class TestWhatIsRefused:
    """Every refusal says why, and leaves no file."""

    def refused(self, runs: list[Any], out: Path, message: str) -> None:
        """Expect an error and no file."""
        with pytest.raises(SubmissionError, match=message):
            pack(runs, out)
        assert not out.exists()

    def test_no_runs(self, tmp_path: Path) -> None:
        """An empty submission says nothing."""
        self.refused([], tmp_path / "a.zip", "at least one run")

    def test_a_folder_that_is_no_run(self, tmp_path: Path) -> None:
        """The run folder's own error passes through."""
        with pytest.raises(RunFolderError, match=r"run\.json"):
            pack([tmp_path], tmp_path / "a.zip")

    @pytest.mark.parametrize("status", ["started", "resynthesised"])
    def test_a_run_that_is_not_scored(self, tmp_path: Path, status: str) -> None:
        """Nothing unfinished is published."""
        run = write_run(tmp_path, draw_rows(1, 9), card=CARD, status=status)
        self.refused([run], tmp_path / "a.zip", f"got one that is {status}; call score first")

    def test_random_weights(self, tmp_path: Path) -> None:
        """A model that nobody trained has no score."""
        run = write_run(tmp_path, draw_rows(1, 9), card=card("net_1", weights=Weights(source="random")))
        self.refused([run], tmp_path / "a.zip", "random weights")

    def test_clips_that_were_chosen(self, tmp_path: Path) -> None:
        """A run of named clips is for verification: whoever chooses clips chooses figures."""
        run = write_run(tmp_path, draw_rows(1, 3), card=card(), only=("mini/clip000", "mini/clip001", "mini/clip002"))
        with pytest.raises(SubmissionError, match="chosen one by one"):
            pack([run], tmp_path / "out.zip")

    def test_two_codecs(self, tmp_path: Path) -> None:
        """One codec a submission; a changed card of the same name is another codec."""
        one = write_run(tmp_path, draw_rows(1, 9), card=CARD)
        two = write_run(tmp_path, draw_rows(1, 9, dataset="b"), card=card("opus_24k"))
        three = write_run(tmp_path, draw_rows(1, 9, dataset="c"), card=card(version="libopus 1.6"))
        self.refused(
            [one, two], tmp_path / "a.zip", "expected runs of one codec, opus_24k; got opus_16k: pack it apart"
        )
        self.refused([one, three], tmp_path / "a.zip", "another card of the same name")

    def test_one_dataset_twice(self, tmp_path: Path) -> None:
        """The same run given twice would count double."""
        run = write_run(tmp_path, draw_rows(1, 9), card=CARD)
        self.refused([run, run], tmp_path / "a.zip", "mini twice")

    def test_named_and_custom_together(self, tmp_path: Path) -> None:
        """A category score over a named and an own dataset would look like one over named ones."""
        one = write_run(tmp_path, draw_rows(1, 9), card=CARD)
        two = write_run(tmp_path, draw_rows(1, 9, dataset="b"), card=CARD, location="/x")
        self.refused([one, two], tmp_path / "a.zip", "pack them apart")

    def test_rows_missing(self, tmp_path: Path) -> None:
        """Fewer rows than clips asked for."""
        run = write_run(tmp_path, draw_rows(1, 9), card=CARD, selected=10)
        self.refused([run], tmp_path / "a.zip", "expected 10 rows, got 9")

    def test_a_run_without_stamps(self, tmp_path: Path) -> None:
        """A score of unknown origin is not published."""
        run = write_run(tmp_path, draw_rows(1, 9), card=CARD)
        run.write_info(run.info().model_copy(update={"provenance": ()}))
        self.refused([run], tmp_path / "a.zip", "a stamp of each stage")

    def test_what_the_schema_does_not_take(self, tmp_path: Path) -> None:
        """A manifest hash that is none is told as such, not as an exception of a library."""
        run = write_run(tmp_path, draw_rows(1, 9), card=CARD, manifest_hash="abc")
        self.refused([run], tmp_path / "a.zip", "manifest_hash")

    def test_two_versions_of_a_metric(self, tmp_path: Path) -> None:
        """Scores under two definitions are not one score."""
        one = write_run(tmp_path, draw_rows(1, 9), card=CARD)
        two = write_run(tmp_path, draw_rows(1, 9, dataset="b"), card=CARD)
        info = two.info()
        two.write_info(info.model_copy(update={"metrics": {**info.metrics, "pesq": "0"}}))
        self.refused([one, two], tmp_path / "a.zip", "pesq has version 1, elsewhere 0")

    def test_what_would_not_pass_its_check(self, tmp_path: Path) -> None:
        """PESQ of 7 is a fault of the metric: it is found here, not by the server."""
        rows = draw_rows(1, 9)
        rows[3] = rows[3].model_copy(update={"metrics": {**rows[3].metrics, "pesq": ok(7.0)}})
        self.refused([write_run(tmp_path, rows, card=CARD)], tmp_path / "a.zip", "range of pesq")

    def test_an_existing_file_stays_when_packing_fails(self, tmp_path: Path) -> None:
        """The old submission is replaced only by a whole one."""
        run = write_run(tmp_path, draw_rows(1, 9), card=CARD)
        packed = pack([run], tmp_path / "a.zip")
        before = packed.read_bytes()
        with pytest.raises(SubmissionError):
            pack([run, run], packed)
        assert packed.read_bytes() == before
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.zip", CARD.name]


def test_strict_readers_agree_with_the_document(tmp_path: Path) -> None:
    """The document is plain JSON: sorted names, and the five metrics with their versions."""
    packed = pack([write_run(tmp_path, draw_rows(1, 9), card=CARD)], tmp_path / "a.zip")
    data = json.loads(read_archive(packed)["submission.json"])
    assert list(data) == sorted(data)
    assert set(data["metrics"]) == set(KEYS)
