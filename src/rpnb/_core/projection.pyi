"""Random projections."""

from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray

def project(
    X: FloatArray, rows: IntArray, scale: float, R: SingleArray, Z: FloatArray
) -> None: ...
def project_singles(X: SingleArray, R: SingleArray, Z: SingleArray) -> None: ...
