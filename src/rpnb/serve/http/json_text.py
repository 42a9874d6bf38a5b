"""JSON text of requests and answers."""

from typing import Any

import msgspec
import numpy as np

from rpnb.serve.http.request_tables import Bytes
from rpnb.serve.limits import invalid


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_encode = msgspec.json.Encoder(enc_hook=_plain).encode
_decode = msgspec.json.Decoder().decode


def dump_json(value: Any) -> bytes:
    """Return a value as JSON; NaN and infinities become null."""
    return _encode(value)


def load_json(text: Bytes, what: str = "the body", row: int | None = None) -> Any:
    """Return the value of a JSON text; errors do not repeat its content."""
    try:
        return _decode(text)
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except RecursionError:
        problem = "its lists and objects are nested too deeply"
    except msgspec.DecodeError as error:
        problem = str(error).removeprefix("JSON is malformed: ")
    raise invalid(f"{what} is not JSON: {problem}", row=row)
