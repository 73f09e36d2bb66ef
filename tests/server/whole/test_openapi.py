"""What the API promises in its OpenAPI document, held against what it answers to anything that can be sent to it."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig
from support_tour import Tour

SEED = 20251122
EXAMPLES = 12


@pytest.fixture(scope="session")
def promised(tour: Tour) -> Any:
    """Read the document from the running service."""
    config = SchemathesisConfig.from_dict({"seed": SEED})
    return schemathesis.openapi.from_url(f"{tour.address}/api/openapi.json", config=config)


schema = schemathesis.pytest.from_fixture("promised")


@schema.parametrize()
@settings(
    max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_whatever_is_asked(case: schemathesis.Case) -> None:
    """No fault of the server; status, type and content of each answer are as documented."""
    case.call_and_validate()
