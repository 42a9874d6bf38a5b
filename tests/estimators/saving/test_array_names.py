"""Names of the arrays in model files: code may be renamed, these may not."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from sklearn.datasets import load_iris

from rpnb import RPNBClassifier, baselines

_TREES = [
    "splits",
    "Nodes.attribute",
    "Nodes.threshold",
    "Nodes.left",
    "Nodes.right",
    "Counts.slots",
    "Counts.class_weight",
    "Counts.majority_right",
    "Counts.bayes_right",
    "Counts.checked",
    "Counts.frozen",
    "Observed.weight",
    "Observed.mean",
    "Observed.scatter",
    "Observed.low",
    "Observed.high",
    "Laws.centre",
    "Laws.precision",
    "Laws.normaliser",
    "Laws.peak",
    "Laws.flat",
    "Laws.limit",
    "Record.right",
    "Record.wrong",
    "Record.seen",
]

_NAMES = {
    "RPNB": [
        *("weight", "mean", "scatter", "eligible", "seen"),
        *("expert_weights", "set_thresholds"),
    ],
    "AROW": ["W", "S", "eligible", "counts", "c"],
    "PA": ["W", "S", "eligible", "counts", "c"],
    "OnlineBayes": ["weight", "mean", "root", "log_volume"],
    "GaussianNB": ["weight", "mean", "scatter", "eligible"],
    "OnlineBoosting": _TREES,
}


@pytest.mark.parametrize("name", _NAMES)
def test_arrays_in_a_file_keep_their_names(name: str, tmp_path: Path) -> None:
    model = RPNBClassifier(random_state=0) if name == "RPNB" else baselines.make(name)
    model.fit(*load_iris(return_X_y=True)).save(tmp_path / "model.rpnb")
    with ZipFile(tmp_path / "model.rpnb") as file:
        arrays = [entry.removesuffix(".npy") for entry in file.namelist()]
    assert set(arrays) >= set(_NAMES[name])
    assert set(arrays) - set(_NAMES[name]) <= {"metadata.json", "digest.json"}
