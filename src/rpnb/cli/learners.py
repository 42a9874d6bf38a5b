"""Learners on the command line, made from names and parameters."""

import argparse
import inspect
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from rpnb.cli import CommandError
from rpnb.cli.parameters import SEED, SHARED, value_of
from rpnb.estimators.checks.parameters import check_integer
from rpnb.estimators.registry import (
    ALIASES,
    POOLED,
    RPNB,
    find_learner,
    learners,
    spelled,
)
from rpnb.preprocessing import RunningScaler, make_stream_pipeline


def names_of(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the requested learners, without repetition."""
    given = [arguments.model] if arguments.model else []
    return listed_names([*given, *arguments.compare])


def listed_names(words: Sequence[str]) -> list[str]:
    """Return the learners in words of a command line, without repetition.

    Names are separated by spaces or commas.

    >>> listed_names(["pooled,PA,", "AROW", "Pooled"])
    ['Pooled', 'PA', 'AROW']
    """
    given = [name.strip() for word in words for name in word.split(",")]
    if words and not any(given):
        raise CommandError("name at least one learner; `rpnb learners` lists them")
    return list(dict.fromkeys(spelled(name) or name for name in given if name))


def make_learners(
    names: Sequence[str],
    given: Mapping[str, Any],
    params: Sequence[str],
    *,
    scale: bool = False,
) -> dict[str, Any]:
    """Return new learners by name: Pooled, RPNB, or names of `rpnb.baselines`.

    Parameters in `given` apply to all learners that have them if they are in `SHARED`,
    else to RPNB. `params` are texts [LEARNER.]name=value; the learner may be omitted if
    there is only one. With `scale`, rows are scaled online for all learners that do not
    scale rows themselves.
    """
    parameters = _shared_out(given, names)
    for text in params:
        owner, name, value = _split(text, names)
        parameters[owner][name] = value
    if RPNB in parameters:
        if parameters[RPNB].get("batch_size", 1) is None:
            raise CommandError(
                "--batch-size must be a number: none takes each call as a mini-batch, "
                "and a file is not read in calls"
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
    """Return the parameters set by options, by learner."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for parameter, value in given.items():
        option = "--" + parameter.replace("_", "-")
        if parameter == "class_weight" and value not in (None, "balanced"):
            raise CommandError(
                f"{option} must be balanced or none, got {value!r}; weights of single "
                f"classes are a dictionary in Python: {_first_with(names, parameter)}"
                "(class_weight=…)"
            )
        if parameter in SHARED:
            owners = [name for name in names if has_parameter(name, parameter)]
            if not owners:
                verb = "has" if len(names) == 1 else "have"
                having = [name for name in learners() if has_parameter(name, parameter)]
                raise CommandError(
                    f"{option}: {' and '.join(names)} {verb} no such parameter; it is "
                    f"one of {', '.join(having)}"
                )
        elif RPNB in names:
            owners = [RPNB]
        else:
            raise CommandError(
                f"{option} is a parameter of RPNB, which is not among the learners: "
                f"use --model RPNB, or set a parameter of {names[0]} with --param"
            )
        for name in owners:
            found[name][parameter] = value
    return found


def _first_with(names: Sequence[str], parameter: str) -> str:
    """Return the class of the first learner with a parameter, or of the default."""
    having = [name for name in names if has_parameter(name, parameter)]
    return str(class_of(next(iter(having), POOLED)).__name__)


def has_parameter(name: str, parameter: str) -> bool:
    """Return whether a learner, by name, has a parameter."""
    return parameter in inspect.signature(class_of(name)).parameters


def _split(text: str, names: Sequence[str]) -> tuple[str, str, Any]:
    """Return the learner, the parameter and the value of a --param."""
    match = re.fullmatch(r"(?:(\w+)\.)?(\w+)=(.*)", text)
    if match is None:
        raise CommandError(f"--param must be [LEARNER.]name=value, got {text!r}")
    owner = match[1]
    if owner is None:
        if len(names) > 1:
            raise CommandError(
                f"--param {text} is ambiguous, as there are several learners; write "
                f"{names[0]}.{text}"
            )
        owner = names[0]
    owner = spelled(owner) or owner
    if owner not in names:
        raise CommandError(f"--param {text}: {owner} is not among the learners")
    return owner, match[2], value_of(match[3])


def _make(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return a new learner; one that is random gets the default seed unless given."""
    learner = class_of(name)
    known = inspect.signature(learner.__init__).parameters
    for parameter in parameters:
        if parameter not in known:
            listed = ", ".join(p for p in known if p != "self") or "none"
            raise CommandError(
                f"{name} has no parameter {parameter!r}; it has: {listed}"
            )
    seeded = "random_state" in known and "random_state" not in parameters
    return learner(**parameters, **({"random_state": SEED} if seeded else {}))


def class_of(name: str) -> Any:
    """Return the class of a learner by name; for unknown names, list similar ones."""
    found = find_learner(name)
    if found is None:
        by_key = {each.casefold(): each for each in sorted({*ALIASES, *learners()})}
        close = get_close_matches(name.casefold(), by_key, n=3)
        hint = f" (did you mean {', '.join(by_key[key] for key in close)}?)"
        raise CommandError(
            f"unknown learner {name!r}"
            + (hint if close else "")
            + f"; choose one of {', '.join(learners())}"
        )
    return found.estimator
