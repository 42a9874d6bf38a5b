"""A plugin of pytest: record the lines that each test reaches, and its time."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage


def processor_seconds() -> float:
    """Return the time of this process and of the children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Recording:
    """One line of JSON for each test, and a context of coverage.py."""

    def __init__(self, folder: Path) -> None:
        self.file = (folder / f"tests.{os.getpid()}").open("a", encoding="utf-8")
        self.failed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run one test."""
        recorder = Coverage.current()
        assert recorder is not None
        recorder.switch_context(item.nodeid)
        self.failed = False
        before = processor_seconds()
        result = yield
        seconds = round(processor_seconds() - before, 3)
        row = {"test": item.nodeid, "seconds": seconds, "failed": self.failed}
        print(json.dumps(row), file=self.file, flush=True)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure of the test or of what is set up for it."""
        self.failed |= report.failed


def pytest_configure(config: pytest.Config) -> None:
    """Record, if the folder is named."""
    folder = os.environ.get("RPNB_RECORDING")
    if folder:
        config.pluginmanager.register(Recording(Path(folder)))
