"""The column of labels: integers, booleans or text, all of one kind."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import IntArray
from rpnb.files.formats.arrow_arrays import as_array
from rpnb.files.reading import FileError
from rpnb.labels import NO_LABEL, LabelIndex

if TYPE_CHECKING:
    import pyarrow as pa


class Targets:
    """Numbers labels in the order of first appearance; refuses invalid ones.

    With unlabelled="predict" rows without a label have the number −1.
    """

    def __init__(
        self, name: str, column: str, max_classes: int, unlabelled: str = "refuse"
    ) -> None:
        self._unlabelled = unlabelled
        self._where = f"{name}, row {{}}, column {column}"
        self._max_classes = max_classes
        self.labels = LabelIndex()
        self.kind: str | None = None
        """"integers", "booleans" or "text", from the first label on"""

    def encode(self, values: "pa.Array", rows: IntArray) -> IntArray:
        """Return the numbers of a column's labels."""
        import pyarrow as pa

        if values.null_count or pa.types.is_floating(values.type):
            missing = as_array(values.is_null(nan_is_null=True))
            if missing.any():
                return self._encode_some(values, rows, missing)
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.float64())
        kind = values.type
        if (
            pa.types.is_boolean(kind)
            or pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
        ):
            return self._encode_values(as_array(values), rows)
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        listed = values.dictionary.to_pylist()
        if listed and not isinstance(listed[0], str):
            decoded = as_array(values.dictionary_decode())
            return self._encode_values(decoded, rows)
        codes = as_array(values.indices)
        listed = [text.strip() for text in listed]
        if "" in listed:
            empty = np.array([text == "" for text in listed])[codes]
            if empty.any():
                return self._encode_some(values, rows, empty)
        self._check_kind("text", rows)
        return self._check_count(self.labels.of_codes(codes, listed), rows)

    def _encode_some(
        self, values: "pa.Array", rows: IntArray, missing: NDArray[Any]
    ) -> IntArray:
        """Return the numbers of rows some of which have no label."""
        import pyarrow as pa

        if self._unlabelled == "refuse":
            self._refuse(
                rows,
                missing,
                "the label is missing; use --unlabelled predict to predict such rows "
                "without learning them",
            )
        numbers = np.full(rows.shape[0], NO_LABEL)
        there = ~missing
        if there.any():
            numbers[there] = self.encode(values.filter(pa.array(there)), rows[there])
        return numbers

    def encode_array(self, labels: NDArray[Any], rows: IntArray) -> IntArray:
        """Return the numbers of an array's labels."""
        if labels.dtype.kind == "U":
            self._check_kind("text", rows)
            listed, codes = np.unique(labels, return_inverse=True)
            numbers = self.labels.of_codes(codes.reshape(-1), listed.tolist())
            return self._check_count(numbers, rows)
        return self._encode_values(labels, rows)

    def _encode_values(self, labels: NDArray[Any], rows: IntArray) -> IntArray:
        """Return the numbers of booleans or integers."""
        if labels.dtype.kind == "b":
            self._check_kind("booleans", rows)
            numbers = self.labels.of_codes(labels.astype(np.int64), [False, True])
            return self._check_count(numbers, rows)
        if labels.dtype.kind == "f":
            whole = np.abs(labels) < 2.0**63
            whole &= np.floor(labels) == labels
            if not whole.all():
                value = float(labels[int(np.argmin(whole))])
                self._refuse(
                    rows,
                    ~whole,
                    f"{value!r} is not a label; labels are text or whole numbers, as "
                    "rpnb predicts classes, not quantities; divide them into ranges "
                    "first",
                )
        self._check_kind("integers", rows)
        if labels.dtype == np.uint64 and labels.max(initial=0) >= 2**63:
            self._refuse(rows, labels >= 2**63, "a label beyond signed 64-bit integers")
        labels = labels.astype(np.int64, copy=False)
        return self._check_count(self.labels.of(labels), rows)

    def _check_kind(self, kind: str, rows: IntArray) -> None:
        """Refuse labels of another kind than those before."""
        if self.kind is None:
            self.kind = kind
        if self.kind != kind:
            raise FileError(
                f"{self._where.format(rows[0])}: the labels are {kind} here, but were "
                f"{self.kind} before"
            )

    def _check_count(self, numbers: IntArray, rows: IntArray) -> IntArray:
        """Return the numbers; refuse more labels than allowed."""
        if len(self.labels) > self._max_classes:
            self._refuse(
                rows,
                numbers >= self._max_classes,
                f"more than {self._max_classes} different labels: is this the target? "
                "--max-classes allows more",
            )
        return numbers

    def _refuse(self, rows: IntArray, wrong: NDArray[Any], what: str) -> NoReturn:
        """Raise an error that names the first wrong row."""
        row = int(rows[int(np.argmax(wrong))])
        raise FileError(f"{self._where.format(row)}: {what}")

    def to_json(self, count: int) -> dict[str, Any]:
        """Return the first `count` labels seen, and their kind."""
        return {"kind": self.kind, "values": list(self.labels.labels[:count])}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Start with the labels that an earlier run has seen."""
        self.kind, self.labels = state["kind"], LabelIndex(state["values"])
