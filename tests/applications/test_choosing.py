"""Which model answers for which probe, from what a person named."""

from __future__ import annotations

import pytest

from codec_superb.applications.catalogue import PROTOCOLS, backend_entry, choose
from codec_superb.applications.errors import ApplicationError, UnknownApplication
from codec_superb.applications.table import APPLICATIONS, PROBES
from codec_superb.applications.ultra.protocol import DATASETS


def chosen(applications: list[str], *backends: str) -> dict[str, str]:
    """Return the backend of each probe."""
    return {choice.probe: choice.backend for choice in choose(applications, backends)}


def test_without_a_name_each_probe_has_its_usual_model() -> None:
    """Applications stand for their probes, each once."""
    assert chosen(["asr", "asv", "sim"]) == {key: PROBES[key].backend for key in ("asr", "asv", "sim")}


def test_a_named_model_answers_for_all_its_probes() -> None:
    """One speaker model serves verification and similarity."""
    assert chosen(["asv"], "wavlm-sv:x") == {"asv": "wavlm-sv:x", "sim": "wavlm-sv:x"}


def test_a_listener_takes_the_place_of_the_usual_one() -> None:
    """`quality` with `visqol` asks no DNSMOS; with both it asks both."""
    assert chosen(["quality"], "visqol") == {"visqol": "visqol"}
    assert chosen(["quality"], "visqol", "dnsmos") == {"visqol": "visqol", "dnsmos": "dnsmos"}


def test_a_protocol_goes_before_the_usual_models_and_behind_named_ones() -> None:
    """`ultra` takes the published models unless others are named; they are those that its average accepts."""
    assert chosen(["ultra"])["asr"] == "faster-whisper:large-v3"
    assert chosen(["ultra"], "faster-whisper:tiny.en", "resemblyzer") == {
        "asr": "faster-whisper:tiny.en", "sim": "resemblyzer", "utmos": "utmos", "dnsmos": "dnsmos",
    }  # fmt: skip
    published = {key: names for row in DATASETS if row.language == "en" for key, names in row.backends.items()}
    for key, spec in PROTOCOLS["ultra"].items():
        assert any(name == spec or name.startswith(f"{spec}:") for name in published[key])


def test_every_protocol_names_what_exists() -> None:
    """An application's own models are backends of its probes."""
    for application, models in PROTOCOLS.items():
        assert models.keys() <= set(APPLICATIONS[application])
        assert all(key in backend_entry(spec).probes for key, spec in models.items())


def test_two_models_for_one_probe_are_refused() -> None:
    """A run keeps one answer a probe."""
    with pytest.raises(ApplicationError, match="probe once with each"):
        choose(["asr"], ["pocketsphinx", "faster-whisper:tiny.en"])


@pytest.mark.parametrize(("application", "backend"), [("asr", "wisper"), ("as", "pocketsphinx")])
def test_what_does_not_exist_is_named(application: str, backend: str) -> None:
    """With the names that there are."""
    with pytest.raises(UnknownApplication, match="There are"):
        choose([application], [backend])


RETRIEVAL, READING = "mseb_retrieval_passage", "mseb_reasoning_generative"
CHAINS = r"There are: clap-joint, RECOGNISER\+minilm, RECOGNISER\+transformers-text, RECOGNISER\+tf-idf, .*endpoint\."
READERS = r"There are: RECOGNISER\+command, RECOGNISER\+endpoint-chat\."
TINY = "faster-whisper:tiny.en"
NEEDS_SECOND = r": expected a second stage behind the \+, got"


@pytest.mark.parametrize(
    ("application", "backend", "said"),
    [
        ("asr", "resemblyzer", r"^resemblyzer does not answer for asr\. There are: faster-whisper, openai-whisper, "),
        ("asr", "minilm", r"^minilm is a second stage of a chain\. There are: faster-whisper, "),
        (
            RETRIEVAL, "minilm",
            rf"^minilm is a second stage: write RECOGNISER\+minilm, such as {TINY}\+minilm\. {CHAINS}",
        ),
        (RETRIEVAL, "yamnet-vectors", rf"^yamnet-vectors does not answer for {RETRIEVAL}\. {CHAINS}"),
        ("mseb.retrieval", "yamnet-vectors", r"^yamnet-vectors does not answer for mseb_retrieval_\w+ and \d others"),
        (RETRIEVAL, "transcript-truth+command:/x", rf"^transcript-truth\+command:/x does not answer .*\. {CHAINS}"),
        (RETRIEVAL, TINY, rf"^{TINY} is a recogniser: write {TINY}\+SECOND, such as {TINY}\+minilm\. {CHAINS}"),
        (READING, "command:/x", rf"such as {TINY}\+command:/x\. {READERS}"),
        (RETRIEVAL, f"{TINY}+", rf"^{TINY}\+{NEEDS_SECOND} nothing; write {TINY}\+ and one of command, endpoint, "),
        ("asr", f"{TINY}+resemblyzer", rf"{NEEDS_SECOND} resemblyzer, which is none; write {TINY}\+ and one of "),
        (RETRIEVAL, f"{TINY}+minlm", "^There is no second stage 'minlm'. Did you mean minilm"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_what_does(application: str, backend: str, said: str) -> None:
    """Half a chain is told how to become one; chains are among what there is where they are taken."""
    with pytest.raises(ApplicationError, match=said):
        choose([application], [backend])


def test_a_plus_in_a_path_is_no_chain() -> None:
    """Whether the folder is there or not: that is told when it is looked for."""
    assert chosen(["asr"], "transformers-asr:/models/a+b") == {"asr": "transformers-asr:/models/a+b"}
