"""On a cluster with kills, the model equals that of one process, to the bit.

`benchmarks/spark_faults.py` draws 50 kills at random; here are the moments that matter.
"""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from rpnb import RPNBClassifier
from rpnb.spark import saved_batch
from spark_cluster import Cluster, kill
from spark_faults import (
    Kill,
    learned,
    same_bits,
    start_driver,
    undisturbed,
    write_files,
)

TRIGGERS = 6
# Far more than a query takes on a busy machine.
PATIENCE = 240.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def wait(driver: Any, folder: Path) -> int:
    code: int = driver.wait(timeout=PATIENCE)
    if code > 0:
        pytest.fail((folder / "driver.log").read_text(errors="replace")[-3000:])
    return code


def batch_of(folder: Path) -> int:
    saved = saved_batch(folder / "model.rpnb")
    return -1 if saved is None else saved.batch


def test_killed_at_any_moment_the_model_has_the_same_bits(
    cluster: Cluster, tmp_path: Path
) -> None:
    write_files(tmp_path / "in", TRIGGERS)
    expected = undisturbed(TRIGGERS)
    # The driver dies after the results and before the model of a trigger are written.
    assert wait(start_driver(cluster.url, tmp_path, Kill("before", 1)), tmp_path) == -9
    assert (batch_of(tmp_path), learned(tmp_path)) == (0, 2)
    # After the model is written, and before Spark notes that the trigger is done.
    assert wait(start_driver(cluster.url, tmp_path, Kill("after", 2)), tmp_path) == -9
    assert batch_of(tmp_path) == 2
    assert "2" not in os.listdir(tmp_path / "checkpoint" / "commits")
    # While a trigger is learned.
    assert wait(start_driver(cluster.url, tmp_path, Kill("during", 3)), tmp_path) == -9
    assert batch_of(tmp_path) == 2
    # An executor, then a worker, while the rest is learned.
    driver = start_driver(cluster.url, tmp_path)
    until = time.monotonic() + PATIENCE
    while not cluster.executors() and time.monotonic() < until:
        time.sleep(0.05)
    assert kill(cluster.executors()[0])
    while learned(tmp_path) < 4 and driver.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.05)
    cluster.kill_worker(0)
    assert wait(driver, tmp_path) == 0
    assert batch_of(tmp_path) == TRIGGERS - 1
    assert same_bits(RPNBClassifier.load(tmp_path / "model.rpnb"), expected)
