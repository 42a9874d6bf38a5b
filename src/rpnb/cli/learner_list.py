"""`rpnb learners`: the learners, and when to use each."""

import argparse
import inspect
import json
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpnb.estimators.registry import RegisteredLearner


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "List the learners for --model, --compare and --learners. With a NAME, "
        "describe the learner, when to use it, and its parameters, which --param "
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
    from rpnb.report.table_text import TextTable, to_text

    chosen = list(learners().values())
    if arguments.names:
        for name in arguments.names:
            class_of(name)  # raises an error with similar names
        chosen = [each for name in arguments.names if (each := find_learner(name))]
    if arguments.json:
        for each in chosen:
            sys.stdout.write(json.dumps(_as_json(each), ensure_ascii=False) + "\n")
    elif arguments.names:
        sys.stdout.write("\n".join(_described(each) for each in chosen))
    else:
        rows = tuple((each.name, each.family, each.when) for each in chosen)
        notes = (
            "rpnb learners NAME: description and parameters of a learner.",
            "rpnb compare FILE --target COLUMN: several learners on your own file.",
        )
        table = TextTable(
            f"{len(chosen)} learners",
            ("learner", "family", "use it"),
            rows,
            notes,
            align="lll",
        )
        sys.stdout.write(to_text(table))
    return 0


def _described(learner: "RegisteredLearner") -> str:
    """Return the full description of a learner, as text."""
    lines = [f"{learner.name}  ({learner.family})", ""]
    lines += [f"  {learner.description}", f"  Use it {learner.when}.", ""]
    parameters = _parameters(learner)
    if not parameters:
        lines.append("  no parameters")
    width = max((len(name) for name in parameters), default=0)
    for name, (default, text) in parameters.items():
        shown = "none" if default is None else default
        lines.append(f"  {name.ljust(width)}  {text} (default: {shown})".rstrip())
    return "\n".join(lines) + "\n"


def _parameters(learner: "RegisteredLearner") -> dict[str, tuple[Any, str]]:
    """Return the default and the meaning of each parameter of a learner."""
    help_of = _parameter_help(learner.estimator)
    return {
        name: (parameter.default, help_of.get(name, ""))
        for name, parameter in inspect.signature(learner.estimator).parameters.items()
    }


def _parameter_help(learner: type) -> dict[str, str]:
    """Return the first sentence on each parameter from a NumPy docstring."""
    lines = inspect.getdoc(learner) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", lines, re.DOTALL)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in (section[1] if section else "").splitlines():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(" : ")[0].split(",")]
            if " : " not in line:
                names = []  # the second line of a long type
        elif line.strip():
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    # A sentence ends with a full stop before a capital, and is longer than "P(y)".
    sentence = re.compile(r".{12,}?\.(?=\s+[A-Z\"]|$)|.+")
    return {name: sentence.match(text)[0] for name, text in found.items()}  # type: ignore[index]


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
