"""Compare two versions of rpnb to the bit: labels, probabilities, model files.

Every learner of the registry learns seeded streams, divided into calls in several ways.
The other version belongs to another interpreter; RPNB_LEVEL selects the level of
instructions. Each runs in its own process and prints a digest of every case.

    python benchmarks/same_bits.py --other PATH/TO/python     # another version
    python benchmarks/same_bits.py --levels                   # all levels of this one
    python benchmarks/same_bits.py --processor                # other library routines
    python benchmarks/same_bits.py --levels --few             # one learner of each kind

Exits with 1 if a case differs.
"""

import argparse
import copy
import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

#: Rows, features, classes, share of missing values and density of each stream.
STREAMS: dict[str, tuple[int, int, int, float, float]] = {
    "narrow": (3000, 3, 2, 0.0, 1.0),
    "letter-like": (2000, 16, 26, 0.0, 1.0),
    "many classes": (1500, 10, 60, 0.0, 1.0),
    "gaps": (1200, 40, 3, 0.05, 1.0),
    "wide": (600, 300, 5, 0.0, 1.0),
    "sparse": (800, 400, 4, 0.0, 0.03),
    "sparse, two classes": (800, 300, 2, 0.0, 0.03),
    "hashed": (300, 5000, 3, 0.0, 0.01),
    # A frame with a date and a category besides the numbers.
    "table": (1500, 5, 3, 0.02, 1.0),
}
#: One learner of each kind, on streams that cover all its code paths.
FEW = "|".join(
    (
        r'^Pooled {"random_state": 7} (letter-like|gaps|wide|table)$',
        r'^Pooled {"members": "mergeable", "random_state": 7} letter-like$',
        r'^RPNB {"random_state": 7} (narrow|letter-like|wide|sparse)$',
        "^(AROW|SCW2|PA|GaussianNB|OnlineBayes) {} letter-like$",
        r'^Online(Bagging|Boosting) {"random_state": 7} narrow$',
    )
)
#: Learners of which Python code encodes columns, or starts, merges and freezes states.
PYTHON = "|".join(
    (
        r'^Pooled {"random_state": 7} table$',
        r'^Pooled {"members": "mergeable", "random_state": 7} letter-like$',
        r'^RPNB {"random_state": 7} (letter-like|wide)$',
        "^(AROW|SCW2|OnlineBayes) {} letter-like$",
    )
)
#: Parameters to test besides the defaults.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "RPNB": [
        {},
        {"scale": "running"},
        {"update": "all"},
        {"forgetting": 500.0},
        {"combiner": "sum"},
        {"combiner": "vote"},
        {"combiner": "median"},
        {"batch_size": 64},
        {"class_prior": "counts", "class_weight": "balanced"},
        {"projection": "hadamard"},
        {"projection": "very_sparse"},
        {"projection": "bernoulli"},
        {"n_estimators": 20},
    ],
    "Pooled": [
        {},
        {"class_weight": "balanced"},
        {"delay": 30},
        {"delay": 2},
        {"members": "mergeable"},
        {"window": 64},
        {"n_jobs": 2},
    ],
}


