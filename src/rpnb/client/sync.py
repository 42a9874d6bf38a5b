"""The synchronous client."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, final

import httpx

from rpnb.client import calls
from rpnb.client.calls import Call, Request, Result
from rpnb.client.encoding import Rows
from rpnb.client.results import Label, LabelResult, Prediction
from rpnb.client.retries import Attempts, access


@final
class Client:
    """A synchronous client of `rpnb serve`.

    Parameters
    ----------
    address : str, default="http://127.0.0.1:8000"
        Address of the service.
    token : str, optional
        Access token.
    batch_size : int, default=5000
        Number of rows per request.
    retries : int, default=6
        Number of retries of a request if there was no response, or the service was
        busy. Pauses double from 0.05 to 5 seconds: 6 retries last about 3 seconds, and
        12, which bridge a restart of the service, about 30. All attempts have the same
        key, so the request is executed once.
    timeout : float, default=300.0
        Seconds to wait for a response.

    Examples
    --------
    A row is predicted now, its label arrives later; `address` is that of the service:

    >>> from rpnb.client import Client
    >>> with Client(address) as client:
    ...     created = client.create("trees", features=["width", "height"])
    ...     found = client.predict("trees", [[5.1, 3.5]], remember=True)
    ...     client.label("trees", found.ids, ["oak"]).results
    ['learned']

    In the examples of the methods, `client` is a client of a service with the model
    "leaves", which has learned 40 `rows` of two `labels`, "oak" and "elm".
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
        """Close the connections.

        Examples
        --------
        >>> client.close()
        """
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
        correct_class_mix: bool = False,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Create a model.

        Parameters
        ----------
        name : str
            Name of the model: letters, digits, _ and -.
        learner : str, default="Pooled"
            Name of a learner of the package, as in `rpnb run --model`: "RPNB" is the
            fastest of those with probabilities.
        features : sequence of str, int, or frame
            Names of the features, or their number; or some rows as a frame of pandas or
            polars or a table of Arrow, whose columns of categories, text and dates are
            then treated as by the learner in Python.
        classes : sequence, optional
            Classes that may be predicted from the start.
        new_classes : {"accept", "refuse"}, default="accept"
            What happens to an unknown label: it becomes a new class, or the request is
            refused with status 422.
        date_features : sequence of str or int, default=()
            Columns of dates, if `features` is not a frame: their values are strings
            such as "2026-01-31T12:00:00".
        correct_class_mix : bool, default=False
            Whether to correct probabilities of rows that wait for labels for a changing
            class mix, as long as that lowers the log-loss on the labels that arrive.
        **parameters
            Parameters of the learner, such as `categorical_features` and
            `text_features`.

        Returns
        -------
        dict
            Description of the model.

        Examples
        --------
        >>> model = client.create("trees", features=["width", "height"])
        >>> model["learner"]
        'Pooled'
        """
        call = calls.create(
            *(name, learner, features, classes, new_classes, date_features),
            correct_class_mix,
            parameters,
        )
        return self._run(call)

    def upload(
        self, name: str, content: bytes, *, new_classes: str = "accept"
    ) -> dict[str, Any]:
        """Create a model from the bytes of a model file.

        Parameters
        ----------
        name : str
            Name of the new model.
        content : bytes
            Content of the file, as `save` or `download` returns it.
        new_classes : {"accept", "refuse"}, default="accept"
            What happens to a label that is not among the file's classes; see `create`.

        Returns
        -------
        dict
            Description of the model.

        Examples
        --------
        >>> copied = client.upload("copy", client.download("leaves"))
        >>> copied["learner"]
        'Pooled'
        """
        return self._run(calls.upload(name, content, new_classes))

    def download(
        self, name: str, kind: str = "model", *, version: str | None = None
    ) -> bytes:
        """Return the content of a model file.

        Parameters
        ----------
        name : str
            Name of the model.
        kind : {"model", "frozen", "onnx"}, default="model"
            What to return: the model, or for RPNB the compiled model or its ONNX graph.
        version : str, optional
            Name of a version; by default the current state.

        Returns
        -------
        bytes
            Content of the file.

        Examples
        --------
        >>> content = client.download("leaves")
        >>> content[:2]                                   # a zip archive
        b'PK'
        """
        return self._run(calls.download(name, kind, version))

    def models(self) -> list[dict[str, Any]]:
        """Describe each model.

        Returns
        -------
        list of dict
            Descriptions, as `model` returns them.

        Examples
        --------
        >>> [model["name"] for model in client.models()]
        ['leaves']
        """
        return self._run(calls.models())

    def model(self, name: str) -> dict[str, Any]:
        """Describe a model.

        Parameters
        ----------
        name : str
            Name of the model.

        Returns
        -------
        dict
            Learner, parameters, features, classes, number of rows learned, error rate
            and more.

        Examples
        --------
        >>> client.model("leaves")["classes"]
        ['elm', 'oak']
        """
        return self._run(calls.model(name))

    def delete(self, name: str) -> None:
        """Delete a model and all its rows.

        Parameters
        ----------
        name : str
            Name of the model.

        Examples
        --------
        >>> client.delete("leaves")
        >>> client.models()
        []
        """
        self._run(calls.delete(name))

    def health(self) -> dict[str, Any]:
        """Return the status of the service and of its models.

        Returns
        -------
        dict
            "status" is "ok" if all is well.

        Examples
        --------
        >>> client.health()["status"]
        'ok'
        """
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
        """Add a challenger, which learns the same rows but whose answers are not used.

        Parameters
        ----------
        name : str
            Name of the model.
        challenger : str
            Name of the challenger.
        learner : str, default="Pooled"
            Name of a learner of the package.
        start : {"log", "now"}, default="log"
            Whether it learns the whole log first, or starts with the next label.
        **parameters
            Parameters of the learner.

        Returns
        -------
        dict
            Name of the challenger, and the event that added it.

        Examples
        --------
        >>> added = client.challenge("leaves", "bayes", "GaussianNB")
        >>> [each["name"] for each in client.challengers("leaves")["challengers"]]
        ['bayes']
        """
        call = calls.challenge(name, challenger, learner, start, parameters)
        return self._run(call)

    def challengers(self, name: str) -> dict[str, Any]:
        """Return the learner in use ("champion") and its "challengers".

        Each has its metrics; a challenger also has the "difference" of its error from
        that of the champion, with a confidence interval that is valid at all rows at
        once.

        Parameters
        ----------
        name : str
            Name of the model.

        Returns
        -------
        dict
            "champion", "challengers", and the "promotions" and "versions" so far.

        Examples
        --------
        >>> found = client.challengers("leaves")
        >>> found["champion"]["learner"], found["challengers"]
        ('Pooled', [])
        """
        return self._run(calls.challengers(name))

    def withdraw(self, name: str, challenger: str) -> None:
        """Withdraw a challenger of a model.

        Parameters
        ----------
        name : str
            Name of the model.
        challenger : str
            Name of the challenger.

        Examples
        --------
        >>> added = client.challenge("leaves", "bayes", "GaussianNB")
        >>> client.withdraw("leaves", "bayes")
        >>> client.challengers("leaves")["challengers"]
        []
        """
        self._run(calls.withdraw(name, challenger))

    def promote(self, name: str, challenger: str) -> dict[str, Any]:
        """Make a challenger the champion; the old champion becomes a challenger.

        Parameters
        ----------
        name : str
            Name of the model.
        challenger : str
            Name of the challenger, which must have learned the whole log.

        Returns
        -------
        dict
            The event of the promotion.

        Examples
        --------
        >>> added = client.challenge("leaves", "bayes", "GaussianNB")
        >>> promoted = client.promote("leaves", "bayes")
        >>> client.challengers("leaves")["champion"]["name"]
        'bayes'
        """
        return self._run(calls.promote(name, challenger))

    def roll_back(self, name: str, version: str | None = None) -> dict[str, Any]:
        """Make the previous champion, or a named version, the champion again.

        Parameters
        ----------
        name : str
            Name of the model.
        version : str, optional
            Name of a version; by default the previous champion.

        Returns
        -------
        dict
            The event of the rollback.

        Examples
        --------
        >>> added = client.challenge("leaves", "bayes", "GaussianNB")
        >>> promoted = client.promote("leaves", "bayes")
        >>> back = client.roll_back("leaves")
        >>> client.challengers("leaves")["champion"]["learner"]
        'Pooled'
        """
        return self._run(calls.roll_back(name, version))

    def name_version(
        self, name: str, version: str, event: int | None = None
    ) -> dict[str, Any]:
        """Name the state of a model as of an event.

        Parameters
        ----------
        name : str
            Name of the model.
        version : str
            Name of the version.
        event : int, optional
            Number of the event; by default the last one.

        Returns
        -------
        dict
            Name and event of the version.

        Examples
        --------
        >>> named = client.name_version("leaves", "monday")
        >>> client.predict("leaves", rows[:1], version="monday").labels
        ['oak']
        """
        return self._run(calls.name_version(name, version, event))

    def drop_version(self, name: str, version: str) -> None:
        """Drop a named version.

        Parameters
        ----------
        name : str
            Name of the model.
        version : str
            Name of the version.

        Examples
        --------
        >>> named = client.name_version("leaves", "monday")
        >>> client.drop_version("leaves", "monday")
        """
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
            Name of the model.
        rows : array-like of shape (n_samples, n_features), frame, or list of dict
            Observations; dicts are by feature name.
        remember : bool, default=False
            Whether the service keeps the rows until their labels arrive.
        ids : sequence of str, optional
            Ids of the rows to keep; assigned by the service by default.
        probabilities : bool, default=False
            Whether to return the probabilities of all classes.
        version : str, optional
            Name of a version to predict with; rows cannot be kept for their labels
            then.

        Returns
        -------
        Prediction
            Labels, and ids and probabilities if requested.

        Examples
        --------
        >>> found = client.predict("leaves", rows[:2], remember=True)
        >>> found.labels, len(found.ids)
        (['oak', 'elm'], 2)
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
        """Predict rows, keep them for their labels, and choose which to label.

        Parameters
        ----------
        name : str
            Name of the model.
        rows : array-like of shape (n_samples, n_features), frame, or list of dict
            Observations; dicts are by feature name.
        budget : float, default=0.05
            Share of the rows that can be labelled.
        ids : sequence of str, optional
            Ids of the rows; assigned by the service by default.

        Returns
        -------
        dict
            For each row: "ids", "labels", "confidence", whether to label it ("asked"),
            and "weights", with which their errors estimate the error on all rows.

        Examples
        --------
        >>> found = client.ask("leaves", rows, budget=0.5)
        >>> sorted(found)
        ['asked', 'confidence', 'ids', 'labels', 'weights']
        """
        return self._run(calls.ask(self.batch_size, name, rows, budget, ids))

    def asked(self, name: str, *, limit: int = 1000) -> dict[str, Any]:
        """List the rows chosen by `ask` that have no label yet, oldest first.

        Parameters
        ----------
        name : str
            Name of the model.
        limit : int, default=1000
            Largest number of rows to list, at most 10,000.

        Returns
        -------
        dict
            "ids", "times" and "weights" of these rows; the number of rows "offered" to
            `ask` and "drawn" by it; the number of "labels" of drawn rows that have
            arrived; and the "error" on all rows, estimated from these labels, with its
            "standard_error" (None if unknown).

        Examples
        --------
        >>> found = client.ask("leaves", rows, budget=0.5)
        >>> waiting = client.asked("leaves")
        >>> set(waiting["ids"]) <= set(found["ids"]), waiting["error"]
        (True, None)
        """
        return self._run(calls.asked(name, limit))

    def explain(self, name: str, rows: Rows) -> list[dict[str, Any]]:
        """Explain the prediction of each row.

        Parameters
        ----------
        name : str
            Name of the model.
        rows : array-like of shape (n_samples, n_features), frame, or list of dict
            Observations; dicts are by feature name.

        Returns
        -------
        list of dict
            For each row: the "label"; the class that it is compared with ("against");
            the scores of the background ("base") and of the row ("score"); and what
            each feature contributes to their difference, by name ("contributions"). For
            a `PooledClassifier` also the standard errors of the contributions
            ("errors"), and what each member contributes to the score ("members").

        Examples
        --------
        >>> reasons = client.explain("leaves", rows[:1])
        >>> sorted(reasons[0]["contributions"])
        ['height', 'width']
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
        """Send labels of rows that wait for them, in any order.

        Parameters
        ----------
        name : str
            Name of the model.
        ids : sequence of str
            Ids of the rows.
        labels : sequence
            Their labels.
        key : str, optional
            Idempotency key, for a call that you may repeat in another process; for
            calls of at most `batch_size` labels.

        Returns
        -------
        LabelResult
            Whether each label was learned.

        Examples
        --------
        >>> found = client.predict("leaves", rows[:2], remember=True)
        >>> client.label("leaves", found.ids, ["oak", "elm"]).results
        ['learned', 'learned']
        """
        return self._run(calls.label(self.batch_size, name, ids, labels, key))

    def forget(self, name: str, ids: Sequence[str]) -> list[str]:
        """Remove rows from the log and from the model, as if they had never been seen.

        The model becomes that of a replay of its log without the rows, to the bit. This
        takes as long as learning again what follows the last snapshot before the rows.

        Parameters
        ----------
        name : str
            Name of the model.
        ids : sequence of str
            Ids of the rows.

        Returns
        -------
        list of str
            "forgotten" for each id, or "unknown" if there is no such row.

        Examples
        --------
        >>> found = client.predict("leaves", rows[:1], remember=True, ids=["leaf-1"])
        >>> client.forget("leaves", ["leaf-1", "leaf-2"])
        ['forgotten', 'unknown']
        """
        return self._run(calls.forget(name, ids))

    def learn(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> int:
        """Learn rows with their labels.

        Parameters
        ----------
        name : str
            Name of the model.
        rows : array-like of shape (n_samples, n_features), frame, or list of dict
            Observations; dicts are by feature name.
        labels : sequence of str, int or bool
            Their labels.
        key : str, optional
            Idempotency key, for a call that you may repeat in another process; for
            calls of at most `batch_size` rows.

        Returns
        -------
        int
            Number of rows learned.

        Examples
        --------
        >>> client.learn("leaves", rows, labels)
        40
        """
        return self._run(calls.learn(self.batch_size, name, rows, labels, key))

    def observe(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> list[Label | None]:
        """Predict each row, then learn it.

        Parameters
        ----------
        name : str
            Name of the model.
        rows : array-like of shape (n_samples, n_features), frame, or list of dict
            Observations; dicts are by feature name.
        labels : sequence of str, int or bool
            Their labels.
        key : str, optional
            Idempotency key, for a call that you may repeat in another process; for
            calls of at most `batch_size` rows.

        Returns
        -------
        list
            Labels predicted before the rows were learned; None where no class was
            known.

        Examples
        --------
        >>> client.observe("leaves", rows[:2], labels[:2])
        ['oak', 'elm']
        """
        return self._run(calls.observe(self.batch_size, name, rows, labels, key))
