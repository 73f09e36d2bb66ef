"""Attestations of strangers are refused by the first fault: describing all of them takes seconds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import BaseModel, ValidationError
from support.server.verified import statement

from codec_superb.field_faults import sentences
from codec_superb.pipeline.verification.attestation import AttestationError, read_attestation, sign

MANY = 5_000
NUMBERS = {str(number): 1 for number in range(MANY)}
CLIP = {"dataset": "mini", "clip": "a", "verdict": "agrees", "same_sound": True}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (NUMBERS, "statement.0 is unknown: take it out"),
        ({"clips": [{}] * MANY}, "statement.clips.0.dataset is missing: state it"),
        ({"clips": [1] * MANY}, "clips.0: expected names with values, got 1"),
        ({"clips": [CLIP | {"clip": 1}] * MANY}, "clips.0.clip: expected a valid string, got 1"),
        ({"clips": [CLIP | {"differences": [NUMBERS]}]}, "clips.0.differences.0.quantity is missing"),
        ({"compared": [1] * MANY}, "compared.0: expected a valid string"),
        ({"left_out": [1] * MANY}, "left_out.0: expected a valid string"),
        ({"tolerances": NUMBERS}, f"tolerances: expected at most 100 of them, not {MANY}"),
        ({"tolerances": {"pesq": NUMBERS}}, "statement.tolerances.pesq.clip is missing"),
        ({"condition": NUMBERS}, "statement.condition.name is missing"),
    ],
)
def test_the_first_fault_is_the_last(changes: dict[str, Any], words: str) -> None:
    """Wherever thousands stand, a few are described."""
    sent = json.loads(sign(statement(), Ed25519PrivateKey.generate()).to_json())
    sent["statement"].update(changes)
    with pytest.raises(AttestationError, match=words) as raised:
        read_attestation(json.dumps(sent).encode())
    cause = raised.value.__cause__
    assert not isinstance(cause, ValidationError) or cause.error_count() < 10


def test_packages_without_end_are_refused() -> None:
    """Their names are free, and so are counted."""
    sent = json.loads(sign(statement(), Ed25519PrivateKey.generate()).to_json())
    sent["statement"]["machine"]["packages"] = NUMBERS
    with pytest.raises(AttestationError, match=f"machine.packages: expected at most 200 of them, not {MANY}"):
        read_attestation(json.dumps(sent).encode())


def test_of_many_faults_some_are_told() -> None:
    """The others are counted."""

    class Numbers(BaseModel):
        numbers: list[int]

    with pytest.raises(ValidationError) as raised:
        Numbers.model_validate({"numbers": ["x"] * 60})
    said = sentences(raised.value).split("; ")
    assert len(said) == 51
    assert said[-1] == "and 10 more"
