"""Masked arrays: masked values are missing and never read."""

from typing import Any

import numpy as np


def refuse_masked(values: Any, name: str) -> None:
    """Raise a ValueError if an array of one or two dimensions has a masked entry.

    NumPy and scikit-learn read the number behind a mask, which is meaningless.
    """
    if not isinstance(values, np.ma.MaskedArray):
        return
    mask = np.ma.getmaskarray(values)
    if mask.any():
        place = np.argwhere(mask)[0].tolist()
        where = ", ".join(
            f"{axis} {i}" for axis, i in zip(("row", "column"), place, strict=False)
        )
        raise ValueError(
            f"Input {name} contains a masked value ({where}): impute or drop missing "
            "values first"
        )
