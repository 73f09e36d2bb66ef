"""The parts of a codec page: scales, the bitrate band, the card in words, citations: each on known values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, get_args

import numpy as np
import pytest
from support.codecs.cards import make_card
from support.pipeline.stats import sha, stamp
from support.web.report import make_points, make_results
from support.web.results import changed

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card, Isolation, SystemNeed, Weights
from codec_superb.metrics.overall import normalise, on_scale
from codec_superb.metrics.table import METRICS, Category, Metric
from codec_superb.pipeline.literature.tables import published_as
from codec_superb.pipeline.runs.info import Provenance, is_imported
from codec_superb.pipeline.submission.schema import SubmittedDataset
from codec_superb.server.board.entries import BoardEntry, CodecFigures
from codec_superb.server.codecs.band import FACTOR, axes, band_of, scale_words
from codec_superb.server.codecs.bibtex import codec_citation, dataset_citations, result_citation, tex
from codec_superb.server.codecs.facts import card_facts, web_address
from codec_superb.server.codecs.provenance import STAGES, _stage, _taken_over, machines
from codec_superb.server.codecs.published import entries_of, published_page
from codec_superb.server.database.models import Account, Codec, Submission
from codec_superb.server.names import catalogue
from codec_superb.web.rows import CodecResult

MINI = {"mini": "1"}


def test_every_stage_of_a_stamp_has_a_word() -> None:
    """A page that meets a stage it has no word for cannot be shown at all."""
    assert STAGES.keys() == set(get_args(Provenance.model_fields["stage"].annotation))


class TestScales:
    """Where a mean stands on the radar."""

    @pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.key)
    def test_better_is_further_out_and_all_stays_within(self, metric: Metric) -> None:
        """From the worst to the best value places rise from 0 to 1, never beyond."""
        low, high = max(metric.minimum, -50.0), min(metric.maximum, 50.0)
        places = on_scale(metric, np.linspace(low, high, 100))
        ordered = list(places if metric.higher_is_better else places[::-1])
        assert ordered == sorted(ordered)
        assert 0 <= ordered[0] <= ordered[-1] <= 1
        assert ordered[-1] == pytest.approx(1)

    @pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.key)
    def test_metrics_of_the_score_stand_where_the_score_puts_them(self, metric: Metric) -> None:
        """The same normalisation, to the bit, and the words beside the chart say so; no other metric claims it."""
        assert ("overall score" in scale_words(metric)) <= bool(metric.overall)
        if metric.overall:
            assert on_scale(metric, np.asarray(0.8)) == normalise(metric.key, np.asarray(0.8))

    def test_decibels(self) -> None:
        """Worked numbers: 10 dB is in the middle."""
        assert on_scale(METRICS["si_sdr"], np.array([-90.0, -10, 10, 30, 90])).tolist() == [0, 0, 0.5, 1, 1]
        assert scale_words(METRICS["si_sdr"]) == "0 at −10 dB and below, 1 at 30 dB and above"
        assert scale_words(METRICS["pesq"]) == "as in the overall score: 0 at −0.5, 1 at 4.5"


def entry(name: str, kbps: float | None, states: Mapping[str, str] = MINI, pesq: float | None = 3.0) -> BoardEntry:
    """Make a codec of the board with one metric in speech."""
    metrics = {"pesq": (pesq, None, None, 3, 0, 0, None), "stoi": (0.9, None, None, 3, 0, 0, None)}
    figures = CodecFigures(
        tuple(states), tuple(states.values()), True, 3, 3, 0, 9.0, kbps, None, None, None, None, None, 0,
        (0.7, None, None), metrics,
    )  # fmt: skip
    category: Category = "speech"
    return BoardEntry(
        name, name.title(), "f", "self-reported", "self-reported", None, name, 1, None, "", "classical", 16000, kbps,
        True, True, {(category, ""): figures},
    )  # fmt: skip


def own(kbps: float | None = 12.0) -> CodecResult:
    """Make the codec whose band is looked for."""
    found = next(row for row in make_results(make_points("speech", 12)) if row.codec == "opus_12k")
    return changed(found, kbps=kbps, datasets=("mini",))


class TestBand:
    """The codecs of about the same bitrate."""

    def test_is_a_factor_of_one_and_a_half_either_way(self) -> None:
        """Ends belong to it; the codec itself, and those without a bitrate, do not."""
        assert FACTOR == 1.5
        others = [entry(name, kbps) for name, kbps in (("a", 8.0), ("b", 18.0), ("c", 7.99), ("d", 18.01), ("e", None))]
        found = band_of(own(), MINI, {}, [*others, entry("opus_12k", 12.0)])
        assert found is not None
        assert [member.codec for member in found.members] == ["a", "b"]
        assert (found.low, found.high, found.other_datasets) == (8.0, 18.0, 0)

    def test_holds_only_what_rests_on_the_same_sound(self) -> None:
        """Another dataset, one more, or another state of the same one: counted, and left out."""
        others = [entry("a", 12, {"other": "1"}), entry("b", 12, {"mini": "1", "other": "1"}),
                  entry("c", 12, {"mini": "2"}), entry("d", 12)]  # fmt: skip
        found = band_of(own(), MINI, {}, others)
        assert found is not None
        assert [member.codec for member in found.members] == ["d"]
        assert found.other_datasets == 3

    def test_holds_only_what_follows_the_same_definitions(self) -> None:
        """Values by an older PESQ are left out; a metric that only one of both has matters to nobody."""
        others = [replace(entry("a", 12), definitions={"pesq": "1"}),
                  replace(entry("b", 12), definitions={"pesq": "2", "mel": "1"})]  # fmt: skip
        found = band_of(own(), MINI, {"pesq": "2", "stoi": "1"}, others)
        assert found is not None
        assert [member.codec for member in found.members] == ["b"]
        assert found.other_datasets == 1

    def test_holds_only_whole_results_of_counted_bits(self) -> None:
        """A few chosen clips, and a bitrate that nobody counted, are no measure of others."""
        few, whole = entry("a", 12), entry("b", 12)
        figures = {place: each._replace(complete=False) for place, each in few.figures.items()}
        others = [replace(few, figures=figures), whole, replace(whole, codec="c", bit_source="declared")]
        found = band_of(own(), MINI, {}, others)
        assert found is not None
        assert ([member.codec for member in found.members], found.other_datasets) == (["b"], 2)

    @pytest.mark.parametrize("kbps", [None, 0.0])
    def test_needs_a_bitrate(self, kbps: float | None) -> None:
        """Without a measured bitrate there is no band."""
        assert band_of(own(kbps), MINI, {}, [entry("a", 12)]) is None

    def test_axes_give_median_and_range(self) -> None:
        """Three others with PESQ 1, 2 and 4: median 2, worst 1, best 4; nine copies of one account are one vote."""
        others = [entry(str(value), 12, pesq=value) for value in (4.0, 1.0, 2.0, None)]
        found = band_of(own(), MINI, {}, [replace(each, submitter=each.codec) for each in others])
        assert found is not None
        by_key = {axis.quantity.key: axis for axis in axes(own(), found.members)}
        pesq = by_key["pesq"]
        assert pesq.median
        assert pesq.worst
        assert pesq.best
        assert (pesq.median.value, pesq.worst.value, pesq.best.value, pesq.others) == (2.0, 1.0, 4.0, 3)
        assert pesq.median.position == pytest.approx(0.5)
        assert (by_key["stft"].median, by_key["stft"].others) == (None, 0)
        assert list(by_key) == [key for key in METRICS if key in by_key]
        copies = [replace(others[1], codec=f"copy {at}", submitter="1.0") for at in range(9)]
        crowded = band_of(own(), MINI, {}, [*(replace(each, source="verified") for each in others), *copies])
        (again,) = [axis for axis in axes(own(), crowded.members if crowded else ()) if axis.quantity.key == "pesq"]
        assert again.median
        assert (again.median.value, again.others) == (1.5, 12)  # of 1, 2, 4 and one vote for 1


class TestCard:
    """The card in words."""

    def test_no_field_is_forgotten(self) -> None:
        """A text that is put into each field of a card is found on the page."""
        texts = ("title", "standard", "version", "training_data", "licence", "paper", "homepage")
        texts += ("bitrate_note", "level_note", "conceals_loss")
        card = make_card(
            "net_1", kind="neural", frame_rate=75.0, codebooks=8, codebook_size=1024, nominal_kbps=6.0,
            channels=(2, 1), delay_samples=77, latency_ms=13.4, parameters=1234567, causal=False, year=1999,
            sampling_rate=22050, block_frames=40, extra="neural", requirements=("torch>=2",),
            weights=Weights(source="hub/net", revision="r1", sha256=sha("w")),
            encode_only=True, settings={"beam": 4}, input_rate=True, evidence="compared", evidence_date="2026-11-22",
            isolation=Isolation(lock="net_lock", guest="net"),
            system=SystemNeed(kind="library", name="netlib", packages={"Debian": "libnet1"}),
            **{name: f"text of {name}" for name in texts if name != "homepage"}, homepage="https://example.org/net",
        )  # fmt: skip
        words = " | ".join(f"{fact.label}: {fact.text} ({fact.note})" for fact in card_facts(card))
        for expected in (
            "net_1", "neural", "text of standard", "1999", "text of version", "22,050 Hz", "rate of its input",
            "2 or 1", "no: it needs", "13.4 ms", "blocks of 40 frames", "77 samples", "yes: it gives tokens",
            "6.00 kbps", "text of bitrate_note", "75 Hz", "8 codebooks of 1,024", "600 per second", "1,234,567",
            "text of level_note", "text of training_data", "hub/net", "r1", sha("w"), "text of licence",
            "text of paper", "https://example.org/net", "torch>=2", "codec-superb[neural]", "beam = 4", "net_lock",
            "torch>=2 netlib (library of the system)", "Debian: libnet1",
            "text of conceals_loss",
        ):  # fmt: skip
            assert expected in words, expected
        assert "Checked" not in words  # in the card's own words alone
        listed = next(each for each in catalogue.cards().values() if each.evidence == "seen" and each.evidence_date)
        assert f"published weights run, {listed.evidence_date}" in {fact.text for fact in card_facts(listed)}
        own = card.model_copy(update={"bit_source": "declared", "delay_source": "found"})
        told = " | ".join(fact.note for fact in card_facts(own))
        assert "declared: nothing that is sent was counted" in told
        assert "found on the first clips" in told
        here = card.model_copy(update={"isolation": None, "cpu_only": True})
        assert "on the CPU alone" in {fact.label: fact.text for fact in card_facts(here)}["Runs in"]
        shown = {"name", "family", "title", "nominal_tolerance", *texts}
        assert set(Card.model_fields) - shown == {
            "kind", "year", "sampling_rate", "encoder_rates", "input_rate", "channels", "nominal_kbps", "frame_rate",
            "codebooks", "codebook_size", "codebook_sizes", "block_frames", "causal", "delay_samples", "latency_ms",
            "parameters", "weights", "extra", "requirements", "encode_only", "settings", "isolation",
            "system",
            "evidence", "evidence_date", "cpu_only", "bit_source", "delay_source",
        }  # fmt: skip

    def test_rates_that_the_encoder_takes_are_named(self) -> None:
        """Where encoder and decoder have rates of their own, the page names both."""
        told = [card_facts(make_card(encoder_rates=rates)) for rates in ((8000, 12000, 48000), (24000,))]
        texts = [fact.text for facts in told for fact in facts if fact.label == "Sampling rate"]
        assert texts == [
            "encodes at the nearest of 8,000, 12,000 and 48,000 Hz and decodes at 16,000 Hz",
            "encodes at 24,000 Hz and decodes at 16,000 Hz",
        ]

    def test_a_sample_that_waits_for_the_whole_clip(self) -> None:
        """A codec without a latency in milliseconds says what its samples wait for."""
        (fact,) = (each for each in card_facts(make_card(causal=False, latency_ms=None)) if each.label == "Latency")
        assert fact.text == "the whole clip"
        assert "wait for the clip’s last one" in fact.note

    def test_codebooks_that_differ_are_named(self) -> None:
        """Each codebook's entries are said where they differ."""
        tokens = {"frame_rate": 12.5, "codebooks": 2, "codebook_sizes": (16384, 4096), "nominal_kbps": 0.325}
        words = {fact.label: fact.text for fact in card_facts(make_card("net_2", **tokens))}
        assert words["Codebooks"] == "2 codebooks of 16,384 + 4,096 entries"

    def test_says_what_is_not_known(self) -> None:
        """A lossless codec has no nominal bitrate; a neural one may not state its parameters."""
        words = {fact.label: fact.text for fact in card_facts(make_card(kind="lossless", nominal_kbps=None))}
        assert words["Nominal bitrate"] == "none: it depends on the sound"
        neural = {fact.label: fact.text for fact in card_facts(make_card(kind="neural"))}
        assert (neural["Trained parameters"], neural["Trained on"]) == ("not stated", "not stated")

    @pytest.mark.parametrize(
        "text", ["javascript:alert(1)", "data:text/html,x", "//x.org", "https://a b", "RFC 6716", ""]
    )
    def test_only_web_addresses_become_links(self, text: str) -> None:
        """A card is a stranger's text."""
        assert web_address(text) is None


