"""What a new user met, one journey for each: wrong results, defaults, files, looks.

Each of these failed before 0.2.
"""

import csv
import json
import math
import random
import re
import shlex
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from journeys.steps import (
    PA,
    TIMEOUT,
    Python,
    Run,
    on_demand,
    rows,
    sklearn_table,
    variables,
    write,
)

pytestmark = on_demand


def rare(path: Path, n: int = 1500) -> None:
    """Write rows in random order, a twelfth of which are of the class that matters."""
    draw = random.Random(0)  # noqa: S311
    lines = ["amount,age,hour,kind"]
    for _ in range(n):
        x = [draw.gauss(0.0, 1.0) for _ in range(3)]
        fraud = x[0] + x[1] + 0.7 * draw.gauss(0.0, 1.0) > 2.2
        lines.append(",".join([*(f"{v:.4f}" for v in x), "fraud" if fraud else "fine"]))
    path.write_text("\n".join([*lines, ""]))


# Wrong results


def test_class_weights_hold_with_every_output(
    rpnb: Run, python: Python, tmp_path: Path
) -> None:
    rare(tmp_path / "rare.csv", 600)
    words = ("run", "rare.csv", "--target", "kind", "--model", "Pooled", "--json")
    given = (*words, "--class-weight", "balanced")
    plain = json.loads(rpnb(*given, "--save", "a.rpnb").stdout)
    more = ("--metrics", "log_loss", "--report", "r.html")
    full = json.loads(rpnb(*given, "--save", "b.rpnb", *more).stdout)
    errors = [found["learners"][0]["error"] for found in (plain, full)]
    assert errors[0] == errors[1]
    assert (
        python(
            "import numpy as np, rpnb\n"
            "X = np.random.default_rng(1).normal(size=(200, 3))\n"
            "a, b = (rpnb.load(f'{n}.rpnb').predict_proba(X) for n in 'ab')\n"
            "print((a == b).all())\n"
        )
        == "True\n"
    )


_WEIGHTED = """
import io, numpy as np
from rpnb import PooledClassifier
from rpnb.baselines import GaussianNB
from rpnb.evaluate import prequential
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 3))
y = np.where(X[:, 0] + rng.normal(size=500) > 1.5, "rare", "common")
def state(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()
for make in (lambda: PooledClassifier(class_weight="balanced", random_state=0),
             lambda: GaussianNB(class_weight={"rare": 9.0})):
    one, two, chunks = make(), make(), make()
    labels = one.predict_then_learn(X, y)
    more, _ = two.predict_then_learn(X, y, return_proba=True)
    parts = [chunks.predict_then_learn(X[i:i + 71], y[i:i + 71])
             for i in range(0, 500, 71)]
    found = prequential({"it": make()}, X, y, metrics=["error", "log_loss"])
    print((labels == more).all() and (labels == np.concatenate(parts)).all(),
          state(one) == state(two) == state(chunks),
          state(one) == state(found.models["it"]))
"""


def test_class_weights_hold_for_every_way_in(python: Python) -> None:
    assert set(python(_WEIGHTED).split()) == {"True"}


_LATE = """
import random
from rpnb.river import PooledClassifier
draw, model, right = random.Random(0), PooledClassifier(seed=0), []
for i in range(1200):
    y = draw.random() < 0.5
    x = {"noise": draw.gauss(0, 1)}
    if i >= 400:
        x["signal"] = draw.gauss(3 if y else -3, 1)
    right.append(model.predict_one(x) == y)
    model.learn_one(x, y)
print(sum(right[-400:]) / 400)
"""


def test_features_that_come_late_are_learned_in_river(python: Python) -> None:
    pytest.importorskip("river")
    assert float(python(_LATE)) > 0.9


def test_advice_knows_rare_classes(rpnb: Run, tmp_path: Path) -> None:
    rare(tmp_path / "rare.csv")
    said = rpnb("run", "rare.csv", "--target", "kind").stdout
    assert "--class-weight balanced" in said
    assert "balanced_accuracy" in said
    assert "sorted by label" not in said
    assert "--scale" not in said
    words = ("run", "rare.csv", "--target", "kind", "--metrics", "balanced_accuracy")
    more = ("auc", "average_precision", "best_f1")
    found = json.loads(rpnb(*words, *more, "--json").stdout)["learners"][0]
    figures = found["metrics"]
    assert set(figures) >= {"balanced_accuracy", *more}
    assert 0.5 < figures["balanced_accuracy"] < figures["auc"] < 1.0


