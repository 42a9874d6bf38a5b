"""Brier score, calibration error and coverage, computed online."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from river import naive_bayes
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB as SklearnNB

from rpnb import RPNBClassifier
from rpnb.baselines import GaussianNB, make
from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate import prequential

_RNG = np.random.default_rng(3)
Y = _RNG.integers(0, 3, 250)
X = _RNG.normal(size=(250, 4)) + np.eye(3, 4)[Y]
METRICS: Any = ["log_loss", "brier", "calibration_error", "coverage"]


def expected(P: FloatArray, rows: slice) -> dict[str, float]:
    """Return the figures of probabilities, from their definitions."""
    p, y = P[rows], Y[rows]
    right = p.argmax(axis=1) == y
    error = 0.0
    for low in np.arange(0.0, 1.0, 0.1):
        there = (p.max(axis=1) >= low) & (p.max(axis=1) < low + 0.1)
        if there.any():
            gap = p.max(axis=1)[there].mean() - right[there].mean()
            error += abs(gap) * there.mean()
    return {
        "log_loss": -np.log(p[np.arange(len(y)), y]).mean(),
        "brier": ((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(),
        "calibration_error": error,
    }


@pytest.mark.parametrize("learner", [RPNBClassifier(10, random_state=0), GaussianNB()])
def test_metrics_are_those_of_the_probabilities_before_each_row(learner: Any) -> None:
    def model() -> Any:
        return clone(learner).partial_fit(X[:50], Y[:50])

    _, P = model().predict_then_learn(X[50:], Y[50:], return_proba=True)
    P = np.concatenate([np.zeros((50, 3)), P])
    result = prequential(model(), X[50:], Y[50:], metrics=METRICS, window=80, every=200)
    course: Any = result[type(model()).__name__]
    for name, value in expected(P, slice(50, None)).items():
        assert_allclose(course.last(name), value, rtol=1e-9)
    for name, value in expected(P, slice(170, None)).items():
        assert_allclose(course.last(name, "window"), value, rtol=1e-9)
    covered = course.last("coverage")
    if isinstance(learner, GaussianNB):
        assert np.isnan(covered)  # only predict_set_then_learn moves its thresholds
    else:
        assert 0.7 < covered <= 1.0


@pytest.mark.parametrize("library", ["River", "scikit-learn"])
def test_metrics_of_other_libraries_are_those_of_their_probabilities(
    library: str,
) -> None:
    """One row at a time: a label is predicted, then learned."""
    P = np.zeros((250, 3))
    model: Any
    fresh: Any
    if library == "River":
        rows = [dict(enumerate(x)) for x in X.tolist()]
        model, fresh = naive_bayes.GaussianNB(), naive_bayes.GaussianNB()
        for i, (x, y) in enumerate(zip(rows, Y.tolist(), strict=True)):
            P[i] = [model.predict_proba_one(x).get(c, 0.0) for c in range(3)]
            model.learn_one(x, y)
            if i < 50:
                fresh.learn_one(x, y)
    else:
        model = SklearnNB().partial_fit(X[:50], Y[:50], range(3))
        fresh = SklearnNB().partial_fit(X[:50], Y[:50], range(3))
        for i in range(50, 250):
            P[i] = model.predict_proba(X[i : i + 1])[0]
            model.partial_fit(X[i : i + 1], Y[i : i + 1])
    result = prequential(
        fresh, X[50:], Y[50:], metrics=METRICS, references=False, batch_size=1
    )
    course: Any = next(iter(result.courses.values()))
    for name, value in expected(P, slice(50, None)).items():
        assert_allclose(course.last(name), value, rtol=1e-9, err_msg=name)
    assert np.isnan(course.last("coverage"))


def test_metrics_of_probabilities_need_some() -> None:
    with pytest.raises(ValueError, match="'brier', which needs a learner with prob"):
        prequential(make("PA"), X, Y, metrics=["brier"])


def test_the_calibration_curve_is_that_of_the_probabilities() -> None:
    fresh = RPNBClassifier(10, random_state=0).partial_fit(X[:50], Y[:50])
    twin = RPNBClassifier(10, random_state=0).partial_fit(X[:50], Y[:50])
    _, P = twin.predict_then_learn(X[50:], Y[50:], return_proba=True)
    result = prequential(fresh, X[50:], Y[50:], metrics=["accuracy", "brier"])
    curve = result["RPNBClassifier"].calibration
    assert curve is not None
    sure, right = P.max(axis=1), P.argmax(axis=1) == Y[50:]
    tenth = np.minimum((10 * sure).astype(int), 9)
    for k, g in enumerate(np.unique(tenth)):
        assert_allclose(curve.confidence[k], sure[tenth == g].mean())
        assert_allclose(curve.accuracy[k], right[tenth == g].mean())
        assert curve.rows[k] == (tenth == g).sum()
    assert curve.rows.sum() == 200
    assert result["majority class"].calibration is None


def test_a_reliability_diagram_has_a_line_for_each_learner_with_probabilities() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    models = {"RPNB": RPNBClassifier(5, random_state=0), "PA": make("PA")}
    result = prequential(models, X, Y, metrics=["brier"])
    axes: Any = result.plot_calibration()
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["RPNB"]
    curve = result["RPNB"].calibration
    assert curve is not None
    points = np.stack(curve[:2], axis=1)
    assert_allclose(axes.collections[0].get_offsets(), points)
    # The line joins points of ten rows and more.
    assert 0 < curve.frequent().sum() < len(points)
    assert_allclose(axes.lines[1].get_xydata(), points[curve.rows >= 10])
    assert result.plot_calibration(ax=axes) is axes
    pyplot.close("all")
    with pytest.raises(ValueError, match="metrics must include log_loss"):
        prequential(models, X, Y).plot_calibration()
