"""Docstrings on the documentation site have the text that they share. See mkdocs.yml.

The site is made of sources that are read and not run, so `rpnb.estimators.docstrings`
is called here once more.
"""

from typing import Any

import griffe

from rpnb.estimators.docstrings import with_shared_text


class SharedDocstrings(griffe.Extension):
    """Puts shared text into the docstrings of classes."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Complete the docstring of a class."""
        if cls.docstring:
            cls.docstring.value = with_shared_text(cls.docstring.value, cls.name)
