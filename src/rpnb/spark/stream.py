"""Learning from a streaming query of Spark: each trigger once in effect.

`foreachBatch` calls at least once: after a crash, the last trigger may come again. The
model file holds the number of the last trigger that it has learned, and file and number
are written in one step, so that a trigger that comes again is skipped.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryListener

from rpnb.atomic import write_text
from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.mini_batches import check_batch_size
from rpnb.estimators.saving.estimator import write_estimator
from rpnb.estimators.saving.files import ModelFileError, read_attached
from rpnb.spark.bad_rows import BadRows
from rpnb.spark.columns import FrameColumns, Order, choose_columns
from rpnb.spark.learn import BatchResult, learn_frame

#: The entry of a model file that says what was learned of a query.
_ENTRY = "spark"


class SavedBatch(NamedTuple):
    """What a model file says of the query that it has learned.

    Attributes
    ----------
    query : str
        The query's id, which its checkpoint keeps.
    batch : int
        The last trigger that was learned, −1 for none.
    rows, mistakes : int
        Rows of all triggers, and how many of them were predicted wrongly.
    set_aside : int
        Bad rows that were set aside.
    truth, predicted : dict
        How often each class occurred, and was predicted.
    """

    query: str
    batch: int = -1
    rows: int = 0
    mistakes: int = 0
    set_aside: int = 0
    truth: Mapping[str, int] = {}
    predicted: Mapping[str, int] = {}

    def plus(self, classes: Any, y: IntArray, labels: IntArray) -> "SavedBatch":
        """Return the record after more rows."""
        return self._replace(
            rows=self.rows + y.shape[0],
            mistakes=self.mistakes + int(np.count_nonzero(y != labels)),
            truth=_add(self.truth, classes, y),
            predicted=_add(self.predicted, classes, labels),
        )

    @property
    def error(self) -> float:
        """Share of all rows that were predicted wrongly before they were learned."""
        return self.mistakes / self.rows if self.rows else float("nan")

    @property
    def kappa(self) -> float:
        """Cohen's κ of all these predictions."""
        n = float(max(self.rows, 1))
        by_chance = sum(
            count / n * self.predicted.get(label, 0) / n
            for label, count in self.truth.items()
        )
        if by_chance >= 1.0:
            return float("nan")
        return (1.0 - self.mistakes / n - by_chance) / (1.0 - by_chance)


def _add(counts: Mapping[str, int], classes: Any, numbers: IntArray) -> dict[str, int]:
    """Return the counts of labels after more of them; −1 is no label."""
    known = numbers[numbers >= 0]
    more = np.bincount(known, minlength=len(classes)).tolist()
    total = dict(counts)
    for label, count in zip(classes.tolist(), more, strict=True):
        if count:
            total[str(label)] = total.get(str(label), 0) + count
    return total


def saved_batch(
    path: str | PathLike[str], *, key: bytes | None = None
) -> SavedBatch | None:
    """Return what a model file says of its query, None if it was written otherwise.

    Raises
    ------
    ModelFileError
        If that is damaged, or the file was not signed with the key.
    """
    held = read_attached(path, _ENTRY, key)
    if held is None:
        return None
    if not _is_sound(held):
        raise ModelFileError(f"{path} is damaged: what it says of its query is wrong")
    return SavedBatch(**held)


def _is_sound(held: Any) -> bool:
    """Return whether a JSON value is a record that `save_with_batch` has written."""

    def count(value: Any, low: int = 0) -> bool:
        return type(value) is int and low <= value < 2**62

    if not isinstance(held, dict) or set(held) != set(SavedBatch._fields):
        return False
    counts = (held["truth"], held["predicted"])
    return (
        isinstance(held["query"], str)
        and count(held["batch"], -1)
        and all(count(held[name]) for name in ("rows", "mistakes", "set_aside"))
        and held["mistakes"] <= held["rows"]
        and all(isinstance(each, dict) for each in counts)
        and all(count(value) for each in counts for value in each.values())
    )


