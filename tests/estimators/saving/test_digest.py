"""Digest and signature of model files: parts match, and a key proves the author."""

import io
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimators.saving.crafting import put_together, taken_apart
from estimators.snapshots import snapshot
from estimators.streams import blobs, small
from rpnb import FrozenRPNB, RPNBClassifier
from rpnb.estimators.saving.files import ModelFileError

X, y = blobs(1, 40, p=2, M=2)
KEY, OTHER = bytes(range(32)), b"another key, as long as it takes"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    small(n_estimators=1).fit(X, y).save(tmp_path / "model.rpnb")
    return tmp_path / "model.rpnb"


def test_parts_of_two_models_are_refused(path: Path) -> None:
    first = taken_apart(path.read_bytes())
    small(n_estimators=1).fit(X[:20], y[:20]).save(path)
    second = taken_apart(path.read_bytes())
    for name in first:
        if name != "digest.json" and first[name] != second[name]:
            path.write_bytes(put_together(first | {name: second[name]}, digest=False))
            with pytest.raises(ModelFileError, match="were not saved together"):
                RPNBClassifier.load(path)


def test_a_file_without_its_digest_is_refused(path: Path) -> None:
    parts = taken_apart(path.read_bytes())
    digest = parts.pop("digest.json")
    path.write_bytes(put_together(parts))
    with pytest.raises(ModelFileError, match=r"digest\.json is missing"):
        RPNBClassifier.load(path)
    path.write_bytes(put_together({"digest.json": digest} | parts, digest=False))
    with pytest.raises(ModelFileError, match=r"comes after digest\.json"):
        RPNBClassifier.load(path)
    for odd in (b"[]", b"{}", b'{"sha256": 3}', b'{"sha256": "\xc3\xa4"}'):
        path.write_bytes(put_together(parts | {"digest.json": odd}, digest=False))
        with pytest.raises(ModelFileError, match="were not saved together"):
            RPNBClassifier.load(path)


def test_a_signed_file_is_loaded_with_its_key_and_without(path: Path) -> None:
    model = small(n_estimators=1).fit(X, y)
    model.save(path, key=KEY)
    expected = snapshot(model)
    assert snapshot(RPNBClassifier.load(path, key=KEY)) == expected
    assert snapshot(RPNBClassifier.load(path)) == expected
    with pytest.raises(ModelFileError, match="was not signed with this key"):
        RPNBClassifier.load(path, key=OTHER)
    frozen = model.compile()
    frozen.save(path, key=KEY)
    assert FrozenRPNB.load(path, key=KEY).temperature_ == frozen.temperature_
    with pytest.raises(ModelFileError, match="was not signed with this key"):
        FrozenRPNB.load(path, key=OTHER)


def test_with_a_key_a_file_without_signature_is_refused(path: Path) -> None:
    with pytest.raises(ModelFileError, match="is not signed"):
        RPNBClassifier.load(path, key=KEY)


def test_a_signed_file_that_was_changed_is_refused(path: Path) -> None:
    small(n_estimators=1).fit(X, y).save(path, key=KEY)
    parts = taken_apart(path.read_bytes())
    signature = parts["digest.json"]
    parts["metadata.json"]["state"]["n_seen"] += 1
    honest = put_together(parts)  # with a new digest and no signature
    path.write_bytes(honest)
    with pytest.raises(ModelFileError, match="is not signed"):
        RPNBClassifier.load(path, key=KEY)
    digest = taken_apart(honest)["digest.json"]
    both = digest[:-1] + b"," + signature[1:].split(b", ")[0].rstrip(b"}") + b"}"
    assert b"hmac_sha256" in both
    path.write_bytes(put_together(parts | {"digest.json": both}, digest=False))
    with pytest.raises(
        ModelFileError, match="not signed with this key, or was changed"
    ):
        RPNBClassifier.load(path, key=KEY)


@pytest.mark.parametrize("key", ["text that is long enough", b"short", 3, b""])
def test_a_key_is_bytes_and_long_and_not_in_the_message(key: Any, path: Path) -> None:
    model = small(n_estimators=1).fit(X, y)
    before = path.read_bytes()
    for call in (model.save, RPNBClassifier.load):
        with pytest.raises(ValueError, match="key must be bytes, at least 16") as error:
            call(path, key=key)
        assert "text that" not in str(error.value)
    assert path.read_bytes() == before


# Archives


def test_a_compressed_entry_is_refused_unread(path: Path) -> None:
    """A megabyte of zeros, deflated, would be a gigabyte."""
    parts = taken_apart(path.read_bytes())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.json", put_together({}) + b" " * (1 << 26))
        for name, part in parts.items():
            if name.endswith(".npy"):
                archive.writestr(name, part)
    path.write_bytes(stream.getvalue())
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="is compressed, which model files never"):
        RPNBClassifier.load(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_entries_that_share_their_bytes_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    start = whole.index(b"PK\1\2")
    end = whole.index(b"PK\5\6")
    directory = whole[start:end]
    entry = directory[: directory.index(b"PK\1\2", 4)]
    many = b"".join(
        entry.replace(b"metadata.json", b"m%07d.json" % i) for i in range(900)
    )
    size = (len(directory) + len(many)).to_bytes(4, "little")
    count = (directory.count(b"PK\1\2") + 900).to_bytes(2, "little")
    finish = whole[end : end + 8] + 2 * count + size + whole[end + 16 :]
    path.write_bytes(whole[:start] + directory + many + finish)
    with pytest.raises(ModelFileError, match="damaged"):
        RPNBClassifier.load(path)


def test_a_directory_beyond_measure_is_not_read(path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for i in range(2000):
            archive.writestr(f"{i}.npy", b"")
    path.write_bytes(stream.getvalue())
    with pytest.raises(ModelFileError, match="its directory has 2000 entries"):
        RPNBClassifier.load(path)


def test_the_same_entry_twice_is_refused(path: Path) -> None:
    parts = taken_apart(path.read_bytes())
    path.write_bytes(put_together(parts).replace(b"seen.npy", b"mean.npy"))
    with pytest.raises(ModelFileError, match=r"has 'mean\.npy' twice"):
        RPNBClassifier.load(path)


def test_the_digest_is_what_sha256sum_says(path: Path) -> None:
    """So that it can be verified by hand."""
    parts = taken_apart(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        stated = archive.read("digest.json")
        crc = archive.getinfo("weight.npy").CRC
    assert crc == zlib.crc32(parts["weight.npy"])
    again = {name: part for name, part in parts.items() if name != "metadata.json"}
    with zipfile.ZipFile(path) as archive:
        first = {"metadata.json": archive.read("metadata.json")}
    rebuilt = put_together(first | again)
    with zipfile.ZipFile(io.BytesIO(rebuilt)) as archive:
        assert archive.read("digest.json") == stated
    assert np.load(io.BytesIO(parts["weight.npy"])).shape == (2,)
