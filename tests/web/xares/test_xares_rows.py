"""Rows of frozen encoders from submissions and records, and the section of the report."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.server.xares import LANGUAGE, LYRA, MEL, READER, SOUND, WHISPER, make_record, make_records, reading
from support.web.report import TABLE, make_applications, make_report
from support.web.results import changed_numbers, score

from codec_superb.web.report import render
from codec_superb.web.report.xares import xares_panel
from codec_superb.web.rows import ApplicationRow, ProbeModel, ReportData
from codec_superb.web.xares.heat import xares_heat_chart
from codec_superb.web.xares.rate import xares_rate_chart
from codec_superb.web.xares.rows import (
    Kind,
    XaresRow,
    readers_of,
    rows_of_result,
    rows_of_submission,
    without_repetitions,
)
from codec_superb.web.xares.table import xares_table

KNN = "xares_knn_language_accuracy_pct"
DECODER = (("decoder", "tiny"), ("encoder_hop_s", "0.02"), ("mode", "references"), ("track", "offline"))


def report_rows(data: ReportData, model: ProbeModel, figure: str = LANGUAGE) -> list[ApplicationRow]:
    """Return one figure for two codecs of speech."""
    speech = [row for row in data.results if row.summary.category == "speech"]
    probe = figure.removesuffix("_accuracy_pct")
    found = [row for row in make_applications(speech) if row.numbers.dataset == "mini"][:4:2]
    return [
        replace(
            changed_numbers(row, probe=probe, figure=figure, reference=score(90.0), resynthesis=score(70.0)),
            model=model,
        )
        for row in found
    ]


def rows_of(model: ProbeModel, figure: str = LANGUAGE) -> list[XaresRow]:
    """Return the rows of one codec that was heard by a model."""
    data = make_report()
    row = report_rows(data, model, figure)[0]
    result = next(of for of in data.results if of.codec == row.codec)
    own = replace(result, codec="lyra_3.2k", title="Lyra", family="lyra", nominal_kbps=3.2)
    return rows_of_submission([row], result, {"lyra_3.2k": own}, "someone", "/codecs/x")


@pytest.mark.parametrize(
    ("encoder", "more", "kind", "bits"),
    [
        (WHISPER, (), "encoder", None),
        ("codec-frames:lyra_3.2k", (), "codec as encoder", 3200.0),
        ("codec-frames:lyra_3.2k", (("encoder_latents", "continuous"),), "codec as encoder", None),
        ("code-embeddings:unknown", (), "codec as encoder", None),
    ],
)
def test_a_submission_says_what_its_encoder_hears_and_what_the_codec_leaves(
    encoder: str, more: tuple[tuple[str, str], ...], kind: Kind, bits: float | None
) -> None:
    """Originals are the encoder's, or the codec's that is the encoder; bits are known of codecs on the page alone."""
    model = ProbeModel(f"xares:{encoder}+tiny-llama-bytes", settings=(*DECODER, *more))
    original, left = rows_of(model)
    assert (original.kind, original.value, original.bits_per_s, original.encoder) == (kind, 90.0, bits, encoder)
    assert (left.kind, left.value, left.encoder, left.url) == ("resynthesis", 70.0, encoder, "/codecs/x")
    assert left.bits_per_s is not None
    assert {row.reader.title for row in (original, left)} == {READER}
    assert original.frames_per_s == 50.0


@pytest.mark.parametrize("hop", ["1e-300", "0", "nan", "1e999", "-1", "soon"])
def test_rates_that_cannot_be_are_not_known(hop: str) -> None:
    """A submission's settings are a stranger's word, and a number of 300 digits is as wide as that."""
    settings = tuple((name, hop if name == "encoder_hop_s" else text) for name, text in DECODER)
    assert dict(settings)["encoder_hop_s"] == hop
    model = ProbeModel(f"xares:{WHISPER}+tiny-llama-bytes", settings=settings)
    assert {(row.frames_per_s, row.numbers_per_s) for row in rows_of(model)} == {(None, None)}


def test_readers_are_never_mixed() -> None:
    """Another language model, track or head is another reader; a chat that nobody trained is none."""
    models = [
        ProbeModel(f"xares:{WHISPER}+tiny-llama-bytes", settings=DECODER),
        ProbeModel(f"xares:{WHISPER}+HuggingFaceTB/SmolLM2-135M", settings=DECODER),
        ProbeModel(f"xares:{WHISPER}+tiny-llama-bytes", settings=(*DECODER[:-1], ("track", "a"))),
    ]
    found = [row for model in models for row in rows_of(model)]
    found += rows_of(ProbeModel(WHISPER), KNN)
    assert len(readers_of(found)) == 4
    # one account with many codecs does not decide which reader the page begins with
    common, many = found[0], [replace(found[-1], title=f"codec {number}", sent_by="ann") for number in range(9)]
    (first, _), *_ = readers_of([*many, common, replace(common, source="somebody else")])
    assert first == common.reader
    assert rows_of(ProbeModel("transformers:qwen")) == []
    own = make_record([reading(LANGUAGE, (99.0,))], configuration_sha256="cd" * 32)
    assert rows_of_result(own, "")[0].reader.title == "decoder tiny (own, cdcdcdcd) (tiny-llama-bytes), track offline"


def test_an_encoder_is_its_hash_and_settings() -> None:
    """What differs from most senders' under one name is a line of its own that says in what; others are unchanged."""
    usual = ProbeModel(WHISPER, "ab" * 32, "1", settings=(("hop_s", "0.02"),))
    more = (*usual.settings, ("neighbours", "50"))
    others = [replace(usual, sha256="cd" * 32), replace(usual, settings=more), replace(usual, settings=())]
    models = [usual, usual, *others]
    sent = [
        replace(row, sent_by=f"account {at}" if at < 2 else "mallory", source=f"by {at}", title=f"codec {at}")
        for at, model in enumerate(models)
        for row in rows_of(model, KNN)
    ]
    found = without_repetitions(sent)
    marks = ["", "", "cdcdcdcd", "neighbours 50", "without hop_s"]
    for kind in ("encoder", "resynthesis"):
        assert [row.own for row in found if row.kind == kind] == marks
    heard = [row for row in found if row.kind == "resynthesis"]
    assert heard[2].told == f"heard by {WHISPER} (own, cdcdcdcd)"
    assert len({row.subject for row in found}) == len(found)
    names = [line[0] for line in xares_table(found).lines]
    assert [name.text for name in names if "cdcdcdcd" in name.small] == ["own: codec 2"] * 2
    assert "neighbours 50" in str(xares_heat_chart(found)["layout"]["yaxis"]["ticktext"])
    drawn = {trace["name"] for trace in xares_rate_chart(heard)["data"] if trace["meta"]["role"] == "family"}
    assert len(drawn) == 4
    # one account has two lines where its files say two things
    twice = [replace(row, source="by mallory", title=row.encoder) for row in sent if row.kind == "encoder"]
    assert len(without_repetitions(twice)) == 4


