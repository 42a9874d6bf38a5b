"""Settings shared by all tests."""

import os

import numpy as np
from hypothesis import HealthCheck, settings

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
    max_examples=8,
)
if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    settings.load_profile("interpreted")
    # Compiled arithmetic overflows silently, by design; NumPy's scalars would warn.
    np.seterr(all="ignore")
else:
    settings.load_profile("ci")
