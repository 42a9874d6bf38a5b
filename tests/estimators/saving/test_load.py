"""`rpnb.load` finds the class of a model in its file."""

from pathlib import Path

import pytest

import rpnb
from estimators.streams import blobs, small
from rpnb import baselines
from rpnb.estimators.registry import learners
from rpnb.estimators.saving.files import ModelFileError, write_model
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

X, y = blobs(4, 40)
TWO = y < 1


@pytest.mark.parametrize("name", learners())
def test_any_learner_is_loaded_without_naming_its_class(
    name: str, tmp_path: Path
) -> None:
    model = learners()[name].estimator().fit(X, TWO)
    model.save(tmp_path / "m.rpnb", key=b"a key of 16 bytes")
    found = rpnb.load(tmp_path / "m.rpnb", key=b"a key of 16 bytes")
    assert type(found) is type(model)
    assert (found.predict(X) == model.predict(X)).all()
    with pytest.raises(ModelFileError, match="signed"):
        rpnb.load(str(tmp_path / "m.rpnb"), key=b"another of 16 bytes")


def test_pipelines_and_compiled_models_are_loaded_likewise(tmp_path: Path) -> None:
    pipeline = make_stream_pipeline(RunningScaler(), baselines.PA()).fit(X, y)
    frozen = small().fit(X, y).compile()
    for model in (pipeline, frozen):
        model.save(tmp_path / "m.rpnb")
        found = rpnb.load(tmp_path / "m.rpnb")
        assert type(found) is type(model)
        assert (found.predict(X) == model.predict(X)).all()


def test_a_file_of_another_class_is_refused_by_name(tmp_path: Path) -> None:
    write_model(tmp_path / "m.rpnb", {"estimator": "Forest"}, {})
    with pytest.raises(ModelFileError, match=r"m\.rpnb holds a 'Forest'"):
        rpnb.load(tmp_path / "m.rpnb")
    with pytest.raises(FileNotFoundError):
        rpnb.load(tmp_path / "none.rpnb")
