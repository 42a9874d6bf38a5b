"""The tutorial runs as a notebook, from the file to the promotion."""

import os
import socket
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import rpnb
from tutorial_notebook import NOTEBOOK


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # `rpnb` is a program of the environment; here it is one of these sources.
    program = tmp_path / "bin" / "rpnb"
    program.parent.mkdir()
    code = "import sys; from rpnb.cli import main; sys.exit(main())"
    program.write_text(f"#!{sys.executable}\n{code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(rpnb.__file__).parents[1]))
    text = NOTEBOOK.read_text(encoding="utf-8").replace("8000", port)
    book = nbformat.reads(text, as_version=4)
    nbformat.validate(book)

    done = NotebookClient(
        book,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()

    printed = [
        "".join(output.get("text", "") for output in cell["outputs"])
        for cell in done.cells
        if cell["cell_type"] == "code"
    ]
    assert (tmp_path / "readings.html").stat().st_size > 10_000
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 5001
    assert sum("Pooled" in text for text in printed) >= 3  # run, compare, backtest
    # The pool is promoted, since the interval is below zero.
    *_, interval, champion = printed[-2].splitlines()
    assert interval.startswith("change of the error: -")
    assert champion == "pool"
