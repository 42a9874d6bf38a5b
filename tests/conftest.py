"""Settings shared by all tests."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

# A red build is red for everyone: the same examples each time, on any machine.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
# Kernels run as plain Python where coverage is measured: fewer examples do.
settings.register_profile(
    "interpreted",
    settings.get_profile("ci"),
    max_examples=4,
)
# With every index checked, kernels are compiled anew, which is most of the time; and an
# index that is wrong is wrong in most examples.
settings.register_profile("bounds", settings.get_profile("ci"), max_examples=20)
# With mistakes put into the sources (tools/mutants.py): one failure is enough, the
# smallest example of it is of no use. What a test reaches, few examples show.
EXAMPLES = os.environ.get("RPNB_EXAMPLES", "all")
FOUND_ONLY = (Phase.explicit, Phase.generate)
UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
if UNCOMPILED:
    settings.load_profile("interpreted")
    # Compiled arithmetic overflows silently, by design; NumPy's scalars would warn.
    np.seterr(all="ignore")
elif os.environ.get("NUMBA_BOUNDSCHECK") == "1":
    settings.load_profile("bounds")
else:
    settings.load_profile("ci")
if EXAMPLES != "all":
    given = settings()
    most = min(given.max_examples, int(EXAMPLES))
    settings.register_profile("few", given, max_examples=most, phases=FOUND_ONLY)
    settings.load_profile("few")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, where kernels are not compiled, what takes long and adds no branch.

    Adapters come last: they learn pools row by row, which are not compiled for few
    rows, and take ten times as long until other tests have left compiled kernels.
    """
    items.sort(key=lambda item: item.nodeid.startswith("tests/adapters/"))
    if UNCOMPILED:
        for item in items:
            if item.get_closest_marker("slow_uncompiled"):
                item.add_marker(pytest.mark.skip(reason="takes long uncompiled"))
