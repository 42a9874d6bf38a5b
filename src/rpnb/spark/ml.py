"""RPNB for Spark ML pipelines: an estimator and the model that it fits."""

from typing import Any, final

from pyspark import keyword_only
from pyspark.ml.base import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasSeed,
    HasThresholds,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rpnb import RPNBClassifier
from rpnb.estimators.mini_batches import model_from_bytes, model_to_bytes
from rpnb.spark.frame_columns import quoted
from rpnb.spark.learning import learn
from rpnb.spark.predicting import predict

# Parameters of `RPNBClassifier` by their names in Spark ML.
_PARAMETERS = {
    "nEstimators": "n_estimators",
    "nComponents": "n_components",
    "projection": "projection",
    "combiner": "combiner",
    "update": "update",
    "batchSize": "batch_size",
    "priorMean": "prior_mean",
    "priorVariance": "prior_variance",
    "priorWeight": "prior_weight",
    "forgetting": "forgetting",
    "classPrior": "class_prior",
    "varFloor": "var_floor",
    "temperature": "temperature",
    "seed": "random_state",
}
# Values that 0 stands for.
_ABSENT: dict[str, Any] = {
    "nComponents": "auto",
    "forgetting": None,
    "temperature": None,
}


def _to_temperature(value: Any) -> float | str:
    """Return a number, or "auto"."""
    if value == "auto":
        return "auto"
    return float(TypeConverters.toFloat(value))


class _Columns(
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasThresholds,
):
    """Column parameters shared by the estimator and the model."""

    def setFeaturesCol(self, value: str) -> Any:
        """Set the column of the features: vectors, dense or sparse.

        Examples
        --------
        >>> from rpnb.spark import RPNBEstimator
        >>> RPNBEstimator().setFeaturesCol("vectors").getFeaturesCol()
        'vectors'
        """
        return self._set(featuresCol=value)

    def setLabelCol(self, value: str) -> Any:
        """Set the column of the labels.

        Examples
        --------
        >>> from rpnb.spark import RPNBEstimator
        >>> RPNBEstimator().setLabelCol("class").getLabelCol()
        'class'
        """
        return self._set(labelCol=value)

    def setPredictionCol(self, value: str) -> Any:
        """Set the column of the predictions.

        Examples
        --------
        >>> from rpnb.spark import RPNBEstimator
        >>> RPNBEstimator().setPredictionCol("predicted").getPredictionCol()
        'predicted'
        """
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Any:
        """Set the column of the probabilities; an empty name leaves it out.

        Examples
        --------
        >>> from rpnb.spark import RPNBEstimator
        >>> RPNBEstimator().setProbabilityCol("P").getProbabilityCol()
        'P'
        """
        return self._set(probabilityCol=value)

    def setRawPredictionCol(self, value: str) -> Any:
        """Set the column of the scores; an empty name leaves it out.

        Examples
        --------
        >>> from rpnb.spark import RPNBEstimator
        >>> RPNBEstimator().setRawPredictionCol("scores").getRawPredictionCol()
        'scores'
        """
        return self._set(rawPredictionCol=value)

    def setThresholds(self, value: list[float]) -> Any:
        """Set thresholds: the class with the largest P/threshold is predicted.

        Examples
        --------
        >>> from rpnb.spark import RPNBEstimator
        >>> RPNBEstimator().setThresholds([0.7, 0.3]).getThresholds()
        [0.7, 0.3]
        """
        return self._set(thresholds=value)


def _param(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=convert)