def test_units_and_blanks_are_read_and_said(rpnb: Run, tmp_path: Path) -> None:
    lines = [
        f"{60 + i % 40 + 0.1:.1f} kg,{150 + i % 30},{'pq'[i % 40 > 19]}{' ' * (i % 3)}"
        for i in range(300)
    ]
    (tmp_path / "kg.csv").write_text("\n".join(["weight,height,label", *lines, ""]))
    done = rpnb("run", "kg.csv", "--target", "label")
    said = done.stdout + done.stderr
    assert "column weight is read as numbers in kg" in said
    assert "spaces around labels in column label are removed" in said
    assert "numbers     weight, height" in said
    assert "2 classes" in said


# Defaults


def test_the_accurate_learner_is_the_default(
    rpnb: Run, python: Python, tmp_path: Path
) -> None:
    sklearn_table("wine", tmp_path / "wine.csv")
    words = ("wine.csv", "--target", "label", "--shuffle", 1, "--json")
    assert json.loads(rpnb("run", *words).stdout)["learners"][0]["name"] == "Pooled"
    compared = json.loads(rpnb("compare", *words).stdout)["learners"]
    assert compared[0]["name"] == "Pooled"
    assert compared[0]["error"] == min(each["error"] for each in compared)
    assert rpnb("learners").stdout.split().index("Pooled") < 10
    summary = python("import rpnb; print(rpnb.__doc__)")
    assert summary.index("PooledClassifier") < summary.index("RPNBClassifier")


_EVALUATED = """
import sys, warnings
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator
from rpnb import PooledClassifier, RPNBClassifier, expected_failed_checks
from rpnb.evaluate import prequential
X, y = load_wine(return_X_y=True, as_frame=True)
frame = X.assign(kind=y).sample(frac=1.0, random_state=0)
learners = {"pool": PooledClassifier(random_state=0), "theirs": GaussianNB()}
print(*prequential(learners, frame, "kind").models)
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    RPNBClassifier(random_state=0).fit(X, y)
print(any("of column proline" in str(each.message) for each in found))
print(len(expected_failed_checks(PooledClassifier())) > 0)
"""


