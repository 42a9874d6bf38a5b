"""Learn from a topic of Kafka: a job for spark-submit.

spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 \
    docs/how-to/gallery/spark_kafka.py HOST:PORT TOPIC STATE

(the version is that of Spark). A message is JSON: {"x": [1.5, 0.2, …], "label": "a"}.
Kafka itself was not run here; the rest of the job is tested with files instead.
"""

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rpnb import RPNBClassifier
from rpnb.spark import progress_listener, stream


def messages(spark: Any, servers: str, topic: str) -> DataFrame:
    """Return the topic as a stream; partition and offset give messages an order."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        # A trigger reads no more than this: one mini-batch.
        .option("maxOffsetsPerTrigger", 50_000)
        # Messages that Kafka has deleted before they were read stop the query.
        .option("failOnDataLoss", True)
        .load()
    )


def labelled_rows(raw: DataFrame) -> DataFrame:
    """Return features and labels of messages; what is no such JSON becomes null."""
    content = F.from_json(
        F.col("value").cast("string"), "x array<double>, label string"
    )
    return raw.select(content.alias("row"), "partition", "offset").select(
        "row.x", "row.label", "partition", "offset"
    )


def learn_rows(rows: DataFrame, state: Path, **more: Any) -> Any:
    """Start to learn; messages that cannot be learned are set aside."""
    state.mkdir(parents=True, exist_ok=True)
    return stream(
        RPNBClassifier(batch_size=None, random_state=0),
        rows,
        path=state / "model.rpnb",
        checkpoint=str(state / "checkpoint"),
        results=state / "results",
        features="x",
        label="label",
        order=["partition", "offset"],
        bad_rows="set_aside",
        aside=str(state / "aside"),
        **more,
    )


def main() -> None:
    """Run until somebody stops it."""
    servers, topic, state = sys.argv[1:4]
    spark = SparkSession.builder.appName("rpnb").getOrCreate()
    spark.streams.addListener(progress_listener(Path(state, "model.rpnb")))
    rows = labelled_rows(messages(spark, servers, topic))
    learn_rows(rows, Path(state)).awaitTermination()


if __name__ == "__main__":
    main()
