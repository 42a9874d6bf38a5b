"""Products and factors of matrices, bound for tests."""

from rpnb.core.kernels.arrays import SingleArray

def multiply_rows(
    rows: SingleArray, matrix: SingleArray, start: SingleArray, out: SingleArray
) -> None: ...
