"""What each public module exports: exactly this, and all of it with a docstring."""

from importlib import import_module
from types import ModuleType

import pytest

EXPORTED = {
    "rpnb": [
        *("Explanation", "FrozenRPNB", "MemberHistory", "ModelFileError"),
        *("PooledClassifier", "RPNBClassifier", "Waterfall", "__version__"),
        *("expected_failed_checks", "load"),
    ],
    "rpnb.baselines": [
        *("ALMA", "AROW", "AggressiveROMMA", "CW", "GaussianNB", "IELLIP"),
        *("MajorityClass", "NAROW", "NHERD", "NoChange", "OGD", "OnlineBagging"),
        *("OnlineBayes", "OnlineBoosting", "PA", "PA1", "PA2", "Perceptron", "ROMMA"),
        *("SCW1", "SCW2", "SOP", "make", "names"),
    ],
    "rpnb.drift": ["DriftAware"],
    "rpnb.preprocessing": [
        *("RunningScaler", "SpreadWarning", "StreamPipeline", "make_stream_pipeline"),
    ],
    "rpnb.river": ["PooledClassifier", "RPNBClassifier"],
    "rpnb.capymoa": ["PooledClassifier", "RPNBClassifier"],
    "rpnb.spark": [
        *("BadRowError", "BatchResult", "RPNBEstimator", "RPNBModel", "SavedBatch"),
        *("learn", "predict", "progress_listener", "saved_batch", "stream"),
    ],
    "rpnb.client": [
        *("AsyncClient", "Client", "LabelResult", "Prediction", "ServeError"),
    ],
    "rpnb.datasets": [
        *("DataFileError", "Dataset", "DatasetError", "DatasetUnavailableError"),
        *("Description", "UnknownDatasetError", "describe", "load", "names"),
    ],
    "rpnb.evaluate": [
        *("CalibrationCurve", "ClassScores", "Difference", "ErrorEstimate"),
        *("LearnerResult", "PrequentialResult", "accuracy"),
        *("balanced_accuracy", "class_scores", "confusion_counts", "error_rate"),
        *("estimate_error", "kappa", "kappa_temporal", "macro_f1", "prequential"),
    ],
    "rpnb.evaluate.waiting": [
        *("Alarm", "CellChange", "Change", "ErrorForecast", "ExpectedError"),
        *("InputWatch", "LearnerWatch", "PriorCorrection", "StreamWatch"),
        *("WaitingCounts", "WaitingResult"),
    ],
    "rpnb.files": [
        *("FORMATS", "FileError", "LabelledArrays", "LabelledChunk", "LabelledFile"),
        *("ReadAhead", "ReadOptions"),
    ],
}
# Each of these needs a package that is an extra.
EXTRAS = {
    "rpnb.river": "river",
    "rpnb.capymoa": "capymoa",
    "rpnb.client": "httpx",
    "rpnb.spark": "pyspark",
}


def imported(name: str) -> ModuleType:
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name])
    return import_module(name)


@pytest.mark.parametrize("name", EXPORTED)
def test_a_module_exports_this_and_nothing_else(name: str) -> None:
    module = imported(name)
    assert sorted(module.__all__) == sorted(EXPORTED[name])
    assert len(module.__all__) == len(set(module.__all__))


@pytest.mark.parametrize("name", EXPORTED)
def test_what_is_exported_is_there_and_explained(name: str) -> None:
    module = imported(name)
    assert module.__doc__
    for exported in module.__all__:
        value = getattr(module, exported)
        if isinstance(value, type):
            # Its own docstring, not an inherited one.
            assert vars(value).get("__doc__"), exported
        elif callable(value):
            assert value.__doc__, exported
