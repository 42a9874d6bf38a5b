"""Reads labelled rows from a file of any format, or from arrays, in chunks."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rpnb.core.columns.coding import WIDTHS
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.files.encoding.chunking import rechunk, shuffled
from rpnb.files.encoding.column_encoder import NO_VALUE, ColumnEncoder
from rpnb.files.encoding.number_text import Notation
from rpnb.files.encoding.targets import Targets
from rpnb.files.formats.arff import Arff
from rpnb.files.formats.byte_sources import (
    COMPRESSED,
    STANDARD_INPUT,
    ByteSource,
    name_in_zip,
    standard_input_begins,
)
from rpnb.files.formats.delimited import Delimited
from rpnb.files.formats.excel import Excel
from rpnb.files.formats.feather import Feather
from rpnb.files.formats.json_lines import JsonLines
from rpnb.files.formats.lines import closed_on_error
from rpnb.files.formats.parquet import Parquet
from rpnb.files.formats.svmlight import SparseEncoder, SvmLight
from rpnb.files.reading import ColumnPlan, FileError, LabelledChunk, ReadOptions
from rpnb.labels import LabelIndex


class TableReader(Protocol):
    """Reads a file of one format in batches of columns.

    Its constructor takes the path, "-" for the standard input, and the options.
    """

    name: str
    plan: ColumnPlan
    """the role of each column"""
    notes: list[str]
    """notes on how the file is read"""
    categories: dict[str, list[str]]
    """the categories of columns, where the format declares them"""
    again: bool
    """whether the file can be read twice"""
    declared: list[Any] | None
    """all labels, if the format declares them"""

    def batches(self) -> Iterator[Any]:
        """Yield the rows in their order."""

    def share(self) -> float | None:
        """Return the share of the file that has been read."""

    def close(self) -> None:
        """Close the file."""


# A new format is a module in `formats` and an entry in both tables.
#: Format -> endings of file names, without those of compression.
FORMATS: Mapping[str, tuple[str, ...]] = {
    "csv": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".ipc"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "arff": (".arff",),
    "svmlight": (".svmlight", ".libsvm", ".svm"),
    "excel": (".xlsx", ".xls", ".xlsb", ".ods"),
}
# Number of bytes to examine if the name does not determine the format.
_BEGIN = 1 << 16
# SVMlight gives sparse batches, all other formats give columns.
_READERS: Mapping[str, Callable[[str, ReadOptions], TableReader | SvmLight]] = {
    "csv": Delimited,
    "parquet": Parquet,
    "feather": Feather,
    "jsonl": JsonLines,
    "arff": Arff,
    "svmlight": SvmLight,
    "excel": Excel,
}


def format_of(path: str, named: str | None = None) -> str:
    """Return the format of a file: as given, by its extension, or by its first bytes.

    Text with another extension, such as .txt or .data, is CSV unless its first bytes
    match another format.
    """
    if named is not None:
        return named
    if path == STANDARD_INPUT:
        return _format_of_bytes(standard_input_begins()) or "csv"
    zipped = path.lower().endswith(".zip")
    found = _format_of_name(name_in_zip(path) if zipped else path)
    if found is None and Path(path).is_file():
        found = _format_of_bytes(_begin_of(path))
    if found is None:
        known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
        raise FileError(
            f"{path}: cannot tell the format from the file name ({known}, perhaps "
            f"with {', '.join(COMPRESSED)}); pass --format with one of "
            f"{', '.join(FORMATS)}"
        )
    if zipped and found in ("parquet", "feather", "excel"):
        raise FileError(f"{path}: {found} in a zip file; unpack it")
    return found


def _format_of_name(path: str) -> str | None:
    """Return the format of a file name's extension, if it is known."""
    name = Path(path).name.lower()
    ending = next((each for each in COMPRESSED if name.endswith(each)), "")
    name = name.removesuffix(ending)
    return next(
        (kind for kind, endings in FORMATS.items() if name.endswith(endings)), None
    )


def _begin_of(path: str) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with closing(ByteSource(path)) as source:
        try:
            return source.read(_BEGIN)
        except FileError as error:
            raise FileError(f"{path}: {error}") from error


def _format_of_bytes(head: bytes) -> str | None:
    """Return the format of a file by its first bytes; None for unknown binary files.

    >>> [_format_of_bytes(head) for head in (b'{"a": 1}', b"a,b", b"+1 3:1 7:0.5")]
    ['jsonl', 'csv', 'svmlight']
    """
    begins = {b"PAR1": "parquet", b"ARROW1": "feather"}
    for begin, kind in begins.items():
        if head.startswith(begin):
            return kind
    utf_16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\x00" in head and not utf_16:
        return None
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] in (b"{", b"["):
        return "jsonl"
    if re.search(rb"^\s*@relation\b", text, re.MULTILINE | re.IGNORECASE):
        return "arff"
    lines = [each for each in text.split(b"\n")[:3] if not each.startswith(b"#")]
    if lines and re.fullmatch(rb"\S+(\s+\d+:\S+)+\s*(#.*)?", lines[0]):
        return "svmlight"
    return "csv"


