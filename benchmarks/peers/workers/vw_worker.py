"""Vowpal Wabbit's one-against-all from text lines; see serving.py.

Two packages provide it, `vowpalwabbit` and `vowpal-wabbit-next`. Both are measured in
two ways: a loop over text lines in which `learn` returns the prediction made before
learning, and their own driver, which reads a file of these lines. The first package
is also measured by a loop over the calls below its Python classes.
"""

import tempfile
from importlib import import_module
from importlib.metadata import version as release
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

NEXT = find_spec("vowpal_wabbit_next") is not None


def version() -> str:
    """Return the package's release."""
    return release("vowpal-wabbit-next" if NEXT else "vowpalwabbit")


def prepare(learner: str, X: np.ndarray, y: np.ndarray, M: int) -> Any:
    """Return the rows as lines, labels from 1; for the driver, in a file."""
    lines = [
        f"{label + 1} | " + " ".join(f"{j}:{value!r}" for j, value in enumerate(x))
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    if learner != "driver":
        return lines
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "rows.txt"
    path.write_text("\n".join(lines) + "\n")
    return folder, path  # the folder is deleted with the rows


def make(learner: str, p: int, M: int, K: int, seed: int) -> Any:
    """Return a workspace, or the arguments of the driver, which makes its own."""
    words = ["--oaa", str(M), "--quiet", "--random_seed", str(seed)]
    if learner == "driver":
        return words
    if NEXT:
        return import_module("vowpal_wabbit_next").Workspace(words)
    return import_module("vowpalwabbit").Workspace(arg_list=words)


def test_then_train(learner: str, model: Any, rows: Any) -> Any:
    """Return the labels of one pass."""
    if learner == "driver":
        path = rows[1]
        labels = path.with_suffix(".labels")
        _drive([*model, "--data", str(path), "--predictions", str(labels)])
        labels_from_1 = np.array(labels.read_text().split(), np.int64)
    elif NEXT:
        parser = import_module("vowpal_wabbit_next").TextFormatParser(model)
        parse, learn = parser.parse_line, model.predict_then_learn_one
        labels_from_1 = np.array([learn(parse(line)) for line in rows])
    else:
        loop = _bare_loop if learner == "bare calls" else _loop
        labels_from_1 = np.array(loop(model, rows))
    return labels_from_1 - 1


def size(learner: str, model: Any, rows: Any) -> int:
    """Return the bytes of the saved model file."""
    if learner != "driver" and NEXT:
        return len(model.serialize())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.vw"
        if learner == "driver":
            file = ["--final_regressor", str(path)]
            _drive([*model, "--data", str(rows[1]), *file])
        else:
            model.save(str(path))
        return path.stat().st_size


def _drive(words: list[str]) -> None:
    if NEXT:
        import_module("vowpal_wabbit_next").run_cli_driver(words, onethread=True)
    else:
        import_module("vowpalwabbit").Workspace(arg_list=words).finish()


def _loop(model: Any, lines: list[str]) -> list[int]:
    """Return the predictions that `learn` made before learning."""
    labels = []
    parse, learn, finish = model.parse, model.learn, model.finish_example
    for line in lines:
        example = parse(line)
        learn(example)
        labels.append(example.get_multiclass_prediction())
        finish(example)
    return labels


def _bare_loop(model: Any, lines: list[str]) -> list[int]:
    """Return the same by private calls.

    `Workspace.parse`, `learn` and `finish_example` check types and wrap every example
    in a second object; the private calls do not.
    """
    vw = import_module("vowpalwabbit.pyvw").pylibvw.vw
    parse, learn, finish = vw._parse, vw.learn, vw._finish_example
    labels = []
    for line in lines:
        (example,) = parse(model, line)
        learn(model, example)
        labels.append(example.get_multiclass_prediction())
        finish(model, example)
    return labels
