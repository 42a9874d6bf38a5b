"""Requests to workers: of libraries in this process, of small scripts in their own.

Real workers of libraries are started in test_command. Libraries that are not here are
tested where RPNB_ENVIRONMENTS names a folder of environments, as
`python -m peers --environments` takes it.
"""

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from peers.peers import PEERS
from peers.worker_process import WORKERS, Worker, WorkerError, worker
from rpnb import RPNBClassifier
from rpnb.datasets.streams import mixture

ROWS, M = 60, 3
ELSEWHERE = os.environ.get("RPNB_ENVIRONMENTS")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, np.ndarray]:
    ((X, y),) = mixture(ROWS, 4, M, seed=3)
    return X, y


@pytest.fixture(scope="module")
def file(
    rows: tuple[np.ndarray, np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> str:
    path = tmp_path_factory.mktemp("rows") / "rows.npz"
    np.savez(path, X=rows[0], y=rows[1])
    return str(path)


@pytest.fixture(scope="module", params=["rpnb", "sklearn", "river"])
def peer(
    request: pytest.FixtureRequest, worker_here: Any
) -> Iterator[tuple[str, Worker]]:
    name = request.param
    module = WORKERS / PEERS[name].worker
    with worker_here(PEERS[name].label, sys.executable, module) as running:
        yield name, running


def request(file: str, learner: str, **more: object) -> dict[str, Any]:
    fixed = {"rows": file, "n": ROWS, "M": M, "K": 3, "seed": 0, "at_least": 0.0}
    return {**fixed, "learner": learner, **more}


def expected(name: str, X: np.ndarray, y: np.ndarray) -> list[int]:
    """The labels of the first learner, by the plainest loop over its library."""
    if name == "rpnb":
        model = RPNBClassifier(n_estimators=3, random_state=0)
        return list(model.predict_then_learn(X, y, classes=np.arange(M)))
    labels = []
    if name == "river":
        bayes = import_module("river.naive_bayes").GaussianNB()
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            predicted = bayes.predict_one(dict(enumerate(x)))
            labels.append(-1 if predicted is None else predicted)
            bayes.learn_one(dict(enumerate(x)), label)
        return labels
    classifier = GaussianNB()
    with np.errstate(all="ignore"):
        for i in range(len(X)):
            labels.append(classifier.predict(X[i : i + 1])[0] if i else -1)
            classifier.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.arange(M))
    return labels


def test_labels_are_those_of_the_plain_loop(
    peer: tuple[str, Worker], file: str, rows: tuple[np.ndarray, np.ndarray]
) -> None:
    name, running = peer
    learner = next(iter(PEERS[name].learners))
    reply = running.request("run", **request(file, learner))
    X, y = rows
    assert reply["arrays"]["labels"].tolist() == expected(name, X, y)
    assert reply["seconds"] > 0.0
    assert reply["runs"] == 1
    part = running.request("run", **request(file, learner, n=7))["arrays"]["labels"]
    assert part.tolist() == expected(name, X[:7], y[:7])


def test_every_learner_predicts_and_has_a_size(
    peer: tuple[str, Worker], file: str
) -> None:
    name, running = peer
    for learner in PEERS[name].learners:
        labels = running.request("run", **request(file, learner, n=20))["arrays"][
            "labels"
        ]
        assert labels.shape == (20,)
        assert np.isin(labels[1:], range(M)).all()
        size = running.request("size", **request(file, learner))
        assert size["bytes"] > 100
        assert size["peak"] is None or size["peak"] >= 0


def test_a_worker_reports_its_release(peer: tuple[str, Worker]) -> None:
    assert peer[1].request("version")["version"][0].isdigit()


#: A library of one learner, which predicts the number of the row.
SCRIPT = """
def prepare(learner, X, y, M):
    return len(X)
def make(learner, p, M, K, seed):
    return seed
def test_then_train(learner, model, rows):
    return [model + row for row in range(rows)]
"""


def test_a_worker_survives_a_bad_request_and_repeats_short_runs(
    tmp_path: Path, file: str
) -> None:
    module = tmp_path / "small_worker.py"
    module.write_text(SCRIPT)
    with worker("Small", sys.executable, module) as running:
        with pytest.raises(WorkerError, match=r"Small: FileNotFound.*rows-that-are-no"):
            running.request("run", **request("rows-that-are-not", "any"))
        reply = running.request("run", **request(file, "any", n=5, seed=3))
        assert reply["arrays"]["labels"].tolist() == [3, 4, 5, 6, 7]
        assert reply["runs"] == 1
        reply = running.request("run", **request(file, "any", n=2, at_least=0.001))
        assert reply["runs"] > 1


def test_a_worker_that_ends_is_reported_with_its_last_words(tmp_path: Path) -> None:
    module = tmp_path / "broken_worker.py"
    module.write_text("raise ImportError('there is no such library')\n")
    with (
        worker("Broken", sys.executable, module) as running,
        pytest.raises(
            WorkerError, match=r"Broken: its process has ended: .*no such lib"
        ),
    ):
        running.request("version")


def test_output_of_a_library_is_not_a_reply_and_a_worker_has_one_processor(
    tmp_path: Path,
) -> None:
    module = tmp_path / "noisy_worker.py"
    module.write_text(
        "import os\n"
        "def version():\n"
        "    print('so noisy')\n"
        "    os.write(1, b'and louder\\n')\n"
        "    if not hasattr(os, 'sched_getaffinity'):\n"
        "        return '1'\n"
        "    threads = os.environ['OMP_NUM_THREADS']\n"
        "    return threads * len(os.sched_getaffinity(0))\n"
    )
    with worker("Noisy", sys.executable, module) as running:
        assert running.request("version") == {"version": "1"}


@pytest.mark.skipif(ELSEWHERE is None, reason="RPNB_ENVIRONMENTS names no folder")
@pytest.mark.parametrize("name", ["capymoa", "vw", "vw-next"])
def test_peers_in_their_own_environments(name: str, file: str) -> None:
    python = Path(str(ELSEWHERE), name, "bin", "python")
    found = {}
    with worker(name, python, WORKERS / PEERS[name].worker) as running:
        for learner in PEERS[name].learners:
            reply = running.request("run", **request(file, learner))
            found[learner] = reply["arrays"]["labels"]
            assert found[learner].shape == (ROWS,)
            assert np.isin(found[learner], range(M)).all()
            size = running.request("size", **request(file, learner))["bytes"]
            # Java cannot serialise Streaming Random Patches.
            assert (size is None) == (learner == "StreamingRandomPatches")
            assert size is None or size > 100
    if name.startswith("vw"):  # one learner, asked in several ways
        first = found.pop("text lines")
        for labels in found.values():
            assert labels.tolist() == first.tolist()