class TestCitations:
    """BibTeX."""

    def test_special_characters_are_safe_for_tex(self) -> None:
        """What TeX would read as mark-up is text; lines become one."""
        assert tex("50 % of {a}_b & $c\n\\d #1 ~ ^") == (
            r"50 \% of \textbraceleft{}a\textbraceright{}\_b "
            r"\& \$c \textbackslash{}d \#1 \textasciitilde{} \textasciicircum{}"
        )

    def test_a_stranger_ends_no_entry(self) -> None:
        """BibTeX counts braces behind a backslash too: a title could end its entry and begin another."""
        text = codec_citation(make_card("a_1", title='A}} , } @misc(evil, title = "A is best")')).text
        assert text.count("{") == text.count("}")
        assert "\\}" not in text

    def test_of_a_codec(self) -> None:
        """Title, year, page and paper of the card; no author is made up."""
        text = codec_citation(
            make_card("a_1.5", title="A_B", paper="https://arxiv.org/abs/1", homepage="https://x.org/{}")
        ).text
        assert text.startswith("@misc{a_1.5,\n  title = {{A\\_B}},\n  year = {2020},")
        assert r"howpublished = {\url{https://x.org/%7B%7D}}" in text
        assert r"\url{https://arxiv.org/abs/1}" in text
        assert "author" not in text
        assert text.count("{") == text.count("}")

    def test_whose_words_a_codec_is_cited_in(self) -> None:
        """Standard, paper and version of one's own are its card's; of the catalogue the program says them."""
        listed = catalogue.cards()["opus_12k"]
        assert f"note = {{{tex(listed.standard)}. " in codec_citation(listed).text
        own = listed.model_copy(update={"name": "mine", "standard": "Recommended by this board"})
        assert "note = {According to its card: Recommended by this board. " in codec_citation(own).text

    def test_of_results(self) -> None:
        """Version, account in place of whom the file names, address and the day of looking."""
        row = Submission(
            id="abc", version=3, status="verified", submitter="Somebody", account=Account(name="Ann & co"),
            codec=Codec(name="a_1"),
            received=datetime(2026, 2, 3, tzinfo=UTC),
        )  # fmt: skip
        text = result_citation(row, "A 1", "https://board.example/", date(2026, 3, 4)).text
        assert text.startswith("@misc{codec-superb-a_1-v3,\n  author = {{Ann \\& co}},")
        assert r"\url{https://board.example/submissions/abc}" in text
        assert "urldate = {2026-03-04}" in text
        assert "results version 3" in text
        assert text.count("{") == text.count("}")

    def test_of_datasets(self) -> None:
        """An entry of its own is given as it is, a text in a note, nothing where nothing is known."""
        given = dataset("one", citation="@inproceedings{x, title={X}}")
        told = dataset("two", citation="Somebody 1999 & others")
        paged = dataset("three", homepage="https://x.org")
        one, two, three = dataset_citations([given, told, paged, dataset("four")])
        assert one.text == "@inproceedings{x, title={X}}"
        assert r"note = {Somebody 1999 \& others}" in two.text
        assert r"\url{https://x.org}" in three.text


