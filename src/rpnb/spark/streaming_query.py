"""Learning from a streaming query of Spark, each trigger exactly once in effect.

`foreachBatch` runs at least once: after a crash, the last trigger may be repeated. The
model file contains the number of the last learned trigger, and both are written in one
step, so that a repeated trigger is skipped.
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
from rpnb.core.kappa import cohen
from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.mini_batches import check_batch_size
from rpnb.estimators.protocol import (
    go_back,
    parameters_of,
    saved_model,
    snapshot,
    write_estimator,
)
from rpnb.estimators.saving.files import ModelFileError, read_attached
from rpnb.spark.bad_rows import BadRows
from rpnb.spark.frame_columns import FrameColumns, Order, choose_columns
from rpnb.spark.learning import BatchResult, learn_frame

#: Entry of a model file that records what was learned from a query.
_ENTRY = "spark"


class SavedBatch(NamedTuple):
    """Record in a model file of the query that it has learned.

    Attributes
    ----------
    query : str
        Id of the query, from its checkpoint.
    batch : int
        Number of the last learned trigger, −1 for none.
    rows, mistakes : int
        Number of rows of all triggers, and of wrong predictions among them.
    set_aside : int
        Number of bad rows set aside.
    truth, predicted : dict
        Number of rows of each class, and of predictions of each class.

    Examples
    --------
    >>> from rpnb.spark import SavedBatch
    >>> record = SavedBatch("query", batch=3, rows=400, mistakes=100)
    >>> record.error
    0.25
    """

    query: str
    batch: int = -1
    rows: int = 0
    mistakes: int = 0
    set_aside: int = 0
    truth: Mapping[str, int] = {}
    predicted: Mapping[str, int] = {}

    def plus(self, classes: Any, y: IntArray, labels: IntArray) -> "SavedBatch":
        """Return the record after more rows.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb.spark import SavedBatch
        >>> classes, truth = np.array(["elm", "oak"]), np.array([0, 0, 1])
        >>> SavedBatch("query").plus(classes, truth, np.array([0, 1, 1])).mistakes
        1
        """
        return self._replace(
            rows=self.rows + y.shape[0],
            mistakes=self.mistakes + int(np.count_nonzero(y != labels)),
            truth=_add(self.truth, classes, y),
            predicted=_add(self.predicted, classes, labels),
        )

    @property
    def error(self) -> float:
        """Error rate of the predictions, made before the rows were learned.

        Examples
        --------
        >>> from rpnb.spark import SavedBatch
        >>> SavedBatch("query", rows=400, mistakes=100).error
        0.25
        """
        return self.mistakes / self.rows if self.rows else float("nan")

    @property
    def kappa(self) -> float:
        """Cohen's κ of the predictions.

        Examples
        --------
        >>> from rpnb.spark import SavedBatch
        >>> half = {"elm": 200, "oak": 200}
        >>> counts = {"truth": half, "predicted": half}
        >>> SavedBatch("query", rows=400, mistakes=100, **counts).kappa
        0.5
        """
        if not self.rows:
            return float("nan")
        truth = np.array([*self.truth.values()])
        predicted = np.array([self.predicted.get(label, 0) for label in self.truth])
        return cohen(1.0 - self.mistakes / self.rows, truth, predicted)


def _add(counts: Mapping[str, int], classes: Any, numbers: IntArray) -> dict[str, int]:
    """Return the counts of labels after more of them; −1 does not count."""
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
    """Return the query recorded in a model file, None if there is none.

    Raises
    ------
    ModelFileError
        If the record is damaged, or the file was not signed with the key.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.spark import saved_batch, stream
    >>> folder = TemporaryDirectory()
    >>> frame.write.parquet(f"{folder.name}/rows")
    >>> rows = spark.readStream.schema(frame.schema).parquet(f"{folder.name}/rows")
    >>> query = stream(
    ...     RPNBClassifier(20, batch_size=None, random_state=0),
    ...     rows,
    ...     path=f"{folder.name}/model.rpnb",
    ...     checkpoint=f"{folder.name}/checkpoint",
    ...     order="time",
    ...     trigger={"availableNow": True},
    ... )
    >>> query.awaitTermination()
    >>> saved_batch(f"{folder.name}/model.rpnb").batch
    0
    >>> folder.cleanup()
    """
    held = read_attached(path, _ENTRY, key)
    if held is None:
        return None
    if not _is_sound(held):
        raise ModelFileError(f"{path} is damaged: its record of a query is invalid")
    return SavedBatch(**held)


def _is_sound(held: Any) -> bool:
    """Return whether a JSON value is a record written by `save_with_batch`."""

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

    Each trigger is one mini-batch or several. After each trigger, the model and the
    number of the trigger are written to `path`. Whatever is killed and restarted, every
    row is learned exactly once in effect, and the model equals that of an undisturbed
    run, to the bit. Start it again with the same arguments to resume.

    Parameters
    ----------
    model : RPNBClassifier, GaussianNB, PooledClassifier or MajorityClass
        The model; see `learn`. If there is a model at `path`, its state is loaded into
        this one, which must have the same parameters.
    frame : DataFrame
        Streaming frame, from any source.
    path : path
        Model file, on the driver's machine or a file system mounted there.
    checkpoint : str
        Folder in which Spark keeps the progress of the query.
    features, label, order, weight, classes, batch_size, bad_rows
        Parameters of `learn`; mini-batches do not span triggers. Rows of a trigger have
        no defined order: without `order`, they are ordered by a hash of each row.
    aside : str, optional
        Folder for rows that are set aside, with one Parquet table per trigger.
    results : path, optional
        Folder for the results, with one file of JSON lines per trigger and one line per
        mini-batch. `spark.read.json` reads them as one table.
    trigger : mapping, optional
        Arguments of Spark's `trigger`, such as ``{"availableNow": True}``.
    name : str, optional
        Name of the query.
    key : bytes, optional
        Secret that signs the model file; a file at `path` that was not signed with it
        is refused. See `RPNBClassifier.save`.

    Returns
    -------
    StreamingQuery
        The running query.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.spark import saved_batch, stream
    >>> folder = TemporaryDirectory()
    >>> frame.write.parquet(f"{folder.name}/rows")
    >>> rows = spark.readStream.schema(frame.schema).parquet(f"{folder.name}/rows")
    >>> query = stream(
    ...     RPNBClassifier(20, batch_size=None, random_state=0),
    ...     rows,
    ...     path=f"{folder.name}/model.rpnb",
    ...     checkpoint=f"{folder.name}/checkpoint",
    ...     order="time",
    ...     trigger={"availableNow": True},
    ... )
    >>> query.awaitTermination()
    >>> saved_batch(f"{folder.name}/model.rpnb").rows
    600
    >>> folder.cleanup()
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
    # The file of each row, for error messages.
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
    """Learns the triggers of one query, and writes the model file."""

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
        # As after a crash, a failed trigger must not change the model.
        before = snapshot(self._model)
        try:
            self._saved = self._learn(frame, batch, self._saved)
        except BaseException:
            go_back(self._model, before)
            raise

    def _begin(self, frame: DataFrame) -> SavedBatch:
        """Return the record of this query in the model file, or a new one."""
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
        # Results first: if the trigger is repeated, they are written again.
        if self._results is not None and lines:
            self._results.mkdir(parents=True, exist_ok=True)
            write_text(self._results / f"{batch:09d}.json", "".join(lines))
        if self._model.__sklearn_is_fitted__():
            save_with_batch(self._model, self._path, saved, key=self._key)
        return saved


def save_with_batch(
    model: Any, path: Path, saved: SavedBatch, *, key: bytes | None = None
) -> None:
    """Write the model and the record of its query in one step."""
    attached = {_ENTRY: saved._asdict()}
    write_estimator(path, saved_model(model), attached=attached, key=key)


def _restore(model: Any, path: Path, key: bytes | None) -> None:
    """Load the state of a model file into a model with the same parameters."""
    loaded = type(model).load(path, key=key)
    if parameters_of(loaded) != parameters_of(model):
        raise ValueError(
            f"the model at {path} has other parameters: {loaded!r}, not {model!r}; "
            "choose another path, or start with the same parameters"
        )
    # Files do not contain all parameters, for example not the number of threads.
    parameters = model.get_params(deep=False)
    model.__dict__.update(loaded.__dict__)
    model.set_params(**parameters)


def _line(trigger: int, result: BatchResult, saved: SavedBatch) -> str:
    """Return a line of JSON with figures of a mini-batch, and of all rows so far."""
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
    """Return a number as a JSON value, None for NaN."""
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
        # Spark's own count includes rows each time the source was read.
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

    Add it by ``spark.streams.addListener``. The line contains the duration of the
    trigger in seconds, and the number of all rows so far, with the error rate and κ of
    their predictions.

    Parameters
    ----------
    path : path
        Model file of the query.
    file : text file, optional
        File to write lines to; by default the standard error.
    key : bytes, optional
        Key of the query, if its model file is signed.

    Examples
    --------
    >>> from rpnb.spark import progress_listener
    >>> listener = progress_listener("model.rpnb")
    >>> spark.streams.addListener(listener)
    >>> spark.streams.removeListener(listener)
    """
    return _ProgressListener(Path(path), sys.stderr if file is None else file, key)
