"""Standard streams that were closed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROWS = "a,b,colour,kind\n" + "".join(
    f"{i % 7},{i % 3}.5,{'red' if i % 2 else 'blue'},{'p' if i % 5 < 2 else 'q'}\n"
    for i in range(40)
)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell of POSIX")
@pytest.mark.parametrize(
    ("words", "closed"),
    [
        ("run {} --target kind", ">&-"),
        ("run {} --target kind", "2>&- <&-"),
        ("datasets", ">&- 2>&- <&-"),
    ],
)
def test_closed_streams_give_no_traceback(
    tmp_path: Path, words: str, closed: str
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(ROWS)
    code = "import sys; from rpnb.cli import main; sys.exit(main())"
    done = subprocess.run(  # noqa: S602 - our own words
        f"{sys.executable} -c '{code}' {words.format(file)} {closed}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stdout + done.stderr
    assert file.read_text() == ROWS
