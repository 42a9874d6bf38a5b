"""Inputs of a run: learners, new or loaded, and rows of a file or dataset."""

import argparse
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rpnb.cli import CommandError
from rpnb.cli.learners import make_learners, names_of
from rpnb.cli.parameters import given_parameters
from rpnb.estimators.checks.columns import CATEGORICAL, Columns
from rpnb.estimators.protocol import set_columns
from rpnb.estimators.registry import ALIASES, DEFAULT
from rpnb.files import FileError, LabelledArrays, LabelledFile, ReadOptions
from rpnb.files.encoding.column_encoder import ColumnEncoder
from rpnb.files.formats.dialect import DELIMITERS
from rpnb.files.reading import words_of
from rpnb.preprocessing import StreamPipeline
from rpnb.report.html import listed

# Advice on missing values that a comparison of several learners words otherwise.
_MISSING_ALONE = re.compile(
    r"--model Pooled(, which supports (them|missing values)| to make that a category)"
)
#: The entry of a model file that describes labels and categories.
ENCODER = "encoder"


def learners_of(
    arguments: argparse.Namespace,
) -> tuple[Mapping[str, Any] | None, dict[str, Any]]:
    """Return the state of a loaded encoder, if any, and the learners by name."""
    given = given_parameters(arguments)
    names = names_of(arguments)
    if arguments.load is None:
        made = make_learners(
            names or [DEFAULT], given, arguments.param, scale=arguments.scale
        )
        return None, _with_detectors(made, arguments)
    if names or given or arguments.param or arguments.scale or arguments.drift:
        raise CommandError(
            "--load resumes the saved learner with its parameters and cannot be "
            "combined with --model, --compare, --scale, --drift or parameters"
        )
    return load_model(arguments.load)


def explained(
    error: FileError, arguments: argparse.Namespace, models: Mapping[str, Any]
) -> CommandError:
    """Return an error for the user, with a command that works, if known."""
    text, command_line = str(error), arguments.command_line
    if arguments.drift is not None:
        reads = ", which reads it"
        text = text.replace(f"--model Pooled{reads}", f"Pooled without --drift{reads}")
    if len(models) > 1:
        without = [name for name, model in models.items() if not _takes_missing(model)]
        kept = " ".join(n for n in models if n not in without) or DEFAULT
        text = _MISSING_ALONE.sub(
            f"leave out {listed(without)}, which do not support missing values, by "
            f"--learners {kept}",
            text,
        )
    if command_line.startswith("rpnb compare "):
        text = text.replace("--model Pooled", "--learners Pooled")
    if "\n" not in text or not error.fixes:
        return CommandError(text)
    words: dict[str, list[str]] = {}
    for option, value in error.fixes:
        words.setdefault(option, []).append(value)
    more = []
    for option, values in words.items():
        if option in ("--drop", "--as-category", "--na"):
            more += words_of(option, values)
        else:
            more += [word for value in values for word in (option, value)]
    return CommandError(f"{text}\nTry: {command_line} {shlex.join(more)}")


@contextmanager
def resuming(path: Path) -> Iterator[None]:
    """Turn errors caused by the damaged state of an encoder into a message."""
    try:
        yield
    except FileError:
        raise
    except (LookupError, AttributeError, OverflowError, TypeError, ValueError) as error:
        raise CommandError(
            f"{path} is damaged: the description of its labels and categories is "
            f"missing ({type(error).__name__}: {error})"
        ) from error


