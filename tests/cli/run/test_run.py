"""`rpnb run` and `rpnb compare`: one pass over a file, and what it leaves."""

import csv
import gzip
import inspect
import io
import json
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from cli.run.three_classes import rows, write_rows
from rpnb import RPNBClassifier, datasets
from rpnb.baselines import make
from rpnb.cli import main
from rpnb.cli.run.stream_progress import StreamProgress, line
from rpnb.files import LabelledFile, ReadOptions

N = 700
FEW = ["--model", "RPNB", "--n-estimators", "7", "--quiet"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_rows(tmp_path, N)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """Return the JSON that a command prints."""
    code = main([*map(str, words), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def predictions(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_predicts_each_row_then_learns_it(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.csv"
    found = run(capsys, "run", path, "--target", "kind", *FEW, "--predictions", out)
    X, y = rows(N)
    model = RPNBClassifier(7, random_state=0)
    predicted = model.predict_then_learn(X, y)
    assert found["rows"] == N
    assert found["features"] == 4
    assert found["classes"] == ["one", "three", "two"]
    ours, majority, last = found["learners"]
    assert ours["mistakes"] == int(np.sum(predicted != y)) == ours["updates"]
    assert ours["error"] == ours["mistakes"] / N
    assert ours["window_error"] == ours["error"]  # all rows are in the window
    assert sum(map(sum, ours["confusion"])) == N
    written = predictions(out)
    assert [int(line["row"]) for line in written] == list(range(1, N + 1))
    assert [line["truth"] for line in written] == y.tolist()
    shown = ["" if label is None else label for label in predicted.tolist()]
    assert [line["prediction"] for line in written] == shown
    for name, reference in (("MajorityClass", majority), ("NoChange", last)):
        wrong = make(name).predict_then_learn(X, y) != y
        assert reference["mistakes"] == int(np.sum(wrong))
        assert reference["reference"]


def row_by_row(model: Any, X: Any, y: Any) -> list[float]:
    probabilities = []
    for i in range(len(y)):
        if hasattr(model, "classes_"):
            at = list(model.classes_).index(model.predict(X[i : i + 1])[0])
            probabilities.append(float(model.predict_proba(X[i : i + 1])[0, at]))
        else:
            probabilities.append(float("nan"))
        model.predict_then_learn(X[i : i + 1], y[i : i + 1])
    return probabilities


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (FEW, RPNBClassifier(7, random_state=0)),
        (
            [*FEW, "--class-prior", "frequency"],
            RPNBClassifier(7, class_prior="frequency", random_state=0),
        ),
        (
            [*FEW, "--update", "all", "--class-prior", "frequency"],
            RPNBClassifier(7, update="all", class_prior="frequency", random_state=0),
        ),
        (["--model", "GaussianNB", "--quiet"], make("GaussianNB")),
    ],
    ids=["mistakes", "frequency", "all", "GaussianNB"],
)
def test_probabilities_are_those_of_the_model_before_the_row(
    words: list[str], model: Any, path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:201]))
    command = ["run", str(path), "--target", "kind", *words, "--predictions", str(out)]
    assert main(command) == 0
    X, y = rows(N)
    found = [float(line["probability"] or "nan") for line in predictions(out)]
    np.testing.assert_allclose(found, row_by_row(model, X[:200], y[:200]), rtol=1e-5)


@pytest.mark.parametrize(("size", "batch"), [(7, 1), (33, 1), (5000, 1), (33, 16)])
def test_no_result_depends_on_the_size_of_chunks(
    size: int, batch: int, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", path, "--target", "kind", *FEW, "--batch-size", batch]
    usual = run(capsys, *words)  # all rows in one chunk
    cut = run(capsys, *words, "--chunk-rows", size)
    for a, b in zip(usual["learners"], cut["learners"], strict=True):
        del a["seconds"], b["seconds"]
        assert a == b


def test_several_learners_are_as_each_alone(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", path, "--target", "kind", "--quiet"]
    together = run(
        capsys, *words, "--compare", "AROW", "SCW", "OGD", "--param", "AROW.C=0.5"
    )
    found = {learner["name"]: learner for learner in together["learners"]}
    assert list(found) == ["AROW", "SCW", "OGD", "majority class", "same as last"]
    alone = run(capsys, *words, "--model", "AROW", "--param", "C=0.5")
    assert found["AROW"]["mistakes"] == alone["learners"][0]["mistakes"]
    assert found["AROW"]["parameters"]["C"] == 0.5
    scw = make("SCW1").predict_then_learn(*rows(N))
    assert found["SCW"]["mistakes"] == int(np.sum(scw != rows(N)[1]))


def test_compare_takes_a_dataset_by_name_in_a_random_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RPNB_DATA", raising=False)
    found = run(capsys, "compare", "iris", *FEW[2:])
    names = [learner["name"] for learner in found["learners"]]
    assert names[:6] == ["Pooled", "RPNB", "AROW", "SCW", "PA", "GaussianNB"]
    assert names[6:] == ["majority class", "same as last"]
    assert found["order"] == "seed 0"
    data = datasets.load("iris")
    order = np.random.default_rng(0).permutation(150)
    X, y = data.X[order], data.y[order]
    model = RPNBClassifier(7, random_state=0)
    predicted = model.predict_then_learn(X, y, classes=np.unique(y))
    assert found["learners"][1]["mistakes"] == int(np.sum(predicted != y))


def test_a_pooled_model_is_resumed_under_its_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{i % 7},{i % 5},{'pq'[i % 7 > 3]}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    words = [str(tmp_path / "rows.csv"), "--target", "y"]
    model = str(tmp_path / "model.rpnb")
    first = run(
        capsys, "run", *words, "--model", "Pooled", "--param", "n_projections=16",
        "--save", model,
    )  # fmt: skip
    again = run(capsys, "run", *words, "--load", model)
    for found in (first, again):
        assert found["learners"][0]["name"] == "Pooled"
    assert again["learners"][0]["mistakes"] < first["learners"][0]["mistakes"]


@pytest.mark.parametrize("missing", ["refuse", "mean"])
def test_saved_and_loaded_is_as_if_never_stopped(
    missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(8)
    hole = "" if missing == "mean" else "0"
    lines = [
        f"{rng.normal():.3f},{rng.choice(['u', 'v', 'w', 'x'])},"
        f"{hole if rng.random() < 0.1 else rng.integers(9)},{rng.choice(['p', 'q'])}"
        for _ in range(400)
    ]
    head = "a,word,b,y"
    for name, part in (("all", lines), ("1", lines[:150]), ("2", lines[150:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *part]) + "\n")
    common = ["--target", "y", "--quiet", "--missing", missing]
    go = ["--model", "RPNB", "--n-estimators", "5", *common]
    for name in ("all", "1", "2"):
        begin = [*common, "--load", tmp_path / "1.rpnb"] if name == "2" else go
        files = {"--predictions": f"{name}.out", "--save": f"{name}.rpnb"}
        more = [word for key, file in files.items() for word in (key, tmp_path / file)]
        run(capsys, "run", tmp_path / f"{name}.csv", *begin, *more)
    whole = predictions(tmp_path / "all.out")
    parts = predictions(tmp_path / "1.out") + predictions(tmp_path / "2.out")
    keep = ("truth", "prediction", "probability")
    assert [[line[k] for k in keep] for line in whole] == [
        [line[k] for k in keep] for line in parts
    ]
    assert (tmp_path / "all.rpnb").read_bytes() == (tmp_path / "2.rpnb").read_bytes()
    model = RPNBClassifier.load(tmp_path / "2.rpnb")
    assert model.n_samples_seen_ == 400


def test_the_standard_input_is_a_file_too(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--target", "kind", *FEW]
    usual = run(capsys, "run", path, *words)
    for data in (path.read_bytes(), gzip.compress(path.read_bytes())):
        stdin = io.TextIOWrapper(io.BytesIO(data))
        monkeypatch.setattr(sys, "stdin", stdin)
        found = run(capsys, "run", "-", *words, "--format", "csv")
        assert found["learners"][0]["mistakes"] == usual["learners"][0]["mistakes"]
        assert found["source"] == "standard input"


def test_sparse_rows_go_to_learners_that_take_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = rows(N)
    X[X < 0.5] = 0.0
    numbers = np.unique(y, return_inverse=True)[1]
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, numbers, str(path), zero_based=False)
    found = run(capsys, "run", path, "--model", "PA", "--quiet")
    predicted = make("PA").predict_then_learn(csr_array(X), numbers)
    assert found["learners"][0]["mistakes"] == int(np.sum(predicted != numbers))
    assert found["features"] == 4
    assert main(["run", str(path), "--model", "GaussianNB"]) == 2
    refused = capsys.readouterr().err
    assert "GaussianNB does not support sparse rows; Pooled, RPNB, Percep" in refused
    assert "AROW" not in refused  # keeps a matrix by default


def test_declared_classes_are_known_from_the_first_row_on(
    path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    words = ["run", str(path), "--target", "kind", *FEW, "--predictions", str(out)]
    assert main([*words, "--classes", "one", "two", "three"]) == 0
    X, y = rows(N)
    model = RPNBClassifier(7, random_state=0)
    predicted = model.predict_then_learn(X, y, classes=["one", "two", "three"])
    assert [line["prediction"] for line in predictions(out)] == predicted.tolist()


def test_a_table_and_a_report(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    words = ["run", str(path), "--target", "kind", *FEW, "--report", str(report)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert f"{path}: {N} rows, 4 features, 3 classes, in the order of the file" in out
    named = [line.split("  ")[0] for line in out.splitlines()]
    assert {"RPNB", "majority class", "same as last"} <= set(named)
    page = report.read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count('<figure class="plot">') == 3  # two curves, and the balance
    assert "RPNB has an error of" in page
    assert "; the better reference, " in page
    for title in ("Scores by class", "Class balance", "Learning curves"):
        assert f">{title}</h2>" in page
    for title in ("Calibration", "Confusion matrix", "Explanations"):
        assert f">{title}</h2>" in page
        assert f">{title}</a>" in page
    assert "Members of the pool" not in page


def test_the_report_of_a_pool_shows_its_members(path: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    words = ["run", str(path), "--target", "kind", "--model", "Pooled", "--quiet"]
    options = ["--param", "n_projections=16", "--param", "members=mergeable"]
    assert main([*words, *options, "--report", str(report)]) == 0
    page = report.read_text()
    assert ">Members of the pool</h2>" in page
    for name in ("class_covariance", "transitions"):
        assert page.count(f"<figcaption><b>{name}</b>") == 1


@pytest.mark.parametrize(
    ("density", "said"), [("log", "are added"), ("product", "are multiplied")]
)
def test_the_table_notes_the_density_of_the_trees(
    path: Path, capsys: pytest.CaptureFixture[str], density: str, said: str
) -> None:
    words = ["run", str(path), "--target", "kind", "--model", "OnlineBagging"]
    options = ["--param", f"density={density}", "--param", "n_estimators=2", "--quiet"]
    assert main([*words, *options]) == 0
    (line,) = [
        line for line in capsys.readouterr().out.splitlines() if "densities" in line
    ]
    assert line.startswith("OnlineBagging: ")
    assert said in line
    assert f'density="{density}"' in line


def test_the_header_lists_the_columns_by_their_role(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    rows = [f"{i},{i % 7},{'uv'[i % 2]},$3,{'pq'[i % 3 == 0]}" for i in range(30)]
    path.write_text("\n".join([",size,colour,price,label", *rows]) + "\n")
    words = ["run", str(path), "--target", "-1", "--model", "PA", "--drop", "size"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1:4] == [
        "numbers     price",
        "categories  colour (2 values)",
        "left out    size (--drop), Unnamed: 0 (an index without a name)",
    ]
    note = "column price is read as numbers, such as '$3'"
    assert f"{path}: {note}\n" in err
    found = run(capsys, *words, "--quiet")
    assert found["notes"][0] == note
    assert found["columns"]["categories"] == {"colour": 2}


def test_a_learner_that_learned_nothing_gets_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sorted.csv"
    lines = [f"{i % 7},{i % 11},{'abc'[i // 50]}" for i in range(150)]
    path.write_text("\n".join(["x,z,y", *lines]) + "\n")
    words = ["run", str(path), "--target", "y", "--model", "PA", "--quiet"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert (
        "PA does not beat “same as last” (error 0.0200). The rows are sorted by label"
        in said
    )
    assert "use `rpnb fit`, or --shuffle 1, if their order has no meaning" in said
    assert "informative columns" not in said
    assert main([*words, "--shuffle", "1"]) == 0
    assert "--shuffle" not in capsys.readouterr().out


def test_a_learner_that_beats_the_references_is_left_alone(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(path), "--target", "kind", *FEW]) == 0
    assert "not beat" not in capsys.readouterr().out


def test_the_report_has_the_advice_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, report = tmp_path / "rare.csv", tmp_path / "report.html"
    lines = [f"{i * i % 7},{i % 11},{'ab'[i * i % 20 == 9]}" for i in range(300)]
    path.write_text("\n".join(["x,z,y", *lines]) + "\n")
    words = ["compare", str(path), "--target", "y", "--quiet", "--learners"]
    assert main([*words, "PA", "OGD", "Perceptron", "--report", str(report)]) == 0
    said = capsys.readouterr().out
    first = "PA, OGD and Perceptron do not beat “majority class”"
    second = "80.0% of the rows have the label 'a': the error hardly reflects"
    page = unescape(report.read_text("utf-8"))
    head = page[: page.index("<nav")]
    for hint in (first, second, "--metrics balanced_accuracy auc average_precision"):
        assert hint in said
        assert hint in head
    assert "sorted by label" not in head


def test_a_single_label_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.csv"
    file.write_text("a,y\n" + "1,x\n2,x\n" * 20)
    assert main(["run", str(file), "--target", "y", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "40 rows, 1 feature, 1 class, in the order" in said
    assert "All rows have the label 'x': nothing can be learned." in said
    assert "not beat" not in said


def test_a_run_imports_nothing_that_it_does_not_need(path: Path) -> None:
    code = (
        "import sys, rpnb.cli as c; c.main(sys.argv[1:]); "
        "sys.stderr.write(' '.join(sys.modules))"
    )
    words = ["run", str(path), "--target", "kind", *FEW]
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "rpnb.cli.run.streaming" in loaded
    unneeded = {"rpnb.baselines", "rpnb.study.run", "rpnb.study.page", "matplotlib"}
    assert not loaded & (unneeded | {"river", "rpnb.datasets", "peers"})


def test_every_parameter_of_the_estimator_is_an_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    parameters = list(inspect.signature(RPNBClassifier.__init__).parameters)[1:]
    assert len(parameters) >= 13
    for name in parameters:
        assert f"--{name.replace('_', '-')} " in shown, name
    # Words to choose from are named, also those of a union.
    assert "{gaussian,bernoulli,achlioptas,very_sparse,hadamard}" in shown
    assert "--n-components N" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--model", "RPNB", "--n-estimators", "0"],
            "n_estimators must be an integer of at least 1",
        ),
        (
            ["--model", "RPNB", "--projection", "cauchy"],
            "projection must be one of 'gaussian'",
        ),
        (["--model", "AROV"], "unknown learner 'AROV' (did you mean AROW"),
        (["--model", "OGD", "--n-estimators", "3"], "--n-estimators is a parameter of"),
        (["--n-estimators", "3"], "which is not among the learners: use --model RPNB"),
        (
            ["--model", "PA", "--class-weight", "balanced"],
            "has no such parameter; it is one of Pooled, RPNB, ",
        ),
        (["--model", "AROW", "--param", "D=3"], "AROW has no parameter 'D'"),
        (
            ["--compare", "AROW", "PA", "--param", "C=3"],
            "--param C=3 is ambiguous",
        ),
        (["--param", "what"], "--param must be [LEARNER.]name=value"),
        (["--param", "PA.C=1"], "PA is not among the learners"),
        (
            ["--model", "RPNB", "--batch-size", "none"],
            "--batch-size must be a number",
        ),
        (["--compare", "AROW", "PA", "--save", "m"], "--save writes one model"),
        (["--load", "nowhere.rpnb"], "nowhere.rpnb cannot be loaded: No such file"),
        (["--load", "m", "--model", "PA"], "--load resumes the saved learner"),
        (["--chunk-rows", "0"], "--chunk-rows: must be at least 1"),
        (["--shuffle", "x"], "must be a whole number"),
        (["--predictions", "no/such/folder/p.csv"], "p.csv cannot be written"),
        (["--report", "."], "is a folder"),
        (["--report", "x", "--save", "x"], "used twice"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_one_line_and_exit_code_2(
    words: list[str],
    message: str,
    path: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main(["run", str(path), "--target", "kind", "--quiet", *words]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert sorted(tmp_path.iterdir()) == before


def test_a_model_of_another_origin_is_not_resumed(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = RPNBClassifier(3, random_state=0).fit(*rows(N))
    model.save(tmp_path / "other.rpnb")
    words = [
        "run",
        str(path),
        "--target",
        "kind",
        "--load",
        str(tmp_path / "other.rpnb"),
    ]
    assert main(words) == 2
    assert "not written by rpnb fit or rpnb run --save" in capsys.readouterr().err


def test_arrays_and_labels_of_a_chunk_reach_the_learner_as_they_are(path: Path) -> None:
    with LabelledFile(str(path), ReadOptions(target="kind")) as file:
        chunks = list(file.chunks(100))
    assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), rows(N)[0])
    assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), rows(N)[1])


def test_the_line_shows_rows_speed_errors_and_updates() -> None:
    state = StreamProgress(
        rows=12_000,
        share=0.5,
        seconds=4.0,
        errors={"RPNB": (0.25, 0.125)},
        window=1000,
        updates=3000,
    )
    shown = line(state, bar=True)
    assert shown.startswith(
        "[##########..........]  12,000 rows (50%)  3,000 rows/s  "
        "RPNB 25.00%, last 1,000: 12.50%  3,000 updates"
    )
    assert line(state, bar=False).startswith("12,000 rows (50%)")
