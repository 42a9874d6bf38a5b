"""Prediction of the rows of a Spark frame."""

import uuid
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.functions import arrow_udf
from sklearn.utils import get_tags

from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.rows import LARGEST
from rpnb.estimators.mini_batches import model_to_bytes
from rpnb.spark.arrow_rows import RowRules
from rpnb.spark.frame_columns import choose_columns, quoted
from rpnb.spark.worker import predictor


def predict(
    model: Any,
    frame: DataFrame,
    *,
    features: str | Sequence[str] | None = None,
    prediction: str = "prediction",
    probability: str = "probability",
    scores: str = "scores",
    bad_rows: Literal["refuse", "null"] = "refuse",
) -> DataFrame:
    """Add predictions to the rows of a frame, static or streaming.

    The model is broadcast once and predicts Arrow batches of rows. The predictions
    equal those of `model.predict` and `model.predict_proba`, to the bit.

    Parameters
    ----------
    model : RPNBClassifier, FrozenRPNB, or another learner with `predict_proba`
        Fitted model; the result of `RPNBClassifier.compile` is smaller and faster.
    frame : DataFrame
        The rows.
    features : str or sequence of str, optional
        Columns of numbers; or one column of arrays or vectors. By default those of the
        model's `feature_names_in_`.
    prediction, probability, scores : str
        Names of the columns to add: the label, the probability of each class, and the
        score of each class, in the order of the model's `classes_`. An empty name
        leaves the column out, and saves its cost.
    bad_rows : {"refuse", "null"}, default="refuse"
        Whether a row that cannot be predicted fails the query, or gets nulls.

    Returns
    -------
    DataFrame
        Frame with the columns of `frame` and the new ones.

    Examples
    --------
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.spark import learn, predict
    >>> model = RPNBClassifier(20, batch_size=300, random_state=0)
    >>> results = learn(model, frame, order="time")
    >>> predict(model, frame).select("time", "prediction", "probability").columns
    ['time', 'prediction', 'probability']
    """
    if bad_rows not in ("refuse", "null"):
        raise ValueError(f"bad_rows must be 'refuse' or 'null', got {bad_rows!r}")
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"model must have predict_proba, got {model!r}")
    if features is None:
        known = getattr(model, "feature_names_in_", None)
        if known is None:
            raise ValueError(
                "the model has no feature names: name the feature columns with "
                "features="
            )
        features = list(known)
    columns = choose_columns(frame, features, None)
    names = (prediction, probability, scores)
    for name in names:
        if name and name in frame.columns:
            raise ValueError(f"the frame has a column {name!r} already")
    if columns.kind == "columns" and len(columns.features) != model.n_features_in_:
        raise ValueError(
            f"{len(columns.features)} features were named, but the model has learned "
            f"{model.n_features_in_}"
        )
    rules = RowRules(model.n_features_in_, get_tags(model).input_tags.allow_nan)
    refusal = None
    if bad_rows == "refuse":
        refusal = (
            "a row to predict has a feature that is missing, not finite or beyond "
            f"±{LARGEST:.0e}, or not {rules.p} features: {columns.features}"
        )[:500]
    vector = T.ArrayType(T.DoubleType(), False)
    kinds = {
        "prediction": label_type(model.classes_),
        "probability": vector,
        "scores": vector,
    }
    wanted = {
        field: name for field, name in zip(kinds, names, strict=True) if name != ""
    }
    broadcast = frame.sparkSession.sparkContext.broadcast(model_to_bytes(model))
    work = arrow_udf(
        predictor(uuid.uuid4().hex, broadcast, tuple(wanted), rules, refusal),
        T.StructType([T.StructField(field, kinds[field]) for field in wanted]),
    )
    found = frame.withColumn("_rpnb_found", work(columns.table()))
    return found.select(
        *(F.col(quoted(name)) for name in frame.columns),
        *(F.col(f"_rpnb_found.{field}").alias(name) for field, name in wanted.items()),
    )


def label_type(classes: LabelArray) -> T.DataType:
    """Return the Spark type of labels."""
    kinds: dict[str, T.DataType] = {
        "b": T.BooleanType(),
        "f": T.DoubleType(),
        "U": T.StringType(),
        "O": T.StringType(),
    }
    return kinds.get(np.asarray(classes).dtype.kind, T.LongType())
