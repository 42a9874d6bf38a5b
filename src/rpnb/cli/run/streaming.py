"""`rpnb run` and `rpnb compare`: evaluate learners in one pass, write the results."""

import argparse
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rpnb.cli import INTERRUPTED, CommandError
from rpnb.cli.learners import has_parameter
from rpnb.cli.parameters import given_parameters
from rpnb.cli.progress_line import Display
from rpnb.cli.run.advice import hints
from rpnb.cli.run.asked_probabilities import (
    needed_probabilities,
    of_predictions,
    wants_probabilities,
)
from rpnb.cli.run.inputs import (
    ENCODER,
    explained,
    file_words,
    has_native_view,
    learners_of,
    open_rows,
)
from rpnb.cli.run.outputs import (
    Outputs,
    PredictionsFile,
    refuse_other_format,
    writing,
)
from rpnb.cli.run.printed_result import as_json, as_table
from rpnb.cli.run.stream_progress import StreamProgress, line
from rpnb.estimators.checks.spread import SpreadWarning, describe_spread
from rpnb.estimators.protocol import (
    blank_copy,
    class_weight_of,
    learner_of,
    saved_model,
)
from rpnb.estimators.registry import learners
from rpnb.evaluate.delays import WaitingRows, never
from rpnb.evaluate.drivers.selection import REFERENCES
from rpnb.evaluate.evaluation import Evaluation, native_evaluation, needed_blocks
from rpnb.evaluate.result import RunFacts
from rpnb.evaluate.stream_blocks import Block, ChunkBlocks
from rpnb.files import (
    FileError,
    LabelledArrays,
    LabelledChunk,
    LabelledFile,
    ReadAhead,
)
from rpnb.files.encoding.column_encoder import ColumnEncoder
from rpnb.labels import NO_LABEL
from rpnb.preprocessing import StreamPipeline
from rpnb.report.html import listed

if TYPE_CHECKING:
    from rpnb.core.columns.coding import ColumnKind
    from rpnb.evaluate.waiting import StreamWatch
    from rpnb.report.sections.row_reasons import LastRows


class Interrupt:
    """Context in which, from `record` on, the first Ctrl-C is only recorded.

    Before, and from the second on, it does what it did outside.

    >>> with Interrupt() as interrupt:
    ...     interrupt.record()
    ...     interrupt.came()
    False
    """

    def __init__(self) -> None:
        self._came = False
        self._before: Any = None
        self._recording = False

    def came(self) -> bool:
        """Return whether Ctrl-C was pressed."""
        return self._came

    def record(self) -> None:
        """Record the next Ctrl-C from now on."""
        if threading.current_thread() is threading.main_thread():
            # Elsewhere signals do not come.
            self._before = signal.signal(signal.SIGINT, self._note)
            self._recording = True

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        """Record the first Ctrl-C; let the next one interrupt."""
        self._came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._recording:
            signal.signal(signal.SIGINT, self._before)


