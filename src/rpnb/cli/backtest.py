"""`rpnb backtest`: other learners on the log of a service."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpnb.cli import CommandError
from rpnb.cli.parameters import SEED, value_of
from rpnb.cli.progress_line import Display, duration, gauge

if TYPE_CHECKING:
    from rpnb.evaluate.differences import Difference, Loss
    from rpnb.serve.backtest import Backtest, BacktestProgress, BacktestRow
    from rpnb.serve.specs import ModelSpec

# Seconds after which progress is shown.
_PATIENCE = 2.0


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Try learners on the log of `rpnb serve`: rows are predicted, and labels "
        "learned, in the order of the log. The first line of the table is the learner "
        "in service, with its recorded results. Confidence intervals of differences "
        "are valid at all rows at once, however often they are inspected. The service "
        "may be running. Requires pip install 'rpnb[serve]'."
    )
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="folder of the service"
    )
    parser.add_argument(
        "--model", required=True, metavar="NAME", help="name of the served model"
    )
    parser.add_argument(
        "--learners",
        required=True,
        nargs="+",
        metavar="NAME",
        help="learners to try, separated by spaces or commas; the learner in service "
        "keeps its parameters unless --param changes them",
    )
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="LEARNER.NAME=VALUE",
        help="set a parameter of a learner; may be repeated",
    )
    parser.add_argument(
        "--confidence",
        type=_confidence,
        default=0.95,
        metavar="X",
        help="probability that the intervals of all differences hold together, at "
        "every row (default: 0.95)",
    )
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def _confidence(text: str) -> float:
    value = value_of(text)
    if type(value) not in (int, float) or not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text!r}")
    return float(value)


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    try:
        from rpnb.serve.backtest import backtest, served_model
        from rpnb.serve.log import DAMAGE, LogError
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'rpnb[serve]'") from error
    display = Display(sys.stderr, _line)

    def show(progress: "BacktestProgress") -> None:
        if progress.seconds > _PATIENCE and not arguments.quiet:
            display(progress)

    try:
        served = served_model(arguments.folder, arguments.model)
        candidates = _candidates(arguments.learners, arguments.param, served)
        found = backtest(
            arguments.folder,
            arguments.model,
            candidates,
            confidence=arguments.confidence,
            progress=show,
        )
    except LogError as error:
        raise CommandError(str(error)) from error
    except DAMAGE as error:
        raise CommandError(f"the log is damaged: {error}") from error
    finally:
        display.close()
    if arguments.json:
        text = json.dumps(_as_json(found, arguments.confidence), allow_nan=False)
        sys.stdout.write(text + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in _table(found))
    return 0


def _candidates(
    words: Sequence[str], params: Sequence[str], served: "ModelSpec"
) -> "dict[str, ModelSpec]":
    """Return the specifications of the learners, without the one in service."""
    import inspect
    from dataclasses import replace

    from rpnb.cli.learners import class_of, listed_names
    from rpnb.estimators.checks.columns import CATEGORICAL, TEXT
    from rpnb.estimators.registry import spelled

    names = listed_names(words)
    classes = {name: class_of(name) for name in names}
    changed: dict[str, dict[str, Any]] = {name: {} for name in names}
    for each in params:
        owner, dot, rest = each.partition(".")
        name, equals, value = rest.partition("=")
        if not (dot and equals and name):
            raise CommandError(f"--param must be LEARNER.name=value, got {each!r}")
        owner = spelled(owner) or owner
        if owner not in changed:
            raise CommandError(f"--param {each}: {owner} is not among --learners")
        if name not in inspect.signature(classes[owner]).parameters:
            listed = ", ".join(inspect.signature(classes[owner]).parameters) or "none"
            raise CommandError(f"{owner} has no parameter {name!r}; it has: {listed}")
        changed[owner][name] = value_of(value)
    found = {}
    for name in names:
        known = inspect.signature(classes[name]).parameters
        same = name == served.learner
        kept = dict(served.parameters) if same else {}
        if not same and "random_state" in known:
            kept["random_state"] = SEED
        for columns in () if same else (CATEGORICAL, TEXT):
            if isinstance(served.parameters.get(columns), list):
                if columns not in known:
                    raise CommandError(
                        f"the model has {columns}, which {name} does not support"
                    )
                kept[columns] = served.parameters[columns]
        if same and not changed[name]:
            continue  # the first line of the table
        more = ", ".join(f"{key}={value}" for key, value in changed[name].items())
        found[f"{name} ({more})" if more else name] = replace(
            served, learner=name, parameters=kept | changed[name], from_file=False
        )
    return found


def _line(progress: "BacktestProgress", *, bar: bool) -> str:
    """Return one line on the progress of a backtest."""
    share = progress.done / max(progress.total, 1)
    left = progress.seconds * (1.0 - share) / max(share, 1e-9)
    parts = [
        f"{progress.done:,} of {progress.total:,} rows ({share:.0%})",
        f"{duration(progress.seconds)} so far",
        f"{duration(left)} left",
    ]
    return "  ".join([gauge(share), *parts] if bar else parts)


def _table(found: "Backtest") -> list[str]:
    """Return the lines of the table, and notes on it."""
    head = ["learner", "rows", "error", "log-loss", "kappa", "error minus serving"]
    head.append("log-loss minus serving")
    lines = [
        head,
        *(
            [*_figures(row), _verdict(row, "error"), _verdict(row, "log_loss")]
            for row in found.learners
        ),
    ]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    text = []
    for line in lines:
        cells = [
            cell.ljust(width) if k in (0, 5, 6) else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    notes = []
    if found.begins:
        notes.append(
            f"The record of the serving learner begins after event {found.begins:,}; "
            "the others start there from scratch."
        )
    if found.elsewhere:
        notes.append(
            f"{found.elsewhere:,} predictions were served from a state that the replay "
            "cannot reconstruct (rows forgotten since, or labels being learned); the "
            "error of the serving learner is that of the predictions it served."
        )
    text += ["", f"model {found.model}: {found.rows:,} labelled rows", *notes]
    return text


def _figures(row: "BacktestRow") -> list[str]:
    figures = (row.error, row.log_loss, row.kappa)
    return [
        row.name,
        f"{row.rows:,}",
        *("—" if each is None else f"{each:.4f}" for each in figures),
    ]


def _verdict(row: "BacktestRow", loss: "Loss") -> str:
    if row.serving:
        return "—"
    found = row.differences.get(loss)
    if found is None:
        return "no row predicted by both" if loss == "error" else "—"
    figures = f"{found.mean[-1]:+.4f} ({found.low[-1]:+.4f} to {found.high[-1]:+.4f})"
    if found.better is None:
        return f"{figures}, not significant"
    word = "better" if found.better == row.name else "worse"
    return f"{figures}, {word} since row {found.since:,}"


def _as_json(found: "Backtest", confidence: float) -> dict[str, Any]:
    """Return a backtest as JSON values."""
    return {
        "model": found.model,
        "events": found.events,
        "labelled_rows": found.rows,
        "begins_after_event": found.begins,
        "served_elsewhere": found.elsewhere,
        "confidence": confidence,
        "learners": [
            {
                "name": row.name,
                "learner": row.learner,
                "parameters": dict(row.parameters),
                "serving": row.serving,
                "rows": row.rows,
                "error": row.error,
                "log_loss": row.log_loss,
                "kappa": row.kappa,
                "scores": row.scores.summary(),
                "differences": {
                    loss: _difference(each) for loss, each in row.differences.items()
                },
            }
            for row in found.learners
        ],
    }


def _difference(found: "Difference") -> dict[str, Any]:
    return {
        "rows": int(found.rows[-1]),
        "mean": float(found.mean[-1]),
        "low": float(found.low[-1]),
        "high": float(found.high[-1]),
        "better": found.better,
        "since": found.since,
    }