def _near(path: Path) -> str:
    """Return a hint about a file with a similar name, if there is one."""
    try:
        there = sorted(each.name for each in path.parent.iterdir() if each.is_file())
    except OSError:
        return ""
    close = get_close_matches(path.name, there, n=1, cutoff=0.75)
    return f"; did you mean {path.parent / close[0]}?" if close else ""


def _readable_in(folder: Path, most: int = 5) -> str:
    """Return a hint about readable files in a folder, if there are any."""
    endings = tuple(ending for each in FORMATS.values() for ending in each)
    endings += tuple(a + b for a in endings for b in COMPRESSED)
    try:
        there = sorted(
            str(each)
            for each in folder.iterdir()
            if each.is_file() and each.name.lower().endswith(endings)
        )
    except OSError:
        return ""
    if not there:
        return "; no file in it has a known format"
    more = ", …" if len(there) > most else ""
    return f"; name one of its files: {', '.join(there[:most])}{more}"


class LabelledFile:
    r"""Reader of a file of labelled rows, which yields them once, in chunks.

    Parameters
    ----------
    path
        Path of the file, or "-" for the standard input.
    options
        How columns become features and labels.
    kind
        Format, one of `FORMATS`; None detects it from the name or the first bytes.
    state
        State of the encoder of an earlier run, to resume from there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rpnb.files import LabelledFile, ReadOptions
    >>> folder = TemporaryDirectory()
    >>> path = Path(folder.name) / "leaves.csv"
    >>> _ = path.write_text("width,height,species\n5,2,oak\n2,6,elm\n4,2,oak\n")
    >>> with LabelledFile(str(path), ReadOptions(target="species")) as file:
    ...     for chunk in file.chunks(2):
    ...         print(chunk.X.tolist(), chunk.y.tolist())
    [[5.0, 2.0], [2.0, 6.0]] ['oak', 'elm']
    [[4.0, 2.0]] ['oak']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str,
        options: ReadOptions,
        kind: str | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        if path == "":
            raise FileError("the name of the file is empty")
        if path != STANDARD_INPUT and not Path(path).exists():
            raise FileError(f"{path}: there is no such file{_near(Path(path))}")
        if path != STANDARD_INPUT and Path(path).is_dir():
            raise FileError(f"{path}: a folder, not a file{_readable_in(Path(path))}")
        self.format = format_of(path, kind)
        if state is not None:
            _check_kind_of_features(path, self.format, state)
        if state is not None and "columns" in state:
            notations = {
                column: Notation.from_json(each)
                for column, each in state["notations"].items()
            }
            columns = state["columns"]
            native = options.categorical == "native"
            known = {*WIDTHS} if native else {"number", "category"}
            if not {*columns.values()} <= known:
                raise ValueError(f"columns hold other than {', '.join(sorted(known))}")
            options = replace(options, columns=columns, notations=notations)
        self._reader = _READERS[self.format](path, options)
        self.encoder: ColumnEncoder | SparseEncoder
        with closed_on_error(self._reader):
            self.encoder = self._make_encoder(path, options, state)
            if state is not None:
                self.encoder.resume(state)

    def _make_encoder(
        self, path: str, options: ReadOptions, state: Mapping[str, Any] | None
    ) -> ColumnEncoder | SparseEncoder:
        """Return the encoder for the reader's batches."""
        reader = self._reader
        if isinstance(reader, SvmLight):
            return SparseEncoder(
                reader.name, int(reader.p or 0), options, zero_based=reader.zero_based
            )
        options = reader.plan.options
        categories: Mapping[str, list[str]] = {}
        if options.categorical == "one-hot" and state is None:
            again = partial(_READERS[self.format], path, options)
            categories = _all_categories(reader, again, options)
        na = isinstance(reader, Delimited)
        return ColumnEncoder(reader.name, reader.plan.kinds, options, categories, na=na)

    @property
    def name(self) -> str:
        r"""Name of the file, for messages.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rpnb.files import LabelledFile, ReadOptions
        >>> folder = TemporaryDirectory()
        >>> path = Path(folder.name) / "leaves.csv"
        >>> _ = path.write_text("width,height,species\n5,2,oak\n2,6,elm\n")
        >>> with LabelledFile(str(path), ReadOptions(target="species")) as file:
        ...     file.name == str(path)
        True
        >>> folder.cleanup()
        """
        return self._reader.name

    @property
    def plan(self) -> ColumnPlan | None:
        r"""Roles of the columns; None for sparse files, whose columns have no names.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rpnb.files import LabelledFile, ReadOptions
        >>> folder = TemporaryDirectory()
        >>> path = Path(folder.name) / "leaves.csv"
        >>> _ = path.write_text("width,height,species\n5,2,oak\n2,6,elm\n")
        >>> with LabelledFile(str(path), ReadOptions(target="species")) as file:
        ...     file.plan.kinds
        {'width': 'number', 'height': 'number'}
        >>> folder.cleanup()
        """
        reader = self._reader
        return None if isinstance(reader, SvmLight) else reader.plan

    @property
    def notes(self) -> list[str]:
        r"""Notes on how the file is read.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rpnb.files import LabelledFile, ReadOptions
        >>> folder = TemporaryDirectory()
        >>> path = Path(folder.name) / "leaves.csv"
        >>> _ = path.write_text("width,height,species\n5,2,oak\n2,6,elm\n")
        >>> with LabelledFile(str(path), ReadOptions(target="species")) as file:
        ...     file.notes
        []
        >>> folder.cleanup()
        """
        plan = self.plan
        return [*self._reader.notes, *(() if plan is None else plan.notes)]

    @property
    def declared(self) -> list[Any] | None:
        r"""All labels, if the format declares them.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rpnb.files import LabelledFile, ReadOptions
        >>> folder = TemporaryDirectory()
        >>> path = Path(folder.name) / "leaves.arff"
        >>> lines = "@relation leaves", "@attribute width numeric"
        >>> lines += "@attribute species {oak, elm}", "@data", "5,oak"
        >>> _ = path.write_text("\n".join(lines))
        >>> with LabelledFile(str(path), ReadOptions(target="species")) as file:
        ...     file.declared
        ['oak', 'elm']
        >>> folder.cleanup()
        """
        return self._reader.declared

    def share(self) -> float | None:
        r"""Return the share of the file that has been read; None if unknown.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rpnb.files import LabelledFile, ReadOptions
        >>> folder = TemporaryDirectory()
        >>> path = Path(folder.name) / "leaves.csv"
        >>> _ = path.write_text("width,height,species\n5,2,oak\n2,6,elm\n4,2,oak\n")
        >>> with LabelledFile(str(path), ReadOptions(target="species")) as file:
        ...     chunks = list(file.chunks(2))
        ...     file.share()
        1.0
        >>> folder.cleanup()
        """
        return self._reader.share()

    def close(self) -> None:
        r"""Close the file.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rpnb.files import LabelledFile, ReadOptions
        >>> folder = TemporaryDirectory()
        >>> path = Path(folder.name) / "leaves.csv"
        >>> _ = path.write_text("width,height,species\n5,2,oak\n2,6,elm\n4,2,oak\n")
        >>> file = LabelledFile(str(path), ReadOptions(target="species"))
        >>> file.close()
        >>> folder.cleanup()
        """
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def chunks(self, rows: int, shuffle: int | None = None) -> Iterator[LabelledChunk]:
        r"""Yield all rows, `rows` at a time; the last chunk may have fewer.

        Parameters
        ----------
        rows
            Number of rows per chunk.
        shuffle
            Seed of a random order, for which all columns are held in memory.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rpnb.files import LabelledFile, ReadOptions
        >>> folder = TemporaryDirectory()
        >>> path = Path(folder.name) / "leaves.csv"
        >>> _ = path.write_text("width,height,species\n5,2,oak\n2,6,elm\n4,2,oak\n")
        >>> with LabelledFile(str(path), ReadOptions(target="species")) as file:
        ...     [chunk.rows.tolist() for chunk in file.chunks(2)]
        [[1, 2], [3]]
        >>> folder.cleanup()
        """
        batches = self._reader.batches()
        numbered: Iterator[tuple[Any, IntArray]]
        if shuffle is None:
            numbered = _with_row_numbers(rechunk(batches, rows))
        else:
            numbered = shuffled(batches, rows, shuffle)
        empty = True
        for batch, numbers in numbered:
            empty = False
            yield self.encoder.encode(batch, numbers)
        if empty:
            raise FileError(f"{self.name}: there are no rows")


