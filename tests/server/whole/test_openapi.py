"""What the API promises in its OpenAPI document, held against what it answers to anything that can be sent to it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from support.profile import amount
from support.server.tour import Tour
from support.timing import PATIENCE_S

from codec_superb.server.app import create_app
from codec_superb.server.settings import Settings

SEED = 20251122
EXAMPLES = amount(2, 12)
schemathesis.serializer.alias("application/zip", "application/octet-stream")

schema = schemathesis.openapi.from_dict(
    create_app(Settings(secret_key="x" * 40)).openapi(), config=SchemathesisConfig.from_dict({"seed": SEED})
)
OPERATIONS = {found.ok().label: found.ok() for found in schema.get_all_operations()}
BOUNDED = settings(
    max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def send_all(label: str, tour: Tour, secret: str = "") -> None:
    """Send an operation what fits its document and what does not: the edges of each parameter, then drawn cases."""
    operation = OPERATIONS[label]
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    config = schema.config.generation_for(operation=operation)

    def send(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=tour.address, headers=headers, timeout=PATIENCE_S, excluded_checks=untold(case))

    for case in schema.iter_coverage_cases(operation, generation_modes=list(GenerationMode), generation_config=config):
        send(case)
    seed(SEED)(BOUNDED(given(operation.as_strategy())(send)))()
    with suppress(Unsatisfiable):  # a path that takes any text: nothing does not fit
        seed(SEED)(BOUNDED(given(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))(send)))()


def untold(case: schemathesis.Case) -> list[Any]:
    """Name the checks that hold a case against more than a document can say.

    A minimum above its maximum and a zip that is no submission fit their schemas and are refused; an empty field, as
    forms send it, is one that was not filled in.
    """
    empty = "" in dict(case.query or {}).values()
    return [positive_data_acceptance, *([negative_data_rejection] if empty else [])]


@pytest.mark.sample(2)
@pytest.mark.parametrize("label", OPERATIONS)
def test_anybody_may_ask_anything(label: str, tour: Tour) -> None:
    """No fault of the server; status, type and content of each answer are as documented."""
    send_all(label, tour)


@pytest.mark.parametrize("label", [label for label in OPERATIONS if label.startswith("POST")])
def test_whoever_has_a_token_may_send_anything(label: str, tour: Tour) -> None:
    """The same of uploads and decisions that get beyond the door."""
    send_all(label, tour, tour.moderate if label.endswith("/decision") else tour.submit)


def test_nothing_is_promised_that_is_never_sent() -> None:
    """Every path documents errors as this service makes them, and none of the framework's own."""
    document = schema.raw_schema
    assert "HTTPValidationError" not in document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                if status.startswith(("4", "5", "d")):
                    shape = answer["content"]["application/json"]["schema"]
                    assert shape == {"$ref": "#/components/schemas/ErrorAnswer"}, (method, path, status)
            assert {"400", "404", "429", "503", "default"} <= set(operation["responses"]), (method, path)


class TestMethods:
    """What is asked in another way than intended."""

    @pytest.mark.parametrize("path", ["/", "/submit", "/api/v1/submissions", "/api/v1/leaderboard.csv", "/healthz"])
    def test_head_is_get_without_its_body(self, tour: Tour, path: str) -> None:
        """The same status, type and length; the connection goes on."""
        with httpx2.Client(base_url=tour.address, timeout=PATIENCE_S) as client:
            head, got = client.head(path), client.get(path)
            assert (head.status_code, head.content) == (200, b"")
            for name in ("content-type", "content-length", "cache-control", "etag"):
                assert head.headers.get(name) == got.headers.get(name), name

    @pytest.mark.parametrize(
        ("path", "methods"),
        [("/", "GET, HEAD"), ("/submit", "GET, HEAD, POST"), ("/api/v1/submissions", "GET, HEAD, POST"),
         ("/api/v1/leaderboard", "GET, HEAD"), ("/moderation/abc", "GET, HEAD, POST"), ("/logout", "POST")],
    )  # fmt: skip
    def test_another_method_learns_which_there_are(self, tour: Tour, path: str, methods: str) -> None:
        """405 with all of them, as JSON for programs."""
        answer = httpx2.delete(tour.address + path, timeout=PATIENCE_S)
        assert (answer.status_code, answer.headers["allow"]) == (405, methods)
        assert answer.json()["error"] == "BadRequest"