def stream(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    state, models = learners_of(arguments)
    if arguments.save and len(models) > 1:
        raise CommandError("--save writes one model, but there are several learners")
    _check_row_by_row(arguments, models)
    # The results name the option that helps.
    warnings.simplefilter("ignore", SpreadWarning)
    with Interrupt() as interrupt, Outputs([arguments.file]) as outputs:
        try:
            source = open_rows(arguments, state, models)
            views = {
                name: source.encoder.native
                for name, model in models.items()
                if isinstance(source.encoder, ColumnEncoder)
                and has_native_view(arguments, state, models, model)
            }
            run = _Run(arguments, models, source, outputs, views)
            run.announce()
            run.evaluate(interrupt)
        except FileError as error:
            raise explained(error, arguments, models) from error
        if run.evaluation is None:  # stopped before the first row
            return INTERRUPTED
        run.write(interrupt.came())
        outputs.commit()
        run.print(interrupt.came())
    return INTERRUPTED if interrupt.came() else 0


def _check_row_by_row(arguments: argparse.Namespace, models: dict[str, Any]) -> None:
    """Refuse late or requested labels for learners of mini-batches."""
    given = {getattr(arguments, each, None) for each in ("delay", "budget")}
    for name, model in models.items():
        size = model.get_params(deep=False).get("batch_size", 1)
        if given != {None} and size != 1:
            raise CommandError(
                f"--delay and --budget need learners that learn row by row, but {name} "
                f"has batch_size={size}"
            )


@dataclass(slots=True)
class _ReadChunk:
    """A chunk, and the share of the file that was read with it."""

    chunk: LabelledChunk
    share: float | None


class _Run:
    """One pass over the rows, and its results."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        models: dict[str, Any],
        source: LabelledFile | LabelledArrays,
        outputs: Outputs,
        views: Mapping[str, Callable[[Any], Any]],
    ) -> None:
        self._arguments, self._models, self._source = arguments, models, source
        self._outputs, self._views = outputs, views
        self.evaluation: Evaluation | None = None
        self._position: Any = None
        self._p = 0
        self._start = time.monotonic()
        self._seconds = 0.0
        self._predictions: PredictionsFile | None = None
        self._spread: str | None = None
        self._announced: set[str] = set()
        self._probabilities = needed_probabilities(arguments)
        self._last_rows: LastRows | None = None
        # `rpnb fit` has neither option.
        self._delay: int | None = getattr(arguments, "delay", None)
        self._budget: float | None = getattr(arguments, "budget", None)
        self._waiting = WaitingRows.none()
        self._kept: list[Block] = []
        self._display = Display(sys.stderr, line)

    def announce(self) -> None:
        """Print notes on how the file is read, those that are new."""
        if not self._arguments.quiet and isinstance(self._source, LabelledFile):
            for note in self._source.notes:
                if note not in self._announced:
                    sys.stderr.write(f"{self._source.name}: {note}\n")
                    self._announced.add(note)

    def evaluate(self, interrupt: Interrupt) -> None:
        """Predict, then learn, all rows, or until Ctrl-C."""
        batch = max(
            int(model.get_params(deep=False).get("batch_size") or 1)
            for model in self._models.values()
        )
        # Mini-batches do not extend across calls.
        rows = -(-self._arguments.chunk_rows // batch) * batch
        chunks = self._source.chunks(rows, self._arguments.shuffle)
        ahead = ReadAhead(_ReadChunk(chunk, self._source.share()) for chunk in chunks)
        try:
            for read in ahead.items(interrupt.came):
                if self.evaluation is None:
                    self._try_learners(read.chunk)
                    interrupt.record()  # from here on there are results to lose
                    self.evaluation = self._begin(read.chunk)
                    blocks = ChunkBlocks(self.evaluation.labels)
                self._step(self.evaluation, blocks, read.chunk)
                if not self._arguments.quiet and self.evaluation.rows:
                    self._display(self._progress(self.evaluation, read.share))
        finally:
            ahead.close()
            self._source.close()
            self._display.close()
        if self.evaluation is not None:
            self._learn_leftover(self.evaluation)
        self._seconds = time.monotonic() - self._start
        self.announce()  # what was found only later in the file
        if self.evaluation is not None and self.evaluation.rows == 0:
            raise FileError(f"{self._source.name}: no row has a label")

    def _step(
        self, evaluation: Evaluation, blocks: ChunkBlocks, chunk: LabelledChunk
    ) -> None:
        """Evaluate a chunk, and write its predictions if requested."""
        try:
            block = blocks.block(chunk)
            predictions = evaluation.step(block, *self._events(block))
        except (TypeError, ValueError) as error:
            raise CommandError(
                f"rows {chunk.rows[0]} to {chunk.rows[-1]}: {error}"
            ) from error
        self._position, self._p = chunk.position, chunk.X.shape[1]
        if self._last_rows is not None:
            labelled = np.flatnonzero(chunk.codes != NO_LABEL)
            last = labelled[-self._last_rows.size :]
            self._last_rows.add(chunk.X[last], chunk.labels[chunk.codes[last]])
        if self._predictions is not None:
            kept = predictions[: len(self._models)]
            labels = [evaluation.labels.labels_of(each.numbers) for each in kept]
            probabilities = [of_predictions(each) for each in kept]
            written = [*chunk.labels.tolist(), ""]  # no label, −1, is the last
            truth = [written[code] for code in chunk.codes.tolist()]
            with writing(self._arguments.predictions):
                self._predictions.write(chunk.rows, truth, labels, probabilities)

    def _events(self, block: Block) -> tuple[Any, ...]:
        """Return the arguments of a step with late labels; none if they are not."""
        if self._delay is None:
            return ()
        moment = np.arange(block.start, block.stop)
        unlabelled = np.asarray(block.numbers) == NO_LABEL
        arrival = np.where(unlabelled, never(moment), moment + self._delay)
        kept = needed_blocks(self._kept, self._waiting)
        self._kept = [*kept, block]
        events = self._waiting.advance(block.start, moment, arrival)
        rows = self._waiting.rows
        return events, self._kept, int(rows.min()) if len(rows) else None

    def _learn_leftover(self, evaluation: Evaluation) -> None:
        """Learn the labels that have not arrived at the end of the file."""
        rest = self._waiting.rest()
        for each in evaluation.participants if len(rest) else ():
            each.process(self._kept, rest)

    def _begin(self, first: LabelledChunk) -> Evaluation:
        """Prepare outputs, start to evaluate."""
        if self._arguments.predictions:
            refuse_other_format(self._arguments.predictions, ".csv")
            probabilities = [
                wants_probabilities(self._arguments) and hasattr(model, "predict_proba")
                for model in self._models.values()
            ]
            file = self._outputs.open(self._arguments.predictions)
            self._predictions = PredictionsFile(file, list(self._models), probabilities)
        self._spread = self._spread_of(first)
        if self._arguments.report:
            from rpnb.report.sections.row_reasons import LastRows

            self._last_rows = LastRows(self._names(), columns=self._encoded_columns())
        evaluation = native_evaluation(
            self._models,
            {name: learner() for name, learner in REFERENCES.items()},
            classes=self._classes(first),
            window=self._arguments.window,
            probabilities=self._probabilities,
            compare=len(self._models) > 1,
            late=self._delay is not None,
            budget=self._budget,
        )
        for each in evaluation.participants:
            each.view = self._views.get(each.name)
        # The watch would use labels that no learner has asked for.
        watched = self._arguments.report and self._budget is None
        if watched and self._arguments.shuffle is None:
            evaluation.watch = self._watch(evaluation)
        return evaluation

    def _watch(self, evaluation: Evaluation) -> "StreamWatch":
        """Return the watch of a stream's rows for the report."""
        from rpnb.evaluate.waiting import InputWatch, StreamWatch

        learners = {
            each.name: (place, each.driver)
            for place, each in enumerate(evaluation.participants)
            if each.name in self._models
        }
        encoder = self._source.encoder
        inputs = InputWatch(self._names())
        if isinstance(encoder, ColumnEncoder):
            names, kinds = zip(*encoder.columns(), strict=True)
            inputs = InputWatch(names, (), encoder.category_names, kinds)
        return StreamWatch(learners, evaluation.labels, inputs)

    def _spread_of(self, first: LabelledChunk) -> str | None:
        """Return a warning if features differ in spread, None if they do not."""
        sensitive = [
            name for name, model in self._models.items() if _suffers_from_spread(model)
        ]
        problem = describe_spread(first.X, self._names()) if sensitive else None
        if problem is None:
            return None
        return f"{', '.join(sensitive)}: {problem}. Try --scale."

    def _names(self) -> list[str] | None:
        """Return the names of the features, None where they have none."""
        encoder = self._source.encoder
        return None if encoder is None else encoder.feature_names()

    def _encoded_columns(self) -> "list[tuple[str, ColumnKind]] | None":
        """Return the columns that rows encode, None where they have no names."""
        encoder = self._source.encoder
        return encoder.columns() if isinstance(encoder, ColumnEncoder) else None

    def _classes(self, first: LabelledChunk) -> Any:
        """Return the classes that are declared in advance, None for none."""
        if self._arguments.load:
            return None
        if self._arguments.classes:
            return _as_labels(self._arguments.classes, first.labels.dtype.kind)
        return self._source.declared

    def _try_learners(self, first: LabelledChunk) -> None:
        """Name a learner that refuses the first rows, before anything is learned."""
        if not isinstance(first.X, np.ndarray):
            for name, model in self._models.items():
                if not _takes_sparse(model):
                    known = learners().items()
                    others = [
                        each for each, its in known if _takes_sparse(its.estimator())
                    ]
                    raise CommandError(
                        f"{self._source.name}: {name} does not support sparse rows; "
                        f"{listed(others)} do"
                    )
        classes = self._classes(first)
        labelled = np.flatnonzero(first.codes != NO_LABEL)[:16]
        X, y = first.X[labelled], first.labels[first.codes[labelled]]
        for name, model in self._models.items():
            try:
                trial = blank_copy(model)
                if y.shape[0]:
                    view = self._views.get(name)
                    rows = X if view is None else view(X)
                    trial.predict_then_learn(rows, y, classes)
            except (TypeError, ValueError) as error:
                raise CommandError(f"{name}: {error}") from error

    def _progress(self, evaluation: Evaluation, share: float | None) -> StreamProgress:
        first = evaluation.participants[0]
        return StreamProgress(
            rows=evaluation.rows,
            share=share,
            seconds=time.monotonic() - self._start,
            errors={
                each.name: (each.confusion.error, each.confusion.window_error)
                for each in evaluation.participants[: len(self._models)]
            },
            window=min(self._arguments.window, evaluation.rows),
            updates=first.driver.updates(),
        )

    def write(self, interrupted: bool) -> None:
        """Write the model and the report, under temporary names."""
        if self._arguments.save:
            from rpnb.estimators.saving.estimator import write_estimator

            (model,) = self._models.values()
            file = self._outputs.open_bytes(self._arguments.save)
            encoder = self._source.encoder
            assert encoder is not None  # noqa: S101 - only files are saved
            attached = {ENCODER: encoder.to_json(self._position)}
            saved = saved_model(model)
            if isinstance(encoder, ColumnEncoder):
                names = np.array(encoder.model_names(), object)
                saved = saved._replace(feature_names=names)
            with writing(self._arguments.save):
                write_estimator(file, saved, attached=attached)
        if self._arguments.report:
            from rpnb.report.run_page import stream_page

            assert self.evaluation is not None  # noqa: S101 - there were rows
            facts = self._facts(interrupted)
            page = stream_page(
                self.evaluation,
                facts,
                self._arguments.command_line,
                self._last_rows,
                hints(self.evaluation, facts),
            )
            with writing(self._arguments.report):
                self._outputs.open(self._arguments.report).write(page)

    def _facts(self, interrupted: bool) -> RunFacts:
        """Return the facts to report besides the counts."""
        arguments = self._arguments
        written = (arguments.predictions, arguments.save, arguments.report)
        return RunFacts(
            source=self._source.name,
            p=self._p,
            order="file" if arguments.shuffle is None else f"seed {arguments.shuffle}",
            seconds=self._seconds,
            interrupted=interrupted,
            loaded=None if arguments.load is None else str(arguments.load),
            window=arguments.window,
            metrics=tuple(dict.fromkeys(arguments.metrics)),
            written=tuple(str(path) for path in written if path is not None),
            saved=None if arguments.save is None else str(arguments.save),
            table=arguments.command == "fit",
            reading=shlex.join(file_words(arguments)),
            sensitive=tuple(
                name
                for name, model in self._models.items()
                if _suffers_from_spread(model)
            ),
            weightable=tuple(
                name
                for name, model in self._models.items()
                if not arguments.load
                and has_parameter(name, "class_weight")
                and class_weight_of(model) is None
            ),
            weighted=any(
                class_weight_of(model) is not None for model in self._models.values()
            ),
            scaled=tuple(
                name for name, model in self._models.items() if _scales(model)
            ),
            advice=tuple(
                filter(None, (self._spread, self._unweighted(), *self._asked()))
            ),
            **self._columns(),
        )

    def _asked(self) -> list[str]:
        """Return how late labels were, and what the learners asked for."""
        found = []
        if self._delay is not None:
            found.append(f"Each label arrived {self._delay:,} rows after its row.")
        for each in [] if self.evaluation is None else self.evaluation.participants:
            estimate = None if each.reference else each.driver.estimate()
            if estimate is not None:
                found.append(
                    f"{each.name}: learned {estimate.labels:,} labels that it asked "
                    f"for; error estimated from them {estimate.error:.4f} ± "
                    f"{estimate.standard_error:.4f} (standard error)."
                )
        return found

    def _unweighted(self) -> str | None:
        """Return the learners that ignore --class-weight, if others use it."""
        if "class_weight" not in given_parameters(self._arguments):
            return None
        have = {name: has_parameter(name, "class_weight") for name in self._models}
        without = [name for name, has in have.items() if not has]
        if not without:
            return None
        verb = "has" if len(without) == 1 else "have"
        return (
            f"--class-weight applies to {listed([n for n in have if have[n]])}; "
            f"{listed(without)} {verb} no class weights."
        )

    def _columns(self) -> dict[str, Any]:
        """Return the roles of the columns, for the facts."""
        source = self._source
        if isinstance(source, LabelledArrays):
            return {}
        found: dict[str, Any] = {"notes": tuple(source.notes)}
        if source.plan is not None:
            kinds = source.plan.kinds
            for fact, kind in (
                ("numbers", "number"),
                ("texts", "text"),
                ("dates", "date"),
            ):
                found[fact] = tuple(n for n, k in kinds.items() if k == kind)
            found["categories"] = source.encoder.category_counts(self._position)
            found["dropped"] = source.plan.dropped
        return found

    def print(self, interrupted: bool) -> None:
        """Print the results."""
        assert self.evaluation is not None  # noqa: S101 - there were rows
        facts = self._facts(interrupted)
        if self._arguments.json:
            sys.stdout.write(as_json(self.evaluation, facts))
        else:
            if not self._arguments.quiet:
                facts = replace(facts, notes=())  # they were announced
            sys.stdout.write(as_table(self.evaluation, facts))
        if interrupted:
            sys.stderr.write(f"Stopped after {self.evaluation.rows} rows.\n")


def _takes_sparse(model: Any) -> bool:
    return bool(model.__sklearn_tags__().input_tags.sparse)


def _scales(model: Any) -> bool:
    """Whether a learner scales rows online on request."""
    model = getattr(model, "model", model)  # behind a drift detector
    return isinstance(model, StreamPipeline) or bool(getattr(model, "scale", None))


def _suffers_from_spread(model: Any) -> bool:
    """Whether features on different scales harm a learner, and nothing scales them."""
    model = getattr(model, "model", model)
    return not _scales(model) and learner_of(model).sensitive_to_scale


def _as_labels(texts: list[str], kind: str) -> list[Any]:
    """Return labels of the kind that the file has."""
    if kind == "b":
        return [text.lower() == "true" for text in texts]
    if kind in "iu":
        try:
            return [int(text) for text in texts]
        except ValueError as error:
            raise CommandError(
                f"--classes must be whole numbers, as the labels are: {error}"
            ) from error
    return texts
