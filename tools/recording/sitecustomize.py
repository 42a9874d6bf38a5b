"""Record which lines of the package a process reaches: `reached_lines` asks for it.

Python imports a module of this name when it starts, so processes that tests start are
recorded too, for the test that started them.
"""

import os

FOLDER = os.environ.get("RPNB_RECORDING")
#: Of coverage.py: it reports what is no fault of a process among many.
SILENT = ["no-data-collected", "module-not-measured", "module-not-imported"]


def start(folder: str) -> None:
    """Record this process; its data are written when it ends."""
    try:
        from coverage import Coverage
    except ImportError:  # an environment without it: nothing is known of this process
        return
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    recorder = Coverage(
        data_file=os.path.join(folder, "lines"),
        data_suffix=True,
        auto_data=True,
        config_file=False,
        source=[os.environ["RPNB_RECORDED"]],
        context=test or None,
    )
    recorder.set_option("run:sigterm", True)
    recorder.set_option("run:disable_warnings", SILENT)
    recorder.start()


if FOLDER:
    start(FOLDER)
