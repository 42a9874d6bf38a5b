"""Names of array types, and letters of axes, which are the paper's.

========  ==========================================================================
letter    axis
========  ==========================================================================
n         observations (rows)
p         features of an observation, the dimension of the up-space
q         dimension of a down-space
K         members of the ensemble
F = K·q   columns of the K down-spaces, side by side
M         classes
========  ==========================================================================
"""

import zlib
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
WordArray: TypeAlias = NDArray[np.int32]
CodeArray: TypeAlias = NDArray[np.int16]
UIntArray: TypeAlias = NDArray[np.uint64]
BoolArray: TypeAlias = NDArray[np.bool_]


def as_block(X: NDArray[Any]) -> FloatArray:
    """Return rows as the compiled core takes them: double precision, in C order."""
    return np.ascontiguousarray(X, dtype=np.float64)


def checksum(arrays: Iterable[NDArray[Any]]) -> int:
    """Return the CRC-32 of the arrays' bytes, the same on every machine."""
    value = 0
    for array in arrays:
        little_endian = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        value = zlib.crc32(little_endian.data, value)
    return value
