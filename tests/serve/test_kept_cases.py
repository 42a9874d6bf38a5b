"""Attacks on the service, and damaged logs, found by the fuzzer."""

import json
import sys

import pytest

from fuzzer.runner import CASES, SERVICE_TARGETS, Worker

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="needs the limits of Linux"
)


def test_no_kept_case_fails_again() -> None:
    kept = [json.loads(path.read_text()) for path in sorted(CASES.glob("*.json"))]
    attacks = [each for each in kept if each["target"] in SERVICE_TARGETS]
    assert attacks
    worker = Worker()
    try:
        for each in attacks:
            # One by one, since each case may affect the next ones.
            for _ in range(3):
                asked = {"target": each["target"], "case": each["case"]}
                assert worker.ask(120.0, do="run", **asked)["finding"] is None
    finally:
        worker.close()
