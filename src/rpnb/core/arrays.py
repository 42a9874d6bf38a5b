"""Names for arrays. Axes carry the paper's letters everywhere.

========  ==========================================================================
letter    axis
========  ==========================================================================
n         observations (rows)
p         features of an observation, the dimension of the up-space
q         dimension of a down-space
K         members of the ensemble
F = K·q   columns, when the K down-spaces stand side by side
M         classes
========  ==========================================================================
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
WordArray: TypeAlias = NDArray[np.int32]
UIntArray: TypeAlias = NDArray[np.uint64]
BoolArray: TypeAlias = NDArray[np.bool_]