def stream(name: str) -> tuple[Any, NDArray[np.int64], int]:
    """Return rows, classes and the number of classes; the scale changes halfway."""
    n, p, M, missing, density = STREAMS[name]
    rng = np.random.default_rng(len(name))
    y = rng.integers(0, M, n)
    centres = rng.normal(size=(M, p)) * (2.0 if p < 50 else 0.7)
    X = rng.normal(size=(n, p)) + centres[y]
    X[n // 2 :] *= 3.0
    if density < 1.0:
        return csr_array(np.where(rng.random(X.shape) < density, X, 0.0)), y, M
    X[rng.random(X.shape) < missing] = np.nan
    if name == "table":
        return table(X, y, rng), y, M
    return X, y, M


def table(X: NDArray[np.float64], y: NDArray[np.int64], rng: Any) -> Any:
    """Return a frame of the features, a date and a category."""
    import pandas  # type: ignore[import-untyped]

    minutes = 511 * np.arange(len(y)) + 90 * y
    return pandas.DataFrame(
        {
            **{f"x{j}": column for j, column in enumerate(X.T)},
            "sent": np.datetime64("2024-02-28") + minutes.astype("m8[m]"),
            "place": np.array(list("abcdefgh"))[(y + rng.integers(0, 5, len(y))) % 8],
        }
    )


def digest(*arrays: Any) -> str:
    """Return a short digest of the bytes of arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Return a digest of a model file, without the version of rpnb."""
    found = hashlib.sha256()
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            content = file.read(name)
            if name == "metadata.json":
                content = re.sub(rb'"rpnb_version": "[^"]*"', b"", content)
            if name != "digest.json":  # of all the rest
                found.update(name.encode() + content)
    return found.hexdigest()[:16]


def numbers(labels: Any) -> NDArray[np.int64]:
    """Return labels as numbers, −1 for none."""
    return np.array([-1 if label is None else int(label) for label in labels])


def cases() -> Iterator[tuple[str, Any, dict[str, Any], str]]:
    """Yield the name, the class, the parameters and the stream of each case."""
    from rpnb.estimators.registry import learners

    for name, learner in learners().items():
        known = inspect.signature(learner.estimator).parameters
        for setting in SETTINGS.get(name, [{}]):
            if not set(setting) <= set(known):
                continue
            parameters = dict(setting)
            if learner.seeded:
                parameters["random_state"] = 7
            for data in STREAMS:
                yield name, learner.estimator, parameters, data


def saved(model: Any) -> str:
    """Return a digest of the model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return file_digest(path)


def derived(model: Any, X: Any, y: NDArray[np.int64]) -> Iterator[str]:
    """Yield digests of the models that are made of one: frozen, less, and merged."""
    few = slice(0, 50)
    if hasattr(model, "compile"):
        with suppress(ValueError):
            frozen = model.compile()
            yield saved(frozen)
            yield digest(frozen.predict_proba(X[few]))
    if hasattr(model, "merge"):
        with suppress(ValueError):
            other = copy.deepcopy(model).partial_fit(X[few], y[few])
            yield saved(copy.deepcopy(model).merge(other))
    if hasattr(model, "unlearn"):
        with suppress(ValueError):
            yield saved(model.unlearn(X[few], y[few]))


def outcome(estimator: Any, parameters: dict[str, Any], data: str) -> list[str]:
    """Learn a stream, divided into calls in two ways; return digests of all results."""
    X, y, M = stream(data)
    n = len(y)
    found = []
    for cuts in ([0, n // 2, n], [0, 1, 2, 9, 290, n]):
        model = estimator(**parameters)
        parts = []
        for first, last in pairwise(cuts):
            part = model.predict_then_learn(
                X[first:last], y[first:last], classes=np.arange(M)
            )
            parts.append(numbers(part))
        found.append(digest(*parts))
        found.append(digest(numbers(model.predict(X[: n // 4]))))
        if hasattr(model, "predict_proba"):
            found.append(digest(model.predict_proba(X[: n // 4])))
        found.append(saved(model))
    return [*found, *derived(model, X, y)]


def report(chosen: str) -> None:
    """Print the outcome of every case whose name a regular expression matches."""
    warnings.simplefilter("ignore")
    for name, estimator, parameters, data in cases():
        key = f"{name} {json.dumps(parameters, sort_keys=True)} {data}"
        if re.search(chosen, key) is None:
            continue
        try:
            found = outcome(estimator, parameters, data)
        except (ValueError, TypeError, NotImplementedError) as error:
            found = [type(error).__name__]
        print(json.dumps([key, found]), flush=True)


def other_routines() -> dict[str, str]:
    """Return variables with which libraries take routines for older processors.

    glibc chooses functions such as `exp` when a program starts, NumPy its loops and
    OpenBLAS its products, each by the processor. Elsewhere, variables have no effect.
    """
    numpy: Any = import_module("numpy._core._multiarray_umath")
    without = "-AVX2,-FMA,-FMA4,-AVX512F,-AVX2_Usable,-FMA_Usable"
    return {
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={without}",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy.__cpu_dispatch__),
    }


def outcomes(
    python: str,
    level: str = "",
    chosen: str = "",
    variables: Mapping[str, str] | None = None,
) -> dict[str, list[str]]:
    """Return the outcomes of an interpreter's version, by case."""
    environment = {**os.environ, "RPNB_LEVEL": level, **(variables or {})}
    done = subprocess.run(  # noqa: S603 - an interpreter that the user names
        [python, __file__, "--report", "--cases", chosen],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(line) for line in done.stdout.splitlines())


def compare(ours: dict[str, list[str]], theirs: dict[str, list[str]], what: str) -> int:
    """Print the number of equal cases; return the number of different ones."""
    both = ours.keys() & theirs.keys()
    unequal = sorted(key for key in both if ours[key] != theirs[key])
    print(f"{what}: {len(both) - len(unequal)} of {len(both)} cases are bitwise equal")
    for key in unequal:
        print(f"  {key}: {ours[key]} {theirs[key]}")
    for key in sorted(ours.keys() ^ theirs.keys()):
        print(f"  only in one version: {key}")
    return len(unequal)


def main() -> int:
    """Compare this version with another, or its levels with each other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--other", help="interpreter of the other version")
    parser.add_argument("--levels", action="store_true", help="compare all levels")
    parser.add_argument(
        "--processor",
        action="store_true",
        help="compare with the routines of libraries for older processors",
    )
    parser.add_argument("--cases", default="", help="regular expression of cases")
    parser.add_argument("--few", action="store_true", help="one learner of each kind")
    parser.add_argument("--report", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.report:
        report(arguments.cases)
        return 0
    chosen = FEW if arguments.few else arguments.cases
    ours = outcomes(sys.executable, chosen=chosen)
    unequal = 0
    if arguments.other:
        unequal += compare(
            ours, outcomes(arguments.other, chosen=chosen), "the other version"
        )
    if arguments.levels:
        from rpnb._core._processor import supported_levels

        for level in supported_levels()[:-1]:
            unequal += compare(ours, outcomes(sys.executable, level, chosen), level)
    if arguments.processor:
        theirs = outcomes(sys.executable, chosen=chosen, variables=other_routines())
        unequal += compare(ours, theirs, "routines for older processors")
    return 1 if unequal else 0


if __name__ == "__main__":
    raise SystemExit(main())
