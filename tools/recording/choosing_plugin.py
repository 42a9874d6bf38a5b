"""A plugin of pytest: run the tests that a file lists, in its order, and no others."""

import json
import os
from pathlib import Path

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Choose and order what was collected; the name of a file stands for all of it."""
    listed = json.loads(Path(os.environ["RPNB_CHOSEN"]).read_text(encoding="utf-8"))
    ranks = {name: rank for rank, name in enumerate(listed)}

    def rank(item: pytest.Item) -> int | None:
        return ranks.get(item.nodeid, ranks.get(item.nodeid.split("::")[0]))

    chosen = [(place, item) for item in items if (place := rank(item)) is not None]
    others = [item for item in items if rank(item) is None]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for _, item in sorted(chosen, key=lambda pair: pair[0])]
