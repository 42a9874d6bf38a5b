"""A local Spark session for the tests, if PySpark is installed: `make test-spark`."""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("pyspark") is None:
    collect_ignore_glob = ["*.py"]

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    from spark.workloads import JAVA

    session = (
        SparkSession.builder.master("local[2]")
        .appName("rpnb tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        # Plans of a few rows run once: generating and optimising code costs more.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.driver.extraJavaOptions", JAVA)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