def stream(
    model: Any,
    frame: DataFrame,
    *,
    path: str | PathLike[str],
    checkpoint: str,
    features: str | Sequence[str] | None = None,
    label: str = "label",
    order: Order = None,
    weight: str | None = None,
    classes: ArrayLike | None = None,
    batch_size: int | None = None,
    bad_rows: BadRows = "refuse",
    aside: str | None = None,
    results: str | PathLike[str] | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    key: bytes | None = None,
) -> StreamingQuery:
    """Start a query that predicts and then learns every row of a streaming frame.

    Each trigger is one mini-batch or several. The model is written to `path` after each
    trigger, together with the trigger's number: whatever is killed and started again,
    every row is learned once in effect, and the model is that of an undisturbed run, to
    the bit. Start it again with the same arguments to resume.

    Parameters
    ----------
    model : RPNBClassifier, GaussianNB, PooledClassifier or MajorityClass
        As for `learn`. If there is a model at `path`, its state is loaded into this
        one, which must have the same parameters.
    frame : DataFrame
        A streaming frame, of any source.
    path : path
        The model file, on the driver's machine or a file system that it has mounted.
    checkpoint : str
        Where Spark keeps the progress of the query.
    features, label, order, weight, classes, batch_size, bad_rows
        As for `learn`; mini-batches do not reach across triggers. Rows of a trigger
        come in no defined order: without `order`, that of a hash of each row is taken.
    aside : str, optional
        A folder for rows that are set aside: one Parquet table for each trigger.
    results : path, optional
        A folder for the results: one file of JSON lines for each trigger, with one line
        for each mini-batch. `spark.read.json` reads them as one table.
    trigger : mapping, optional
        Arguments of Spark's `trigger`, such as ``{"availableNow": True}``.
    name : str, optional
        Name of the query.
    key : bytes, optional
        A secret with which the model file is signed; a file at `path` that was not
        signed with it is refused. See `RPNBClassifier.save`.

    Returns
    -------
    StreamingQuery
        The running query.
    """
    check_batch_size(model, batch_size)
    columns = choose_columns(frame, features, label, order, weight)
    work = _Learner(
        model,
        columns,
        Path(path),
        checkpoint,
        {"classes": classes, "batch_size": batch_size, "bad_rows": bad_rows},
        aside,
        None if results is None else Path(results),
        key,
    )
    # Where a row comes from, for the message that refuses it.
    with_files = frame
    try:
        with_files = frame.withColumns(
            {
                "_rpnb_file": F.col("_metadata.file_path"),
                "_rpnb_start": F.col("_metadata.file_block_start"),
            }
        )
        _ = with_files.schema
    except AnalysisException:
        with_files = frame
    writer = with_files.writeStream.option("checkpointLocation", checkpoint)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    if name is not None:
        writer = writer.queryName(name)
    return writer.foreachBatch(work.learn).start()


class _Learner:
    """Learns the triggers of one query, and keeps the model's file."""

    def __init__(
        self,
        model: Any,
        columns: FrameColumns,
        path: Path,
        checkpoint: str,
        arguments: dict[str, Any],
        aside: str | None,
        results: Path | None,
        key: bytes | None = None,
    ) -> None:
        self._key = key
        self._model, self._columns, self._path = model, columns, path
        self._checkpoint, self._arguments = checkpoint, arguments
        self._aside, self._results = aside, results
        self._saved: SavedBatch | None = None
        if path.exists():
            _restore(model, path, key)

    def learn(self, frame: DataFrame, batch: int) -> None:
        """Learn a trigger, unless it has been learned before."""
        if self._saved is None:
            self._saved = self._begin(frame)
        if batch <= self._saved.batch:
            return
        # As after a crash, a trigger that fails has taught nothing.
        before = dict(self._model.__dict__)
        if "_state" in before:
            before["_state"] = self._model._copy(before["_state"])
        try:
            self._saved = self._learn(frame, batch, self._saved)
        except BaseException:
            self._model.__dict__.clear()
            self._model.__dict__.update(before)
            raise

    def _begin(self, frame: DataFrame) -> SavedBatch:
        """Return what was learned of this query, if it is the one of the model file."""
        metadata = frame.sparkSession.read.text(f"{self._checkpoint}/metadata")
        query = str(json.loads(metadata.collect()[0][0])["id"])
        exists = self._path.exists()
        saved = saved_batch(self._path, key=self._key) if exists else None
        if saved is None or saved.query != query:
            return SavedBatch(query)
        return saved

    def _learn(self, frame: DataFrame, batch: int, saved: SavedBatch) -> SavedBatch:
        left_out: list[int] = []
        lines = []
        for each in learn_frame(
            self._model,
            frame,
            self._columns,
            **self._arguments,
            aside=None if self._aside is None else f"{self._aside}/trigger={batch}",
            set_aside=left_out,
        ):
            saved = saved.plus(self._model.classes_, each.y, each.labels)
            lines.append(_line(batch, each.result, saved))
        saved = saved._replace(batch=batch, set_aside=saved.set_aside + sum(left_out))
        # First the results: if the trigger comes again, they are written again.
        if self._results is not None and lines:
            self._results.mkdir(parents=True, exist_ok=True)
            write_text(self._results / f"{batch:09d}.json", "".join(lines))
        if self._model.__sklearn_is_fitted__():
            save_with_batch(self._model, self._path, saved, key=self._key)
        return saved


