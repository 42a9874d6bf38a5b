"""The resolution of φ, on which exact sums of its products rest.

The sums themselves are in `cpp/pooled/algebra/outer_products.h`.
"""

from typing import Final

import numpy as np

#: Entries of φ are multiples of 1/128.
STEPS: Final = np.float32(128.0)
