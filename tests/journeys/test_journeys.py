"""The first hour of a new user, with the installed wheel and own files.

The wheel is built once, and installed into a fresh environment that sees the packages
of this one. `make test-journeys` runs it; without the environment variable
RPNB_JOURNEYS these tests are skipped, since every step is its own process.
RPNB_WHEEL names another wheel to play the journeys with, and RPNB_PROGRAMS the folder
of programs of an environment that has one already.
"""

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_sorted_iris(rpnb: Run, python: Python, tmp_path: Path) -> None:
    sklearn_table("iris", tmp_path / "iris.csv")
    said = rpnb("run", "iris.csv", "--target", "label", "--model", "PA")
    assert "does not beat “same as last”" in said.stdout
    assert "use `rpnb fit`, or --shuffle 1" in said.stdout
    found = rpnb("run", "iris.csv", "--target", -1, "--shuffle", 1, "--json")
    assert json.loads(found.stdout)["learners"][0]["name"] == "Pooled"
    assert json.loads(found.stdout)["learners"][0]["error"] < 0.15
    code = (
        "from rpnb import PooledClassifier; from sklearn.datasets import load_iris; "
        "X, y = load_iris(return_X_y=True); "
        "print(PooledClassifier(random_state=0).fit(X, y).score(X, y))"
    )
    assert float(python(code)) > 0.9


def test_wine_raw_and_scaled(rpnb: Run, tmp_path: Path) -> None:
    sklearn_table("wine", tmp_path / "wine.csv")
    words = ("run", "wine.csv", "--target", "label", "--shuffle", 1)
    usual = rpnb(*words, "--json")
    assert json.loads(usual.stdout)["learners"][0]["error"] <= 0.10
    assert "--scale" not in usual.stdout + usual.stderr
    raw = rpnb(*words, "--model", "rpnb")
    assert "Try --scale" in raw.stdout + raw.stderr
    scaled = json.loads(rpnb(*words, "--model", "rpnb", "--scale", "--json").stdout)
    assert scaled["learners"][0]["error"] <= 0.10


def test_decimal_commas(rpnb: Run, tmp_path: Path) -> None:
    write(tmp_path / "de.csv", ";", ",")
    refused = rpnb("run", "de.csv", "--target", "label", *PA, code=2)
    assert "column size: '0,0' is a number in another notation" in refused.stderr
    assert "--decimal ," in refused.stderr
    write(tmp_path / "two.csv", ";", ",")
    lines = (tmp_path / "two.csv").read_text().splitlines()
    lines = [f"note {i};{line}" for i, line in enumerate(lines)]
    (tmp_path / "two.csv").write_text("\n".join(lines) + "\n")
    refused = rpnb("run", "two.csv", "--target", "label", *PA, code=2)
    command = refused.stderr.splitlines()[-1].removeprefix("Try: rpnb ")
    assert json.loads(rpnb(*shlex.split(command)).stdout)["rows"] == 120
    found = json.loads(
        rpnb("run", "de.csv", "--target", "label", *PA, "--decimal", ",").stdout
    )
    assert found["columns"]["numbers"] == ["size"]
    assert found["columns"]["categories"] == {"word": 2}
    assert found["rows"] == 120


def test_the_index_of_pandas(rpnb: Run, tmp_path: Path) -> None:
    import pandas  # type: ignore[import-untyped]

    frame = pandas.DataFrame(rows(), columns=["size", "word", "label"])
    frame.to_csv(tmp_path / "frame.csv")
    frame.sample(frac=1, random_state=0).to_parquet(tmp_path / "frame.parquet")
    for name in ("frame.csv", "frame.parquet"):
        found = json.loads(rpnb("run", name, "--target", "label", *PA).stdout)
        assert found["features"] == 2
        assert len(found["columns"]["dropped"]) == 1


def test_text_columns(rpnb: Run, tmp_path: Path) -> None:
    lines = [f"{a},{b},note no. {i},{c}" for i, (a, b, c) in enumerate(rows())]
    (tmp_path / "notes.csv").write_text("\n".join(["size,word,note,label", *lines, ""]))
    refused = rpnb("run", "notes.csv", "--target", "label", *PA, code=2)
    assert "column note: 120 different values" in refused.stderr
    words = ("run", "notes.csv", "--target", "label", "--model", "PA", "--drop", "note")
    said = rpnb(*words).stdout
    assert "numbers     size\ncategories  word (2 values)\nleft out    note" in said


