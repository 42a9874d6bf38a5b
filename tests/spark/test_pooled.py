"""A pool with mergeable members is learned as in one process, to the bit."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pyspark.sql import functions as F

from rpnb import PooledClassifier
from rpnb.cli import main
from rpnb.estimators.mini_batches import learn_mini_batches, model_to_bytes
from rpnb.spark import learn, predict
from spark.pooled_driver import ROWS, SIZE, pool
from spark.test_stream import run, write_files
from spark.workloads import NAMES, labelled, named, table
from spark_cluster import Cluster, environment

N = 6500


@pytest.mark.parametrize(
    ("partitions", "size", "parameters"),
    [
        (1, None, {}),
        (7, 5000, {"class_weight": "balanced"}),
        (3, 700, {}),
        (2, 100, {"class_weight": {1: 3.0}}),
    ],
)
def test_the_pool_is_that_of_one_process_to_the_bit(
    spark: Any, partitions: int, size: int | None, parameters: Any
) -> None:
    n = N if size != 100 else 1050
    X, y = labelled(n)
    weight = np.random.default_rng(1).integers(1, 4, n) / 2.0
    rows = table(X, y).append_column("w", [weight])
    frame = spark.createDataFrame(rows).repartition(partitions, F.rand(1))
    model, expected = pool(**parameters), pool(**parameters)
    results = learn(model, frame, order="time", weight="w", batch_size=size)
    predicted = learn_mini_batches(expected, X, y, size, sample_weight=weight)
    expected.feature_names_in_ = np.array(NAMES, dtype=object)
    assert model_to_bytes(model) == model_to_bytes(expected)
    wrong = np.array([one != other for one, other in zip(predicted, y, strict=True)])
    assert [each.mistakes for each in results] == [
        int(wrong[start : start + (size or n)].sum())
        for start in range(0, n, size or n)
    ]
    assert results[-1].error < 0.5
    found = predict(model, frame).toArrow().sort_by("time")
    assert found["prediction"].to_pylist() == model.predict(named(X)).tolist()
    assert_array_equal(found["probability"].to_pylist(), model.predict_proba(named(X)))


def test_missing_values_are_learned_and_classes_added(spark: Any) -> None:
    X, y = labelled(5200)
    X[::9, 2] = np.nan
    words = np.array(["ant", "bee", "cat", "dog"])[y]
    words[:3000][words[:3000] == "bee"] = "dog"
    model, expected = pool(), pool()
    for part in (slice(0, 3000), slice(3000, None)):
        frame = spark.createDataFrame(table(X[part], words[part])).repartition(2)
        learn(model, frame, order="time", batch_size=2500, classes=["emu"])
        learn_mini_batches(expected, X[part], words[part], 2500, ["emu"])
    expected.feature_names_in_ = np.array(NAMES, dtype=object)
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog", "emu"]
    assert model_to_bytes(model) == model_to_bytes(expected)


def test_a_query_is_resumed(spark: Any, tmp_path: Path) -> None:
    X, y = labelled(7500)
    write_files(tmp_path / "in", X[:5000], y[:5000], 2)
    run(spark, tmp_path, pool(), batch_size=2300)
    # Spark has not noted that the last trigger was done.
    (tmp_path / "checkpoint" / "commits" / "1").unlink()
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    write_files(tmp_path / "in", X[5000:], y[5000:], 1, first=2)
    model, expected = pool(), pool()
    run(spark, tmp_path, model, batch_size=2300)
    for start in range(0, 7500, 2500):
        part = slice(start, start + 2500)
        learn_mini_batches(expected, X[part], y[part], 2300)
    expected.feature_names_in_ = np.array(NAMES, dtype=object)
    assert model_to_bytes(model) == model_to_bytes(expected)
    loaded = PooledClassifier.load(tmp_path / "model.rpnb")
    assert model_to_bytes(loaded) == model_to_bytes(expected)


def test_the_command_learns_any_learner_by_mini_batches(
    spark: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The command would stop the session that the other tests use.
    monkeypatch.setattr("rpnb.cli.run.on_spark._session", lambda _: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    X, y = labelled(5000)
    named(X).assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    command = ["run", f"{tmp_path}/rows.csv", "--engine", "spark", "--target", "label"]
    command += ["--batch-size", "4500", "--quiet", "--json", "--metrics", "log_loss"]
    command += ["--predictions", f"{tmp_path}/predicted.csv", "--model"]
    parameters = ["members=mergeable", "n_projections=16", "random_state=0"]
    more = [word for each in parameters for word in ("--param", each)]
    path = tmp_path / "model.rpnb"
    assert main([*command, "Pooled", *more, "--save", str(path)]) == 0
    result = json.loads(capsys.readouterr().out)["learners"][0]
    expected = pool()
    predicted = learn_mini_batches(expected, X, y, 4500)
    mistakes = sum(a != b for a, b in zip(predicted, y, strict=True))
    assert result["error"] == pytest.approx(mistakes / 5000)
    # The first 2,048 rows have no probabilities; the others have these, in two groups.
    again, P = pool(), np.full((5000, 4), np.finfo(float).eps)
    again.partial_fit(X[:2048], y[:2048])
    P[2048:4500] = again.predict_next_proba(X[2048:4500])
    learn_mini_batches(again, X[2048:4500], y[2048:4500])
    P[4500:] = again.predict_next_proba(X[4500:])
    loss = -np.log(P[np.arange(5000), y]).mean()
    assert result["metrics"]["log_loss"] == pytest.approx(loss)
    expected.feature_names_in_ = np.array(NAMES, dtype=object)
    found = PooledClassifier.load(path)
    assert model_to_bytes(found) == model_to_bytes(expected)
    # A learner without probabilities.
    assert main([*command, "MajorityClass"]) == 0
    assert json.loads(capsys.readouterr().out)["learners"][0]["error"] > 0.9


def test_on_a_cluster_the_pool_has_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "model.rpnb"
    tests = str(Path(__file__).parents[1])
    settings = environment()
    settings["PYTHONPATH"] += f":{tests}"
    with Cluster(tmp_path / "cluster") as cluster:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, f"{tests}/spark/pooled_driver.py", cluster.url, str(path)],
            env=settings,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    X, y = labelled(ROWS)
    expected = pool()
    learn_mini_batches(expected, X, y, SIZE)
    expected.feature_names_in_ = np.array(NAMES, dtype=object)
    found = PooledClassifier.load(path)
    assert model_to_bytes(found) == model_to_bytes(expected)
