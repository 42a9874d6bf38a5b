"""What `rpnb run` has written is on the disk before the command ends."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from rpnb.cli import main

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
    words += ["--target", "y", "--n-estimators", "3", "--quiet"]
    assert main(["run", str(data), *map(str, words)]) == 0
    expected: list[tuple[str, Any]] = []
    for name in ("p.csv", "m.rpnb", "r.html"):
        status = (folder / name).stat()
        whole = status.st_ino, status.st_size
        expected += [("file", whole), ("renamed", whole)]
        expected.append(("folder", (folder.stat().st_ino, None)))
    assert steps == expected
    assert sorted(os.listdir(folder)) == ["m.rpnb", "p.csv", "r.html"]
