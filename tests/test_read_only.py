"""The package works where neither it nor the user's home can be written to."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import rpnb

SCRIPT = """
import sys
# An editable package comes before the path.
sys.meta_path[:] = [f for f in sys.meta_path if "skbuild" not in repr(f).lower() and
                    "scikitbuild" not in repr(f).lower()]
import numpy as np
import rpnb.baselines
assert rpnb.__file__.startswith(sys.argv[1]), rpnb.__file__
X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
model = rpnb.baselines.MajorityClass().fit(X, y)
assert model.predict(X).tolist() == [0] * 6
try:
    open(sys.argv[1] + "/rpnb/new", "w")
except OSError:
    print("read-only")
"""
# Of Linux: root is bound by permissions without this capability.
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def _obey_permissions() -> None:
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A copy of the package, and a home, that nobody but root may write to."""
    place = Path(tempfile.mkdtemp())
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(rpnb.__file__).parent, place / "rpnb", ignore=ignored)
    (place / "home").mkdir()
    for path in (place, *place.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield place
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(place)


@pytest.mark.skipif(sys.platform != "linux", reason="permissions of Linux")
def test_import_and_prediction_where_nothing_can_be_written(folder: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH",)}
    environment = kept | {"HOME": str(folder / "home"), "PYTHONPATH": str(folder)}
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", SCRIPT, str(folder)],
        env=environment,
        cwd=folder,
        preexec_fn=_obey_permissions if os.getuid() == 0 else None,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "read-only\n"
    assert done.stderr == ""
