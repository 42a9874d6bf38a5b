"""`rpnb run FOLDER --engine spark`: the same table and report, computed on Spark."""

import argparse
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any, final

import numpy as np

from rpnb.cli import CommandError, _parser
from rpnb.cli.learners import make_learners, names_of
from rpnb.cli.parameters import given_parameters
from rpnb.cli.run.asked_probabilities import (
    needed_probabilities,
    of_predictions,
    wants_probabilities,
)
from rpnb.cli.run.outputs import Outputs, PredictionsFile
from rpnb.cli.run.printed_result import as_json, as_table
from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.protocol import set_thresholds
from rpnb.estimators.registry import RPNB
from rpnb.estimators.rpnb import RPNBClassifier
from rpnb.estimators.trust.sets import following_sets
from rpnb.evaluate.confusion import Confusion
from rpnb.evaluate.drivers.driver import (
    Driver,
    Predictions,
    Probabilities,
    no_predictions,
    predictions_with,
)
from rpnb.evaluate.drivers.native import COVERAGE
from rpnb.evaluate.drivers.selection import REFERENCES
from rpnb.evaluate.evaluation import Evaluation, Participant, native_evaluation
from rpnb.evaluate.result import RunFacts
from rpnb.evaluate.stream_blocks import Block
from rpnb.labels import CodedLabels

# Spark's reader, by the ending of a file name.
_READERS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".jsonl": "json"}
# Options of `rpnb run` that are supported, or have no effect.
_UNDERSTOOD = {
    *("command", "command_line", "file", "target", "format", "no_header", "delimiter"),
    *("drop", "classes", "model", "compare", "param", "engine", "master", "window"),
    *("predictions", "no_probabilities", "report", "save", "json", "quiet", "run"),
    *("chunk_rows", "usual", "metrics"),
}
# Columns that keep rows in the order of their files.
_ORDER = ["_rpnb_file", "_rpnb_start", "_rpnb_id"]


@final
class _ReplayDriver(Driver):
    """Returns predictions that Spark has made."""

    def __init__(self, model: Any, labels: Any, probabilities: Probabilities) -> None:
        super().__init__(model, labels, probabilities)
        self._next = Predictions(np.zeros(0, np.int64), None)
        self._any = False
        self._thresholds: FloatArray | None = None

    def receive(self, block: Block, batch: Any, thresholds: Any) -> Predictions:
        """Return the predictions of a mini-batch, and keep them for the next block.

        `thresholds` are those of the prediction sets before it, None without sets; from
        the first sets on, the driver updates its own.
        """
        labels = CodedLabels(batch.labels, self.model.classes_)
        self._any = self._any or bool((batch.labels >= 0).any())
        if batch.probabilities is None:
            self._next = Predictions(self.labels.of(labels), None)
        elif not self._any and self.probabilities == "truth":
            self._next = no_predictions(self, block)
        else:
            P, sets = batch.probabilities, None
            if self._thresholds is None:
                self._thresholds = thresholds
            if self._thresholds is not None:
                sets = following_sets(P, batch.y, self._thresholds, COVERAGE, None)
            self._next = predictions_with(self, block, labels, P, sets)
        return self._next

    def predict_then_learn(self, block: Block) -> Predictions:
        """Return the predictions of the block."""
        return self._next

    def predict(self, block: Block) -> Predictions:
        """Return the predictions of the block."""
        return self._next

    def learn(self, block: Block) -> None:
        """Do nothing: the rows have been learned."""

    def updates(self) -> int:
        """Return the number of rows that changed the model."""
        return int(self.model.n_updates_)


