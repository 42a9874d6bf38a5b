"""The examples of the guide and the jobs of the gallery run."""

import doctest
import importlib.util
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

import rpnb.spark as public
from spark.workloads import JAVA, labelled, named
from spark_cluster import environment

DOCS = Path(__file__).parents[2] / "docs"


def test_the_examples_of_the_guide_run(spark: Any) -> None:
    found = doctest.testfile(
        str(DOCS / "how-to" / "spark.md"), False, globs={"spark": spark}
    )
    assert found.attempted > 10
    assert found.failed == 0


def documented() -> dict[str, Any]:
    """Return all public names of `rpnb.spark` and the public methods of its classes."""
    found = {name: getattr(public, name) for name in public.__all__}
    for name, each in [*found.items()]:
        if inspect.isclass(each):
            for key in dir(each):
                member = inspect.getattr_static(each, key)
                member = getattr(member, "fget", getattr(member, "__func__", member))
                own = str(getattr(member, "__module__", "")).startswith("rpnb.")
                if inspect.isfunction(member) and own and not key.startswith("_"):
                    found[f"{name}.{key}"] = member
    return found


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    """Return the frame of the examples."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    rows = {"a": rng.normal(size=600) + y, "b": rng.normal(size=600) - y}
    return spark.createDataFrame(pd.DataFrame({**rows, "label": y, "time": range(600)}))


@pytest.mark.parametrize("name", documented())
def test_the_examples_of_the_reference_run(spark: Any, frame: Any, name: str) -> None:
    text = inspect.getdoc(documented()[name]) or ""
    names = {"spark": spark, "frame": frame}
    example = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_job_on_files_runs_by_spark_submit(tmp_path: Path) -> None:
    X, y = labelled(500)
    (tmp_path / "in").mkdir()
    rows = named(X).assign(label=y, time=np.arange(500))
    rows.loc[7, "a"] = np.nan
    rows.to_csv(tmp_path / "in" / "first.csv", index=False)
    variables = environment()
    done = subprocess.run(  # noqa: S603 - Spark's own program
        [
            f"{variables['SPARK_HOME']}/bin/spark-submit",
            *("--master", "local[1]", "--conf", "spark.driver.host=127.0.0.1"),
            *("--conf", "spark.ui.enabled=false", "--driver-java-options", JAVA),
            str(DOCS / "how-to" / "gallery" / "spark_files.py"),
            str(tmp_path / "in"),
            str(tmp_path / "state"),
            "--once",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**variables, "PYSPARK_DRIVER_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "1 triggers, 499 rows, 1 set aside, error 1.0000" in done.stdout


def test_the_job_on_messages_runs_on_files_of_messages(
    spark: Any, tmp_path: Path
) -> None:
    path = DOCS / "how-to" / "gallery" / "spark_kafka.py"
    spec = importlib.util.spec_from_file_location("spark_kafka", path)
    assert spec is not None
    assert spec.loader is not None
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    X, y = labelled(300)
    lines = [
        {
            "value": json.dumps({"x": x.tolist(), "label": f"class {label}"}),
            "partition": i % 3,
            "offset": i // 3,
        }
        for i, (x, label) in enumerate(zip(X, y, strict=True))
    ]
    lines[5]["value"] = "no JSON"
    (tmp_path / "in").mkdir()
    text = "\n".join(json.dumps(line) for line in lines)
    (tmp_path / "in" / "messages.json").write_text(text)
    schema = "value string, partition int, offset long"
    raw = spark.readStream.schema(schema).json(str(tmp_path / "in"))
    rows = job.labelled_rows(raw)
    job.learn_rows(
        rows, tmp_path / "state", trigger={"availableNow": True}
    ).awaitTermination()
    (result,) = (tmp_path / "state" / "results").glob("*.json")
    assert json.loads(result.read_text())["rows"] == 299
