"""What clients return and raise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Label = str | int | bool


class ServeError(Exception):
    """An error that the service answered with.

    Attributes
    ----------
    status : int
        HTTP status; 0 if no answer came.
    code : str
        The kind of error.
    row : int or None
        The row that it is about, among those of the call.
    column : str, int or None
        The column that it is about.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        row: int | None = None,
        column: str | int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.row, self.column = status, code, row, column


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predictions of rows.

    Attributes
    ----------
    labels : list
        Predicted labels; None where the model knows no class yet.
    confidence : list of float or None
        Probability of each predicted label, where the learner has one; for rows that
        wait, or with `probabilities`.
    ids : list of str or None
        Ids of the rows, if they wait for their labels.
    probabilities : array of shape (n, M) or None
        Probabilities of all classes, if they were asked for.
    classes : list or None
        The classes that the columns of `probabilities` belong to.
    """

    labels: list[Label | None]
    confidence: list[float | None]
    ids: list[str] | None = None
    probabilities: NDArray[np.float64] | None = None
    classes: list[Label] | None = None


@dataclass(frozen=True, slots=True)
class LabelResult:
    """What became of labels.

    Attributes
    ----------
    results : list of str
        For each label "learned", "duplicate" or "unknown".
    """

    results: list[str]

    @property
    def learned(self) -> int:
        """Labels that were learned."""
        return self.results.count("learned")

    @property
    def duplicate(self) -> int:
        """Labels of rows that had one already."""
        return self.results.count("duplicate")

    @property
    def unknown(self) -> int:
        """Labels of rows that do not wait, or no longer."""
        return self.results.count("unknown")
