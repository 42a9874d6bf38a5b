"""Every way to feed a stream to a learner gives the same labels and the same model.

Rows can be predicted and learned with or without probabilities, with prediction sets,
one by one, in chunks, by `prequential` or by `rpnb run`. The weights of the rows must
not depend on which of these is used: the labels and the bytes of the model file are
compared.
"""

import csv
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from learners import SMALL, content, new, parameters_of
from rpnb import river
from rpnb.cli import main
from rpnb.drift import DriftAware
from rpnb.estimators.protocol import predicted_then_learned, saved_model
from rpnb.estimators.registry import learners
from rpnb.estimators.stream.prediction_sets import ENTRY
from rpnb.estimators.stream.validated_rows import ValidatedRows
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.evaluate import prequential
from rpnb.labels import LabelIndex
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

# More rows than PooledClassifier needs for its scale, and than a chunk of it.
N = 300
rng = np.random.default_rng(0)
Y = np.array(["rare", "some", "usual"])[rng.choice(3, N, p=[0.1, 0.3, 0.6])]
X = rng.normal(size=(N, 4)) + (Y == "rare")[:, None] - (Y == "some")[:, None]
# A class whose first row comes late, when the others have been weighted for long.
Y[200:][rng.random(100) < 0.1] = "late"
# For learners of two classes.
TWO = np.where(Y == "usual", "usual", "some")

GIVEN = {"rare": 5.0, "some": 2.5, "late": 0.5}
WEIGHTS = rng.choice([0.25, 1.0, 3.0], N)
CUTS = ([0, 1, 2, 40, 199, 200, 201, N], [*range(0, N, 64), N], [*range(60), N])

#: Constructor parameters that give rows weights, and values of them to try.
PARAMETERS: dict[str, tuple[Any, ...]] = {"class_weight": (GIVEN, "balanced")}
#: Those with "weight" in the name that give rows none.
OTHERS = {"prior_weight"}

#: Settings that lead to other code in a learner.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "RPNB": [
        {"scale": "running"},
        {"update": "all"},
        {"update": "all", "temperature": None},
        {"forgetting": 50.0, "combiner": "vote"},
    ],
    "Pooled": [{"delay": 3}, {"n_jobs": 2}, {"members": ["binned_bayes"]}],
    "OnlineBayes": [{"update": "all"}],
}

Make = Callable[[], Any]
Way = Callable[..., list[Any] | None]


def weightings(name: str) -> list[dict[str, Any]]:
    """The parameters with weights to give to a learner: none first, then each."""
    known = parameters_of(name)
    return [{}] + [
        {parameter: value}
        for parameter, values in PARAMETERS.items()
        if parameter in known
        for value in values
    ]


def cases() -> list[Any]:
    """Every learner with every parameter that has weights, alone and wrapped."""
    found: dict[str, tuple[str, Make]] = {}

    def add(name: str, kind: str, make: Make, weights: dict[str, Any]) -> None:
        words = ["balanced" if w == "balanced" else "given" for w in weights.values()]
        found["-".join([name, *words, *filter(None, [kind])])] = (name, make)

    for name in learners():
        for weights in weightings(name):
            add(name, "", partial(new, name, **weights), weights)
        # Weights that follow the rows so far see the most of what settings change.
        for some in SETTINGS.get(name, []):
            kind = ",".join(f"{key}={value}" for key, value in some.items())
            add(name, kind, partial(new, name, **weights, **some), weights)
        if weights or name in ("PA", "OnlineBagging"):
            add(name, "scaled", partial(scaled, name, **weights), weights)
            add(name, "drift", partial(watched, name, **weights), weights)
        if weights and name in ("PA", "RPNB", "Pooled", "GaussianNB"):
            both = partial(watched_and_scaled, name, **weights)
            add(name, "drift of scaled", both, weights)
    return [pytest.param(*case, id=word) for word, case in found.items()]


def scaled(name: str, **parameters: Any) -> Any:
    return make_stream_pipeline(RunningScaler(), new(name, **parameters))


def watched(name: str, **parameters: Any) -> Any:
    return DriftAware(new(name, **parameters), detector="ddm", warm=20)


def watched_and_scaled(name: str, **parameters: Any) -> Any:
    return DriftAware(scaled(name, **parameters), detector="ddm", warm=20)


