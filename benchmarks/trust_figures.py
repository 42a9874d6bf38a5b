"""Figures of the guide to probabilities, prediction sets and explanations.

    python benchmarks/trust_figures.py docs/results/figures

* trust-reliability.svg and trust-reliability-drift.svg: reliability diagrams with the
  temperature K and with "auto", of the digits of scikit-learn in a random order, and of
  a stream that drifts three times (LED);
* trust-coverage.svg: the share of rows whose class is not in their prediction set, over
  the same stream, with adaptive thresholds and with one that is fixed after a quarter
  of it, and the share of wrong labels;
* trust-reasons.svg: a row of scikit-learn's wine data explained, and the importance of
  the features.

The figures' numbers are printed too.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from rpnb import RPNBClassifier
from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.datasets import streams
from rpnb.estimators.trust.contributions import largest
from rpnb.evaluate import prequential
from rpnb.evaluate.metrics import Metric
from rpnb.report.charts.curves import Curve, curve_panel, make_plot
from rpnb.report.charts.drawing import Drawing, beside
from rpnb.report.charts.svg import standalone
from rpnb.report.sections.calibration import reliability_panel
from rpnb.report.sections.row_reasons import importance_panel, waterfall_panel

_COVERAGE, _ROWS, _PART = 0.9, 20_000, 500


def reliability_of_digits() -> Drawing:
    """Return the diagrams of scikit-learn's digits in a random order."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return reliability("digits", X[order], y[order])


def reliability_of_led() -> Drawing:
    """Return the diagrams of the stream that drifts."""
    return reliability("LED", *drifting())


def reliability(name: str, X: FloatArray, y: Any) -> Drawing:
    """Return the diagrams with T = K and with "auto", side by side."""
    panels = []
    names: dict[str, Any] = {"T = K": None, "auto": "auto"}
    for title, temperature in names.items():
        model = RPNBClassifier(temperature=temperature, random_state=0)
        metrics: list[Metric] = ["calibration_error", "log_loss"]
        course = prequential({"RPNB": model}, X, y, metrics=metrics)["RPNB"]
        assert course.calibration is not None
        error, loss = course.last("calibration_error"), course.last("log_loss")
        print(f"{name}, {title}: calibration error {error:.3f}, log-loss {loss:.3f}")
        curve, shown = course.calibration, f"{name}, temperature {title}"
        panels.append(reliability_panel("RPNB", curve, error, ["RPNB"], shown))
    return beside(f"Reliability diagrams of RPNB on {name}", *panels)


def drifting() -> tuple[FloatArray, Any]:
    """Return the stream LED, whose seven informative features move three times."""
    ((X, y),) = streams.led(_ROWS, drifting=7, chunk=_ROWS)
    return X, y


def coverage() -> Drawing:
    """Return the share of missed rows, in parts of a stream that drifts."""
    X, y = drifting()
    adapted = RPNBClassifier(random_state=0)
    labels, sets = adapted.predict_set_then_learn(
        X, y, coverage=_COVERAGE, classes=np.unique(y)
    )
    covered = sets[np.arange(_ROWS), np.searchsorted(adapted.classes_, y)]
    missed = {
        "adaptive sets": ~covered,
        "fixed threshold": ~_fixed_sets(X, y),
        "labels": labels != y,
        "target": np.full(_ROWS, 1.0 - _COVERAGE),
    }
    rows = np.arange(_PART, _ROWS + 1.0, _PART)
    curves = []
    for name, values in missed.items():
        parts: FloatArray = values.reshape(-1, _PART).mean(axis=1)
        late = values[_ROWS // 4 :].mean()
        print(
            f"LED, {name}: {values.mean():.3f} missed, after row {_ROWS // 4:,} "
            f"{late:.3f}, worst {_PART} rows {parts.max():.3f}"
        )
        curves.append(Curve(name, rows, parts, np.zeros(len(rows)), 1))
    sizes = sets.sum(axis=1)
    print(f"LED, adaptive sets: {sizes.mean():.2f} classes in the mean")
    title = "Share of rows missed, in parts of a stream that drifts three times"
    chosen = list(missed)[:3]
    plot = make_plot(title, curves, "missed", emphasised=chosen)
    return curve_panel(plot, 760.0)


def _fixed_sets(X: FloatArray, y: Any) -> BoolArray:
    """Return which rows are covered by sets whose threshold was fixed in advance.

    It is the one that covers the target share of the first quarter of the stream.
    """
    model = RPNBClassifier(random_state=0)
    _, P = model.predict_then_learn(X, y, classes=np.unique(y), return_proba=True)
    of_truth = P[np.arange(_ROWS), np.searchsorted(model.classes_, y)]
    threshold = np.quantile(of_truth[: _ROWS // 4], 1.0 - _COVERAGE)
    found: BoolArray = of_truth >= threshold
    return found


def reasons() -> Drawing:
    """Return a row of the wine data explained, beside the importance of features."""
    data = load_wine()
    X = StandardScaler().fit_transform(data.data)
    model = RPNBClassifier(random_state=0).fit(X, data.target)
    names = [name.replace("_", " ") for name in data.feature_names]
    names[11] = "OD280/OD315"
    # The row of which the model is least sure among those that it gets right.
    found = model.explain(X)
    sure = np.where(found.labels == data.target, found.score, np.inf)
    row = int(sure.argmin())
    found = found._replace(names=names)
    steps = found.waterfall(row, top=8, X=data.data)
    print(
        f"wine, row {row}: class {found.labels[row]} rather than {found.against[row]}, "
        f"score {steps.score:.3g} from {steps.base:.3g}"
    )
    for name, value in zip(steps.names, steps.values, strict=True):
        print(f"  {name:28} {value:+8.3f}")
    shares = largest(found.importance(), names, 8)
    return beside(
        "A wine explained, and the importance of the features",
        waterfall_panel("A wine explained", steps),
        importance_panel("Importance of the features", shares),
    )


def main() -> None:
    """Write the pictures into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    made = {
        "reliability": reliability_of_digits,
        "reliability-drift": reliability_of_led,
        "coverage": coverage,
        "reasons": reasons,
    }
    for name, make in made.items():
        path = folder / f"trust-{name}.svg"
        path.write_text(standalone(make()), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
