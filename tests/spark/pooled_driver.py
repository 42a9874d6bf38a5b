"""A driver that learns a pool on a cluster: python pooled_driver.py MASTER MODEL."""

import sys

from pyspark.sql import SparkSession

from rpnb import PooledClassifier
from rpnb.spark import learn
from spark.workloads import JAVA, labelled, table

ROWS, SIZE = 9000, 5000


def pool(**parameters: object) -> PooledClassifier:
    """Return a small pool with mergeable members."""
    given: dict[str, object] = {"n_projections": 16, "random_state": 0, **parameters}
    return PooledClassifier("mergeable", **given)  # type: ignore[arg-type]


def main(master: str, path: str) -> None:
    """Learn rows in five partitions, and save the model."""
    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.driver.extraJavaOptions", JAVA)
        .config("spark.executor.extraJavaOptions", JAVA)
        .getOrCreate()
    )
    frame = spark.createDataFrame(table(*labelled(ROWS))).repartition(5)
    model = pool()
    learn(model, frame, order="time", batch_size=SIZE)
    model.save(path)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
