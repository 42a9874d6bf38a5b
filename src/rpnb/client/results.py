"""Results and errors of the clients."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Label = str | int | bool


class ServeError(Exception):
    """An error response of the service.

    Attributes
    ----------
    status : int
        HTTP status; 0 if there was no response.
    code : str
        Kind of error.
    row : int or None
        Row that caused it, counted within the call.
    column : str, int or None
        Column that caused it.

    Examples
    --------
    >>> from rpnb.client import Client, ServeError
    >>> with Client("http://127.0.0.1:1", retries=0) as client:
    ...     try:
    ...         client.models()
    ...     except ServeError as error:
    ...         print(error.status, error.code)
    0 no_answer
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
        Predicted labels; None if the model has no class yet.
    confidence : list of float or None
        Probability of each predicted label, if the learner has probabilities; for rows
        that wait for labels, or with `probabilities`.
    ids : list of str or None
        Ids of the rows, if they wait for their labels.
    probabilities : array of shape (n_samples, n_classes) or None
        Probabilities of all classes, if requested.
    classes : list or None
        Classes of the columns of `probabilities`.

    Examples
    --------
    >>> from rpnb.client import Prediction
    >>> found = Prediction(labels=["oak"], confidence=[0.97], ids=["leaf-1"])
    >>> found.labels[0], found.ids[0]
    ('oak', 'leaf-1')
    """

    labels: list[Label | None]
    confidence: list[float | None]
    ids: list[str] | None = None
    probabilities: NDArray[np.float64] | None = None
    classes: list[Label] | None = None


@dataclass(frozen=True, slots=True)
class LabelResult:
    """Outcome of each label sent.

    Attributes
    ----------
    results : list of str
        "learned", "duplicate" or "unknown" for each label.

    Examples
    --------
    >>> from rpnb.client import LabelResult
    >>> found = LabelResult(["learned", "learned", "duplicate"])
    >>> found.learned, found.duplicate, found.unknown
    (2, 1, 0)
    """

    results: list[str]

    @property
    def learned(self) -> int:
        """Number of labels that were learned.

        Examples
        --------
        >>> from rpnb.client import LabelResult
        >>> LabelResult(["learned", "duplicate", "duplicate"]).learned
        1
        """
        return self.results.count("learned")

    @property
    def duplicate(self) -> int:
        """Number of labels of rows that already had one.

        Examples
        --------
        >>> from rpnb.client import LabelResult
        >>> LabelResult(["learned", "duplicate", "duplicate"]).duplicate
        2
        """
        return self.results.count("duplicate")

    @property
    def unknown(self) -> int:
        """Number of labels of unknown rows, or of rows that no longer wait.

        Examples
        --------
        >>> from rpnb.client import LabelResult
        >>> LabelResult(["learned", "duplicate", "duplicate"]).unknown
        0
        """
        return self.results.count("unknown")
