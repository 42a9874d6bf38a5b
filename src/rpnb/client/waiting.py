"""The client that waits for its answers."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, final

import httpx

from rpnb.client import calls
from rpnb.client.calls import Call, Request, Result
from rpnb.client.results import Label, LabelResult, Prediction
from rpnb.client.retries import Attempts, access
from rpnb.client.rows import Rows


@final
class Client:
    """A client of `rpnb serve` that waits for its answers.

    Parameters
    ----------
    address : str, default="http://127.0.0.1:8000"
        Of the service.
    token : str, optional
        Access token.
    batch_size : int, default=5000
        Rows per request.
    retries : int, default=6
        How often a request is tried again: if no answer came, or one that says that the
        service is busy. Pauses double from 0.05 to 5 seconds. A retry has the key of
        the first try and is carried out once.
    timeout : float, default=300.0
        Seconds to wait for an answer.

    Examples
    --------
    A row is predicted now, its label comes later::

        with Client() as client:
            client.create("leaves", features=["width", "height"])
            found = client.predict("leaves", [[5.1, 3.5]], remember=True)
            client.label("leaves", found.ids, ["oak"])
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        batch_size: int = 5000,
        retries: int = 6,
        timeout: float = 300.0,
    ) -> None:
        self.batch_size, self.retries = batch_size, retries
        self._http = httpx.Client(
            base_url=address, headers=access(token), timeout=timeout, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _run(self, call: Call[Result]) -> Result:
        return call.result([self._send(each) for each in call.requests])

    def _send(self, request: Request) -> Any:
        attempts = Attempts(request, self.retries)
        while True:
            try:
                response = self._http.request(**attempts.arguments())
            except httpx.TransportError as error:
                seconds = attempts.pause_without_answer(error)
            else:
                if attempts.is_answer(response):
                    return attempts.answer(response)
                seconds = attempts.pause_if_busy(response)
            time.sleep(seconds)

    # Models

    def create(
        self,
        name: str,
        learner: str = "Pooled",
        *,
        features: Sequence[str] | int | Any,
        classes: Sequence[Label] | None = None,
        new_classes: str = "accept",
        date_features: Sequence[str | int] = (),
        **parameters: Any,
    ) -> dict[str, Any]:
        """Create a model.

        Parameters
        ----------
        name : str
            Letters, digits, _ and -.
        learner : str, default="Pooled"
            Name of a learner of the package, as in `rpnb run --model`: "RPNB" is the
            fastest of those with probabilities.
        features : sequence of str, int, or frame
            Names of the features, or their number; or some rows as a frame of pandas or
            polars or a table of Arrow, whose columns of categories, text and dates are
            then what they are for the learner in Python.
        classes : sequence, optional
            Classes that may be predicted from the start.
        new_classes : {"accept", "refuse"}, default="accept"
            What becomes of a label that is none of the classes: it becomes a new
            class, or the request is refused with status 422.
        date_features : sequence of str or int, default=()
            Columns of dates, where `features` is no frame: rows have text such as
            "2026-01-31T12:00:00" in them.
        **parameters
            Parameters of the learner, such as `categorical_features` and
            `text_features`.

        Returns
        -------
        dict
            What the service knows of the model.
        """
        call = calls.create(
            *(name, learner, features, classes, new_classes, date_features),
            parameters,
        )
        return self._run(call)

    def upload(
        self, name: str, content: bytes, *, new_classes: str = "accept"
    ) -> dict[str, Any]:
        """Create a model from the bytes of a model file.

        With new_classes="refuse", labels other than the file's classes are refused.
        """
        return self._run(calls.upload(name, content, new_classes))

    def download(
        self, name: str, kind: str = "model", *, version: str | None = None
    ) -> bytes:
        """Return a model file: "model", "frozen" or "onnx", now or of a version."""
        return self._run(calls.download(name, kind, version))

    def models(self) -> list[dict[str, Any]]:
        """Return what the service knows of each model."""
        return self._run(calls.models())

    def model(self, name: str) -> dict[str, Any]:
        """Return what the service knows of a model."""
        return self._run(calls.model(name))

    def delete(self, name: str) -> None:
        """Delete a model and all its rows."""
        self._run(calls.delete(name))

    def health(self) -> dict[str, Any]:
        """Return whether all is well, and what is not."""
        return self._run(calls.health())

    # Challengers and versions

    def challenge(
        self,
        name: str,
        challenger: str,
        learner: str = "Pooled",
        *,
        start: str = "log",
        **parameters: Any,
    ) -> dict[str, Any]:
        """Add a challenger, which learns what a model learns and never answers.

        Parameters
        ----------
        name : str
            Name of the model.
        challenger : str
            Name of the challenger.
        learner : str, default="Pooled"
            Name of a learner of the package.
        start : {"log", "now"}, default="log"
            Whether it learns the whole log first, or begins with the next label.
        **parameters
            Parameters of the learner.
        """
        call = calls.challenge(name, challenger, learner, start, parameters)
        return self._run(call)

    def challengers(self, name: str) -> dict[str, Any]:
        """Return the learner that answers ("champion") and its "challengers".

        Each has its figures; a challenger also the "difference" of its error from that
        of the answers, with an interval that holds at every row at once.
        """
        return self._run(calls.challengers(name))

    def withdraw(self, name: str, challenger: str) -> None:
        """Withdraw a challenger of a model."""
        self._run(calls.withdraw(name, challenger))

    def promote(self, name: str, challenger: str) -> dict[str, Any]:
        """Let a challenger answer; the learner that did becomes a challenger."""
        return self._run(calls.promote(name, challenger))

    def roll_back(self, name: str, version: str | None = None) -> dict[str, Any]:
        """Let the learner that answered before, or a named version, answer again."""
        return self._run(calls.roll_back(name, version))

    def name_version(
        self, name: str, version: str, event: int | None = None
    ) -> dict[str, Any]:
        """Name the state of a model as of an event, by default the last one."""
        return self._run(calls.name_version(name, version, event))

    def drop_version(self, name: str, version: str) -> None:
        """Drop a named version."""
        self._run(calls.drop_version(name, version))

    # Rows

    def predict(
        self,
        name: str,
        rows: Rows,
        *,
        remember: bool = False,
        ids: Sequence[str] | None = None,
        probabilities: bool = False,
        version: str | None = None,
    ) -> Prediction:
        """Predict rows.

        Parameters
        ----------
        name : str
            Of the model.
        rows : array-like of shape (n, p), frame, or sequence of mappings
            Observations; mappings are by feature name.
        remember : bool, default=False
            Whether the rows wait for their labels.
        ids : sequence of str, optional
            Ids of rows that wait; the service gives them ids otherwise.
        probabilities : bool, default=False
            Whether to return the probabilities of all classes.
        version : str, optional
            Name of a version to predict with; its rows cannot wait for labels.
        """
        call = calls.predict(
            self.batch_size,
            name,
            rows,
            ids,
            remember=remember,
            probabilities=probabilities,
            version=version,
        )
        return self._run(call)

    def ask(
        self,
        name: str,
        rows: Rows,
        *,
        budget: float = 0.05,
        ids: Sequence[str] | None = None,
    ) -> dict[str, list[Any]]:
        """Predict rows, which then wait, and ask for the labels that are worth most.

        Parameters
        ----------
        name : str
            Of the model.
        rows : array-like of shape (n, p), frame, or sequence of mappings
            Observations; mappings are by feature name.
        budget : float, default=0.05
            Share of the rows whose labels can be had.
        ids : sequence of str, optional
            Ids of the rows; the service gives them ids otherwise.

        Returns
        -------
        dict
            For each row: "ids", "labels", whether it is "asked" for, and of those rows
            the "weights" by which their errors estimate that of all rows.
        """
        return self._run(calls.ask(self.batch_size, name, rows, budget, ids))

    def explain(self, name: str, rows: Rows) -> list[dict[str, Any]]:
        """Return why each row is given its class.

        For each row: the label, the class that it is compared with ("against"), the
        score of the background ("base"), the row's ("score"), and what each feature
        contributes to the difference, by name ("contributions"). Of a
        `PooledClassifier` also the standard errors of these ("errors"), and what each
        member adds to the score ("members").
        """
        return self._run(calls.explain(self.batch_size, name, rows))

    def label(
        self,
        name: str,
        ids: Sequence[str],
        labels: Sequence[Label],
        *,
        key: str | None = None,
    ) -> LabelResult:
        """Send labels of rows that wait, late, in any order.

        Parameters
        ----------
        name : str
            Of the model.
        ids : sequence of str
            Of the rows.
        labels : sequence
            Their labels.
        key : str, optional
            A key of your own, for a call that you may repeat in another process; for
            calls of at most `batch_size` labels.
        """
        return self._run(calls.label(self.batch_size, name, ids, labels, key))

    def forget(self, name: str, ids: Sequence[str]) -> list[str]:
        """Remove rows from the log and from the model, as if never seen.

        Returns for each id "forgotten", or "unknown" if there is no such row. The model
        becomes that of a replay of its log without the rows, to the bit; this takes as
        long as learning all of them again.
        """
        return self._run(calls.forget(name, ids))

    def learn(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> int:
        """Learn rows with their labels; return how many."""
        return self._run(calls.learn(self.batch_size, name, rows, labels, key))

    def observe(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> list[Label | None]:
        """Predict each row, then learn it; return the predictions."""
        return self._run(calls.observe(self.batch_size, name, rows, labels, key))
