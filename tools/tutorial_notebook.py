"""Write the tutorial as a notebook. Run: python tools/tutorial_notebook.py.

The notebook is generated from the page. Text becomes Markdown cells, Python stays
unchanged, and commands become shell lines. The service runs in the background until the
last cell stops it.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

TUTORIAL = Path(__file__).resolve().parents[1] / "docs" / "tutorial"
PAGE, NOTEBOOK = TUTORIAL / "index.md", TUTORIAL / "tutorial.ipynb"
_SITE = "https://rpnb.github.io/rpnb/stable/"
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\.\./([\w/-]+)\.md")


def notebook(page: str) -> dict[str, Any]:
    """Return a page as a notebook of format 4.5, without outputs."""
    cells, end = [], 0
    for block in _BLOCK.finditer(page):
        cells += _text(page[end : block.start()])
        cells.append(_code(block[2]) if block[1] == "python" else _commands(block[2]))
        end = block.end()
    cells += _text(page[end:])
    cells.append(_code("service.terminate()\n"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _text(text: str) -> list[dict[str, Any]]:
    text = _LINK.sub(rf"]({_SITE}\1/", text).strip()
    cell = {"cell_type": "markdown", "metadata": {}}
    return [{**cell, "source": text.splitlines(keepends=True)}] if text else []


def _code(source: str, *tags: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": list(tags)} if tags else {},
        "outputs": [],
        "source": source.rstrip("\n").splitlines(keepends=True),
    }


def _commands(lines: str) -> dict[str, Any]:
    if lines.startswith("pip "):
        return _code(f"%{lines}", "skip-execution")
    if lines.startswith("rpnb serve "):
        return _code(
            "import subprocess\n\n"
            f"service = subprocess.Popen({json.dumps(lines.split())})\n"
        )
    return _code("".join(f"!{line}" for line in lines.splitlines(keepends=True)))


def text_of_notebook(page: str) -> str:
    """Return the notebook file of a page, as text."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    text = text_of_notebook(PAGE.read_text(encoding="utf-8"))
    NOTEBOOK.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{NOTEBOOK}\n")