def test_learners_of_others_and_warnings_by_name(
    environment: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pandas")
    done = subprocess.run(  # noqa: S603
        [environment / "python", "-c", _EVALUATED],
        cwd=tmp_path,
        env=variables(),
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT,
    )
    assert done.stdout.split() == ["pool", "theirs", "True", "True"]
    assert done.stderr == ""


_LOADED = """
import pandas as pd, rpnb
from rpnb.baselines import GaussianNB
from rpnb.evaluate import prequential
model = rpnb.load("m.rpnb")
print(type(model).__name__)
fresh = rpnb.PooledClassifier(list(model.weights_)[:2])
frame = pd.read_csv("holes.csv")
result = prequential([rpnb.PooledClassifier(random_state=0), GaussianNB()],
                     frame.drop(columns="word").fillna(0), "label")
print(len(result.models))
"""


def test_names_are_found_and_gaps_are_taken(
    rpnb: Run, python: Python, tmp_path: Path
) -> None:
    lines = [f"{a if i % 5 else ''},{b},{c}" for i, (a, b, c) in enumerate(rows())]
    (tmp_path / "holes.csv").write_text("\n".join(["size,word,label", *lines, ""]))
    words = ("holes.csv", "--target", "label", "--model", "pooled")
    rpnb("run", *words, "--class-weight", "balanced", "--save", "m.rpnb")
    assert python(_LOADED).split() == ["PooledClassifier", "2"]


# Files


_GRADES = """
import numpy as np, pandas as pd
from rpnb import PooledClassifier
rng = np.random.default_rng(0)
grades = [f"grade {i}" for i in range(30)]
places = rng.integers(0, 30, 1000)
X = pd.DataFrame({"size": rng.normal(size=1000)})
y = places + 3 * X["size"] > 15
for ordered in (True, False):
    X["grade"] = pd.Categorical.from_codes(places, grades, ordered=ordered)
    print((PooledClassifier(random_state=0).predict_then_learn(X, y) != y).mean())
"""


def test_an_order_of_categories_is_used(python: Python) -> None:
    pytest.importorskip("pandas")
    ordered, unordered = map(float, python(_GRADES).split())
    assert ordered < 0.6 * unordered


def test_files_of_all_sorts(rpnb: Run, tmp_path: Path) -> None:
    lines = [
        f"{i};{str((i % 10) / 4).replace('.', ',') if i % 7 else 'n/a'};{i % 4};"
        f"{'uv'[i % 2]};{'none' if i % 3 else '4'};{'pq'[i % 10 > 4]}"
        for i in range(120)
    ]
    head = ["# exported", "# by hand", "id;size;size;word;more;label"]
    (tmp_path / "sheet.csv").write_text("\n".join([*head, *lines, ""]))
    refused = rpnb("run", "sheet.csv", "--target", "label", code=2)
    assert "--comment '#'" in refused.stderr
    suggested = refused.stderr.split("Try: rpnb ")[1].split()
    rpnb(*shlex.split(" ".join(suggested)))
    words = ("run", "sheet.csv", "--target", "label", "--json")
    given = ("--comment", "#", "--decimal", ",", "--drop", "id")
    found = json.loads(rpnb(*words, *given).stdout)
    assert found["columns"]["numbers"] == ["size", "size.2", "more"]
    skipped = json.loads(rpnb(*words, "--skip-rows", 2, *given[2:]).stdout)
    assert skipped["learners"][0]["error"] == found["learners"][0]["error"]
    nested = [
        {"size": {"w": a, "h": i % 3}, "word": b, "label": c}
        for i, (a, b, c) in enumerate(rows())
    ]
    (tmp_path / "rows.json").write_text(json.dumps(nested))
    found = json.loads(rpnb("run", "rows.json", "--target", "label", *PA).stdout)
    assert found["columns"]["numbers"] == ["size.w", "size.h"]
    write(tmp_path / "plain.csv")
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as archive:
        archive.write(tmp_path / "plain.csv", "plain.csv")
    assert json.loads(rpnb("run", "rows.zip", "--target", "label", *PA).stdout)
    said = rpnb("run", "irsi", code=2).stderr
    assert "did you mean the dataset Iris?" in said
    assert "a folder, not a file" in rpnb("run", ".", code=2).stderr


def test_words_and_commas_among_numbers_have_one_command(
    rpnb: Run, tmp_path: Path
) -> None:
    lines = ["size;price;label"]
    for i in range(120):
        size = "missing" if i % 9 == 5 else (i % 10) / 4
        lines.append(f"{size};0,{i % 7}{i % 5}{i % 3};{'pq'[i % 10 > 4]}")
    (tmp_path / "gone.csv").write_text("\n".join([*lines, ""]))
    refused = rpnb("run", "gone.csv", "--target", "label", "--json", code=2).stderr
    assert "if it stands for a missing value, use --na missing" in refused
    suggested = shlex.split(refused.split("Try: rpnb ")[1])
    options = set(zip(suggested[-4::2], suggested[-3::2], strict=True))
    assert options == {("--na", "missing"), ("--decimal", "price=,")}
    found = json.loads(rpnb(*suggested).stdout)
    assert found["columns"]["numbers"] == ["size", "price"]
    assert found["learners"][0]["error"] < 0.2


# Costs and reasons


def test_mistakes_that_cost_more_are_made_less(rpnb: Run, tmp_path: Path) -> None:
    rare(tmp_path / "rare.csv")
    rpnb("fit", "rare.csv", "--target", "kind", "--save", "m.rpnb")
    costs = "true,fine,fraud\nfine,0,1\nfraud,20,0\n"
    (tmp_path / "costs.csv").write_text(costs)
    counts = []
    for more in ((), ("--costs", "costs.csv")):
        told = rpnb("predict", "rare.csv", "--load", "m.rpnb", *more).stdout
        found = [line["prediction"] for line in csv.DictReader(told.splitlines())]
        counts.append(found.count("fraud"))
    assert counts[1] > 1.3 * counts[0]


def test_rows_of_a_table_have_no_order_and_those_of_a_stream_do(
    rpnb: Run, tmp_path: Path
) -> None:
    labels = [int(i // 25 % 2 > 0) for i in range(1000)]  # runs of 25
    draw = random.Random(0)  # noqa: S311
    lines = [f"{label + draw.gauss(0, 1):.4f},{'pq'[label]}" for label in labels]
    for name, some in (("old", lines[:900]), ("new", lines[900:])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,label", *some, ""]))
    back = [*reversed(lines[900:])]
    (tmp_path / "back.csv").write_text("\n".join(["x,label", *back, ""]))
    rpnb("run", "old.csv", "--target", "label", "--save", "m.rpnb")

    def predicted(name: str, *more: str) -> list[str]:
        told = rpnb("predict", name, "--load", "m.rpnb", *more).stdout
        return [line.partition(",")[2] for line in told.splitlines()[1:]]

    assert predicted("new.csv") == predicted("back.csv")[::-1]
    assert predicted("new.csv", "--next") != predicted("new.csv")
    rpnb("fit", "old.csv", "--target", "label", "--save", "m.rpnb")
    assert predicted("new.csv") == predicted("back.csv")[::-1]


_REASONS = """
import numpy as np
from sklearn.datasets import load_iris
from rpnb import PooledClassifier
X, y = load_iris(return_X_y=True)
model = PooledClassifier(random_state=0).fit(X, y)
found = model.explain(X[:3])
print(np.abs(found.values.sum(axis=1) - (found.score - found.base)).max())
print(len(found.member_names), np.argmax(model.feature_importance()))
print("<table" in found._repr_html_())
costs = np.array([[0, 1, 1], [50, 0, 1], [50, 1, 0]])
P = model.predict_proba(X)
print((model.predict(X, costs=costs) == (P @ costs).argmin(axis=1)).all())
"""


def test_the_pool_gives_reasons(rpnb: Run, python: Python, tmp_path: Path) -> None:
    rest, members, best, table, costs = python(_REASONS).split()
    assert float(rest) < 1e-6
    assert int(members) > 3
    assert int(best) in (2, 3)  # of iris, the petals
    assert (table, costs) == ("True", "True")
    sklearn_table("iris", tmp_path / "iris.csv")
    words = ("iris.csv", "--target", "label", "--shuffle", 1, "--report", "r.html")
    rpnb("run", *words)
    page = (tmp_path / "r.html").read_text()
    assert "Importance" in page
    assert "petal" in page or "x2" in page


# Looks


def test_the_report_shows_the_winner_and_what_is_sure(
    rpnb: Run, tmp_path: Path
) -> None:
    lines = ["x,y,label"]
    for i in range(1200):
        angle, ring = i * 2.4, i * 7919 % 3
        radius = 1 + ring + 0.2 * math.sin(i)
        x, y = radius * math.cos(angle), radius * math.sin(angle)
        lines.append(f"{x:.4f},{y:.4f},ring{ring}")
    (tmp_path / "rings.csv").write_text("\n".join([*lines, ""]))
    words = ("compare", "rings.csv", "--target", "label", "--learners", "PA", "Pooled")
    said = rpnb(*words, "--report", "r.html").stdout
    sentence = "At 95 % confidence: lower than PA."
    assert f"Lowest error: Pooled. {sentence}" in said
    page = (tmp_path / "r.html").read_text()
    assert sentence in page
    charts: list[dict[str, Any]] = [
        json.loads(each)
        for each in re.findall(
            r'<script type="application/json">(.*?)</script>', page, re.DOTALL
        )
    ]
    curves = [each for each in charts if "series" in each]
    first = next(each["series"] for each in curves)
    winner = max(first, key=lambda each: each["width"])
    assert winner["name"] == "Pooled"
    assert "uPlot" in page
    assert 'src="http' not in page
