"""RPNB on Apache Spark: one model, with the rows of each mini-batch distributed.

Needs the extra: ``pip install 'rpnb[spark]'``, and Java 17. In the examples of this
package, `spark` is a `SparkSession`, and `frame` has 600 rows with the columns a, b,
label and time.
"""

try:
    import pyspark as _pyspark  # noqa: F401 - only whether it is there
except ImportError as error:
    raise ImportError(
        "rpnb.spark needs PySpark: pip install 'rpnb[spark]', and Java 17"
    ) from error

from rpnb.spark.bad_rows import BadRowError
from rpnb.spark.learning import BatchResult, learn
from rpnb.spark.ml import RPNBEstimator, RPNBModel
from rpnb.spark.predicting import predict
from rpnb.spark.streaming_query import (
    SavedBatch,
    progress_listener,
    saved_batch,
    stream,
)

__all__ = [
    "BadRowError",
    "BatchResult",
    "RPNBEstimator",
    "RPNBModel",
    "SavedBatch",
    "learn",
    "predict",
    "progress_listener",
    "saved_batch",
    "stream",
]