def _check_kind_of_features(path: str, kind: str, state: Mapping[str, Any]) -> None:
    """Refuse a file with columns for a model of sparse features, and the reverse."""
    if kind == "svmlight" and "columns" in state:
        raise FileError(
            f"{path}: the model was saved with named columns, which svmlight files do "
            "not have; use a file with these columns"
        )
    if kind != "svmlight" and "features" in state and "columns" not in state:
        raise FileError(
            f"{path}: the model was saved with sparse features, which {kind} files do "
            "not have; use an svmlight file"
        )


class LabelledArrays:
    """Rows and labels of arrays, in chunks like those of `LabelledFile`.

    Parameters
    ----------
    name
        For messages.
    X, y
        Features (n, p) and labels (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from rpnb.files import LabelledArrays
    >>> X = np.array([[5.0, 2.0], [2.0, 6.0], [4.0, 2.0]])
    >>> arrays = LabelledArrays("leaves", X, np.array(["oak", "elm", "oak"]))
    >>> for chunk in arrays.chunks(2):
    ...     print(chunk.X.tolist(), chunk.y.tolist())
    [[5.0, 2.0], [2.0, 6.0]] ['oak', 'elm']
    [[4.0, 2.0]] ['oak']
    """

    format = "arrays"
    encoder = None

    def __init__(self, name: str, X: FloatArray, y: NDArray[Any]) -> None:
        self.name, self._X, self._y = name, X, y
        self._done = 0

    @property
    def declared(self) -> Sequence[Any]:
        """All labels.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb.files import LabelledArrays
        >>> LabelledArrays("leaves", np.eye(2), np.array(["oak", "elm"])).declared
        ['elm', 'oak']
        """
        labels: list[Any] = np.unique(self._y).tolist()
        return labels

    def share(self) -> float:
        """Return the share of the rows that has been read.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb.files import LabelledArrays
        >>> X = np.array([[5.0, 2.0], [2.0, 6.0], [4.0, 2.0]])
        >>> arrays = LabelledArrays("leaves", X, np.array(["oak", "elm", "oak"]))
        >>> first = next(arrays.chunks(2))
        >>> round(arrays.share(), 2)
        0.67
        """
        return self._done / self._y.shape[0]

    def close(self) -> None:
        """Do nothing: there is no file.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb.files import LabelledArrays
        >>> X = np.array([[5.0, 2.0], [2.0, 6.0], [4.0, 2.0]])
        >>> arrays = LabelledArrays("leaves", X, np.array(["oak", "elm", "oak"]))
        >>> arrays.close()
        """

    def chunks(self, rows: int, shuffle: int | None = None) -> Iterator[LabelledChunk]:
        """Yield all rows, `rows` at a time; the last chunk may have fewer.

        Parameters
        ----------
        rows
            Number of rows per chunk.
        shuffle
            Seed of a random order.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb.files import LabelledArrays
        >>> X = np.array([[5.0, 2.0], [2.0, 6.0], [4.0, 2.0]])
        >>> arrays = LabelledArrays("leaves", X, np.array(["oak", "elm", "oak"]))
        >>> [chunk.rows.tolist() for chunk in arrays.chunks(2)]
        [[1, 2], [3]]
        """
        n = self._y.shape[0]
        order = np.arange(n)
        if shuffle is not None:
            order = np.random.default_rng(shuffle).permutation(n)
        targets = Targets(self.name, "label", max_classes=n)
        for start in range(0, n, rows):
            chosen = order[start : start + rows]
            codes = targets.encode_array(self._y[chosen], chosen + 1)
            self._done = start + chosen.shape[0]
            labels = targets.labels.array()
            yield LabelledChunk(self._X[chosen], labels, codes, chosen + 1, None)


