"""A stream is learned exactly once in effect, even if triggers are repeated."""

import json
import os
import re
import time
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import cohen_kappa_score

from rpnb import RPNBClassifier
from rpnb.spark import BadRowError, progress_listener, saved_batch, stream
from spark.workloads import NAMES, labelled, named, small

SCHEMA = ", ".join(f"{name} double" for name in NAMES) + ", label int, time long"
ONCE = {"availableNow": True}


def write_files(folder: Path, X: Any, y: Any, count: int, first: int = 0) -> None:
    """Write rows to files that are ordered by name and by age."""
    folder.mkdir(exist_ok=True)
    times = np.arange(len(y))
    for number, part in enumerate(np.array_split(times, count)):
        rows = named(X[part]).assign(label=y[part], time=times[part])
        path = folder / f"{first + number:03d}.csv"
        rows.to_csv(path, index=False)
        # Spark reads the oldest file first.
        os.utime(path, (1e9 + first + number, 1e9 + first + number))


def source(spark: Any, folder: Path) -> Any:
    reader = spark.readStream.schema(SCHEMA).option("header", True)
    return reader.option("maxFilesPerTrigger", 1).csv(str(folder))


def run(spark: Any, tmp_path: Path, model: Any, **more: Any) -> Any:
    query = stream(
        model,
        source(spark, tmp_path / "in"),
        path=tmp_path / "model.rpnb",
        checkpoint=str(tmp_path / "checkpoint"),
        order="time",
        trigger=ONCE,
        **more,
    )
    query.awaitTermination()
    return query


def test_triggers_are_learned_as_calls_of_one_process(
    spark: Any, tmp_path: Path
) -> None:
    X, y = labelled(9000)
    write_files(tmp_path / "in", X, y, 3)
    lines = StringIO()
    listener = progress_listener(tmp_path / "model.rpnb", lines)
    spark.streams.addListener(listener)
    model, expected = small(batch_size=2500), small(batch_size=2500)
    run(spark, tmp_path, model, results=tmp_path / "results")
    predicted = np.concatenate(
        [
            expected.predict_then_learn(named(X[part]), y[part])
            for part in np.array_split(np.arange(9000), 3)
        ]
    )
    assert_array_equal(model._state.moments.scatter, expected._state.moments.scatter)
    loaded = RPNBClassifier.load(tmp_path / "model.rpnb")
    assert_array_equal(loaded._state.moments.scatter, expected._state.moments.scatter)
    saved = saved_batch(tmp_path / "model.rpnb")
    assert saved is not None
    assert (saved.batch, saved.rows) == (2, 9000)
    wrong = np.array([one != other for one, other in zip(predicted, y, strict=True)])
    assert saved.mistakes == wrong.sum()
    # One line for each mini-batch, each with the error before it was learned.
    table = spark.read.json(str(tmp_path / "results")).orderBy("trigger", "batch")
    rows = table.collect()
    assert [(row.trigger, row.rows) for row in rows] == [
        *((0, 2500), (0, 500), (1, 2500), (1, 500), (2, 2500), (2, 500))
    ]
    assert [row.mistakes for row in rows][2] == wrong[3000:5500].sum()
    part = slice(8500, 9000)
    kappa = cohen_kappa_score(y[part].tolist(), predicted[part].tolist())
    assert rows[-1].kappa == pytest.approx(kappa)
    assert rows[-1].all_error == pytest.approx(wrong.mean())
    filled = np.where([label is None for label in predicted], -1, predicted)
    kappa = cohen_kappa_score(y.tolist(), filled.astype(int).tolist())
    assert rows[-1].all_kappa == pytest.approx(kappa)
    # Listeners are told some time later.
    until = time.monotonic() + 30.0
    while "ended" not in lines.getvalue() and time.monotonic() < until:
        time.sleep(0.1)
    spark.streams.removeListener(listener)
    assert re.search(r"trigger 0, \d+\.\d s: [369],000 rows so far", lines.getvalue())
    assert f"error {saved.error:.4f}, kappa {saved.kappa:.4f}" in lines.getvalue()


def test_a_query_is_resumed_and_a_trigger_that_comes_again_is_skipped(
    spark: Any, tmp_path: Path
) -> None:
    X, y = labelled(6000)
    write_files(tmp_path / "in", X[:4000], y[:4000], 2)
    run(spark, tmp_path, small(batch_size=None), results=tmp_path / "results")
    # Spark has not noted that the last trigger was done.
    (tmp_path / "checkpoint" / "commits" / "1").unlink()
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    write_files(tmp_path / "in", X[4000:], y[4000:], 1, first=2)
    model = small(batch_size=None)
    run(spark, tmp_path, model, results=tmp_path / "results")
    expected = small(batch_size=None)
    for part in (slice(0, 2000), slice(2000, 4000)):
        expected.partial_fit(named(X[part]), y[part])
    expected.partial_fit(named(X[4000:]), y[4000:])
    assert model.n_samples_seen_ == 6000
    assert_array_equal(model._state.moments.mean, expected._state.moments.mean)
    with pytest.raises(ValueError, match="has other parameters"):
        run(spark, tmp_path, small(batch_size=7))


def test_another_checkpoint_is_another_query(spark: Any, tmp_path: Path) -> None:
    X, y = labelled(1000)
    write_files(tmp_path / "in", X, y, 1)
    run(spark, tmp_path, small(batch_size=None))
    (tmp_path / "checkpoint").rename(tmp_path / "old")
    model = small(batch_size=None)
    run(spark, tmp_path, model)
    assert model.n_samples_seen_ == 2000
    saved = saved_batch(tmp_path / "model.rpnb")
    assert saved is not None
    assert saved.rows == 1000


def test_bad_rows_fail_the_query_or_are_set_aside(spark: Any, tmp_path: Path) -> None:
    X, y = labelled(3000)
    X[1500, 1] = np.nan
    write_files(tmp_path / "in", X, y, 3)
    model = small(batch_size=400)
    with pytest.raises(Exception, match=r"001\.csv, row 501: column 'b' is missing"):
        run(spark, tmp_path, model)
    # The trigger before it was learned, this one was not.
    assert model.n_samples_seen_ == 1000
    saved = saved_batch(tmp_path / "model.rpnb")
    assert saved is not None
    assert saved.batch == 0
    aside = tmp_path / "aside"
    run(spark, tmp_path, model, bad_rows="set_aside", aside=str(aside))
    assert model.n_samples_seen_ == 2999
    saved = saved_batch(tmp_path / "model.rpnb")
    assert saved is not None
    assert (saved.set_aside, saved.batch) == (1, 2)
    (row,) = spark.read.parquet(str(aside)).collect()
    assert (row.time, row.trigger) == (1500, 1)
    assert BadRowError.__mro__[1] is ValueError
    assert json.dumps(saved._asdict())
