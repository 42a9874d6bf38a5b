"""Options for parameters of learners, declared without importing any learner."""

import argparse
from typing import Any, NamedTuple

#: Parameters with the same meaning in every learner that has them.
SHARED = ("class_weight", "n_jobs", "random_state")
#: The seed that commands use by default: the same command gives the same predictions.
SEED = 0
# Where argparse keeps parameters that are options.
_DEST = "parameter_{}"


class Parameter(NamedTuple):
    """A parameter of `RPNBClassifier` as an option."""

    name: str
    metavar: str
    default: Any
    help: str


#: The parameters of `RPNBClassifier` except `scale` and `shuffle`: --scale and
#: --shuffle apply to all learners. A test compares names, defaults and choices.
RPNB_PARAMETERS = (
    Parameter("n_estimators", "N", 200, "number of projections and classifiers, K"),
    Parameter("n_components", "N", "auto", "dimension of the projections, q"),
    Parameter(
        "projection",
        "{gaussian,bernoulli,achlioptas,very_sparse,hadamard}",
        "gaussian",
        "distribution of the projections' entries: N(0, 1); ±1; or −√3, 0, √3 with "
        "probabilities 1/6, 2/3, 1/6; for wide data very_sparse (sparse rows) or "
        "hadamard (dense rows)",
    ),
    Parameter(
        "combiner",
        "{log_sum,sum,product,vote,max,min,median}",
        "log_sum",
        "rule that combines the posteriors of the members: equation (6) of the paper, "
        "or one of Kittler et al. (1998) on normalised posteriors",
    ),
    Parameter(
        "update",
        "{mistakes,all}",
        "mistakes",
        "rows to learn from: only mistakes, or all",
    ),
    Parameter(
        "batch_size", "N", 1, "number of rows that are predicted before any is learned"
    ),
    Parameter(
        "prior_mean",
        "X",
        0.0,
        "mean of each column of each class before the first row",
    ),
    Parameter(
        "prior_variance",
        "X",
        1.0,
        "variance of each column of each class before the first row",
    ),
    Parameter(
        "prior_weight",
        "X",
        1.0,
        "number of rows that the prior mean and variance count as",
    ),
    Parameter(
        "forgetting",
        "X",
        None,
        "for streams that drift: each class remembers about the last X rows it has "
        "learned; X > 1",
    ),
    Parameter(
        "class_prior",
        "VALUE",
        "uniform",
        "class probabilities P(y): uniform, or frequency, which follows the labels",
    ),
    Parameter(
        "class_weight",
        "VALUE",
        None,
        "class weights: with balanced, n/(M·n_y) for a row of class y, where n_y of n "
        "rows are of class y, and M is the number of classes",
    ),
    Parameter("var_floor", "X", 1e-9, "lower bound of variances"),
    Parameter(
        "temperature",
        "X",
        "auto",
        "divisor of scores in probabilities, for log_sum and product; it changes no "
        "label",
    ),
    Parameter(
        "n_jobs",
        "N",
        None,
        "number of threads for large batches; none is one thread, -1 one per core",
    ),
    Parameter("random_state", "VALUE", SEED, "random seed of the learners"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare options for the parameters of several learners, and for RPNB's."""
    shared = parser.add_argument_group(
        "parameters of learners",
        "`rpnb learners NAME` lists the parameters of a learner; --param sets any",
    )
    shared.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="[LEARNER.]NAME=VALUE",
        help="set a parameter of a learner; may be repeated",
    )
    own = parser.add_argument_group(
        "parameters of RPNB (with --model RPNB)", "`rpnb learners RPNB` describes them"
    )
    for name, metavar, default, text in RPNB_PARAMETERS:
        (shared if name in SHARED else own).add_argument(
            "--" + name.replace("_", "-"),
            dest=_DEST.format(name),
            type=value_of,
            default=argparse.SUPPRESS,
            metavar=metavar,
            help=f"{text} (default: {'none' if default is None else default})",
        )


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