def _with_row_numbers(batches: Iterator[Any]) -> Iterator[tuple[Any, IntArray]]:
    """Yield each batch with the numbers of its rows in the file, from 1."""
    row = 1
    for batch in batches:
        yield batch, np.arange(row, row + batch.num_rows)
        row += batch.num_rows


def _all_categories(
    reader: TableReader, again: Callable[[], Any], options: ReadOptions
) -> dict[str, list[str]]:
    """Return all values of each category: from the header, or by reading `again`."""
    columns = [name for name, kind in reader.plan.kinds.items() if kind == "category"]
    if all(name in reader.categories for name in columns):
        return dict(reader.categories)
    if not reader.again:
        raise FileError(
            f"{reader.name}: one-hot columns need a first pass over the file, and it "
            "cannot be read twice; use codes"
        )
    first_pass = again()
    encoder = ColumnEncoder(
        first_pass.name, dict.fromkeys(columns, "category"), options
    )
    found = {name: LabelIndex() for name in columns}
    with closing(first_pass):
        for batch, rows in _with_row_numbers(first_pass.batches()):
            for name, index in found.items():
                encoder.number_categories(name, index, batch.column(name), rows)
    return {
        name: [
            str(v) for v in index.labels if v != NO_VALUE or options.missing != "refuse"
        ]
        for name, index in found.items()
    }
