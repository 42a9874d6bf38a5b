"""Files of a report: all are written, or all stay as they were."""

from pathlib import Path

import pytest

from rpnb.report.written_files import write_files


def test_files_are_written_below_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    written = write_files({"b.txt": b"2", "sub/a.txt": b"1"}, folder)
    assert written == [folder / "b.txt", folder / "sub" / "a.txt"]
    assert [path.read_bytes() for path in written] == [b"2", b"1"]
    write_files({"b.txt": b"3"}, folder)
    assert written[0].read_bytes() == b"3"


def test_if_one_file_cannot_be_written_all_stay_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"old")
    (tmp_path / "b.txt").mkdir()
    with pytest.raises(OSError, match=r"b\.txt"):
        write_files({"a.txt": b"new", "b.txt": b"new"}, tmp_path)
    assert (tmp_path / "a.txt").read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "b.txt"}
