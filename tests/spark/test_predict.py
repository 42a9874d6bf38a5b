"""Predictions of a frame equal those of the model, to the bit."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

from rpnb import PooledClassifier
from rpnb.baselines import PA, GaussianNB
from rpnb.spark import predict
from spark.workloads import labelled, named, small, table


@pytest.fixture(scope="module")
def rows() -> Any:
    X, y = labelled(500)
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


@pytest.mark.parametrize("kind", ["model", "frozen", "naive Bayes", "pooled"])
def test_predictions_are_those_of_the_model(spark: Any, rows: Any, kind: str) -> None:
    X, y = rows
    learners: Any = {
        "naive Bayes": GaussianNB(),
        "pooled": PooledClassifier("mergeable", n_projections=16, random_state=0),
    }
    model: Any = learners.get(kind, small(temperature="auto")).fit(named(X), y)
    if kind == "frozen":
        model = model.compile()
    frame = spark.createDataFrame(table(X, y)).repartition(3)
    found = predict(model, frame).toArrow().sort_by("time")
    assert found.column_names[-3:] == ["prediction", "probability", "scores"]
    assert found["prediction"].to_pylist() == model.predict(named(X)).tolist()
    assert_array_equal(found["probability"].to_pylist(), model.predict_proba(named(X)))
    best = np.array(found["scores"].to_pylist()).argmax(axis=1)
    assert model.classes_[best].tolist() == found["prediction"].to_pylist()


def test_vectors_are_predicted_and_columns_left_out(spark: Any, rows: Any) -> None:
    X = np.where(rows[0] < 0.3, 0.0, rows[0])
    model = small().fit(X, np.arange(500) % 2 == 0)
    vectors = [
        (
            Vectors.dense(x)
            if i % 2
            else Vectors.sparse(5, np.flatnonzero(x), x[x != 0]),
            i,
        )
        for i, x in enumerate(X)
    ]
    frame = spark.createDataFrame(vectors, ["v", "i"])
    for each in (model, model.compile()):
        found = predict(each, frame, features="v", probability="", scores="")
        assert found.columns == ["v", "i", "prediction"]
        labels = [row.prediction for row in found.orderBy("i").collect()]
        assert labels == each.predict(X).tolist()


def test_bad_rows_fail_the_query_or_get_nulls(spark: Any, rows: Any) -> None:
    X, y = rows
    model = small().fit(named(X), y)
    frame = spark.createDataFrame(table(X, y)).withColumn(
        "b", F.when(F.col("time") % 5 != 2, F.col("b"))
    )
    with pytest.raises(Exception, match="has a feature that is missing"):
        predict(model, frame).collect()
    found = predict(model, frame, bad_rows="null").toArrow().sort_by("time")
    expected = model.predict(named(X)).tolist()
    assert found["prediction"].to_pylist() == [
        None if i % 5 == 2 else label for i, label in enumerate(expected)
    ]
    assert found["scores"].null_count == 100


def test_what_cannot_be_predicted_is_refused(spark: Any, rows: Any) -> None:
    X, y = rows
    frame = spark.createDataFrame(table(X, y))
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="name the feature columns with features="):
        predict(model, frame)
    with pytest.raises(ValueError, match="2 features were named"):
        predict(model, frame, features=["a", "b"])
    with pytest.raises(ValueError, match="has a column 'time' already"):
        predict(model, frame, features=list("abcde"), prediction="time")
    with pytest.raises(TypeError, match="must have predict_proba"):
        predict(PA().fit(X, y), frame, features=list("abcde"))
