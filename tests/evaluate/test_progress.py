"""Progress of an evaluation: which bar is shown where."""

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from estimators.streams import blobs, small
from rpnb.evaluate import prequential
from rpnb.evaluate.progress import in_notebook


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ZMQInteractiveShell:
    """As in a notebook."""


def tqdm_that_notes(updates: list[Any]) -> Any:
    def tqdm(**options: Any) -> Any:
        updates.append(options["total"])
        return SimpleNamespace(
            update=updates.append, close=lambda: updates.append("closed")
        )

    return SimpleNamespace(tqdm=tqdm)


def test_without_a_library_the_rows_are_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs(1, 40)
    silent = prequential(small(), X, y, every=10)
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # not installed
    shown = prequential(small(), X, y, every=15, progress=True)
    written = capsys.readouterr().err
    assert written.startswith("\r15 of 40 rows\r30 of 40 rows")
    assert written.endswith("\r40 of 40 rows\n")
    assert shown["RPNBClassifier"].last("accuracy") == silent["RPNBClassifier"].last(
        "accuracy"
    )
    prequential(small(), iter([(X, y)]), every=15, progress=True)
    assert "\r30 rows" in capsys.readouterr().err


def test_progress_is_a_bar_of_tqdm_where_rich_cannot_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    updates: list[Any] = []
    monkeypatch.setitem(sys.modules, "tqdm.auto", tqdm_that_notes(updates))
    prequential(small(), *blobs(1, 40), every=15, progress=True)
    assert updates[0] == 40
    assert sum(updates[1:-1]) == 40
    assert updates[-1] == "closed"


@pytest.mark.parametrize("notebook", [False, True])
def test_a_terminal_has_a_bar_of_rich_and_a_notebook_one_of_tqdm(
    monkeypatch: pytest.MonkeyPatch, notebook: bool
) -> None:
    pytest.importorskip("rich")
    updates: list[Any] = []
    terminal = Terminal()
    monkeypatch.setitem(sys.modules, "tqdm.auto", tqdm_that_notes(updates))
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    shell = ZMQInteractiveShell() if notebook else None
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert in_notebook() == notebook
    prequential(small(), *blobs(1, 40), every=15, progress=True)
    assert bool(updates) == notebook
    assert ("40 of 40 rows" in terminal.getvalue()) != notebook
    if not notebook:
        prequential(small(), iter([blobs(1, 40)]), every=15, progress=True)
        assert terminal.getvalue().rstrip().count(" of ") > 0
        assert "40 rows" in terminal.getvalue()


def test_a_terminal_without_rich_has_a_bar_of_tqdm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    updates: list[Any] = []
    monkeypatch.setitem(sys.modules, "tqdm.auto", tqdm_that_notes(updates))
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    prequential(small(), *blobs(1, 40), every=15, progress=True)
    assert updates[-1] == "closed"