_FRAME = """
import pandas as pd
from rpnb import PooledClassifier

frame = pd.read_csv("parcels.csv", parse_dates=["sent"])
y = frame.pop("late")
model = PooledClassifier(random_state=0).fit(frame, y)
model.save("python.rpnb")
new = frame.head(20).assign(country="PE")
print((model.predict(frame) != y).mean(), len(model.predict(new)))
"""


def test_categories_text_and_dates_as_they_are(
    rpnb: Run, python: Python, tmp_path: Path
) -> None:
    lines = ["country,shop,sent,note,late"]
    for i in range(400):
        country, hour = ("NO", "IT", "CH", "EG", "")[i * 7 % 5], i * 11 % 24
        late = "yes" if (country in ("IT", "CH")) ^ (hour >= 12) else "no"
        note = f"left by the {'front' if i % 2 else 'back'} door of house {i}"
        when = f"2026-{1 + i % 12:02d}-{1 + i % 28:02d} {hour:02d}:15:00"
        lines.append(f"{country},s{i * 13 % 97},{when},{note},{late}")
    (tmp_path / "parcels.csv").write_text("\n".join([*lines, ""]))
    said = rpnb("fit", "parcels.csv", "--target", "late", "--save", "m.rpnb").stdout
    assert "categories  country (5 values), shop (97 values)" in said
    assert "text        note\ndates       sent" in said
    (tmp_path / "new.csv").write_text("\n".join(lines[:40]).replace("NO", "PE") + "\n")
    told = rpnb("predict", "new.csv", "--load", "m.rpnb").stdout
    assert len(told.splitlines()) == 40
    error, predicted = python(_FRAME).split()
    assert float(error) < 0.15
    assert predicted == "20"


def test_tabs_and_old_encodings(rpnb: Run, tmp_path: Path) -> None:
    write(tmp_path / "tabs.txt", "\t", header="size,wörd,label")
    text = (tmp_path / "tabs.txt").read_text()
    (tmp_path / "old.csv").write_bytes(text.encode("cp1252"))
    (tmp_path / "wide.csv").write_bytes(text.encode("utf-16"))
    words = ("--target", "label", *PA)
    found = [
        rpnb("run", "tabs.txt", *words, "--format", "csv", "--delimiter", "tab"),
        rpnb("run", "old.csv", *words),
        rpnb("run", "wide.csv", *words),
    ]
    for each in found:
        assert json.loads(each.stdout)["columns"]["categories"] == {"wörd": 2}


