"""The classifiers of CapyMOA, in a separate environment, where CapyMOA is installed.

The environment sees the packages of this one, so that only CapyMOA and its missing
dependencies are installed. This takes a while and needs a registry: `make test-capymoa`
names the folder of the environment; without one, these tests are skipped.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import rpnb

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = os.environ.get("RPNB_CAPYMOA_ENV", "")
OUT_OF_REACH = ("No matching distribution", "Connection", "Max retries", "resolution")

in_its_environment = pytest.mark.skipif(
    FOLDER == "", reason="make test-capymoa runs it: CapyMOA must be installed first"
)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command that sees this very copy of the package."""
    source = str(Path(rpnb.__file__).parents[1])
    others = filter(None, [os.environ.get("PYTHONPATH")])
    return subprocess.run(  # noqa: S603 - our own commands
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, *others])},
    )


@pytest.fixture(scope="module")
def python() -> Path:
    """Return the interpreter of the environment; create it if it is missing."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("CapyMOA needs Java, which is not here")
    interpreter = Path(FOLDER).absolute() / "bin" / "python"
    if not interpreter.exists() or run(interpreter, "-c", "import capymoa").returncode:
        shutil.rmtree(FOLDER, ignore_errors=True)
        venv.create(FOLDER, symlinks=True)
        own = run(
            interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"
        )
        beside = Path(own.stdout.strip()) / "beside.pth"
        beside.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        wanted = project["project"]["optional-dependencies"]["capymoa"]
        pip = (sys.executable, "-m", "pip", "--python", interpreter)
        install = run(*pip, "install", "--quiet", *wanted)
        if install.returncode:
            if any(sign in install.stderr for sign in OUT_OF_REACH):
                pytest.skip("no registry is in reach to install CapyMOA from")
            pytest.fail(f"CapyMOA could not be installed:\n{install.stderr}")
    return interpreter


@pytest.fixture(scope="module")
def report(python: Path) -> Any:
    done = run(python, HERE / "capymoa_run.py")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


LEARNERS: dict[str, Any] = {
    "RPNBClassifier": rpnb.RPNBClassifier(20, random_state=7),
    "PooledClassifier": rpnb.PooledClassifier(
        n_projections=16, window=64, random_state=7
    ),
}


@in_its_environment
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("stream", ["of Java", "of NumPy"])
def test_prequential_evaluation_gives_what_predict_then_learn_gives(
    report: Any, stream: str, learner: str
) -> None:
    seen = report["streams"][stream][learner]
    X, y = np.array(seen["X"]), np.array(seen["y"])
    classes = np.arange(seen["classes"])
    model = clone(LEARNERS[learner])
    predicted = model.predict_then_learn(X, y, classes=classes)
    assert seen["predicted"] == predicted.tolist()
    right = predicted == y
    assert seen["accuracy"] == pytest.approx(100.0 * right.mean(), abs=1e-9)
    windows = 100.0 * right.reshape(-1, 100).mean(axis=1)
    assert_allclose(seen["windows"], windows, atol=1e-9)
    assert seen["seen"] == len(y)
    assert seen["probabilities"] == model.predict_next_proba(X[:1])[0].tolist()


@in_its_environment
def test_it_stands_beside_other_learners(report: Any) -> None:
    for learners in report["streams"].values():
        for name, seen in learners.items():
            assert seen["learner"] == name
            by_chance = 100.0 / seen["classes"]
            assert seen["accuracy"] > 1.2 * by_chance
            assert seen["beside"] > 1.2 * by_chance


@in_its_environment
def test_what_cannot_be_learned_is_left_or_refused(report: Any) -> None:
    seen = report["details"]
    assert seen["fresh"] == 0
    assert seen["learned without a label"] == 0
    assert "NaN (row 0, column 1)" in seen["missing"]
    assert "must describe classification" in seen["regression"]
    assert "n_components must be an integer of at least 1" in seen["parameter"]


@in_its_environment
def test_it_is_made_again_from_its_parameters(report: Any) -> None:
    expected = rpnb.RPNBClassifier(5, update="all", random_state=9)
    assert report["details"]["again"] == repr(expected)


@in_its_environment
def test_it_has_the_parameters_of_the_estimator(report: Any) -> None:
    expected = rpnb.RPNBClassifier(random_state=3).get_params()
    assert report["details"]["parameters"] == expected
    # Rows come one by one: there is nothing to batch, shuffle or share by threads.
    own = set(expected) - {"batch_size", "n_jobs", "random_state", "shuffle"}
    assert report["details"]["own"] == sorted(own)


@in_its_environment
def test_the_pooled_classifier_keeps_the_same_rules(report: Any) -> None:
    seen = report["details"]["pooled"]
    assert seen["fresh"] == 0  # an instance with a missing attribute counts, too
    assert seen["learned without a label"] == 0
    assert "must describe classification" in seen["regression"]
    assert "n_projections must be an integer from 16 to 16384" in seen["parameter"]
    again = rpnb.PooledClassifier(
        "mergeable", n_projections=32, window=99, random_state=9
    )
    assert seen["again"] == repr(again)
    expected = rpnb.PooledClassifier(random_state=3).get_params()
    assert seen["parameters"] == expected
    # Instances hold numbers: there are no columns of text.
    others = {"n_jobs", "random_state", "delays", "shuffle"}
    others |= {"categorical_features", "text_features"}
    assert seen["own"] == sorted(set(expected) - others)


@in_its_environment
def test_the_examples_in_the_documentation_run(python: Path) -> None:
    done = run(python, "-m", "doctest", ROOT / "docs" / "how-to" / "capymoa.md")
    assert done.returncode == 0, done.stdout + done.stderr


@in_its_environment
def test_the_example_of_the_class_runs(python: Path) -> None:
    code = "import doctest, rpnb.capymoa as m; raise SystemExit(doctest.testmod(m)[0])"
    done = run(python, "-c", code)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_missing_capymoa_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "capymoa", None)
    monkeypatch.delitem(sys.modules, "rpnb.capymoa", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'rpnb\[capymoa\]'"):
        importlib.import_module("rpnb.capymoa")
