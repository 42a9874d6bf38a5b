"""Files written by `rpnb run` are on disk before the command ends."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from estimators.saving.crafting import put_together, taken_apart
from rpnb.cli import main

ODD: tuple[Any, ...] = (None, [], {}, [[1]], "x", -1)
ROWS = "a,b,y\n" + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(60))


@pytest.mark.skipif(os.name != "posix", reason="a matter of POSIX")
def test_files_are_flushed_after_their_last_byte_and_so_are_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "rows.csv"
    data.write_text(ROWS)
    folder = tmp_path / "out"
    folder.mkdir()
    steps: list[tuple[str, Any]] = []
    flush, rename = os.fsync, os.replace

    def note_flush(descriptor: int) -> None:
        status = os.fstat(descriptor)
        is_folder = stat.S_ISDIR(status.st_mode)
        size = None if is_folder else status.st_size
        steps.append(("folder" if is_folder else "file", (status.st_ino, size)))
        flush(descriptor)

    def note_rename(source: Path, target: Path) -> None:
        status = os.stat(source)
        steps.append(("renamed", (status.st_ino, status.st_size)))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", note_flush)
    monkeypatch.setattr(os, "replace", note_rename)
    outputs = {"--save": "m.rpnb", "--predictions": "p.csv", "--report": "r.html"}
    words = [word for key, name in outputs.items() for word in (key, folder / name)]
    words += ["--target", "y", "--model", "PA", "--quiet"]
    assert main(["run", str(data), *map(str, words)]) == 0
    expected: list[tuple[str, Any]] = []
    for name in ("p.csv", "m.rpnb", "r.html"):
        status = (folder / name).stat()
        whole = status.st_ino, status.st_size
        expected += [("file", whole), ("renamed", whole)]
        expected.append(("folder", (folder.stat().st_ino, None)))
    assert steps == expected
    assert sorted(os.listdir(folder)) == ["m.rpnb", "p.csv", "r.html"]


def test_a_model_file_with_a_crafted_encoder_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The digest is correct, but the description of labels and categories is not."""
    data, model = tmp_path / "rows.csv", tmp_path / "m.rpnb"
    data.write_text(ROWS)
    words = ["run", str(data), "--target", "y", "--model", "PA", "--quiet"]
    assert main([*words, "--save", str(model)]) == 0
    parts = taken_apart(model.read_bytes())
    sound = json.loads(parts["encoder.json"])
    crafted: list[Any] = [None, [], {}, 3]
    for key in sound:
        crafted += [sound | {key: odd} for odd in ODD]
        crafted.append({name: sound[name] for name in sound if name != key})
    crafted += [sound | {"labels": {"kind": kind, "values": [[]]}} for kind in (1, "x")]
    resumed = ["run", str(data), "--target", "y", "--load", str(model), "--quiet"]
    for value in crafted:
        model.write_bytes(put_together(parts | {"encoder.json": value}))
        capsys.readouterr()
        code, error = main(resumed), capsys.readouterr().err
        if value == sound:
            continue
        assert code == 2, value
        assert len(error.strip().splitlines()) == 1