@final
class RPNBEstimator(
    _Columns,
    HasWeightCol,
    HasSeed,
    Estimator,
    DefaultParamsWritable,
    DefaultParamsReadable,
):
    """RPNB as a Spark ML estimator, for labels 0.0, 1.0, … and vectors.

    It replaces Spark's `NaiveBayes` in pipelines and in `CrossValidator`.
    Fitting is one pass over the rows by mini-batches: see `rpnb.spark.learn`.

    Parameters
    ----------
    featuresCol, labelCol, predictionCol, probabilityCol, rawPredictionCol : str
        Columns as in Spark's classifiers. Labels are those of `StringIndexer`.
    weightCol : str, optional
        Column of weights, as in Spark's classifiers.
    thresholds : list of float, optional
        One for each label, not negative and at most one of them 0: the label with the
        largest probability over threshold is predicted.
    orderCol : str, default=""
        Column that orders the rows; without one, they are ordered by a hash.
    batchSize : int, default=2000
        Number of rows that are predicted before any of them is learned.
    nEstimators : int, default=200
        K, the number of projections and classifiers.
    nComponents : int, default=0
        q, the dimension of the projections; 0 is ⌊2·log₂ p⌋.
    projection, combiner, update, classPrior : str
        Parameters of `rpnb.RPNBClassifier`; `classPrior` is "uniform" or "frequency".
    priorMean, priorVariance, priorWeight, varFloor : float
        Parameters of `rpnb.RPNBClassifier`.
    forgetting : float, default=0.0
        Parameter of `rpnb.RPNBClassifier`; 0 stands for None.
    temperature : float or "auto", default="auto"
        Parameter of `rpnb.RPNBClassifier`; 0 stands for None.
    seed : int, default=0
        Seed of the projections.

    Examples
    --------
    >>> from pyspark.ml.feature import VectorAssembler
    >>> from rpnb.spark import RPNBEstimator
    >>> vectors = VectorAssembler(inputCols=["a", "b"], outputCol="features")
    >>> rows = vectors.transform(frame)
    >>> model = RPNBEstimator(nEstimators=20, orderCol="time").fit(rows)
    >>> model.transform(rows).columns[-3:]
    ['rawPrediction', 'probability', 'prediction']
    """

    orderCol: Any = _param(
        "orderCol", "column that orders the rows", TypeConverters.toString
    )
    batchSize: Any = _param("batchSize", "rows of a mini-batch", TypeConverters.toInt)
    nEstimators: Any = _param(
        "nEstimators", "number of projections", TypeConverters.toInt
    )
    nComponents: Any = _param(
        "nComponents", "dimension of the projections, 0: auto", TypeConverters.toInt
    )
    projection: Any = _param(
        "projection", "distribution of the projections", TypeConverters.toString
    )
    combiner: Any = _param(
        "combiner", "how posteriors are combined", TypeConverters.toString
    )
    update: Any = _param(
        "update", "which rows are learned: mistakes or all", TypeConverters.toString
    )
    classPrior: Any = _param(
        "classPrior", "P(y): uniform or frequency", TypeConverters.toString
    )
    priorMean: Any = _param(
        "priorMean", "mean before the first row", TypeConverters.toFloat
    )
    priorVariance: Any = _param(
        "priorVariance", "variance before the first row", TypeConverters.toFloat
    )
    priorWeight: Any = _param(
        "priorWeight", "rows that the prior counts as", TypeConverters.toFloat
    )
    varFloor: Any = _param("varFloor", "smallest variance", TypeConverters.toFloat)
    forgetting: Any = _param(
        "forgetting", "rows that a class remembers, 0: all", TypeConverters.toFloat
    )
    temperature: Any = _param(
        "temperature",
        'divides scores, "auto": learned, 0: nEstimators',
        _to_temperature,
    )

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        orderCol: str = "",
        batchSize: int = 2000,
        nEstimators: int = 200,
        nComponents: int = 0,
        projection: str = "gaussian",
        combiner: str = "log_sum",
        update: str = "mistakes",
        classPrior: str = "uniform",
        priorMean: float = 0.0,
        priorVariance: float = 1.0,
        priorWeight: float = 1.0,
        varFloor: float = 1e-9,
        forgetting: float = 0.0,
        temperature: float | str = "auto",
        seed: int = 0,
        weightCol: str | None = None,
        thresholds: list[float] | None = None,
    ) -> None:
        super().__init__()
        self._setDefault(
            orderCol="",
            batchSize=2000,
            nEstimators=200,
            nComponents=0,
            projection="gaussian",
            combiner="log_sum",
            update="mistakes",
            classPrior="uniform",
            priorMean=0.0,
            priorVariance=1.0,
            priorWeight=1.0,
            varFloor=1e-9,
            forgetting=0.0,
            temperature="auto",
            seed=0,
        )
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(self, **parameters: Any) -> "RPNBEstimator":
        """Set parameters by name.

        Examples
        --------
        >>> from rpnb.spark import RPNBEstimator
        >>> RPNBEstimator().setParams(batchSize=500).getOrDefault("batchSize")
        500
        """
        self._set(**self._input_kwargs)
        return self

    def setWeightCol(self, value: str) -> "RPNBEstimator":
        """Set the column of the weights.

        Examples
        --------
        >>> from rpnb.spark import RPNBEstimator
        >>> RPNBEstimator().setWeightCol("weight").getWeightCol()
        'weight'
        """
        self._set(weightCol=value)
        return self

    def _fit(self, dataset: DataFrame) -> "RPNBModel":
        label = self.getLabelCol()
        numbers = F.col(label).cast("double")
        wrong = dataset.where((numbers < 0) | (numbers != F.floor(numbers))).head()
        if wrong is not None:
            raise ValueError(
                f"labels of Spark ML are 0.0, 1.0, …, got {wrong[label]!r}: index them "
                "by StringIndexer"
            )
        model = RPNBClassifier(**self._estimator_parameters())
        order = self.getOrDefault("orderCol")
        learn(
            model,
            dataset.withColumn(label, numbers),
            features=self.getFeaturesCol(),
            label=label,
            order=order or None,
            weight=self._weight_column(),
            classes="all",
        )
        fitted = RPNBModel(model)
        return self._copyValues(fitted._resetUid(self.uid))

    def _weight_column(self) -> str | None:
        """Return the column of the weights, if it is set."""
        if not self.isDefined(self.weightCol):
            return None
        return str(self.getWeightCol()) or None

    def _estimator_parameters(self) -> dict[str, Any]:
        """Return the parameters under the names of `RPNBClassifier`."""
        values = {}
        for name, own in _PARAMETERS.items():
            value = self.getOrDefault(name)
            values[own] = _ABSENT[name] if name in _ABSENT and not value else value
        return values