def run_on_spark(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    try:
        import_module("rpnb.spark")
    except ImportError as error:
        raise CommandError(f"--engine spark: {error}") from error
    model, size = _model(arguments)
    with Outputs() as outputs:
        start = time.monotonic()
        try:
            evaluation, used = _evaluate(arguments, model, size, outputs)
        except (TypeError, ValueError) as error:
            raise CommandError(f"{arguments.file}: {error}") from error
        facts = RunFacts(
            source=arguments.file,
            p=int(model.n_features_in_),
            order="file",
            seconds=time.monotonic() - start,
            interrupted=False,
            loaded=None,
            window=arguments.window,
            metrics=tuple(dict.fromkeys(arguments.metrics)),
            written=tuple(
                str(path)
                for path in (arguments.predictions, arguments.save, arguments.report)
                if path is not None
            ),
            numbers=tuple(used),
            dropped=dict.fromkeys(arguments.drop, "--drop"),
        )
        if arguments.save:
            model.save(outputs.open_bytes(arguments.save))
        if arguments.report:
            from rpnb.cli.run.advice import hints
            from rpnb.report.run_page import stream_page

            said = hints(evaluation, facts)
            page = stream_page(evaluation, facts, arguments.command_line, hints=said)
            outputs.open(arguments.report).write(page)
        outputs.commit()
        show = as_json if arguments.json else as_table
        sys.stdout.write(show(evaluation, facts))
    return 0


def _model(arguments: argparse.Namespace) -> tuple[Any, int | None]:
    """Return the learner, and the size of mini-batches if it is not its parameter.

    Refuses options that Spark does not support.
    """
    defaults = vars(_parser().parse_args(["run", arguments.file]))
    for name, value in vars(arguments).items():
        if name not in _UNDERSTOOD and value != defaults.get(name, value):
            option = "--" + name.replace("_", "-")
            raise CommandError(f"{option} cannot be used with --engine spark")
    if arguments.target is None:
        raise CommandError("--engine spark needs --target, the label column")
    names = names_of(arguments)
    if len(names) > 1:
        raise CommandError("--engine spark evaluates one learner at a time")
    names = names or [RPNB]
    given = dict(given_parameters(arguments))
    size = None if RPNB in names else given.pop("batch_size", None)
    (model,) = make_learners(names, given, arguments.param).values()
    from rpnb.estimators.mini_batches import check_batch_size

    try:
        check_batch_size(model, size)
    except (TypeError, ValueError) as error:
        option = " (--batch-size)" if isinstance(model, RPNBClassifier) else ""
        raise CommandError(f"--engine spark: {error}{option}") from error
    if size is None and not isinstance(model, RPNBClassifier):
        raise CommandError(
            "--engine spark needs --batch-size, the number of rows of a mini-batch: "
            "without it, all rows would be predicted before any is learned"
        )
    return model, size


def _evaluate(
    arguments: argparse.Namespace, model: Any, size: int | None, outputs: Outputs
) -> tuple[Evaluation, list[str]]:
    """Learn all rows; return the evaluation and the names of the features."""
    from rpnb.spark.frame_columns import choose_columns
    from rpnb.spark.learning import learn_frame

    spark = _session(arguments.master)
    try:
        frame = _read(spark, arguments)
        used = [
            name
            for name in frame.columns
            if name not in (*_ORDER, arguments.target, *arguments.drop)
        ]
        columns = choose_columns(frame, used, arguments.target, _ORDER)
        classes = _classes(arguments, frame)
        evaluation = native_evaluation(
            {},
            {name: learner() for name, learner in REFERENCES.items()},
            classes=classes,
            window=arguments.window,
        )
        gives = hasattr(model, "predict_proba")
        asked = needed_probabilities(arguments) if gives else "none"
        driver = _ReplayDriver(model, evaluation.labels, asked)
        name = arguments.model or RPNB
        learner = Participant(name, driver, Confusion(arguments.window))
        evaluation.participants.insert(0, learner)
        file = None
        if arguments.predictions:
            opened = outputs.open(arguments.predictions)
            file = PredictionsFile(
                opened, [name], [gives and wants_probabilities(arguments)]
            )
        thresholds = set_thresholds(model)
        for each in learn_frame(
            model,
            frame,
            columns,
            classes=classes,
            batch_size=size,
            probabilities=asked != "none",
        ):
            y = model.classes_[each.y]
            first = evaluation.rows
            block = Block(first, np.zeros((len(y), 1)), evaluation.labels.coded(y))
            found = driver.receive(block, each, thresholds)
            evaluation.step(block)
            thresholds = set_thresholds(model)
            learner.seconds += each.result.seconds
            if file is not None:
                labels = evaluation.labels.labels_of(found.numbers)
                rows = np.arange(first + 1, first + len(y) + 1)
                file.write(rows, y, [labels], [of_predictions(found)])
            if not arguments.quiet:
                error = learner.confusion.error
                sys.stderr.write(f"{evaluation.rows:,} rows  {name} {error:.2%}\n")
        if evaluation.rows == 0:
            raise ValueError("there are no rows")
        return evaluation, used
    finally:
        spark.stop()


def _classes(arguments: argparse.Namespace, frame: Any) -> Any:
    """Return the declared classes, in the type of the labels."""
    if not arguments.classes:
        return None
    kind = frame.schema[arguments.target].dataType.typeName()
    if kind == "string":
        return list(arguments.classes)
    try:
        return [int(text) for text in arguments.classes]
    except ValueError as error:
        raise CommandError(
            f"--classes must be whole numbers, like the labels: {error}"
        ) from error


def _session(master: str | None) -> Any:
    """Return a session on a cluster, or on this machine."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    where = master or "local[*]"
    builder = SparkSession.builder.appName("rpnb run").master(where)
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    if where.startswith("local"):
        builder = builder.config("spark.driver.host", "localhost")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _read(spark: Any, arguments: argparse.Namespace) -> Any:
    """Return the rows of a file, or of all files of a folder in order of names."""
    from pyspark.sql import functions as F

    path = Path(arguments.file)
    if not path.exists():
        raise CommandError(f"{path}: no such file or folder")
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    kinds = {_READERS[file.suffix] for file in files if file.suffix in _READERS}
    if arguments.format is not None:
        kinds = {_READERS.get(f".{arguments.format}", arguments.format)}
    if len(kinds) != 1 or not kinds <= set(_READERS.values()):
        raise CommandError(
            f"{path}: --engine spark reads files of one format, "
            f"{', '.join(_READERS)}; set it with --format"
        )
    (kind,) = kinds
    reader = spark.read.format(kind)
    if kind == "csv":
        tabs = any(file.suffix == ".tsv" for file in files)
        reader = reader.option("header", not arguments.no_header)
        reader = reader.option("inferSchema", True)
        reader = reader.option("sep", arguments.delimiter or ("\t" if tabs else ","))
    frame = reader.load(str(path.absolute()))
    if kind == "csv" and arguments.no_header:
        frame = frame.toDF(*(str(n + 1) for n in range(len(frame.columns))))
    for name in (arguments.target, *arguments.drop):
        if name not in frame.columns:
            raise CommandError(f"{path} has no column {name!r}: it has {frame.columns}")
    return frame.withColumns(
        {
            "_rpnb_file": F.col("_metadata.file_path"),
            "_rpnb_start": F.col("_metadata.file_block_start"),
            "_rpnb_id": F.monotonically_increasing_id(),
        }
    )