def save_with_batch(
    model: Any, path: Path, saved: SavedBatch, *, key: bytes | None = None
) -> None:
    """Write the model and what it has learned of the query, in one step."""
    attached = {_ENTRY: saved._asdict()}
    write_estimator(path, model._as_saved(), attached=attached, key=key)


def _restore(model: Any, path: Path, key: bytes | None) -> None:
    """Give a model the state of the one in a file, which has the same parameters."""
    loaded = type(model).load(path, key=key)
    if loaded._parameters_to_json() != model._parameters_to_json():
        raise ValueError(
            f"the model at {path} has other parameters: {loaded!r}, not {model!r}; "
            "choose another path, or start with the same parameters"
        )
    # Files do not keep all parameters, such as the number of threads.
    parameters = model.get_params(deep=False)
    model.__dict__.update(loaded.__dict__)
    model.set_params(**parameters)


def _line(trigger: int, result: BatchResult, saved: SavedBatch) -> str:
    """Return a line of JSON on a mini-batch, and on all rows so far."""
    values = {
        "trigger": trigger,
        "batch": result.batch,
        "rows": result.rows,
        "mistakes": result.mistakes,
        "error": result.error,
        "kappa": _number(result.kappa),
        "updates": result.updates,
        "seconds": round(result.seconds, 3),
        "all_rows": saved.rows,
        "all_error": saved.error,
        "all_kappa": _number(saved.kappa),
    }
    return json.dumps(values) + "\n"


def _number(value: float) -> float | None:
    """Return a number as JSON has it: not NaN."""
    return value if value == value else None


class _ProgressListener(StreamingQueryListener):
    """Writes a line for each trigger of the queries of a session."""

    def __init__(self, path: Path, file: IO[str], key: bytes | None) -> None:
        self._path, self._file, self._key = path, file, key

    def onQueryStarted(self, event: Any) -> None:
        self._file.write(f"rpnb: query {event.id} started\n")

    def onQueryProgress(self, event: Any) -> None:
        progress = event.progress
        exists = self._path.exists()
        saved = saved_batch(self._path, key=self._key) if exists else None
        text = "nothing learned yet"
        if saved is not None and saved.query == str(progress.id):
            text = (
                f"{saved.rows:,} rows so far, error {saved.error:.4f}, "
                f"kappa {saved.kappa:.4f}"
            )
        # Spark's own count of rows has them as often as the source was read.
        seconds = progress.durationMs.get("triggerExecution", 0) / 1000
        self._file.write(f"rpnb: trigger {progress.batchId}, {seconds:.1f} s: {text}\n")
        self._file.flush()

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        self._file.write(f"rpnb: query {event.id} ended\n")


def progress_listener(
    path: str | PathLike[str],
    file: IO[str] | None = None,
    *,
    key: bytes | None = None,
) -> StreamingQueryListener:
    """Return a listener that writes a line of progress for each trigger.

    Add it by ``spark.streams.addListener``. The line has the seconds that the
    trigger took, and the number, error and κ of all rows so far, before they were
    learned.

    Parameters
    ----------
    path : path
        The model file of the query.
    file : text file, optional
        Where lines are written; by default the standard error.
    key : bytes, optional
        The key of the query, if its model file is signed.
    """
    return _ProgressListener(Path(path), sys.stderr if file is None else file, key)