def dataset(name: str, **fields: Any) -> SubmittedDataset:
    """Make a dataset of a submission."""
    return SubmittedDataset.model_validate({
        "name": name, "title": name, "manifest_hash": sha(name), "clips": 3, "selected": 3, "ok": 3, "failed": 0,
        "undefined": 0, "licence": "CC0-1.0", "spec_hash": sha("s"), "provenance": (stamp("resynth"), stamp()),
        **fields,
    })  # fmt: skip


class TestPublished:
    """Which rows of tables are the same configuration."""

    def test_follows_the_tables_own_links(self) -> None:
        """The re-run names the paper's row; either name finds both; a dot counts as an underscore."""
        both = [("table3", "E1"), ("tiny", "encodec_24k_1_5bps")]
        for name in ("E1", "encodec_24k_1_5bps", "encodec_24k_1.5bps"):
            assert [(table.name, codec.id) for table, codec in entries_of(name)] == both

    def test_another_family_is_somebody_elses(self) -> None:
        """A submission of the name but of another family gets no published figures."""
        assert entries_of("encodec_24k_6bps", "encodec")
        assert entries_of("encodec_24k_6bps", "opus") == []
        assert entries_of("e3") == []

    def test_are_those_of_the_commands(self) -> None:
        """A measured codec's page has the rows that ``compare --published`` compares it with, and no others."""
        for card in map(registry.card, registry.names()):
            assert tuple(entries_of(card.name, card.family)) == published_as(card.name), card.name
        assert [codec.id for _, codec in entries_of("sqcodec_24k_12kbps")] == ["sqcodec_24k_12kbps"]
        assert entries_of("sqcodec_24k_12kbps", "sqcodec") == []

    def test_a_catalogued_codec_that_nobody_measured(self) -> None:
        """Its name leads to the rows that name it, shown under the first one's."""
        entries = entries_of("mimi_8cb")
        assert [(table.name, codec.id) for table, codec in entries] == [("ultraeval", "Mimi (8bit)")]
        assert published_page(entries, "mimi_8cb").name == "Mimi (8bit)"


