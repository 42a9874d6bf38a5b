"""Files that are no model, are damaged, or were written by another version."""

import os
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimators.saving.crafting import Parts, npy, put_together, taken_apart
from estimators.snapshots import snapshot
from estimators.streams import blobs, small
from rpnb import RPNBClassifier
from rpnb.estimators.saving.files import ModelFileError

X, y = blobs(1, 40, p=2, M=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small model."""
    path = tmp_path_factory.mktemp("whole") / "model.rpnb"
    small(n_estimators=1).fit(X, y).save(path)
    return path.read_bytes()


def load(content: bytes, folder: Path) -> RPNBClassifier:
    path = folder / "model.rpnb"
    path.write_bytes(content)
    return RPNBClassifier.load(path)


def test_the_parts_put_together_again_are_the_model(
    whole: bytes, tmp_path: Path
) -> None:
    again = load(put_together(taken_apart(whole)), tmp_path)
    assert snapshot(again) == snapshot(load(whole, tmp_path))


# Damage


def test_a_file_cut_off_anywhere_is_refused(whole: bytes, tmp_path: Path) -> None:
    lengths = {*range(0, len(whole), 41), *range(len(whole) - 30, len(whole)), 1, 2, 3}
    for length in sorted(lengths):
        with pytest.raises(ModelFileError, match=r"not a complete rpnb model|damaged"):
            load(whole[:length], tmp_path)


def test_a_flipped_bit_is_refused_or_does_not_matter(
    whole: bytes, tmp_path: Path
) -> None:
    expected = snapshot(load(whole, tmp_path))
    directory = whole.index(b"PK\1\2")
    flips = [(place, 1 << place % 8) for place in range(0, len(whole), 7)]
    # In the directory, bits may ask for passwords, compression or wild offsets.
    flips += [(i, bit) for i in range(directory, len(whole)) for bit in (1, 8, 128)]
    refused = 0
    for place, bit in flips:
        damaged = bytearray(whole)
        damaged[place] ^= bit
        try:
            loaded = load(bytes(damaged), tmp_path)
        except ModelFileError:
            refused += 1
        else:
            assert snapshot(loaded) == expected, (place, bit)
    assert refused > len(flips) / 2


@pytest.mark.parametrize(
    "entry", ["weight.npy", "mean.npy", "scatter.npy", "metadata.json"]
)
def test_other_content_under_an_old_checksum_is_refused(
    entry: str, whole: bytes, tmp_path: Path
) -> None:
    with zipfile.ZipFile(BytesIO(whole)) as archive:
        info = archive.getinfo(entry)
    last = info.header_offset + 30 + len(entry) + info.file_size - 1
    damaged = bytearray(whole)
    damaged[last] ^= 1
    with pytest.raises(ModelFileError, match="damaged: Bad CRC-32"):
        load(bytes(damaged), tmp_path)


# Other files


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"x,y\n1,2\n", os.urandom(1000), npy(np.ones(3))],
    ids=["empty", "two bytes", "text", "noise", "an array"],
)
def test_another_kind_of_file_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(
        ModelFileError, match=r"model\.rpnb is not a complete rpnb model"
    ):
        load(content, tmp_path)


def test_a_foreign_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"archive, but .* metadata.json is mis"):
        load(put_together({"readme.txt": b"hello"}), tmp_path)
    for metadata in ({}, {"format": "another"}, ["rpnb-model"], None):
        with pytest.raises(ModelFileError, match="is an archive, but not an rpnb mod"):
            load(put_together({"metadata.json": metadata}), tmp_path)
    with pytest.raises(ModelFileError, match="damaged: Expecting value"):
        load(put_together({"metadata.json": b"?"}), tmp_path)


def test_a_missing_file_or_a_folder_says_so_itself(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such model"):
        RPNBClassifier.load(tmp_path / "no such model")
    with pytest.raises(OSError, match=tmp_path.name):
        RPNBClassifier.load(tmp_path)


def test_a_file_of_a_newer_format_asks_for_an_upgrade(
    whole: bytes, tmp_path: Path
) -> None:
    parts = taken_apart(whole)
    parts["metadata.json"] |= {"format_version": 2, "rpnb_version": "3.1"}
    with pytest.raises(ModelFileError, match=r"format 2 by rpnb 3\.1; .* upgrade rpnb"):
        load(put_together(parts), tmp_path)


def test_the_file_of_another_estimator_is_refused(whole: bytes, tmp_path: Path) -> None:
    parts = taken_apart(whole)
    parts["metadata.json"]["estimator"] = "HoeffdingTree"
    with pytest.raises(ModelFileError, match="a HoeffdingTree, not a RPNBClassifier"):
        load(put_together(parts), tmp_path)


def test_a_pickle_inside_is_refused_and_not_opened(
    whole: bytes, tmp_path: Path
) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "sprung"),)

    parts = taken_apart(whole)
    trap = np.array([Trap(), None], dtype=object)
    parts["weight.npy"] = npy(trap, allow_pickle=True)
    with pytest.raises(ModelFileError, match=r"damaged: weight\.npy is not an array"):
        load(put_together(parts), tmp_path)
    assert not (tmp_path / "sprung").exists()


# Archives that are whole, but hold the wrong things


def state(change: dict[str, Any]) -> Callable[[Parts], None]:
    return lambda parts: parts["metadata.json"]["state"].update(change)


def parameters(change: dict[str, Any]) -> Callable[[Parts], None]:
    return lambda parts: parts["metadata.json"]["parameters"].update(change)


def metadata(change: dict[str, Any]) -> Callable[[Parts], None]:
    return lambda parts: parts["metadata.json"].update(change)


def without(*keys: str) -> Callable[[Parts], None]:
    def remove(parts: Parts) -> None:
        holder = parts
        for key in keys[:-1]:
            holder = holder[key]
        del holder[keys[-1]]

    return remove


def array(name: str, values: Any) -> Callable[[Parts], None]:
    return lambda parts: parts.update({f"{name}.npy": npy(values)})


CHANGES: dict[str, tuple[Callable[[Parts], None], str]] = {
    "a version that is no number": (
        metadata({"format_version": "1"}),
        "version is '1'",
    ),
    "a version below one": (metadata({"format_version": 0}), "format version is 0"),
    "no parameters": (without("metadata.json", "parameters"), "KeyError"),
    "no classes": (without("metadata.json", "classes"), "KeyError: 'classes'"),
    "no state": (without("metadata.json", "state"), "KeyError: 'state'"),
    "no seed": (without("metadata.json", "state", "seed"), "it has no value 'seed'"),
    "parameters that are none": (metadata({"parameters": 3}), "damaged: TypeError"),
    "an unknown parameter": (parameters({"depth": 3}), "TypeError: .* 'depth'"),
    "a bad parameter": (parameters({"n_estimators": 0}), "ValueError: n_estimators"),
    "another prior for more classes": (
        parameters({"class_prior": [0.2, 0.3, 0.5]}),
        "ValueError: class_prior has 3",
    ),
    "half a mapping": (
        parameters({"class_prior": {"labels": [0, 1], "probabilities": [1.0]}}),
        "ValueError: zip",
    ),
    "more members": (parameters({"n_estimators": 2}), "array 'mean' is .* not .*2, 4"),
    "more features": (metadata({"n_features_in": 3}), "'q' is 2, not from 3 to 3"),
    "more classes": (metadata({"classes": [0, 1, 2]}), "array 'weight' is float64"),
    "classes of no type": (metadata({"classes_dtype": "?!"}), "damaged: TypeError"),
    "another seed": (state({"seed": 4}), "not those of the saved"),
    "a seed beyond 64 bits": (state({"seed": 2**70}), "'seed' is .*, not from 0 to"),
    "another fingerprint": (state({"fingerprint": 5}), "not those of the saved"),
    "another distribution": (
        parameters({"projection": "bernoulli"}),
        "not those of the saved",
    ),
    "no weights": (without("weight.npy"), "has no array 'weight'"),
    "no mean": (without("mean.npy"), "has no array 'mean'"),
    "no scatter": (without("scatter.npy"), "has no array 'scatter'"),
    "nobody eligible": (without("eligible.npy"), "has no array 'eligible'"),
    "nothing seen": (without("seen.npy"), "has no array 'seen'"),
    "a mean turned round": (
        array("mean", np.zeros((2, 2)).T[:, :1]),
        r"array 'mean' is float64\(2, 1\), not float64\(2, 2\)",
    ),
    "single precision": (
        array("weight", np.ones(2, np.float32)),
        "array 'weight' is float32",
    ),
    "numbers for booleans": (
        array("eligible", np.ones(2)),
        r"array 'eligible' is float64\(2,\), not bool\(2,\)",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_archive_with_wrong_content_is_refused(
    change: str, whole: bytes, tmp_path: Path
) -> None:
    parts = taken_apart(whole)
    apply, message = CHANGES[change]
    apply(parts)
    with pytest.raises(ModelFileError, match=message):
        load(put_together(parts), tmp_path)
