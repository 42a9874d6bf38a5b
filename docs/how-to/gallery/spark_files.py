"""Learn from CSV files as they arrive in a folder: a job for spark-submit.

spark-submit --master local[2] docs/how-to/gallery/spark_files.py IN STATE [--once]

Each file has a header, columns of numbers, `label` and `time`. What was learned is in
STATE: the model, the results, and Spark's checkpoint. Stop it and start it again as you
like; no row is learned twice.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from rpnb import RPNBClassifier
from rpnb.spark import progress_listener, saved_batch, stream

incoming, state = Path(sys.argv[1]), Path(sys.argv[2])
state.mkdir(parents=True, exist_ok=True)
once = "--once" in sys.argv[3:]

spark = SparkSession.builder.appName("rpnb").getOrCreate()
spark.streams.addListener(progress_listener(state / "model.rpnb"))

# The first file says which columns there are.
first = str(min(incoming.glob("*.csv")))
schema = spark.read.csv(first, header=True, inferSchema=True).schema
rows = (
    spark.readStream.schema(schema)
    .option("header", True)
    .option("maxFilesPerTrigger", 1)
    .csv(str(incoming))
)

query = stream(
    RPNBClassifier(batch_size=10_000, random_state=0),
    rows,
    path=state / "model.rpnb",
    checkpoint=str(state / "checkpoint"),
    results=state / "results",
    label="label",
    order="time",
    bad_rows="set_aside",
    aside=str(state / "aside"),
    trigger={"availableNow": True} if once else {"processingTime": "10 seconds"},
)
query.awaitTermination()

saved = saved_batch(state / "model.rpnb")
if saved is not None:
    print(
        f"{saved.batch + 1} triggers, {saved.rows:,} rows, "
        f"{saved.set_aside} set aside, "
        f"error {saved.error:.4f}, kappa {saved.kappa:.4f}"
    )
spark.stop()