every_case = pytest.mark.parametrize(("name", "make"), cases())


def labels_for(name: str) -> Any:
    """The labels of the stream, of two classes where a learner knows no more."""
    try:
        new(name).predict_then_learn(X[:3], Y[:3], np.unique(Y))
    except ValueError:
        return TWO
    return Y


def parts(cuts: Sequence[int]) -> Iterator[slice]:
    return (slice(a, b) for a, b in pairwise(cuts))


# The ways in: each changes the model, and returns the predicted labels if it has any.
# `known` are the classes that are declared with the first row, None for none.


def at_once(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
    found: list[Any] = model.predict_then_learn(X, y, known).tolist()
    return found


def with_probabilities(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
    labels, P = model.predict_then_learn(X, y, known, return_proba=True)
    assert P.shape == (len(y), model.classes_.shape[0])
    found: list[Any] = labels.tolist()
    return found


def with_costs(model: Any, X: Any, y: Any, known: Any = None) -> None:
    """Other labels, the same model."""
    fitted = model.classes_ if model.__sklearn_is_fitted__() else []
    declared = [] if known is None else known
    M = np.unique([*fitted, *declared, *y]).shape[0]
    costs = 1.0 + np.arange(M * M).reshape(M, M) - np.eye(M)
    model.predict_then_learn(X, y, known, costs=costs)


def with_sets(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
    found: list[Any] = model.predict_set_then_learn(X, y, 0.9, known)[0].tolist()
    return found


def without_predictions(model: Any, X: Any, y: Any, known: Any = None) -> None:
    model.partial_fit(X, y, known)


def by_row(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
    """Predict, then learn, by scikit-learn's methods."""
    found: list[Any] = []
    if not model.__sklearn_is_fitted__():
        found = at_once(model, X[:1], y[:1], known)
    for i in range(len(found), len(y)):
        found += model.predict_next(X[i : i + 1]).tolist()
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    return found


def by_one(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
    """Predict, then learn, by the methods of single rows."""
    found: list[Any] = []
    if known is not None:
        found = at_once(model, X[:1], y[:1], known)
    for x, label in zip(X[len(found) :], y[len(found) :].tolist(), strict=True):
        fitted = model.__sklearn_is_fitted__()
        found.append(str(model.predict_one(x)) if fitted else None)
        model.learn_one(x, label)
    return found


def validated(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
    """Once all classes are known, as an evaluation does it."""
    found = at_once(model, X[:270], y[:270], known)
    numbers = np.searchsorted(model.classes_, y[270:])
    rows = ValidatedRows(model, X[270:])
    # Single rows, predicted by themselves before; then the others.
    order = np.array([0, 0, 1, 2])
    predicted = rows.predict_and_learn(order, np.array([-1, *numbers[:3]]))[1:]
    return (
        found + model.classes_[predicted].tolist() + numbered(model, X[273:], y[273:])
    )


def numbered(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
    """Labels as numbers, with a table in which most have another place than `y`."""
    labels = LabelIndex(["never", *y[::-1].tolist()]).coded(y)
    predicted = predicted_then_learned(model, X, labels, known, checked=True)
    found: list[Any] = predicted.decoded().tolist()
    return found


def mixed(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
    """Another way for every part, and another copy of the model in between."""
    found: list[Any] = []
    ways: list[Way] = [at_once, by_row]
    if hasattr(model, "predict_proba"):
        ways += [with_probabilities]
    for i, part in enumerate(parts(CUTS[1])):
        found += ways[i % len(ways)](model, X[part], y[part], known) or []
        known = None
        copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
        model.__dict__.update(copy.__dict__)
    return found


def cut(way: Way, cuts: Sequence[int]) -> Way:
    def run(model: Any, X: Any, y: Any, known: Any = None) -> list[Any]:
        found: list[Any] = []
        for part in parts(cuts):
            found += way(model, X[part], y[part], known) or []
            known = None
        return found

    return run


def ways_into(model: Any) -> dict[str, Way]:
    """All ways in that a learner has, but for evaluations."""
    found: dict[str, Way] = {
        "partial_fit": without_predictions,
        "predict, partial_fit": by_row,
        "validated": validated,
        "mixed": mixed,
        "numbered": numbered,
        "numbered, cut": cut(numbered, CUTS[0]),
        **{f"cut {k}": cut(at_once, cuts) for k, cuts in enumerate(CUTS)},
    }
    if hasattr(model, "predict_one"):
        found["predict_one, learn_one"] = by_one
    if not hasattr(model, "predict_proba"):
        return found
    found["probabilities"] = with_probabilities
    found["probabilities, cut"] = cut(with_probabilities, CUTS[0])
    found["costs"] = with_costs
    inner = getattr(model, "learner", model)
    if getattr(inner, "temperature", "auto") and (
        getattr(inner, "combiner", "log_sum") == "log_sum"
    ):
        found["sets"] = with_sets
        found["sets, cut"] = cut(with_sets, CUTS[0])
    return found


def test_no_parameter_with_weights_is_left_out() -> None:
    named = {p for name in learners() for p in parameters_of(name) if "weight" in p}
    assert named == {*PARAMETERS, *OTHERS}


@pytest.mark.parametrize("declared", [False, True], ids=["", "declared"])
@every_case
def test_every_way_in_gives_the_same_labels_and_model(
    name: str, make: Make, declared: bool
) -> None:
    y = labels_for(name)
    if y is TWO and not declared:
        pytest.skip("needs both classes")
    known = np.unique(y) if declared else None
    model = make()
    labels, expected = at_once(model, X, y, known), content(model)
    thresholds: Any = None
    for word, way in ways_into(model).items():
        other = make()
        found = way(other, X, y, known)
        assert found is None or found == labels, word
        assert content(other) == expected, word
        # Only sets that are asked for move thresholds, however rows are cut.
        asked = word.startswith("sets")
        moved = saved_model(other).arrays.get(ENTRY)
        assert (moved is not None) == asked, word
        if asked:
            thresholds = moved if thresholds is None else thresholds
            assert_array_equal(moved, thresholds)


#: Learners that weigh rows, alone without and with weights of classes, and wrapped.
WEIGHTED: list[tuple[str, Any, Any]] = [
    (name, kind, class_weight)
    for name, learner in learners().items()
    if issubclass(learner.estimator, WeightedStreamClassifier)
    for kind, class_weight in (
        *((new, None), (new, GIVEN), (new, "balanced")),
        *((scaled, "balanced"), (watched, "balanced")),
    )
]
every_weighting = pytest.mark.parametrize(("name", "kind", "class_weight"), WEIGHTED)


@every_weighting
def test_every_way_in_takes_the_same_weights_of_rows(
    name: str, kind: Any, class_weight: Any
) -> None:
    def make() -> Any:
        return kind(name, class_weight=class_weight)

    model = make()
    labels = model.predict_then_learn(X, Y, sample_weight=WEIGHTS)
    expected = content(model)
    assert content(make().partial_fit(X, Y, sample_weight=WEIGHTS)) == expected
    other = make()
    found, P = other.predict_then_learn(X, Y, None, WEIGHTS, return_proba=True)
    assert_array_equal(found, labels)
    assert_allclose(P[1:].sum(axis=1), 1.0)
    assert content(other) == expected
    other = make()
    for part in parts(CUTS[0]):
        x, y, weight = X[part], Y[part], WEIGHTS[part]
        found, _ = other.predict_then_learn(x, y, None, weight, return_proba=True)
        assert_array_equal(found, labels[part])
    assert content(other) == expected
    if hasattr(other, "learn_one"):
        other = make()
        for x, label, w in zip(X, Y.tolist(), WEIGHTS.tolist(), strict=True):
            other.learn_one(x, label, w)
        assert content(other) == expected


@pytest.mark.parametrize(
    "name", [name for name, *_, weights in WEIGHTED if weights is GIVEN]
)
def test_weights_matter(name: str) -> None:
    plain = content(new(name).partial_fit(X, Y))
    found = [content(new(name, **w).partial_fit(X, Y)) for w in weightings(name)[1:]]
    found.append(content(new(name).partial_fit(X, Y, sample_weight=WEIGHTS)))
    assert plain not in found
    assert len(set(found)) == len(found) == 3


@pytest.mark.parametrize("kind", [new, scaled])
@pytest.mark.parametrize("size", [7, None])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("scale", [None, "running"])
def test_mini_batches_are_the_same_with_probabilities(
    kind: Any, size: Any, class_weight: Any, scale: Any
) -> None:
    def make() -> Any:
        return kind("RPNB", batch_size=size, class_weight=class_weight, scale=scale)

    known = np.unique(Y)
    cuts = [0, 7, 70, 210, N]  # mini-batches do not extend across calls
    expected = make()
    labels = cut(at_once, cuts)(expected, X, Y, known)
    for way in (with_probabilities, with_sets):
        model = make()
        assert cut(way, cuts)(model, X, Y, known) == labels
        assert content(model) == content(expected)


#: Labels alone, the probability of the true class, and all probabilities.
METRICS: list[tuple[Any, ...]] = [
    ("error",),
    ("error", "log_loss"),
    ("kappa", "brier", "calibration_error", "coverage", "auc"),
]


def outcome(result: Any) -> tuple[list[Any], Any]:
    """The labels and the model of the only learner that was evaluated."""
    (model,) = result.models.values()
    return list(result[next(iter(result.models))].answers), model


@every_case
def test_an_evaluation_does_not_depend_on_its_metrics(name: str, make: Make) -> None:
    y = labels_for(name)
    known = np.unique(y) if y is TWO else None
    model = make()
    labels, expected = at_once(model, X, y, known), content(model)
    for metrics in METRICS if hasattr(model, "predict_proba") else METRICS[:1]:
        result = prequential(
            make(), X, y, classes=known, metrics=metrics, keep_answers=True
        )
        found, evaluated = outcome(result)
        assert found == labels
        assert content(evaluated) == expected


@every_weighting
def test_late_labels_do_not_depend_on_metrics(
    name: str, kind: Any, class_weight: Any
) -> None:
    found = [
        prequential(
            kind(name, class_weight=class_weight),
            X,
            Y,
            delay=5,
            metrics=metrics,
            keep_answers=True,
        )
        for metrics in METRICS[::2]
    ]
    labels, models = zip(*map(outcome, found), strict=True)
    assert labels[0] == labels[1]
    assert content(models[0]) == content(models[1])


OUTPUTS: list[list[str]] = [
    [],
    ["--predictions", "--no-probabilities"],
    ["--report", "--no-probabilities"],
    ["--report", "--predictions", "--metrics", "log_loss"],
    ["--metrics", "auc", "coverage", "--chunk-rows", "50"],
    ["--predictions", "--chunk-rows", "1"],
]


@pytest.mark.parametrize("scale", [[], ["--scale"]], ids=["", "scaled"])
@pytest.mark.parametrize(
    ("name", "weight"),
    [(name, "balanced") for name in ("RPNB", "Pooled", "GaussianNB", "OnlineBayes")]
    + [("RPNB", None), ("Pooled", None)],
)
def test_a_run_does_not_depend_on_its_outputs(
    name: str,
    weight: Any,
    scale: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = pd.DataFrame(X, columns=list("abcd")).assign(kind=Y)
    data.to_csv(tmp_path / "rows.csv", index=False)
    given = [f"{key}={value}" for key, value in SMALL.get(name, {}).items()]
    given += [f"class_weight={weight}"] if weight else []
    words = ["run", str(tmp_path / "rows.csv"), "--target", "kind", "--model", name]
    words += [*scale, "--quiet", *(w for one in given for w in ("--param", one))]
    models, labels = [], []
    for k, asked in enumerate(OUTPUTS):
        files = {o: str(tmp_path / f"{k}{o}") for o in ("--predictions", "--report")}
        rest = [w for o in asked for w in ((o, files[o]) if o in files else (o,))]
        saved = tmp_path / f"{k}.rpnb"
        assert main([*words, *rest, "--save", str(saved)]) == 0
        capsys.readouterr()
        models.append(content(_load(saved, scaled=bool(scale), name=name)))
        if "--predictions" in asked:
            with Path(files["--predictions"]).open() as file:
                labels.append([row["prediction"] for row in csv.DictReader(file)])
    # As in Python, too.
    make = scaled if scale and name in ("GaussianNB", "OnlineBayes") else new
    more = {"scale": "running"} if scale and name == "RPNB" else {}
    model = make(name, **({"class_weight": weight} if weight else {}), **more)
    labels.append([label or "" for label in at_once(model, X, Y)])
    assert all(each == models[0] for each in models)
    assert all(each == labels[-1] for each in labels)
    assert _arrays(model) == _arrays(_load(saved, scaled=bool(scale), name=name))


def _load(path: Path, *, scaled: bool, name: str) -> Any:
    if scaled and name in ("GaussianNB", "OnlineBayes"):
        return type(make_stream_pipeline(RunningScaler(), new(name))).load(path)
    return learners()[name].estimator.load(path)


def _arrays(model: Any) -> Any:
    """What was learned, without the names of columns that a file has."""
    saved = saved_model(model)
    return {key: array.tobytes() for key, array in saved.arrays.items()}


# Probabilities


@every_case
def test_probabilities_before_each_row_are_those_of_a_loop(
    name: str, make: Make
) -> None:
    if not hasattr(make(), "predict_proba"):
        pytest.skip("has no probabilities")
    model, loop = make(), make()
    _, P = model.predict_then_learn(X, Y, return_proba=True)
    assert_array_equal(P[0], 0.0)
    loop.partial_fit(X[:1], Y[:1])
    for i in range(1, N):
        one = slice(i, i + 1)
        expected = dict(
            zip(loop.classes_.tolist(), loop.predict_next_proba(X[one])[0], strict=True)
        )
        found = [expected.get(label, 0.0) for label in model.classes_.tolist()]
        assert_allclose(P[i], found, rtol=1e-9, atol=1e-12)
        loop.partial_fit(X[one], Y[one])


@pytest.mark.parametrize("name", ["RPNB", "Pooled", "GaussianNB", "OnlineBagging"])
def test_names_of_columns_are_kept_with_probabilities(name: str) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    model, other = new(name), new(name)
    model.predict_then_learn(frame, Y)
    for part in parts([0, 100, N]):
        other.predict_then_learn(frame[part], Y[part], return_proba=True)
    assert other.feature_names_in_.tolist() == list("abcd")
    assert content(other) == content(model)


@pytest.mark.parametrize("name", ["RPNB", "Pooled", "GaussianNB", "OnlineBagging"])
def test_what_is_refused_with_probabilities_changes_nothing(name: str) -> None:
    model = new(name).partial_fit(X, Y)
    before = content(model)
    with pytest.raises(ValueError, match="classes"):
        model.predict_then_learn(X[:9], Y[:9], [1, 2], return_proba=True)
    bad: list[Any] = [*Y[:8].tolist(), 3]
    with pytest.raises((TypeError, ValueError)):
        model.predict_then_learn(X[:9], bad, return_proba=True)
    assert content(model) == before


# Adapters


@pytest.mark.parametrize("weights", [{}, *weightings("Pooled")[1:]])
@pytest.mark.parametrize("name", ["RPNB", "Pooled"])
def test_adapters_of_river_weigh_alike(name: str, weights: dict[str, Any]) -> None:
    def make() -> Any:
        kind = river.RPNBClassifier if name == "RPNB" else river.PooledClassifier
        return kind(**SMALL[name], seed=0, **weights)

    names = list("abcd")
    rows = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    frame = pd.DataFrame(X, columns=names)
    one, sets, many, cuts, evaluated = (make() for _ in range(5))
    labels = []
    for x, y in zip(rows, Y.tolist(), strict=True):
        labels.append(one.predict_one(x))
        one.learn_one(x, y)
        sets.predict_set_then_learn_one(x, y)
    many.learn_many(frame, pd.Series(Y))
    for part in parts(CUTS[0]):
        cuts.predict_proba_many(frame[part])
        cuts.learn_many(frame[part], pd.Series(Y[part]))
    expected = content(one._features.classifier)
    for metrics in METRICS[:2]:
        result = prequential(evaluated, frame, Y, metrics=metrics, keep_answers=True)
        found, model = outcome(result)
        assert found == labels
        assert content(model._features.classifier) == expected
    for model in (sets, many, cuts):
        assert content(model._features.classifier) == expected
    # A table of the columns in the adapter's order is the same stream.
    if name == "Pooled":
        plain = new(name, **weights)
        assert at_once(plain, X[:, _order(one)], Y) == labels
        assert content(plain) == expected


def _order(model: Any) -> list[int]:
    return ["abcd".index(name) for name in model._features.names]
