"""Learners on the command line: by name, with options taken from their signatures."""

import argparse
import inspect
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rpnb.cli import CommandError
from rpnb.estimators.checks.parameters import check_integer
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.registry import (
    ALIASES,
    POOLED,
    RPNB,
    find_learner,
    learners,
    spelled,
)
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

# The same command gives the same predictions; the classes, by default, do not.
_SEED = 0
# Where argparse keeps parameters that are options.
_DEST = "parameter_{}"
#: Parameters with the same meaning in every learner that has them.
SHARED = ("class_weight", "n_jobs", "random_state")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare options for parameters: those of several learners, and RPNB's."""
    shared = parser.add_argument_group(
        "parameters of every learner that has them",
        "`rpnb learners NAME` lists the parameters of a learner; --param sets any",
    )
    shared.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="[LEARNER.]NAME=VALUE",
        help="a parameter of a learner; may be given again",
    )
    own = parser.add_argument_group(
        "parameters of RPNB (with --model RPNB)", "see docs/algorithm.md"
    )
    hints = get_type_hints(RPNBClassifier.__init__)
    help_of = parameter_help(RPNBClassifier)
    for name, parameter in rpnb_parameters().items():
        default = _SEED if name == "random_state" else parameter.default
        text = help_of.get(name, "").replace("%", "%%")
        choices = _choices(hints[name])
        shown = "{" + ",".join(choices) + "}" if choices else _metavar(hints[name])
        (shared if name in SHARED else own).add_argument(
            "--" + name.replace("_", "-"),
            dest=_DEST.format(name),
            type=value_of,
            default=argparse.SUPPRESS,
            metavar=shown,
            help=f"{text} (default: {'none' if default is None else default})",
        )


def rpnb_parameters() -> dict[str, inspect.Parameter]:
    """Return the parameters of RPNBClassifier by name."""
    parameters = dict(inspect.signature(RPNBClassifier.__init__).parameters)
    del parameters["self"]
    del parameters["scale"]  # --scale is for all learners
    return parameters


def _choices(hint: Any) -> tuple[str, ...]:
    """Return the texts that a parameter may be; none if it may be something else."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    parts = [_choices(part) for part in get_args(hint)]
    return tuple(word for part in parts for word in part) if all(parts) else ()


def _metavar(hint: Any) -> str:
    """Return what stands for the value in the help: N, X or VALUE."""
    kinds = {kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)}
    if int in kinds:
        return "N"
    return "X" if float in kinds else "VALUE"


def parameter_help(learner: type) -> dict[str, str]:
    """Return the first sentence on each parameter in a NumPy docstring."""
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
    # A sentence ends with a full stop before a capital, and says more than "P(y)".
    sentence = re.compile(r".{12,}?\.(?=\s+[A-Z\"]|$)|.+")
    return {name: sentence.match(text)[0] for name, text in found.items()}  # type: ignore[index]


def value_of(text: str) -> Any:
    """Return a parameter's value: a number, true, false, none, or text.

    >>> [value_of(text) for text in ("3", "0.5", "none", "True", "false", "x")]
    [3, 0.5, None, True, False, 'x']
    """
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def given_parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given as options."""
    start = _DEST.format("")
    return {
        name.removeprefix(start): value
        for name, value in vars(arguments).items()
        if name.startswith(start)
    }


def names_of(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the learners that were asked for, each once."""
    given = [arguments.model] if arguments.model else []
    given += arguments.compare
    return list(dict.fromkeys(spelled(name) or name for name in given))


def make_learners(
    names: Sequence[str],
    given: Mapping[str, Any],
    params: Sequence[str],
    *,
    scale: bool = False,
) -> dict[str, Any]:
    """Return new learners by name: Pooled, RPNB, or names that `rpnb.baselines` knows.

    `given` are parameters of all learners that have them if they are in `SHARED`, else
    of RPNB. `params` are texts [LEARNER.]name=value; without a name, of the only
    learner. With `scale`, rows are scaled online for all learners but those that scale
    rows themselves.
    """
    parameters = _shared_out(given, names)
    for text in params:
        owner, name, value = _split(text, names)
        parameters[owner][name] = value
    if RPNB in parameters:
        if parameters[RPNB].get("batch_size", 1) is None:
            raise CommandError(
                "--batch-size must be a number here: a file has no calls that could "
                "be mini-batches"
            )
        try:
            check_integer("batch_size", parameters[RPNB].get("batch_size", 1), 1)
        except (TypeError, ValueError) as error:
            raise CommandError(str(error)) from error
    if scale and RPNB in parameters:
        parameters[RPNB].setdefault("scale", "running")
    made = {name: _make(name, values) for name, values in parameters.items()}
    if scale:
        made |= {
            name: make_stream_pipeline(RunningScaler(), model)
            for name, model in made.items()
            if name not in (RPNB, POOLED)
        }
    return made


def _shared_out(
    given: Mapping[str, Any], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the parameters that were given as options, by learner."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for parameter, value in given.items():
        option = "--" + parameter.replace("_", "-")
        if parameter in SHARED:
            owners = [name for name in names if has_parameter(name, parameter)]
            if not owners:
                verb = "has" if len(names) == 1 else "have"
                raise CommandError(f"{option}: {' and '.join(names)} {verb} none")
        elif RPNB in names:
            owners = [RPNB]
        else:
            raise CommandError(
                f"{option} is a parameter of RPNB, which is not evaluated: add --model "
                f"RPNB, or set a parameter of {names[0]} by --param"
            )
        for name in owners:
            found[name][parameter] = value
    return found


def has_parameter(name: str, parameter: str) -> bool:
    """Return whether a learner, by name, has a parameter."""
    return parameter in inspect.signature(class_of(name)).parameters


def _split(text: str, names: Sequence[str]) -> tuple[str, str, Any]:
    """Return the learner, the parameter and the value that a --param names."""
    match = re.fullmatch(r"(?:(\w+)\.)?(\w+)=(.*)", text)
    if match is None:
        raise CommandError(f"--param must be [LEARNER.]name=value, got {text!r}")
    owner = match[1]
    if owner is None:
        if len(names) > 1:
            raise CommandError(
                f"--param {text}: of which learner? There are several; write "
                f"{names[0]}.{text}"
            )
        owner = names[0]
    owner = spelled(owner) or owner
    if owner not in names:
        raise CommandError(f"--param {text}: {owner} is not evaluated")
    return owner, match[2], value_of(match[3])


def _make(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return a new learner, seeded if it draws at random and no seed is given."""
    learner = class_of(name)
    known = inspect.signature(learner.__init__).parameters
    for parameter in parameters:
        if parameter not in known:
            listed = ", ".join(p for p in known if p != "self") or "none"
            raise CommandError(
                f"{name} has no parameter {parameter!r}; it has: {listed}"
            )
    seeded = "random_state" in known and "random_state" not in parameters
    return learner(**parameters, **({"random_state": _SEED} if seeded else {}))


def class_of(name: str) -> Any:
    """Return the class of a learner by its name; an error names similar ones."""
    found = find_learner(name)
    if found is None:
        by_key = {each.casefold(): each for each in sorted({*ALIASES, *learners()})}
        close = get_close_matches(name.casefold(), by_key, n=3)
        hint = f"; close to it: {', '.join(by_key[key] for key in close)}"
        raise CommandError(
            f"there is no learner {name!r}"
            + (hint if close else "")
            + f"; there are {', '.join(learners())}"
        )
    return found.estimator
