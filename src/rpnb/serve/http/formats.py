"""Tables in requests and answers: JSON, NDJSON and Arrow.

- JSON: ``{"rows": [...], "labels": [...], "ids": [...]}``, where a row is an array or
  an object by feature name.
- NDJSON: one line per row, ``{"row": ..., "label": ..., "id": ...}``.
- Arrow IPC stream: one column per feature, and columns for the label and the id.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rpnb.serve.http.arrow import read_arrow, write_arrow
from rpnb.serve.http.json_tables import SINGULAR, read_json, read_lines
from rpnb.serve.http.json_text import dump_json
from rpnb.serve.http.memory import MemoryCharge
from rpnb.serve.http.request_tables import Bytes, RequestColumns, Table, TableParts
from rpnb.serve.limits import ApiError, Limits

JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
BINARY = "application/octet-stream"
#: Media types of a table of rows.
TABLES = (JSON, NDJSON, ARROW)

# Rows of an answer that are written at a time; other threads run in between.
_ROWS_AT_ONCE = 512


def media_type(header: str) -> str:
    """Return the media type of a Content-Type header."""
    return header.partition(";")[0].strip().lower()


def read_table(
    body: Bytes,
    content_type: str,
    wanted: Sequence[str],
    columns: RequestColumns,
    limits: Limits,
    *,
    optional: Sequence[str] = (),
    label_column: str = "label",
    id_column: str = "id",
    memory: MemoryCharge | None = None,
) -> Table:
    """Return the parts "rows", "labels" and "ids" of a request's body.

    Parameters
    ----------
    body, content_type
        Body and Content-Type header of the request.
    wanted, optional
        Required and optional parts.
    columns
        Features of the model.
    limits
        Limits of the service.
    label_column, id_column
        Names of these columns in an Arrow table.
    memory
        Memory charge of the request.
    """
    kind = media_type(content_type)
    parts = TableParts(wanted, optional, columns, limits, memory or MemoryCharge())
    if kind == JSON:
        read_json(body, parts)
    elif kind == NDJSON:
        read_lines(body, parts)
    elif kind == ARROW:
        names = {"labels": label_column, "ids": id_column}
        read_arrow(
            body, {part: names[part] for part in parts.allowed if part != "rows"}, parts
        )
    else:
        raise ApiError(
            415, "media_type", f"the body must be {JSON}, {NDJSON} or {ARROW}"
        )
    return parts.table()


# Answers


def write_answer(answer: Mapping[str, Any], accept: str) -> tuple[bytes, str]:
    """Return an answer as bytes, with a media type that the client accepts.

    Lists in the answer are columns of equal length. NDJSON and Arrow answers contain
    only those.
    """
    if ARROW not in accept and NDJSON not in accept:
        return dump_answer(answer), JSON
    lists = {name: value for name, value in answer.items() if isinstance(value, list)}
    for name in ("classes", "features"):
        lists.pop(name, None)
    columns = {SINGULAR.get(name, name): lists[name] for name in lists}
    if ARROW in accept:
        return write_arrow(columns), ARROW
    return _lines(columns), NDJSON


def dump_answer(answer: Mapping[str, Any]) -> bytes:
    """Return an answer as JSON; long lists are written in parts."""
    longest = max((len(v) for v in answer.values() if isinstance(v, list)), default=0)
    if longest <= _ROWS_AT_ONCE:
        return dump_json(answer)
    fields = []
    for name, value in answer.items():
        text = (
            dump_json(value) if not isinstance(value, list) else b"".join(_items(value))
        )
        fields.append(dump_json(name) + b":" + text)
    return b"{" + b",".join(fields) + b"}"


def _items(values: list[Any]) -> Iterator[bytes]:
    """Yield the JSON of a list in parts."""
    before = b"["
    for start in range(0, len(values), _ROWS_AT_ONCE):
        yield before + dump_json(values[start : start + _ROWS_AT_ONCE])[1:-1]
        before = b","
    yield b"[]" if not values else b"]"


def _lines(columns: dict[str, list[Any]]) -> bytes:
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    lines = [dump_json(dict(zip(names, row, strict=True))) for row in rows]
    return b"\n".join([*lines, b""])
