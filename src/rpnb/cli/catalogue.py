"""`rpnb learners`: which learners there are, and when to take which."""

import argparse
import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpnb.estimators.registry import RegisteredLearner


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "List the learners that --model, --compare and --learners know. "
        "With a NAME: what it is, when to take it, and its parameters, which --param "
        "NAME=VALUE sets."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="learners to describe in full"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per learner"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the list, or the descriptions."""
    from rpnb.cli.learners import class_of
    from rpnb.estimators.registry import find_learner, learners
    from rpnb.report.tables import TextTable, to_text

    chosen = list(learners().values())
    if arguments.names:
        for name in arguments.names:
            class_of(name)  # an error names similar ones
        chosen = [each for name in arguments.names if (each := find_learner(name))]
    if arguments.json:
        for each in chosen:
            sys.stdout.write(json.dumps(_as_json(each), ensure_ascii=False) + "\n")
    elif arguments.names:
        sys.stdout.write("\n".join(_described(each) for each in chosen))
    else:
        rows = tuple((each.name, each.family, each.when) for each in chosen)
        notes = (
            "rpnb learners NAME: what it is, and its parameters.",
            "rpnb compare FILE --target COLUMN: several of them on your own rows.",
        )
        table = TextTable(
            f"{len(chosen)} learners",
            ("learner", "family", "take it"),
            rows,
            notes,
            align="lll",
        )
        sys.stdout.write(to_text(table))
    return 0


def _described(learner: "RegisteredLearner") -> str:
    """Return a learner in full, as text."""
    lines = [f"{learner.name}  ({learner.family})", ""]
    lines += [f"  {learner.description}", f"  Take it {learner.when}.", ""]
    parameters = _parameters(learner)
    if not parameters:
        lines.append("  no parameters")
    width = max((len(name) for name in parameters), default=0)
    for name, (default, text) in parameters.items():
        shown = "none" if default is None else default
        lines.append(f"  {name.ljust(width)}  {text} (default: {shown})".rstrip())
    return "\n".join(lines) + "\n"


def _parameters(learner: "RegisteredLearner") -> dict[str, tuple[Any, str]]:
    """Return the parameters of a learner: default, and what they mean."""
    from rpnb.cli.learners import parameter_help

    help_of = parameter_help(learner.estimator)
    return {
        name: (parameter.default, help_of.get(name, ""))
        for name, parameter in inspect.signature(learner.estimator).parameters.items()
    }


def _as_json(learner: "RegisteredLearner") -> dict[str, Any]:
    return {
        "name": learner.name,
        "family": learner.family,
        "description": learner.description,
        "when": learner.when,
        "parameters": {
            name: {"default": default, "help": text}
            for name, (default, text) in _parameters(learner).items()
        },
    }