def test_records_and_submissions_are_one_encoder_by_its_hash() -> None:
    """A record states that hash alone, and is the usual one beside a single account's other hash."""
    record = rows_of_result(make_record([reading(LANGUAGE, (99.0,))]), "imported: ours")
    for sha256, marks in (("ab" * 32, ["", "", ""]), ("cd" * 32, ["", "cdcdcdcd", "cdcdcdcd"])):
        settings = tuple(sorted((*DECODER, ("encoder_sha256", sha256))))
        sent = rows_of(ProbeModel(f"xares:{WHISPER}+tiny-llama-bytes", "ef" * 32, settings=settings))
        sent = [replace(row, dataset=record[0].dataset, sent_by="mallory") for row in sent]
        found = without_repetitions([*sent, *record])
        assert sorted(row.own for row in found) == marks
        assert next(row for row in found if row.model is None).own == ""


def test_verified_results_are_senders_each() -> None:
    """All have one label: an account with a few of its clips beside them has one vote, and partial runs come last."""
    usual, other = rows_of(ProbeModel(WHISPER), KNN)[0], rows_of(ProbeModel(f"xares:{WHISPER}+x", settings=DECODER))[0]
    verified = [replace(usual, source="verified", sent_by=f"verified:{at}", title=f"codec {at}") for at in range(5)]
    many = [replace(other, source="self-reported by ann", sent_by="ann", title=f"low {at}") for at in range(7)]
    assert readers_of([*many, *verified])[0] == (usual.reader, 5)
    partial = [replace(row, sent_by=f"account {at}", complete=False) for at, row in enumerate(many)]
    assert readers_of([*partial, *verified])[0] == (usual.reader, 5)
    assert readers_of(partial)[0] == (other.reader, 7)


def test_a_control_says_whose_it_is() -> None:
    """Any file with the setting makes such a line; its name would else be the board's word."""
    row = rows_of(ProbeModel(WHISPER, settings=(("mode", "shuffled labels"),)), KNN)[0]
    lines = xares_rate_chart([*rows_of(ProbeModel(WHISPER), KNN), row])["layout"]["annotations"]
    assert "shuffled labels, someone: 90.00 (faster-whisper-frames:tiny.en)" in str(lines)


