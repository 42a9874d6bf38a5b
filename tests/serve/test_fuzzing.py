"""Requests generated from the OpenAPI description never get a 500."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from rpnb.client import Client
from serve.process import ServerProcess

schemathesis = pytest.importorskip("schemathesis")

EXAMPLES = 25


@pytest.fixture(scope="module")
def operations(shared: ServerProcess) -> list[Any]:
    with Client(shared.address, timeout=300) as client:
        client.create("fuzzed", "GaussianNB", features=["a", "b"], classes=["x", "y"])
        client.learn("fuzzed", [[0.0, 1.0], [2.0, 3.0]], ["x", "y"])
    schema = schemathesis.openapi.from_url(f"{shared.address}/openapi.json")
    return [each.ok() for each in schema.get_all_operations()]


@dataclass
class Answers:
    """Responses of the service."""

    counts: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


def send_examples(address: str, operation: Any, cases: Any, answers: Answers) -> None:
    """Send requests of an operation, to a model that exists or not."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, known=st.booleans())
    def send(case: Any, known: bool) -> None:
        if known and "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = "fuzzed"
        response = case.call(timeout=60)
        answers.counts[response.status_code] += 1
        if response.status_code >= 500:
            answers.errors.append(f"{operation.label}: {response.text[:200]}")
        if known and (case.method, case.path) == ("DELETE", "/v1/models/{name}"):
            with Client(address, retries=0) as client:
                client.create("fuzzed", "GaussianNB", features=["a", "b"])

    send()


def test_no_request_is_answered_with_500(
    shared: ServerProcess, operations: list[Any]
) -> None:
    assert len(operations) > 12
    answers = Answers()
    for operation in operations:
        for mode in schemathesis.GenerationMode:
            cases = operation.as_strategy(generation_mode=mode)
            with suppress(Unsatisfiable):  # no wrong request can be made of it
                send_examples(shared.address, operation, cases, answers)
    assert answers.errors == []
    assert answers.counts[200] > 20
    assert answers.counts[422] > 20
    assert httpx.get(f"{shared.address}/healthz").json()["status"] == "ok"