def _with_detectors(
    models: dict[str, Any], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return the learners, each with a drift detector if requested."""
    if arguments.drift is None:
        return models
    from rpnb.drift import DriftAware

    return {
        name: DriftAware(model, detector=arguments.drift)
        for name, model in models.items()
    }


def load_model(path: Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the encoder's state and the learner, by name, of a saved model."""
    from rpnb.estimators.saving.files import ModelFileError, read_attached
    from rpnb.loading import load

    try:
        state = read_attached(path, ENCODER)
        model = load(path)
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"{path} cannot be loaded: {reason}") from error
    except ModelFileError as error:
        raise CommandError(str(error)) from error
    if not isinstance(state, dict):
        raise CommandError(
            f"{path} has no description of labels and categories: it was not written "
            "by rpnb fit or rpnb run --save"
        )
    if state.get("features", model.n_features_in_) != model.n_features_in_:
        raise CommandError(
            f"{path} is damaged: its rows have {state['features']!r} features, but its "
            f"model has {model.n_features_in_}"
        )
    # Rows of a file are matched by the encoder, and reach the model without names.
    model.__dict__.pop("feature_names_in_", None)
    learner = model.learner if isinstance(model, StreamPipeline) else model
    name = type(learner).__name__
    return state, {ALIASES.get(name, name): model}


def open_rows(
    arguments: argparse.Namespace,
    state: Mapping[str, Any] | None,
    models: Mapping[str, Any],
) -> LabelledFile | LabelledArrays:
    """Return the rows: of a file, or of a dataset if there is no such file.

    Missing values are passed on if all learners support them.
    """
    path = arguments.file
    if path != "-" and not Path(path).exists() and _is_dataset(arguments, path):
        return _dataset(arguments, path)
    options = ReadOptions(
        target=arguments.target,
        unlabelled=arguments.unlabelled,
        drop=tuple(arguments.drop),
        as_category=tuple(arguments.as_category),
        categorical=_categorical(arguments, state, models),
        missing=_missing(arguments, state, models),
        max_classes=arguments.max_classes,
        max_categories=arguments.max_categories,
        **file_options(arguments),
    )
    if state is None:
        source = LabelledFile(path, options, arguments.format)
        for model in models.values():
            if has_native_view(arguments, state, models, model):
                _name_columns(model, source, native=True)
            else:
                _name_columns(model, source)
        return source
    with resuming(arguments.load):
        return LabelledFile(path, options, arguments.format, state)


def _categorical(
    arguments: argparse.Namespace,
    state: Mapping[str, Any] | None,
    models: Mapping[str, Any],
) -> str:
    """Return how to treat categories: as requested, as saved, or by the learners."""
    asked = arguments.categorical
    if asked is None and state is not None:
        return saved_categorical(arguments.load, state)
    others = [name for name, each in models.items() if not _takes_categories(each)]
    if asked == "native" and others:
        raise CommandError(
            f"--categorical native: {others[0]} supports only numbers; use "
            "--categorical codes, or --model Pooled without --drift"
        )
    if asked is not None:
        return str(asked)
    return "codes" if others else "native"


def saved_categorical(path: Path, state: Mapping[str, Any]) -> str:
    """Return how a saved model treats categories."""
    found = state.get("categorical", "codes")
    if found not in ("native", "codes", "one-hot"):
        raise CommandError(f"{path} is damaged: its categories are {found!r}")
    return str(found)


def _takes_categories(model: Any) -> bool:
    """Return whether a learner has the parameter `categorical_features`."""
    return hasattr(model, "categorical_features")


def has_native_view(
    arguments: argparse.Namespace,
    state: Mapping[str, Any] | None,
    models: Mapping[str, Any],
    model: Any,
) -> bool:
    """Whether a learner gets categories as they are where others get codes."""
    if arguments.categorical is not None or state is not None:
        return False
    return _takes_categories(model) and not all(map(_takes_categories, models.values()))


def _name_columns(model: Any, source: LabelledFile, *, native: bool = False) -> None:
    """Set the kinds of a learner's columns, as if it learned them from a frame."""
    if not isinstance(source.encoder, ColumnEncoder):
        return
    encoder = source.encoder
    columns = encoder.native_columns() if native else encoder.columns()
    if all(kind == "number" for _, kind in columns):
        return
    set_columns(model, Columns(tuple(kind for _, kind in columns)))
    categories = [name for name, kind in columns if kind == "category"]
    if categories:
        model.set_params(**{CATEGORICAL: categories})


