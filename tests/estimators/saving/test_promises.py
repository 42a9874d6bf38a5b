"""Files of models that are learning, with counters at their limit, or unsigned."""

import copy
import io
import json
import pickle
import sys
import threading
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimators.streams import blobs
from rpnb import PooledClassifier, RPNBClassifier
from rpnb.baselines import PA1, GaussianNB
from rpnb.estimators.mini_batches import model_from_bytes, model_to_bytes
from rpnb.estimators.saving.files import ModelFileError, read_model, write_model
from rpnb.estimators.saving.schema import (
    StateSchema,
    check_arrays,
    reals,
    saturated,
    singles,
)
from rpnb.estimators.stream.locks import lock_of
from rpnb.preprocessing import RunningScaler


def with_metadata(content: bytes, **changed: Any) -> bytes:
    """Return a model file with other metadata, and a digest that fits them."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(parts["metadata.json"]) | changed
    parts["metadata.json"] = json.dumps(
        {name: value for name, value in metadata.items() if value is not None}
    ).encode()
    stream, lines = io.BytesIO(), ""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            if name == "digest.json":
                data = json.dumps(
                    {"sha256": sha256(lines.encode()).hexdigest()}
                ).encode()
            archive.writestr(zipfile.ZipInfo(name), data)
            lines += f"{sha256(data).hexdigest()}  {name}\n"
    return stream.getvalue()


@pytest.mark.parametrize(
    "name", ["Nobody", "", None, 5, ["RPNB"], "StreamPipeline", "rpnb"]
)
def test_bytes_of_an_unknown_estimator_are_refused(name: Any) -> None:
    X, y = blobs(0)
    content = model_to_bytes(GaussianNB().fit(X, y))
    assert type(model_from_bytes(content)) is GaussianNB
    with pytest.raises(ModelFileError):
        model_from_bytes(with_metadata(content, estimator=name))
    with pytest.raises(ModelFileError):
        model_from_bytes(content[:-5])


@pytest.mark.parametrize(
    ("kind", "counter"), [(PA1, "counts"), (RunningScaler, "scale.seen")]
)
def test_counters_at_their_bound_stay_there(
    kind: Any, counter: str, tmp_path: Path
) -> None:
    """A crafted file may have the largest counters; what is learned then is saved."""
    X, y = blobs(0)
    path = tmp_path / "model.rpnb"
    kind().fit(X, y).save(path)
    metadata, arrays = read_model(path)
    arrays[counter][:] = 2**62
    metadata = {k: v for k, v in metadata.items() if not k.startswith("format")}
    write_model(path, metadata, arrays)
    model = kind.load(path)
    model.partial_fit(X, y)
    model.save(path)
    assert (read_model(path)[1][counter] == 2**62).all()
    kind.load(path)


def test_counters_beside_the_arrays_stay_at_their_bound_too() -> None:
    X, y = blobs(0)
    file = io.BytesIO()
    RPNBClassifier(n_estimators=2).fit(X, y).save(file)
    metadata, arrays = read_model(file)
    metadata["state"] |= {"n_seen": 2**62, "n_updates": 2**62}
    metadata = {k: v for k, v in metadata.items() if not k.startswith("format")}
    file = io.BytesIO()
    write_model(file, metadata, arrays)
    model = RPNBClassifier.load(file)
    model.partial_fit(X, y)
    assert model.n_samples_seen_ == 2**62 + len(y)
    file = io.BytesIO()
    model.save(file)
    again = RPNBClassifier.load(file)
    assert (again.n_samples_seen_, again.n_updates_) == (2**62, 2**62)


def test_sums_that_overflow_stay_at_the_largest_number() -> None:
    inf, nan = np.inf, np.nan
    schema = StateSchema(
        {
            "sums": reals(4),
            "any": reals(2, infinite=True, nan=True),
            "weights": reals(3, low=1.0),
            "few": singles(2),
            "sound": reals(1),
        }
    )
    arrays = {
        "sums": np.array([1.0, inf, -inf, nan]),
        "any": np.array([inf, nan]),
        "weights": np.array([nan, 2.0, -inf]),
        "few": np.array([inf, nan], np.float32),
        "sound": np.array([-0.0]),
    }
    values, found = saturated({}, arrays, schema)
    assert values == {}
    most = sys.float_info.max
    assert found["sums"].tolist() == [1.0, most, -most, 0.0]
    assert found["weights"].tolist() == [1.0, 2.0, 1.0]
    assert found["few"].tolist() == [float(np.finfo(np.float32).max), 0.0]
    assert found["any"] is arrays["any"]
    assert found["sound"] is arrays["sound"]
    check_arrays(found, schema)


def test_saving_waits_for_learning(tmp_path: Path) -> None:
    X, y = blobs(0)
    path = tmp_path / "model.rpnb"
    model = GaussianNB().fit(X, y)
    thread = threading.Thread(target=model.save, args=(path,))
    with lock_of(model):  # as while it learns
        thread.start()
        thread.join(0.2)
        assert not path.exists()
    thread.join()
    assert np.array_equal(GaussianNB.load(path).predict(X), model.predict(X))


def test_copies_have_their_own_locks() -> None:
    model = GaussianNB()
    with lock_of(model):
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 - our own
            assert lock_of(other) is not lock_of(model)
    assert lock_of(model) is lock_of(model)


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize("kind", [RPNBClassifier, PooledClassifier])
def test_saving_beside_a_learning_thread_is_consistent(
    tmp_path: Path, kind: Any, one_by_one: bool
) -> None:
    """Each file is the state after some of the calls, which another model repeats."""
    X, y = blobs(0, 60)
    model = kind(random_state=0).fit(X, y)
    alone = copy.deepcopy(model)
    calls = 40
    path = tmp_path / "model.rpnb"

    def step(learner: Any, i: int) -> None:
        if one_by_one:
            learner.learn_one(X[i], y[i])
        else:
            learner.partial_fit(X[i : i + 20], y[i : i + 20])

    def learn() -> None:
        for i in range(calls):
            step(model, i)

    thread = threading.Thread(target=learn)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    found = set()
    thread.start()
    try:
        while thread.is_alive():
            model.save(path)
            found.add(path.read_bytes())
    finally:
        thread.join()
        sys.setswitchinterval(interval)
    states = set()
    for i in range(calls + 1):
        alone.save(path)
        states.add(path.read_bytes())
        if i < calls:
            step(alone, i)
    assert found <= states
