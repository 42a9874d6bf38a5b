"""Cases that the fuzzer has found, and older bugs."""

import json
import sys
from pathlib import Path

import pytest

from fuzzer.arguments import build
from fuzzer.runner import CASES, TARGETS, Worker, run_alone, write_case
from fuzzer.worker import case_of, run_case, target_of

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="needs the limits of Linux"
)
# Those of the service are among its own tests.
KEPT = [
    path
    for path in sorted(CASES.glob("*.json"))
    if json.loads(path.read_text(encoding="utf-8"))["target"] in TARGETS
]


def test_there_are_cases() -> None:
    assert KEPT


def test_no_kept_case_fails_again() -> None:
    """All in one process: one that dies takes the rest with it, and is named."""
    worker = Worker()
    failed = {}
    try:
        for path in KEPT:
            kept = json.loads(path.read_text(encoding="utf-8"))
            asked = {"target": kept["target"], "case": kept["case"]}
            answer = worker.ask(120.0, do="run", **asked)
            if answer["finding"] is not None:
                failed[path.name] = answer["finding"]
    except Exception as error:  # noqa: BLE001, RUF100 - the message must have the name
        failed[path.name] = str(error)
    finally:
        worker.close()
    assert not failed


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_seed_is_the_same_case_and_json(target: str, tmp_path: Path) -> None:
    if target == "fuzzer.model_files":
        pytest.skip("it fits all estimators first")
    for seed in range(30):
        case = case_of(target, seed)
        assert json.loads(json.dumps(case)) == case_of(target, seed)
    assert case_of(target, 1) != case_of(target, 2)
    why = 'File "/a/b/src/rpnb/x.py", line 1; "/c/lib/json.py": /tmp/d/m.rpnb is 1/2'
    path = write_case(target, 1, case_of(target, 1), why, tmp_path)
    kept = json.loads(path.read_text(encoding="utf-8"))
    short = 'File "src/rpnb/x.py", line 1; "json.py": m.rpnb is 1/2'
    assert kept["finding"] == short  # nothing of the machine
    assert kept["target"] == target
    assert kept["case"] == case_of(target, 1)


def test_arguments_are_what_they_are_said_to_be() -> None:
    described = {"seed": 1, "shape": [3, 2], "dtype": "f8", "form": "coo"}
    assert build(described).format == "coo"
    assert build(described | {"form": "array"}).shape == (3, 2)
    sound, damaged = (
        build(described | {"shape": [9, 9]} | more) for more in ({}, {"damage": 5})
    )
    parts = ("row", "col", "data")
    assert any((getattr(sound, k) != getattr(damaged, k)).any() for k in parts)


# Mistakes that were planted

#: The expected report of each. A hang is detected by the child, or from outside.
PLANTED: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "refused": ("something must not have happened",),
    "error": ("ZeroDivisionError",),
    "crash": ("exit code -11",),
    "exit": ("exit code 3",),
    "hang": ("it took ", "no answer for "),
    "memory": ("MemoryError",),
    "half": ("a half-written file was left: .model.1.tmp",),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_mistake_is_noticed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    assert target_of("planted").run is not None
    finding = run_alone("planted", {"kind": kind}, longest=1.0)
    if not PLANTED[kind]:
        assert finding is None
    else:
        assert finding is not None
        assert any(expected in finding for expected in PLANTED[kind])


def test_a_finding_in_this_process_is_text() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        assert (run_case("planted", {"kind": "refused"}),) == PLANTED["refused"]
        assert "ZeroDivisionError" in str(run_case("planted", {"kind": "error"}))
    finally:
        sys.path.pop(0)
