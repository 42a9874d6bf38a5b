"""Models are written to and read from open files as to and from paths."""

import io
from pathlib import Path
from typing import Any

import pytest

import rpnb
from estimators.streams import blobs
from rpnb.estimators.registry import learners
from rpnb.estimators.saving.files import ModelFileError
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

X, y = blobs(0, 60)
SMALL: dict[str, dict[str, Any]] = {
    "Pooled": {"n_projections": 16, "random_state": 0},
    "RPNB": {"n_estimators": 3, "random_state": 0},
}


def model_of(kind: str) -> Any:
    if kind == "scaler":
        return RunningScaler().partial_fit(X)
    if kind == "compiled":
        return model_of("RPNB").compile()
    if kind == "pipeline":
        scaler, inner = RunningScaler(), learners()["PA"].estimator()
        return make_stream_pipeline(scaler, inner).fit(X, y)
    return learners()[kind].estimator(**SMALL.get(kind, {})).fit(X, y)


@pytest.mark.parametrize(
    "kind", ["Pooled", "RPNB", "AROW", "OnlineBayes", "compiled", "pipeline", "scaler"]
)
def test_a_file_in_memory_holds_what_a_file_on_disk_does(
    kind: str, tmp_path: Path
) -> None:
    model, file = model_of(kind), io.BytesIO()
    model.save(tmp_path / "model")
    model.save(file)
    assert file.getvalue() == (tmp_path / "model").read_bytes()
    with (tmp_path / "model").open("rb") as opened:
        found = [type(model).load(each) for each in (file, opened)]
        if kind != "scaler":  # it is no model
            found += [rpnb.load(each) for each in (file, opened)]
        assert not opened.closed
        assert opened.tell() == 0
    for again in found:
        other = io.BytesIO()
        again.save(other)
        assert other.getvalue() == file.getvalue()


def test_a_signed_file_in_memory_needs_its_key() -> None:
    file = io.BytesIO()
    model_of("AROW").save(file, key=b"0123456789abcdef")
    assert rpnb.load(file, key=b"0123456789abcdef").classes_.tolist() == [0, 1, 2]
    with pytest.raises(ModelFileError, match="the model file was not signed"):
        rpnb.load(file, key=b"0123456789abcdeX")


@pytest.mark.parametrize("content", [b"", b"no archive", bytes(100)])
def test_what_is_no_model_is_refused_and_left_where_it_was(content: bytes) -> None:
    file = io.BytesIO(content)
    file.seek(len(content) // 2)
    with pytest.raises(ModelFileError, match="the model file is not a complete"):
        rpnb.load(file)
    assert file.tell() == len(content) // 2