def test_sound_made_elsewhere_is_told() -> None:
    """Whose sound was imported has a mark, no machine of its times, and the changes that were made to it."""
    made = {"files": 75, "fitted": 58, "longest_ms": 19.75, "resampled": 2}
    imported = stamp("resynth").model_dump() | {"stage": "imported", "taken_over": made}
    whole = dataset("one", provenance=[imported])
    assert is_imported([stamp("resynth"), *whole.provenance])
    assert not is_imported([stamp("resynth")])
    assert machines([dataset("two"), whole]) == "no machine of this program: the sound was resynthesised elsewhere"
    fact = _taken_over(whole.provenance[0])[0]
    assert fact.text == "imported: resynthesised elsewhere"
    assert fact.note == (
        "58 of 75 files cut or padded at the end, by 19.8 ms at most; 2 resampled to the rate of their reference"
    )
    assert not _taken_over(stamp("resynth"))


def test_a_command_that_ran_on_several_datasets_is_shown_once() -> None:
    """With the start of each; another command stands by itself."""
    other = stamp().model_copy(update={"command": "codec-superb score other"})
    shown = [fact for fact in _stage([("One", stamp()), ("Two", stamp()), ("Three", other)]) if fact.label == "Command"]
    started = stamp().started
    assert [(fact.text, fact.note) for fact in shown] == [
        (stamp().command, f"One, started {started}; Two, started {started}"),
        (other.command, f"Three, started {started}"),
    ]


def test_times_are_told_with_their_machine() -> None:
    """Only resynthesis encodes and decodes; equal machines are named once, batches beside the device."""
    assert machines([dataset("one"), dataset("two")]) == "x86_64 (cpu), Linux"
    batched = dataset("two", provenance=[stamp("resynth").model_copy(update={"batch_seconds": 60.0})])
    assert machines([dataset("one"), batched]) == "x86_64 (cpu), Linux; x86_64 (cpu, batches of 60 s), Linux"