def test_rows_without_labels(rpnb: Run, tmp_path: Path) -> None:
    lines = [f"{a},{b},{c if i % 3 else ''}" for i, (a, b, c) in enumerate(rows())]
    (tmp_path / "some.csv").write_text("\n".join(["size,word,label", *lines]) + "\n")
    refused = rpnb("run", "some.csv", "--target", "label", *PA, code=2)
    assert "--unlabelled predict" in refused.stderr
    words = ("run", "some.csv", "--target", "label", *PA, "--unlabelled", "predict")
    found = json.loads(rpnb(*words, "--predictions", "out.csv").stdout)
    assert (found["rows"], found["unlabelled"]) == (80, 40)
    with (tmp_path / "out.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == 120
    assert all(line["prediction"] for line in written[2:])


def test_a_model_is_used_on_new_rows(rpnb: Run, tmp_path: Path) -> None:
    write(tmp_path / "old.csv")
    new = "\n".join(["word,size,id", *(f"{b},{a},7" for a, b, _ in rows(20))])
    (tmp_path / "new.csv").write_text(new + "\n")
    rpnb("run", "old.csv", "--target", "label", *PA, "--save", "model.rpnb")
    said = rpnb("predict", "new.csv", "--load", "model.rpnb").stdout
    assert said.splitlines()[0] == "row,prediction"
    assert len(said.splitlines()) == 21
    refused = rpnb(
        "predict", "new.csv", "--load", "model.rpnb", "--output", "new.csv", code=2
    )
    assert "is an input file" in refused.stderr
    assert (tmp_path / "new.csv").read_text() == new + "\n"
    assert "AROW" in rpnb("learners").stdout


def test_a_sorted_table_is_learned_and_used(rpnb: Run, tmp_path: Path) -> None:
    sklearn_table("digits", tmp_path / "digits.csv")
    head, *lines = (tmp_path / "digits.csv").read_text().splitlines()
    lines.sort(key=lambda line: line.rsplit(",", 1)[1])
    for name, kept in (("new.csv", lines[::3]), ("old.csv", lines)):
        some = [line for i, line in enumerate(kept) if name == "new.csv" or i % 3]
        (tmp_path / name).write_text("\n".join([head, *some]) + "\n")
    said = rpnb("run", "old.csv", "--target", "label", "--save", "stream.rpnb").stdout
    assert said.startswith("Do not use stream.rpnb for other rows")
    said = rpnb("fit", "old.csv", "--target", "label", "--save", "table.rpnb").stdout
    assert "rpnb predict NEW_FILE --load table.rpnb" in said
    truth = [line.rsplit(",", 1)[1] for line in lines[::3]]
    for name, least in (("table.rpnb", 0.97), ("stream.rpnb", 0.9)):
        found = rpnb("predict", "new.csv", "--load", name).stdout.splitlines()[1:]
        right = [a.split(",")[1] == b for a, b in zip(found, truth, strict=True)]
        assert sum(right) / len(right) > least, name


def test_missing_values_need_no_option(rpnb: Run, tmp_path: Path) -> None:
    lines = [f"{a if i % 5 else ''},{b},{c}" for i, (a, b, c) in enumerate(rows())]
    (tmp_path / "holes.csv").write_text("\n".join(["size,word,label", *lines]) + "\n")
    found = json.loads(rpnb("run", "holes.csv", "--target", "label", "--json").stdout)
    assert found["rows"] == 120


def test_ctrl_c_at_three_moments(environment: Path, tmp_path: Path) -> None:
    program = str(environment / "rpnb")
    command = [program, "run", "-", "--format", "csv", "--target", "y"]
    command += ["--model", "PA", "--chunk-rows", "100", "--predictions", "p.csv"]

    def play(wait: Callable[[Any], None]) -> tuple[int, str]:
        with subprocess.Popen(  # noqa: S603
            command,
            cwd=tmp_path,
            env=variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                wait(process)
                os.killpg(process.pid, signal.SIGINT)
                _, err = process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()
        return process.returncode, err.decode()

    def running(process: Any) -> None:
        process.stdin.write(b"x,y\n" + b"1,a\n2,b\n" * 20_000)
        process.stdin.flush()
        until = time.monotonic() + TIMEOUT
        while not any(f.stat().st_size > 99 for f in tmp_path.glob(".p.csv.*.tmp")):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)

    def starting(process: Any) -> None:
        maps = Path(f"/proc/{process.pid}/maps")
        until = time.monotonic() + TIMEOUT
        while maps.exists() and "numpy" not in maps.read_text():
            assert time.monotonic() < until
            time.sleep(0.01)

    one_line = "rpnb: stopped by Ctrl-C\n"
    assert play(starting) == (130, one_line)  # in the middle of its imports
    assert play(lambda _: time.sleep(4.0)) == (130, one_line)  # waiting for rows
    assert list(tmp_path.iterdir()) == []
    code, err = play(running)
    assert code == 130
    assert "Traceback" not in err
    assert err.strip().splitlines()[-1].startswith("Stopped after ")
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


def test_neither_package_nor_home_can_be_written(
    rpnb: Run, environment: Path, tmp_path: Path
) -> None:
    write(tmp_path / "rows.csv")
    (package,) = environment.parent.glob("lib/*/site-packages/rpnb")
    copy = tmp_path / "packages" / "rpnb"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        (folder / "__pycache__").touch()  # a file: no folder can be made here
    # Not even the superuser can write there.
    nowhere = {"HOME": "/proc/none"}
    nowhere["PYTHONPATH"] = str(copy.parent)
    found = rpnb("run", "rows.csv", "--target", "label", *PA, **nowhere)
    assert json.loads(found.stdout)["rows"] == 120


def processor_time(run: Callable[[], object]) -> float:
    """Return the processor time of the processes that a call starts and awaits."""
    before = os.times()
    run()
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


def test_the_first_use_answers_at_once(
    rpnb: Run, python: Python, tmp_path: Path
) -> None:
    sklearn_table("iris", tmp_path / "iris.csv")
    words = "iris.csv", "--target", "label", "--shuffle", 1, "--model", "Pooled"
    unavoidable = processor_time(lambda: python("import sklearn.base"))
    first = processor_time(lambda: rpnb("run", *words))
    # At most twice as long; versions that compiled at first use took ten times as long.
    assert first < 6.0 * unavoidable