def _missing(
    arguments: argparse.Namespace,
    state: Mapping[str, Any] | None,
    models: Mapping[str, Any],
) -> str:
    """Return how to treat missing values: as requested, as saved, or by learners."""
    if arguments.missing is not None:
        return str(arguments.missing)
    if state is not None:
        return saved_missing(arguments.load, state, *models.values())
    return "keep" if all(map(_takes_missing, models.values())) else "refuse"


def saved_missing(path: Path, state: Mapping[str, Any], model: Any) -> str:
    """Return how a saved model treats missing values."""
    found = state.get("missing", "refuse")
    usual = ["refuse", "mean", *(["keep"] if _takes_missing(model) else [])]
    if found not in usual:
        raise CommandError(f"{path} is damaged: its missing values are {found!r}")
    return str(found)


def _takes_missing(model: Any) -> bool:
    """Return whether a learner supports NaN."""
    return bool(model.__sklearn_tags__().input_tags.allow_nan)


def file_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a reader from the options of `add_file_options`."""
    decimal_of, thousands_of = dict(arguments.decimal), dict(arguments.thousands)
    decimal, thousands = decimal_of.pop(None, "."), thousands_of.pop(None, None)
    for column in (None, *decimal_of, *thousands_of):
        if thousands_of.get(column, thousands) == decimal_of.get(column, decimal):
            raise CommandError(
                "--thousands and --decimal must be different characters, as in "
                "--thousands . --decimal ,"
            )
    return {
        "decimal_of": decimal_of,
        "thousands_of": thousands_of,
        "na": tuple(arguments.na),
        "skip_rows": arguments.skip_rows,
        "comment": arguments.comment or None,
        "header": not arguments.no_header,
        "delimiter": arguments.delimiter,
        "encoding": arguments.encoding,
        "decimal": decimal,
        "thousands": thousands,
        "features": arguments.features,
        "zero_based": arguments.zero_based,
    }


def file_words(arguments: argparse.Namespace) -> list[str]:
    """Return the given options of `add_file_options` as words of a command line."""
    words: list[str] = []
    names = {sign: name for name, sign in DELIMITERS.items() if name != "\\t"}
    delimiter = names.get(arguments.delimiter, arguments.delimiter)
    for option, value in (
        ("--format", arguments.format),
        ("--delimiter", delimiter),
        ("--encoding", arguments.encoding),
        ("--skip-rows", arguments.skip_rows or None),
        ("--comment", arguments.comment),
    ):
        if value is not None:
            words += [option, str(value)]
    for option, signs in (
        ("--decimal", arguments.decimal),
        ("--thousands", arguments.thousands),
    ):
        for column, sign in signs:
            words += [option, sign if column is None else f"{column}={sign}"]
    words += ["--no-header"] if arguments.no_header else []
    return words + words_of("--na", arguments.na)


def _is_dataset(arguments: argparse.Namespace, name: str) -> bool:
    """Return whether a name that is not a file is the name of a dataset."""
    from rpnb import datasets

    try:
        datasets.describe(name)
    except datasets.UnknownDatasetError as error:
        keys = {each.casefold(): each for each in error.close}
        close = get_close_matches(name.casefold(), keys, n=1, cutoff=0.7)
        if close and not Path(name).suffix:
            raise CommandError(
                f"{name}: no such file; did you mean the dataset {keys[close[0]]}?"
            ) from error
        return False
    if arguments.target is not None:
        raise CommandError(
            f"{name}: no such file; for the dataset of this name omit --target"
        )
    return True


def _dataset(arguments: argparse.Namespace, name: str) -> LabelledArrays:
    from rpnb import datasets

    if arguments.load or arguments.save:
        raise CommandError(f"{name} is a dataset: --load and --save need a file")
    try:
        data = datasets.load(name)
    except datasets.DatasetError as error:
        raise CommandError(str(error)) from error
    if arguments.shuffle is None:
        arguments.shuffle = 0  # they are sorted by class
    return LabelledArrays(data.name, data.X, data.y)