def test_a_record_s_rows_have_seeds_rates_and_the_second_figure() -> None:
    """The constrained figure stands beside the other and is no row; a codec as encoder has the bits of its tokens."""
    rows = [row for result in make_records() for row in rows_of_result(result, "ours")]
    assert len(rows) == 11
    heard = next(row for row in rows if row.title == "Codec2 700" and not row.control and row.mode == "references")
    assert (heard.constrained, heard.failed, heard.seeds) == (pytest.approx(71.3), 3, (74.7, 68.7, 68.7))
    (tokens, _) = [row for row in rows if row.kind == "codec as encoder"]
    assert (tokens.title, tokens.bits_per_s, tokens.numbers_per_s) == (LYRA.title, 3200.0, 3200.0)


def test_a_line_has_the_bitrates_of_all_its_datasets() -> None:
    """From the least to the greatest; equal ones once."""
    heard = [LYRA.model_copy(update={"kbps": kbps}) for kbps in (3.25, 3.22)]
    record = make_record([reading(LANGUAGE, (90.0,), heard[0]), reading(SOUND, (80.0,), heard[1])])
    (line,) = xares_table(rows_of_result(record, "")).lines
    assert line[1].text == "3.22\u00a0kbps to 3.25\u00a0kbps"
    (line,) = xares_table(rows_of_result(make_records()[1], "")).lines
    assert line[1].text == "continuous: no bit rate"


def test_who_was_asked_about_fewer_clips_says_so() -> None:
    """Beside the figure, of how many that others have."""
    rows = rows_of_result(make_record([reading(SOUND, (80.0,), LYRA)]), "")
    few = [replace(row, title="chosen", n=3, failed=0) for row in rows]
    lines = {line[0].text: line[-1].warning for line in xares_table([*rows, *few]).lines}
    assert lines["chosen"] == f"3 of {rows[0].n + rows[0].failed} clips"
    assert "clips" not in lines[rows[0].title]


def test_without_codecs_encoders_stand_in_the_strip_alone() -> None:
    """The chart has an axis, and nothing at a bitrate; without rows it says so; one far from all others is an arrow."""
    mel = [row for row in rows_of_result(make_records()[1], "") if row.figure == LANGUAGE]
    drawn = xares_rate_chart(mel)
    (marks,) = (trace for trace in drawn["data"] if trace["meta"]["role"] == "family")
    (strip,) = (shape for shape in drawn["layout"]["shapes"] if shape["type"] == "rect")
    assert strip["x0"] < marks["x"][0] < strip["x1"]
    assert marks["name"] == MEL
    assert xares_rate_chart([])["data"] == []
    rows = [replace(mel[0], bits_per_s=1000.0 * 2**at, encoder=f"codec {at}") for at in range(5)]
    usual = xares_rate_chart(rows)["layout"]["xaxis"]["range"]
    drawn = xares_rate_chart([*rows, replace(rows[0], bits_per_s=9e9, encoder="absurd")])
    (marks,) = (trace for trace in drawn["data"] if trace["meta"]["role"] == "family")
    assert drawn["layout"]["xaxis"]["range"] == usual
    assert (marks["marker"]["symbol"][-1], marks["x"][-1] < 10 ** usual[1]) == ("arrow-bar-right", True)
    assert "outside the axis, at" in marks["hovertext"][-1]
    assert "1 codec outside the axis" in drawn["layout"]["annotations"][0]["text"]
    whose = [replace(row, source=f"self-reported by {at}") for at, row in enumerate(rows)]
    many = [replace(whose[0], bits_per_s=41.0, encoder=f"low {at}", source="self-reported by x") for at in range(30)]
    (marks,) = (row for row in xares_rate_chart([*whose, *many])["data"] if row["meta"]["role"] == "family")
    assert "arrow-bar-right" not in str(marks["marker"]["symbol"])
    assert xares_heat_chart(mel)["data"][0]["text"] == [[""], ["99.10"]]


def test_the_report_has_a_section_with_charts_and_tables() -> None:
    """One encoder on originals and two codecs; what a browser without scripts shows is in the table."""
    data = make_report()
    rows = report_rows(data, ProbeModel(f"xares:{WHISPER}+tiny-llama-bytes", settings=DECODER))
    panel = xares_panel(rows, data.results)
    assert panel is not None
    assert set(panel.figures) == {"xares-heat-0", "xares-rate-0"}
    ((title, table),) = panel.tables
    assert (title, len(table.lines)) == (READER, 3)
    page = render(replace(data, applications=rows), TABLE)
    section = page[page.index('<section class="panel" id="xares"') :]
    for shown in (WHISPER, "90.00", "70.00", "continuous: no bit rate", READER):
        assert shown in section, shown
    assert 'id="xares"' not in render(data, TABLE)
