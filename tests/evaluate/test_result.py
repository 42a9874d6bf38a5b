"""Results of `prequential`, and arguments that it refuses."""

import subprocess
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from river import linear_model, preprocessing
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor

from estimators.streams import blobs, small
from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.evaluate import prequential

mpl.use("Agg")


@pytest.fixture(scope="module")
def result() -> Any:
    X, y = blobs(0, n=60)
    models = {"RPNB": small(), "PA": baselines.PA()}
    return prequential(models, X, y, metrics=["error", "kappa"], every=25, window=30)


def test_the_table_names_every_learner_and_its_figures(result: Any) -> None:
    lines = result.summary().splitlines()
    assert repr(result) == result.summary()
    assert lines[0] == "60 rows, 3 classes; window of 30 rows, fading by 0.999"
    titles = "learner error kappa window error fading error updates seconds bytes"
    assert lines[2].split() == titles.split()
    cells = lines[3].split()
    assert cells[:2] == ["RPNB", f"{result['RPNB'].last('error'):.4f}"]
    assert cells[3] == f"{result['RPNB'].last('error', 'window'):.4f}"
    assert cells[5] == str(result["RPNB"].updates[-1])
    assert [line[:14].strip() for line in lines[3:]] == list(result)
    assert list(result)[2:] == ["majority class", "same as last"]


def test_a_frame_has_a_row_for_each_learner_and_checkpoint(result: Any) -> None:
    frame = result.to_pandas()
    assert len(frame) == 4 * 3
    mine = frame[frame.learner == "PA"]
    assert mine.row.tolist() == [25, 50, 60]
    one = result["PA"]
    for span in ("cumulative", "window", "fading"):
        assert_array_equal(mine[f"{span}_kappa"], one.figures[span]["kappa"])
    assert_array_equal(mine.updates, one.updates)


def test_a_plot_of_members_shows_weights_and_errors(result: Any) -> None:
    from matplotlib import pyplot

    X, y = blobs(0, n=60)
    pooled = PooledClassifier("mergeable", n_projections=16, random_state=0)
    found = prequential({"PA": baselines.PA(), "pooled": pooled}, X, y)
    axes = found.plot_members()
    history = found.models["pooled"].member_history_
    for ax, lines in zip(axes, (history.weights, history.errors), strict=True):
        drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        assert list(drawn) == list(lines)
        for name, values in lines.items():
            assert_array_equal(drawn[name], values)
    assert found.plot_members("pooled", axes=axes) is axes
    pyplot.close("all")
    with pytest.raises(ValueError, match="name must be one of 'pooled', got 'PA'"):
        found.plot_members("PA")
    with pytest.raises(ValueError, match="no pooled classifier among the learners"):
        result.plot_members()


def test_a_plot_has_a_line_for_each_learner(result: Any) -> None:
    from matplotlib import pyplot

    axes = result.plot("kappa", "cumulative")
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines) == list(result)
    drawn = lines["RPNB"].get_ydata()
    assert_array_equal(drawn, result["RPNB"].figures["cumulative"]["kappa"])
    assert "kappa" in axes.get_ylabel()
    assert result.plot(ax=axes) is axes
    pyplot.close(axes.figure)


