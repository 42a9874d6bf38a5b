"""A frame is learned as in one process, to the bit, however it is partitioned."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from sklearn.metrics import cohen_kappa_score

from rpnb import PooledClassifier
from rpnb.baselines import PA, GaussianNB
from rpnb.estimators.mini_batches import learn_mini_batches, model_to_bytes
from rpnb.spark import BadRowError, learn
from spark.workloads import NAMES, labelled, named, small, table

N = 6500


@pytest.mark.parametrize(
    ("partitions", "parameters"),
    [
        (1, {"batch_size": 5000}),
        (7, {"batch_size": 5000, "temperature": "auto", "class_weight": "balanced"}),
        (2, {"batch_size": 700, "temperature": "auto", "class_weight": {1: 3.0}}),
        (2, {"batch_size": 1500, "class_weight": "balanced"}),
        (7, {"batch_size": None, "update": "all"}),
        (3, {"batch_size": 4200, "class_prior": "frequency", "forgetting": 900.0}),
    ],
)
def test_the_model_is_that_of_one_process_to_the_bit(
    spark: Any, partitions: int, parameters: Any
) -> None:
    X, y = labelled(N)
    frame = spark.createDataFrame(table(X, y)).repartition(
        partitions, F.rand(partitions)
    )
    model, expected = small(**parameters), small(**parameters)
    began = time.perf_counter()
    results = learn(model, frame, order="time")
    seconds = time.perf_counter() - began
    predicted = expected.predict_then_learn(named(X), y)
    assert model_to_bytes(model) == model_to_bytes(expected)
    wrong = np.array([one != other for one, other in zip(predicted, y, strict=True)])
    size = parameters["batch_size"] or N
    assert [each.mistakes for each in results] == [
        int(wrong[start : start + size].sum()) for start in range(0, N, size)
    ]
    last = slice((N - 1) // size * size, N)
    assert sum(each.rows for each in results) == N
    assert 0.0 < sum(each.seconds for each in results) < seconds
    assert sum(each.updates for each in results) == model.n_updates_
    if last.start > 0:
        kappa = cohen_kappa_score(y[last].tolist(), predicted[last].tolist())
        assert results[-1].kappa == pytest.approx(kappa)


def test_rows_have_weights_as_in_one_process(spark: Any) -> None:
    X, y = labelled(6000)
    weight = np.random.default_rng(1).integers(0, 4, 6000) / 2.0
    rows = table(X, y).append_column("w", [weight])
    frame = spark.createDataFrame(rows).repartition(3)
    parameters: Any = {"batch_size": 2500, "class_weight": "balanced"}
    model, expected = small(**parameters), small(**parameters)
    learn(model, frame, order="time", weight="w")
    expected.partial_fit(named(X), y, sample_weight=weight)
    assert model_to_bytes(model) == model_to_bytes(expected)
    for bad in (-1.0, None):
        worse = frame.withColumn(
            "w", F.when(F.col("time") != 77, F.col("w")).otherwise(F.lit(bad))
        )
        with pytest.raises(BadRowError, match=f"'w' must be a weight.*got {bad}"):
            learn(small(batch_size=2500), worse, order="time", weight="w")


def test_what_was_learned_before_is_resumed_and_classes_are_added(spark: Any) -> None:
    X, y = labelled(N)
    words = np.array(["ant", "bee", "cat", "dog"])[y]
    words[:5000][words[:5000] == "bee"] = "dog"
    model, expected = small(batch_size=3000), small(batch_size=3000)
    for part in (slice(0, 5000), slice(5000, N)):
        frame = spark.createDataFrame(table(X[part], words[part]))
        learn(model, frame, order="time", classes=["emu"])
        expected.partial_fit(named(X[part]), words[part], classes=["emu"])
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog", "emu"]
    assert model_to_bytes(model) == model_to_bytes(expected)


def test_vectors_dense_and_sparse_and_lists_give_the_same_model(spark: Any) -> None:
    X, y = labelled(3000)
    X[X < 0.3] = 0.0
    rows = [
        (
            Vectors.dense(x)
            if i % 3
            else Vectors.sparse(5, np.flatnonzero(x), x[x != 0]),
            x.tolist(),
            float(label),
            i,
        )
        for i, (x, label) in enumerate(zip(X, y, strict=True))
    ]
    frame = spark.createDataFrame(rows, ["vector", "list", "label", "time"])
    expected = small(batch_size=2500)
    expected.partial_fit(X, y.astype(float), classes=np.arange(4.0))
    for features in ("vector", "list"):
        model = small(batch_size=2500)
        learn(model, frame, features=features, order="time", classes=np.arange(4.0))
        assert model_to_bytes(model) == model_to_bytes(expected)


def test_without_an_order_the_model_does_not_depend_on_partitions(spark: Any) -> None:
    X, y = labelled(N)
    models = []
    for partitions in (1, 5):
        frame = spark.createDataFrame(table(X, y)).repartition(partitions)
        model = small(batch_size=4000)
        results = learn(model, frame, features=NAMES)
        models.append(model_to_bytes(model))
    assert models[0] == models[1]
    # Rows of a class are not together.
    assert results[0].error > results[1].error
    assert results[1].kappa > 0.3


def test_naive_bayes_whose_statistics_add_up(spark: Any) -> None:
    X, y = labelled(N)
    size = 5000
    shared, expected = GaussianNB(), GaussianNB()
    frame = spark.createDataFrame(table(X, y)).repartition(3)
    results = learn(shared, frame, order="time", batch_size=size)
    predicted = learn_mini_batches(expected, X, y, batch_size=size)
    expected.feature_names_in_ = np.array(NAMES, dtype=object)
    assert model_to_bytes(shared) == model_to_bytes(expected)
    known = np.array([label is not None for label in predicted])
    assert sum(each.mistakes for each in results) == int((predicted != y).sum())
    assert known.any()


def test_what_cannot_be_learned_so_is_refused(spark: Any) -> None:
    X, y = labelled(50)
    frame = spark.createDataFrame(table(X, y))
    with pytest.raises(TypeError, match="PA learns row by row"):
        learn(PA(), frame)
    with pytest.raises(TypeError, match="Set members='mergeable'"):
        learn(PooledClassifier(), frame)
    with pytest.raises(ValueError, match="the weight 'a' is of type string"):
        learn(small(batch_size=9), frame.withColumn("a", F.lit("x")), weight="a")
    with pytest.raises(ValueError, match="batch_size=1 predicts each row"):
        learn(small(), frame)
    model = small(batch_size=20)
    with pytest.raises(ValueError, match="no column 'when'"):
        learn(model, frame, order="when")
    with pytest.raises(ValueError, match="no column 'z'; it has"):
        learn(model, frame, features=["a", "z"])
    with pytest.raises(ValueError, match="the feature 'a' is of type string"):
        learn(model, frame.withColumn("a", F.lit("red")))
    with pytest.raises(ValueError, match="is of type date"):
        learn(model, frame.withColumn("label", F.current_date()))
    with pytest.raises(ValueError, match="bad_rows must be"):
        learn(model, frame, bad_rows="keep")  # type: ignore[arg-type]
    assert not model.__sklearn_is_fitted__()


def test_a_bad_row_is_named_before_anything_is_learned(
    spark: Any, tmp_path: Path
) -> None:
    X, y = labelled(400)
    for number, part in enumerate((slice(0, 150), slice(150, 400))):
        frame = named(X[part]).assign(label=y[part], time=np.arange(400)[part])
        if number == 1:
            frame.loc[frame.index[7], "c"] = np.nan
        frame.to_csv(tmp_path / f"part{number}.csv", index=False)
    frame = spark.read.csv(str(tmp_path), header=True, inferSchema=True)
    model = small(batch_size=100)
    with pytest.raises(BadRowError, match=r"part1\.csv, row 8: column 'c' is missing"):
        learn(model, frame, order="time")
    assert not model.__sklearn_is_fitted__()
    aside = tmp_path / "aside"
    results = learn(model, frame, order="time", bad_rows="set_aside", aside=str(aside))
    assert sum(each.rows for each in results) == 399
    expected = small(batch_size=100)
    kept = np.arange(400) != 157
    expected.partial_fit(named(X[kept]), y[kept])
    assert_array_equal(model._state.moments.mean, expected._state.moments.mean)
    (row,) = spark.read.parquet(str(aside)).collect()
    assert (row.time, row.c) == (157, None)


def test_bad_values_are_told_apart(spark: Any) -> None:
    X, y = labelled(30)
    cases = {
        "c": (np.inf, "row 5 of the frame: column 'c' contains infinity"),
        "b": (1e200, "column 'b' contains the value 1e.200, too large"),
        "a": (np.nan, "column 'a' contains NaN"),
    }
    for name, (value, message) in cases.items():
        bad = X.copy()
        bad[4, NAMES.index(name)] = value
        frame = spark.createDataFrame(table(bad, y)).coalesce(1)
        with pytest.raises(BadRowError, match=message):
            learn(small(batch_size=10), frame, order="time")
    frame = spark.createDataFrame(table(X, y)).withColumn(
        "label", F.when(F.col("time") != 3, F.col("label"))
    )
    with pytest.raises(BadRowError, match="column 'label' has no label"):
        learn(small(batch_size=10), frame, order="time")
    rows = [(Vectors.dense([1.0, 2.0]), 0), (Vectors.sparse(3, [1], [5.0]), 1)]
    frame = spark.createDataFrame(rows, ["v", "label"]).coalesce(1)
    with pytest.raises(BadRowError, match="column 'v' has 3 features, not 2"):
        learn(small(batch_size=10), frame, features="v")
