"""The estimator works in Spark ML pipelines like Spark's own classifiers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import NaiveBayes
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import functions as F

from rpnb.estimators.mini_batches import model_to_bytes
from rpnb.spark import RPNBEstimator, RPNBModel
from spark.workloads import NAMES, labelled, small, table

WORDS = np.array(["ant", "bee", "cat", "dog"])


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    X, y = labelled(900)
    kept = spark.createDataFrame(table(np.abs(X), WORDS[y])).repartition(2).cache()
    kept.count()
    return kept


def stages(classifier: Any) -> list[Any]:
    return [
        StringIndexer(
            inputCol="label", outputCol="number", stringOrderType="alphabetAsc"
        ),
        VectorAssembler(inputCols=NAMES, outputCol="vector"),
        classifier,
    ]


def classifier(**parameters: Any) -> RPNBEstimator:
    return RPNBEstimator(
        featuresCol="vector",
        labelCol="number",
        orderCol="time",
        nEstimators=5,
        batchSize=300,
        **parameters,
    )


def test_a_pipeline_is_fitted_saved_and_loaded(frame: Any, tmp_path: Path) -> None:
    # What changes beside Spark's own classifier is one line.
    theirs = NaiveBayes(featuresCol="vector", labelCol="number")
    columns = Pipeline(stages=stages(theirs)).fit(frame).transform(frame).schema
    fitted = Pipeline(stages=stages(classifier())).fit(frame)
    found = fitted.transform(frame)
    assert found.schema.simpleString() == columns.simpleString()
    X, y = labelled(900)
    expected = small(batch_size=300, temperature="auto")
    expected.partial_fit(np.abs(X), y.astype(float), classes=np.arange(4.0))
    model = fitted.stages[-1]
    assert model_to_bytes(model.model) == model_to_bytes(expected)
    assert (model.numClasses, model.numFeatures) == (4, 5)
    rows = found.orderBy("time").collect()
    assert [row.prediction for row in rows] == expected.predict(np.abs(X)).tolist()
    probabilities = np.array([row.probability.toArray() for row in rows])
    assert_array_equal(probabilities, expected.predict_proba(np.abs(X)))
    path = str(tmp_path / "pipeline")
    fitted.write().overwrite().save(path)
    fitted.write().overwrite().save(path)
    loaded = PipelineModel.load(path)
    again = loaded.transform(frame).orderBy("time").collect()
    assert again == rows
    assert model_to_bytes(loaded.stages[-1].model) == model_to_bytes(expected)
    alone = str(tmp_path / "model")
    model.write().overwrite().save(alone)
    assert RPNBModel.load(alone).getFeaturesCol() == "vector"
    unfitted = str(tmp_path / "unfitted")
    Pipeline(stages=stages(classifier(update="all"))).write().save(unfitted)
    assert Pipeline.load(unfitted).getStages()[-1].getOrDefault("update") == "all"


def test_it_is_cross_validated(frame: Any) -> None:
    estimator = classifier()
    grid = ParamGridBuilder().addGrid(estimator.nEstimators, [1, 20]).build()
    validator = CrossValidator(
        estimator=Pipeline(stages=stages(estimator)),
        estimatorParamMaps=grid,
        evaluator=MulticlassClassificationEvaluator(labelCol="number"),
        numFolds=2,
        seed=1,
    )
    fitted = validator.fit(frame)
    assert fitted.avgMetrics[1] > fitted.avgMetrics[0]
    assert fitted.bestModel.stages[-1].model.n_estimators == 20


def test_weights_and_thresholds_are_those_of_spark(frame: Any) -> None:
    vectors = VectorAssembler(inputCols=NAMES, outputCol="vector").transform(frame)
    rows = vectors.withColumns(
        {
            "number": F.col("label").isin("bee", "dog").cast("double"),
            "w": (F.col("time") % 4).cast("double"),
        }
    )
    given = classifier(weightCol="w", thresholds=[0.9, 0.1])
    model = given.copy().fit(rows)
    X, y = labelled(900)
    X, truth = np.abs(X), np.isin(WORDS[y], ["bee", "dog"]).astype(float)
    expected = small(batch_size=300, temperature="auto")
    weight = np.arange(900) % 4
    expected.partial_fit(X, truth, classes=[0.0, 1.0], sample_weight=weight)
    assert model_to_bytes(model.model) == model_to_bytes(expected)
    found = model.transform(rows).orderBy("time").collect()
    chosen = (expected.predict_proba(X) / [0.9, 0.1]).argmax(axis=1)
    assert [row.prediction for row in found] == chosen.tolist()
    assert chosen.mean() > truth.mean()
    # Without the column of probabilities the labels are the same.
    model.setProbabilityCol("")
    again = model.transform(rows)
    assert again.columns == [*rows.columns, "rawPrediction", "prediction"]
    assert [
        row.prediction for row in again.orderBy("time").collect()
    ] == chosen.tolist()
    for bad in ([0.5], [0.0, 0.0], [-1.0, 1.0]):
        with pytest.raises(ValueError, match="thresholds must"):
            model.setThresholds(bad).transform(rows)


def test_labels_that_were_never_seen_have_no_probability(spark: Any) -> None:
    X, y = labelled(200)
    rows = [(Vectors.dense(x), float(2 * label)) for x, label in zip(X, y, strict=True)]
    frame = spark.createDataFrame(rows, ["features", "label"])
    model = RPNBEstimator(nEstimators=5, batchSize=100).fit(frame)
    row = model.transform(frame).head()
    assert row.probability.size == row.rawPrediction.size == 7
    assert row.probability[1] == 0.0
    assert row.probability.toArray().argmax() == row.prediction
    model.setProbabilityCol("").setRawPredictionCol("")
    assert model.transform(frame).columns == ["features", "label", "prediction"]


def test_other_labels_are_refused(frame: Any) -> None:
    vectors = VectorAssembler(inputCols=NAMES, outputCol="vector").transform(frame)
    for bad in (0.5, -1.0):
        with pytest.raises(ValueError, match="index them by StringIndexer"):
            classifier().fit(vectors.withColumn("number", F.lit(bad)))