@final
class RPNBModel(_Columns, Model, MLWritable, MLReadable):
    """A model fitted by `RPNBEstimator`.

    Attributes
    ----------
    model : RPNBClassifier
        Classifier, which can be saved, merged, compiled or trained further.

    Examples
    --------
    >>> from pyspark.ml.feature import VectorAssembler
    >>> from rpnb.spark import RPNBEstimator
    >>> vectors = VectorAssembler(inputCols=["a", "b"], outputCol="features")
    >>> rows = vectors.transform(frame)
    >>> model = RPNBEstimator(nEstimators=20, orderCol="time").fit(rows)
    >>> model.model                                       # the classifier
    RPNBClassifier(batch_size=2000, n_estimators=20, random_state=0)
    """

    def __init__(self, model: RPNBClassifier | None = None) -> None:
        super().__init__()
        self.model: Any = model

    @property
    def numClasses(self) -> int:
        """Number of classes: the largest label, plus one.

        Examples
        --------
        >>> from pyspark.ml.feature import VectorAssembler
        >>> from rpnb.spark import RPNBEstimator
        >>> vectors = VectorAssembler(inputCols=["a", "b"], outputCol="features")
        >>> rows = vectors.transform(frame)
        >>> model = RPNBEstimator(nEstimators=20, orderCol="time").fit(rows)
        >>> model.numClasses
        3
        """
        return int(self.model.classes_.max()) + 1

    @property
    def numFeatures(self) -> int:
        """Number of features.

        Examples
        --------
        >>> from pyspark.ml.feature import VectorAssembler
        >>> from rpnb.spark import RPNBEstimator
        >>> vectors = VectorAssembler(inputCols=["a", "b"], outputCol="features")
        >>> rows = vectors.transform(frame)
        >>> model = RPNBEstimator(nEstimators=20, orderCol="time").fit(rows)
        >>> model.numFeatures
        2
        """
        return int(self.model.n_features_in_)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        probability = self.getOrDefault("probabilityCol")
        raw = self.getOrDefault("rawPredictionCol")
        prediction = self.getOrDefault("predictionCol")
        thresholds = self._checked_thresholds()
        by_threshold = thresholds is not None and prediction
        given = probability or ("_rpnb_probability" if by_threshold else "")
        found = predict(
            self.model,
            dataset,
            features=self.getOrDefault("featuresCol"),
            prediction=prediction,
            probability=given,
            scores=raw,
        )
        if thresholds is not None and by_threshold:
            found = found.withColumn(
                prediction, _best_over(self._by_label(given, 0.0), thresholds)
            )
        for name, absent in ((raw, float("-inf")), (probability, 0.0)):
            if name:
                vector = array_to_vector(self._by_label(name, absent))
                found = found.withColumn(name, vector)
        # In the order of Spark's own classifiers.
        added = [name for name in (raw, probability, prediction) if name]
        return found.select(*(quoted(name) for name in (*dataset.columns, *added)))

    def _checked_thresholds(self) -> list[float] | None:
        """Return the thresholds, if they are set; refuse invalid ones."""
        if not self.isDefined(self.thresholds):
            return None
        values = [float(value) for value in self.getThresholds()]
        if len(values) != self.numClasses:
            raise ValueError(
                f"thresholds must have one value for each of {self.numClasses} labels, "
                f"got {len(values)}"
            )
        if min(values) < 0.0 or values.count(0.0) > 1:
            raise ValueError(
                "thresholds must not be negative, and at most one of them 0, got "
                f"{values}"
            )
        return values

    def _by_label(self, name: str, absent: float) -> Column:
        """Return a list with a value for every label, including those never seen."""
        places = {int(label): m for m, label in enumerate(self.model.classes_)}
        if len(places) == self.numClasses:
            return F.col(name)
        return F.array(
            *(
                F.get(F.col(name), F.lit(places[label]))
                if label in places
                else F.lit(absent)
                for label in range(self.numClasses)
            )
        )

    def write(self) -> MLWriter:
        """Return a writer, for ``model.write().overwrite().save(path)``.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from pyspark.ml.feature import VectorAssembler
        >>> from rpnb.spark import RPNBEstimator, RPNBModel
        >>> vectors = VectorAssembler(inputCols=["a", "b"], outputCol="features")
        >>> model = RPNBEstimator(nEstimators=20).fit(vectors.transform(frame))
        >>> with TemporaryDirectory() as folder:
        ...     model.write().overwrite().save(folder)
        ...     RPNBModel.load(folder).numClasses
        3
        """
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader, for ``RPNBModel.load(path)``.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from pyspark.ml.feature import VectorAssembler
        >>> from rpnb.spark import RPNBEstimator, RPNBModel
        >>> vectors = VectorAssembler(inputCols=["a", "b"], outputCol="features")
        >>> model = RPNBEstimator(nEstimators=20).fit(vectors.transform(frame))
        >>> with TemporaryDirectory() as folder:
        ...     model.write().overwrite().save(folder)
        ...     RPNBModel.read().load(folder).numClasses
        3
        """
        return _ModelReader(cls)


def _best_over(probabilities: Column, thresholds: list[float]) -> Column:
    """Return the label with the largest ratio of probability to threshold."""
    ratios = [
        # As in Spark, a threshold of 0 wins over all others unless P is also 0.
        F.when(F.get(probabilities, F.lit(label)) == 0.0, F.lit(0.0)).otherwise(
            F.lit(float("inf"))
            if threshold == 0.0
            else F.get(probabilities, F.lit(label)) / F.lit(threshold)
        )
        for label, threshold in enumerate(thresholds)
    ]
    every = F.array(*ratios)
    # The first of several equal ones.
    return (F.array_position(every, F.array_max(every)) - 1).cast("double")


class _ModelWriter(MLWriter):
    def __init__(self, instance: RPNBModel) -> None:
        super().__init__()
        self._instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the parameters as Spark does, and the model file as a table."""
        DefaultParamsWriter.saveMetadata(self._instance, path, self.sparkSession)
        content = [(bytearray(model_to_bytes(self._instance.model)),)]
        frame = self.sparkSession.createDataFrame(content, "model binary")
        frame.coalesce(1).write.mode("overwrite").parquet(f"{path}/data")


class _ModelReader(MLReader):
    def __init__(self, of: type[RPNBModel]) -> None:
        super().__init__()
        self._of = of

    def load(self, path: str) -> RPNBModel:
        """Read what the writer wrote."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        row = self.sparkSession.read.parquet(f"{path}/data").head()
        model = self._of(model_from_bytes(bytes(row["model"])))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
