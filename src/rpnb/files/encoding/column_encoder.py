"""Conversion of columns to features and labels, independent of the chunking.

The encoder keeps the labels and categories seen so far, in their order, and the sums
for running means. Its state at the end of any chunk can be written as JSON, so that
another run can resume from there.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from rpnb._core.streams import LARGEST
from rpnb.core.columns.coding import (
    CODED,
    MOST_WIDTH,
    WIDTHS,
    category_numbers,
    date_numbers,
    local_time,
    text_numbers,
)
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.files.encoding.number_text import PERHAPS_MISSING, Notation
from rpnb.files.encoding.targets import Targets
from rpnb.files.encoding.text_columns import (
    ISO_DATE,
    is_word,
    refused_date,
    refused_number,
)
from rpnb.files.formats.arrow_arrays import as_array, is_text
from rpnb.files.reading import FileError, Kind, LabelledChunk, ReadOptions, typed
from rpnb.labels import NO_LABEL, LabelIndex

if TYPE_CHECKING:
    import pyarrow as pa

#: The category of a missing value.
NO_VALUE = ""
# Number of chunks that may be in use at once: being read, waiting, being learned.
_MAX_BUFFERS = 6


class EncoderPosition(NamedTuple):
    """Numbers of labels, categories and rows that an encoder has seen."""

    labels: int
    categories: tuple[int, ...]
    counts: IntArray
    sums: FloatArray


class ColumnEncoder:
    """Turns batches of columns into chunks for a learner.

    `kinds` are the columns of features, `categories` the values of those of which all
    are known in advance: what "one-hot" needs; `na` tells whether --na can name missing
    values in this format.
    """

    def __init__(
        self,
        name: str,
        kinds: Mapping[str, Kind],
        options: ReadOptions,
        categories: Mapping[str, list[str]] | None = None,
        *,
        na: bool = False,
    ) -> None:
        import pyarrow as pa

        self._double = pa.float64()
        self._buffers = Buffers()
        self.name, self._kinds, self._options = name, dict(kinds), options
        self._na = na
        width = sum(WIDTHS[kind] for kind in kinds.values())
        if width > max(MOST_WIDTH, len(kinds)):
            raise FileError(
                f"{name}: columns of text and dates become {width:,} columns of "
                f"numbers, more than the maximum of {MOST_WIDTH:,}"
            )
        self._notation = Notation(options.decimal, options.thousands)
        self.targets = Targets(
            name, str(options.target), options.max_classes, options.unlabelled
        )
        self._one_hot = options.categorical == "one-hot"
        self._native = options.categorical == "native"
        known = categories or {}
        self._indexes = {
            column: LabelIndex(known.get(column, ()))
            for column, kind in kinds.items()
            if kind == "category"
        }
        self.category_names: dict[float, str] = {}
        """names of categories by their numbers in X, where learners take categories"""
        self._sums = np.zeros(len(self._kinds))
        self._counts = np.zeros(len(self._kinds), np.int64)

    def feature_names(self) -> list[str]:
        """Return the names of the columns of X."""
        names: list[str] = []
        for column in self._kinds:
            width = WIDTHS[self._kinds[column]]
            if self._one_hot and column in self._indexes:
                names += [f"{column}={value}" for value in self._indexes[column].labels]
            elif width > 1:
                names += [f"{column}[{i}]" for i in range(width)]
            else:
                names.append(column)
        return names

    def columns(self) -> list[tuple[str, Kind]]:
        """Return the columns that X encodes, with their kinds, as a learner gets them.

        Categories that it gets as codes or indicators are numbers.
        """
        found: list[tuple[str, Kind]] = []
        for column, kind in self._kinds.items():
            if self._one_hot and column in self._indexes:
                labels = self._indexes[column].labels
                found += [(f"{column}={value}", "number") for value in labels]
            else:
                coded = kind == "category" and not self._native
                found.append((column, "number" if coded else kind))
        return found

    def native(self, X: FloatArray) -> FloatArray:
        """Return rows of codes as learners of categories take them."""
        rows = X.copy()
        for j, column in enumerate(self._kinds):
            if column in self._indexes:
                numbers = category_numbers(self._indexes[column].labels)
                rows[:, j] = numbers[X[:, j].astype(np.int64)]
        return rows

    def native_columns(self) -> list[tuple[str, Kind]]:
        """Return the columns of the rows that `native` returns, with their kinds."""
        return list(self._kinds.items())

    def model_names(self) -> list[str]:
        """Return the names of a model's features, for frames that it is to predict.

        Codes have names that frames do not have: only the encoder knows them.
        """
        if self._native or self._one_hot:
            return [name for name, _ in self.columns()]
        return [
            name + CODED if kind == "category" else name
            for name, kind in self._kinds.items()
        ]

    def encode(self, batch: "pa.RecordBatch", rows: IntArray) -> LabelledChunk:
        """Return a chunk from a batch, whose rows have these numbers in the file."""
        if self._options.labelled:
            labels = batch.column(self._options.target)
            codes = self.targets.encode(labels, rows)
        else:
            codes = np.full(len(rows), NO_LABEL)
        X = self._buffers.empty(batch.num_rows, len(self.feature_names()))
        place = 0
        for j, (column, kind) in enumerate(self._kinds.items()):
            values = batch.column(column)
            if kind == "number":
                X[:, place] = self._numbers(j, column, values, rows)
                place += 1
                continue
            if self._native:
                part = X[:, place : place + WIDTHS[kind]]
                part[:] = self._native_numbers(column, kind, values, rows)
                place += WIDTHS[kind]
                continue
            index = self._indexes[column]
            numbers = self._categories(column, index, values, rows)
            if self._one_hot:
                width = len(index)
                X[:, place : place + width] = numbers[:, None] == np.arange(width)
                place += width
            else:
                X[:, place] = numbers
                place += 1
        # NaN makes this false as well; no temporary array is needed.
        if X.size and not max(X.max(), -X.min()) <= LARGEST:
            self._refuse(X, rows)
        return LabelledChunk(
            X, self.targets.labels.array(), codes, rows, self._position()
        )

    def _numbers(
        self, j: int, column: str, values: "pa.Array", rows: IntArray
    ) -> FloatArray:
        """Return a column of numbers as floats; missing ones are NaN or imputed."""
        if values.type != self._double:
            values = self._as_doubles(column, values, rows)
        if values.null_count:
            values = values.fill_null(np.nan)
        numbers: FloatArray = as_array(values)
        return self._impute(j, numbers) if self._options.missing == "mean" else numbers

    def _as_doubles(
        self, column: str, values: "pa.Array", rows: IntArray
    ) -> "pa.Array":
        """Return a column as numbers; refuse cells that are not numbers."""
        import pyarrow as pa

        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if is_text(values.type):
            values = values.cast(pa.string())
            notation = self._options.notations.get(column, self._notation)
            if self._na:  # whether the first rows have them or not
                notation = replace(notation, missing=tuple(PERHAPS_MISSING))
            fits = notation.fits(values).fill_null(True)
            if fits.true_count != len(fits):
                at = int(np.argmin(as_array(fits)))
                cell = values[at].as_py()
                row, sign = int(rows[at]), notation.decimal
                words = [cell] if self._na and is_word(cell) else []
                known = self._options.columns is not None
                raise FileError(
                    refused_number(
                        *(self.name, row, column, cell),
                        decimal=sign,
                        na=words,
                        known=known,
                    )
                )
            return notation.parse(values)
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())
        return values.cast(self._double, safe=False)

    def _native_numbers(
        self, column: str, kind: Kind, values: "pa.Array", rows: IntArray
    ) -> FloatArray:
        """Return categories, text or dates as numbers (n, WIDTHS[kind])."""
        if kind == "category":
            codes, listed = self._listed(column, values, rows)
            index = self._indexes[column]
            numbers = category_numbers(listed)
            if len(index) < self._options.max_categories:  # counted, and named
                index.of_codes(codes, listed)
                named = [value or "missing" for value in listed]
                self.category_names.update(zip(numbers.tolist(), named, strict=True))
            if listed and listed[-1] == NO_VALUE and self._options.missing == "keep":
                numbers[-1] = np.nan
            return numbers[codes][:, None]
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if is_text(values.type):
            values = pc.utf8_trim_whitespace(values)
            values = pc.if_else(pc.equal(values, ""), None, values)
        if values.null_count and self._options.missing == "refuse":
            self._refuse_missing(column, as_array(values.is_null()), rows)
        if kind == "text":
            return text_numbers(values.cast(pa.string()).to_pylist())
        return date_numbers(self._times(column, values, rows))

    def _times(
        self, column: str, values: "pa.Array", rows: IntArray
    ) -> NDArray[np.datetime64]:
        """Return dates and times, from text or from a type of Arrow, as local times."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not is_text(values.type):
            if getattr(values.type, "tz", None) is not None:
                values = values.cast(pa.timestamp("us", values.type.tz))
                values = pc.local_timestamp(values)
            return _as_times(values.cast(pa.timestamp("us"), safe=False))
        found = _parsed_times(values)
        if found is not None:
            return found
        texts = values.to_pylist()
        for text, row in zip(texts, rows.tolist(), strict=True):
            if text is not None and not _is_date(text):
                words = [text] if self._na and is_word(text) else []
                raise FileError(
                    refused_date(self.name, row, column, text, na=words),
                )
        return np.array([t if t is None else local_time(t) for t in texts], "M8[us]")

    def _impute(self, j: int, numbers: FloatArray) -> FloatArray:
        """Replace missing values by the mean of the values before them."""
        there = ~np.isnan(numbers)
        if not self._options.labelled:  # nothing is learned from these rows
            mean = self._sums[j] / max(self._counts[j], 1)
            return np.where(there, numbers, mean)
        # `accumulate` adds one by one, so the sums do not depend on the chunking.
        terms = np.concatenate(([self._sums[j]], np.where(there, numbers, 0.0)))
        sums = np.add.accumulate(terms)
        counts = self._counts[j] + np.concatenate(([0], np.cumsum(there)))
        self._sums[j], self._counts[j] = sums[-1], counts[-1]
        if there.all():
            return numbers
        means = sums[:-1] / np.maximum(counts[:-1], 1)
        return np.where(there, numbers, means)

    def _categories(
        self, column: str, index: LabelIndex, values: "pa.Array", rows: IntArray
    ) -> IntArray:
        """Return the numbers of categories; refuse new ones in one-hot columns."""
        if not self._one_hot:
            return self.number_categories(column, index, values, rows)
        codes, listed = self._listed(column, values, rows)
        unknown = [i for i, value in enumerate(listed) if value not in index]
        if unknown:
            self._refuse_new(column, listed, np.isin(codes, unknown), codes, rows)
        return index.of_codes(codes, listed, add=False)

    def _listed(
        self, column: str, values: "pa.Array", rows: IntArray
    ) -> tuple[IntArray, list[str]]:
        """Return the position of each row's value in a list of values, and the list.

        Spaces around values are removed. Missing values, and blank ones, are last in
        the list.
        """
        import pyarrow as pa

        if not pa.types.is_dictionary(values.type):
            if not is_text(values.type):
                values = values.cast(pa.string())
            values = values.dictionary_encode()
        listed = [str(value).strip() for value in values.dictionary.to_pylist()]
        none = len(listed)
        codes = as_array(values.indices.cast(pa.int64()).fill_null(none))
        if NO_VALUE in listed:
            blank = np.array([value == NO_VALUE for value in [*listed, NO_VALUE]])
            codes = np.where(blank[codes], none, codes)
        missing = codes == none
        if missing.any():
            if self._options.missing == "refuse":
                self._refuse_missing(column, missing, rows)
            listed.append(NO_VALUE)
        return codes, listed

    def number_categories(
        self, column: str, index: LabelIndex, values: "pa.Array", rows: IntArray
    ) -> IntArray:
        """Return the numbers of a column's values, adding new ones to the index."""
        numbers = index.of_codes(*self._listed(column, values, rows))
        if len(index) > self._options.max_categories:
            most = self._options.max_categories
            row = int(rows[int(np.argmax(numbers >= most))])
            raise FileError(
                f"{self.name}, row {row}, column {column}: more than {most} different "
                f"values, so free text rather than categories; drop the column "
                f"({typed('--drop', column)}) or raise --max-categories"
            )
        return numbers

    def _refuse_new(
        self,
        column: str,
        listed: list[str],
        new: Any,
        codes: IntArray,
        rows: IntArray,
    ) -> None:
        if new.any():
            i = int(np.argmax(new))
            raise FileError(
                f"{self.name}, row {rows[i]}, column {column}: {listed[codes[i]]!r} is "
                "a new value, which has no one-hot column"
            )

    def _refuse_missing(
        self, column: str, missing: BoolArray, rows: IntArray
    ) -> NoReturn:
        row = rows[int(np.argmax(missing))]
        raise FileError(
            f"{self.name}, row {row}, column {column}: the value is missing; use "
            "--missing mean or --model Pooled to make that a category"
        )

    def _refuse(self, X: FloatArray, rows: IntArray) -> None:
        """Raise an error for the first value that is not a finite number.

        Missing values are ignored if they are kept.
        """
        bad = ~(np.abs(X) <= LARGEST)
        if self._options.missing == "keep":
            bad &= ~np.isnan(X)
            if not bad.any():
                return
        i, j = np.argwhere(bad)[0].tolist()
        value, column = float(X[i, j]), self.feature_names()[j]
        what = (
            f"{value!r} is too large: squares overflow beyond ±{LARGEST:.0e}; rescale "
            f"the column, or drop it with {typed('--drop', column)}"
        )
        if np.isnan(value):
            what = "the value is missing or NaN; use --missing mean to impute the mean "
            what += "of earlier rows, or --model Pooled, which supports missing values"
        elif np.isinf(value):
            what = "infinity is not allowed; features must be finite numbers"
            if self._na:
                text = typed("--na", "inf" if value > 0 else "-inf")
                text += "" if self._options.missing == "keep" else " --missing mean"
                what += "; if it stands for a missing value, use --na followed by its "
                what += f"text, such as {text}"
        raise FileError(f"{self.name}, row {rows[i]}, column {column}: {what}")

    # Saving and resuming

    def _position(self) -> EncoderPosition:
        """Return the current position, for `to_json`."""
        sizes = tuple(len(index) for index in self._indexes.values())
        counts, sums = self._counts.copy(), self._sums.copy()
        return EncoderPosition(len(self.targets.labels), sizes, counts, sums)

    def category_counts(self, position: EncoderPosition) -> dict[str, int]:
        """Return the number of values of each category at a position."""
        return dict(zip(self._indexes, position.categories, strict=True))

    def to_json(self, position: EncoderPosition) -> dict[str, Any]:
        """Return the state at a position, as JSON values."""
        pairs = zip(self._indexes.items(), position.categories, strict=True)
        return {
            "columns": self._kinds,
            "target": self._options.target,
            "categorical": self._options.categorical,
            "missing": self._options.missing,
            "labels": self.targets.to_json(position.labels),
            "categories": {}
            if self._native
            else {name: list(index.labels[:k]) for (name, index), k in pairs},
            "counts": position.counts.tolist(),
            "sums": position.sums.tolist(),
            "notations": {
                name: each.to_json() for name, each in self._options.notations.items()
            },
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from the state of an encoder of the same columns."""
        for name, ours in (
            ("columns", self._kinds),
            ("target", self._options.target),
            ("categorical", self._options.categorical),
            ("missing", self._options.missing),
        ):
            if name == "target" and not self._options.labelled:
                continue
            if state[name] != ours or (
                name == "columns" and list(state[name]) != list(self._kinds)
            ):
                raise FileError(
                    f"{self.name}: a model can only be resumed with the same {name}; "
                    f"it was saved with {state[name]!r}, got {ours!r}"
                )
        self.targets.resume(state["labels"])
        categories = state["categories"]
        known = () if self._native else self._indexes
        if type(categories) is not dict or set(categories) != set(known):
            raise ValueError("categories are not those of the columns")
        self._indexes = {
            name: LabelIndex(categories.get(name, ())) for name in self._indexes
        }
        counts = np.array(state["counts"], np.int64)
        sums = np.array(state["sums"], np.float64)
        sizes = self._counts.shape, self._sums.shape
        if (counts.shape, sums.shape) != sizes or not (
            (counts >= 0).all() and np.isfinite(sums).all()
        ):
            raise ValueError("sums of missing values are not those of the columns")
        self._counts, self._sums = counts, sums


def _as_times(values: "pa.Array") -> NDArray[np.datetime64]:
    """Return timestamps of Arrow, missing ones as NaT."""
    import pyarrow as pa

    missing = np.iinfo(np.int64).min
    return as_array(values.cast(pa.int64()).fill_null(missing)).view("M8[us]")


def _parsed_times(texts: "pa.Array") -> NDArray[np.datetime64] | None:
    """Return texts as local times; None if some are no dates, or only days."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = texts.cast(pa.string())
    fits = pc.match_substring_regex(texts, f"^(?:{ISO_DATE.pattern})$")
    if not pc.all(fits).as_py():
        return None
    local = pc.replace_substring_regex(texts, r"(:[\d.]+)(?:Z|[+-][\d:]+)$", r"\1")
    try:
        return _as_times(local.cast(pa.timestamp("us")))
    except pa.ArrowInvalid:
        return None


def _is_date(text: str) -> bool:
    """Return whether a text is a valid date."""
    if not ISO_DATE.fullmatch(text):
        return False
    try:
        np.datetime64(local_time(text), "us")
    except ValueError:
        return False
    return True


def _references(kept: list[FloatArray], i: int) -> int:
    """Return the number of references to an array in a list."""
    return sys.getrefcount(kept[i])


# The number of references to an array that only the list holds.
_UNUSED = _references([np.empty(0)], 0)


class Buffers:
    """Reusable memory for arrays, a few of which are in use at a time.

    The system clears every page of memory before it gives it to a process; for
    short-lived arrays, that may take as long as filling them. Memory is not reused
    while an array, or a view of it, is referenced anywhere.
    """

    def __init__(self) -> None:
        self._kept: list[FloatArray] = []

    def empty(self, n: int, p: int) -> FloatArray:
        """Return an array of shape (n, p) with arbitrary contents."""
        size = n * p
        for i in range(len(self._kept)):
            if self._kept[i].shape[0] >= size and _references(self._kept, i) == _UNUSED:
                return self._kept[i][:size].reshape(n, p)
        new = np.empty(size)
        self._kept = [*self._kept, new][-_MAX_BUFFERS:]
        return new[:size].reshape(n, p)