def test_size_is_that_of_the_model_after_learning(result: Any) -> None:
    # The projections alone: p·K·q numbers of single precision.
    assert result["RPNB"].size > 4 * 7 * 4 * 4 > result["majority class"].size

    class Odd:
        """Has River's methods, and cannot be pickled, being local."""

        def predict_one(self, x: Any) -> int:
            return 0

        def learn_one(self, x: Any, y: Any) -> None:
            pass

    odd = prequential(Odd(), *blobs(1))
    assert odd["Odd"].size is None
    assert "—" in odd.summary()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"models": {}}, ValueError, "models must hold at least one learner"),
        ({"models": {"same as last": small()}}, ValueError, "must not be named"),
        ({"models": {1: small()}}, TypeError, "models must be named by text, got 1"),
        (
            {"models": RPNBClassifier},
            TypeError,
            r"^RPNBClassifier must be a learner, .* make one with RPNBClassifier\(\)",
        ),
        (
            {"models": [RPNBClassifier]},
            TypeError,
            r"^RPNBClassifier must be a learner, .* make one with RPNBClassifier\(\)",
        ),
        ({"models": LogisticRegression()}, TypeError, "scikit-learn with partial"),
        ({"models": SGDRegressor()}, TypeError, "must be a classifier"),
        ({"models": MiniBatchKMeans()}, TypeError, "must be a classifier"),
        (
            {
                "models": preprocessing.StandardScaler()
                | linear_model.LinearRegression()
            },
            TypeError,
            "must be a classifier",
        ),
        ({"metrics": ["size"]}, ValueError, "metrics must be one of 'accuracy'"),
        ({"metrics": []}, ValueError, "metrics must name at least one"),
        (
            {"models": baselines.PA(), "metrics": "log_loss"},
            ValueError,
            "which needs a learner with probabilities, got PA",
        ),
        ({"window": 0}, ValueError, "window must be an integer of at least 1, got 0"),
        ({"fading": 1.5}, ValueError, "fading must be a finite number above 0 and at"),
        ({"every": 0}, ValueError, "every must be"),
        ({"batch_size": 0}, ValueError, "batch_size must be"),
        ({"leftover": "keep"}, ValueError, "leftover must be one of 'learn', 'drop'"),
        ({"y": [0, 1]}, ValueError, "X has 60 rows and y has 2 labels"),
        ({"y": None}, TypeError, "y must be given with a table X"),
        ({"stream": 3, "y": None}, TypeError, "a stream must be a table with labels"),
        ({"stream": iter([]), "y": None}, ValueError, "at least one row, got none"),
        ({"stream": np.zeros((0, 3)), "y": []}, ValueError, "at least one row"),
        ({"stream": iter([3]), "y": None}, TypeError, "item 0 of the stream must be a"),
        ({"stream": np.zeros(60)}, ValueError, r"X must have the shape \(n, p\)"),
    ],
)
def test_invalid_arguments_are_refused_by_name(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    X, y = blobs(2)
    call = {"models": small(), "stream": X, "y": y, **change}
    with pytest.raises(error, match=message):
        prequential(**call)


def test_scikit_learn_must_know_the_classes_of_a_stream() -> None:
    X, y = blobs(3)
    model = SGDClassifier(random_state=0)
    with pytest.raises(ValueError, match="classes must be given: SGDClassifier needs"):
        prequential(model, iter([(X, y)]))
    assert prequential(model, iter([(X, y)]), classes=[0, 1, 2]).rows == 60


def test_a_bad_row_is_named_with_its_learner_and_changes_no_model() -> None:
    X, y = blobs(4)
    X[33, 2] = np.nan
    model = small()
    with pytest.raises(ValueError, match=r"row 3, column 2") as caught:
        prequential({"mine": model}, X, y, every=10)
    assert "mine, in rows 30 to 39 of the stream" in caught.value.__notes__[0]
    assert not hasattr(model, "classes_")
    rows: list[Any] = [({"a": 1.0}, 0), ({"b": 1.0}, 0)]
    with pytest.raises(ValueError, match="row 1 must have the features"):
        prequential(model, iter(rows))
    rows = [({"a": 1.0}, 0), ({"a": "x"}, 0)]
    with pytest.raises(ValueError, match="row 1, feature 'a': must be a number"):
        prequential(model, iter(rows))


def test_unknown_names_of_learners_metrics_and_spans_are_refused(result: Any) -> None:
    with pytest.raises(ValueError, match="name must be one of 'RPNB', 'PA'"):
        result["nobody"]
    with pytest.raises(ValueError, match="metric must be one of 'error', 'kappa'"):
        result["PA"].last("accuracy")
    with pytest.raises(ValueError, match="span must be one of"):
        result.plot(span="ever")


def test_neither_river_nor_matplotlib_is_imported() -> None:
    code = (
        "import sys; from rpnb.evaluate import prequential; from rpnb import baselines;"
        "prequential(baselines.PA(), [[0.0], [1.0]], [0, 1]);"
        "print(sorted({'river', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(  # noqa: S603 - the words are our own
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_notebook_shows_the_summary_as_a_table() -> None:
    X, y = blobs(1, 40)
    result = prequential({"<RPNB>": small()}, X, y)
    shown = result._repr_html_()
    assert shown.count("<tr>") == 4
    assert "<td>&lt;RPNB&gt;</td>" in shown
    assert "<th>learner</th>" in shown
    assert "40 rows, 3 classes" in shown
