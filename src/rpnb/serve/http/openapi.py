"""The OpenAPI description, with schemas and examples of requests and answers."""

from collections.abc import Iterable
from typing import Any

from rpnb._version import __version__
from rpnb.estimators.registry import DEFAULT, learners
from rpnb.serve.http.routes import Route

_DESCRIPTION = """Predict now, learn when the label arrives.

A row that is predicted with `remember=true` waits for its label; `labels` takes labels
by id, late and in any order. Acknowledged requests are on disk. Send an
`Idempotency-Key` with a request that changes something to repeat it safely: it is
carried out once.

A request may have many rows, as JSON, NDJSON (`application/x-ndjson`) or an Arrow IPC
stream (`application/vnd.apache.arrow.stream`); `Accept` chooses the format of the
answer.
"""

Schema = dict[str, Any]


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    found: Schema = {"type": "object", "properties": properties}
    if required is not None:
        found |= {"required": required, "additionalProperties": False}
    return found


_TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_LABEL: Schema = {
    "oneOf": [
        _TEXT,
        {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
        {"type": "boolean"},
    ]
}
# Strings are for columns of categories and text, and for dates in ISO 8601.
_VALUE: Schema = {"type": ["number", "string", "boolean", "null"]}
_ROW: Schema = {
    "oneOf": [
        _list(_VALUE),
        {"type": "object", "additionalProperties": _VALUE},
    ]
}
_LABEL_OR_NULL: Schema = {"oneOf": [*_LABEL["oneOf"], {"type": "null"}]}
_SHARE: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1.0000001}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_WEIGHT: Schema = {"type": ["number", "null"], "minimum": 1}
_NEW_CLASSES: Schema = {
    "type": "string",
    "enum": ["accept", "refuse"],
    "default": "accept",
}
_FLAG: Schema = {"type": "boolean", "default": False}
_NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"}

_ERROR = _object(
    {
        "error": {
            **_object(
                {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "row": _COUNT,
                    "column": {"type": ["string", "integer"]},
                },
                ["code", "message"],
            )
        }
    },
    ["error"],
)
_MODEL = _object(
    {
        "name": {"type": "string"},
        "learner": {"type": "string"},
        "parameters": {"type": "object"},
        "n_features": _COUNT,
        "features": {"type": ["array", "null"], "items": _TEXT},
        "columns": _list({"enum": ["number", "category", "text", "date"]}),
        "classes": _list(_LABEL),
        "new_classes": _NEW_CLASSES,
        "problem": {"type": ["string", "null"]},
        "degraded": {"type": "boolean"},
        "set_aside": _COUNT,
        "class_mix": {
            "type": ["object", "null"],
            "properties": {"share": _SHARE, "mix": _list({"type": "array"})},
        },
        "created": {"type": "number"},
        "applied": _COUNT,
        "predicted": _COUNT,
        "learned": _COUNT,
        "scored": _COUNT,
        "waiting": _COUNT,
        "expired": _COUNT,
        "error": _SHARE,
        "window_error": _SHARE,
        "references": {"type": "object", "additionalProperties": _SHARE},
        "alarms": _COUNT,
    }
)
_EXAMPLE_ROWS = [{"width": 5.1, "height": 3.5}, {"width": 6.3, "height": 2.9}]
_CREATE = _object(
    {
        "name": _NAME,
        "learner": {"type": "string"},
        "parameters": {"type": "object"},
        "features": _list(_TEXT, minItems=1),
        "n_features": {"type": "integer", "minimum": 1},
        "date_features": _list({"type": ["string", "integer"]}),
        "classes": _list(_LABEL, minItems=1),
        "new_classes": _NEW_CLASSES,
        "correct_class_mix": _FLAG,
    },
    ["name"],
)
_LEARN = _object(
    {"rows": _list(_ROW, minItems=1), "labels": _list(_LABEL, minItems=1)},
    ["rows", "labels"],
)
_PREDICTIONS = _object(
    {
        "ids": _list(_TEXT),
        "labels": _list(_LABEL_OR_NULL),
        "confidence": _list(_SHARE),
        "probabilities": _list(_list(_SHARE)),
        "classes": _list(_LABEL),
    }
)
_ONE = "/v1/models/{name}"
_OTHER, _VERSION = f"{_ONE}/challengers/{{challenger}}", f"{_ONE}/versions/{{version}}"
_EVENT: Schema = {"type": "integer", "minimum": 1}
_NAMED_EVENT = _object({"name": _NAME, "event": _EVENT})
_PROMOTED = _object({"promoted": {"type": "boolean"}, "event": _EVENT})
_CONTENDER = _object(
    {
        "name": _NAME,
        "learner": {"type": "string"},
        "parameters": {"type": "object"},
        "start": _COUNT,
        "applied": _COUNT,
        "learned": _COUNT,
        "scored": _COUNT,
        "error": _SHARE,
        "kappa": {"type": ["number", "null"]},
        "problem": {"type": ["string", "null"]},
    }
)
_VERSIONS = _list(_object({**_NAMED_EVENT["properties"], "learner": _NAME}))

# For each operation: schema and example of the request, and of the answer.
_OPERATIONS: dict[tuple[str, str], tuple[Schema | None, Any, Schema, Any]] = {
    ("GET", "/v1/learners"): (None, None, {"type": "object"}, None),
    ("GET", "/v1/models"): (None, None, _object({"models": _list(_MODEL)}), None),
    ("POST", "/v1/models"): (
        _CREATE,
        {
            "name": "leaves",
            "learner": "RPNB",  # its reasons are those of the examples below
            "parameters": {"random_state": 0},
            "features": ["width", "height"],
            "classes": ["oak", "elm"],
        },
        _MODEL,
        None,
    ),
    ("GET", _ONE): (None, None, _MODEL, None),
    ("DELETE", _ONE): (
        None,
        None,
        _object({"deleted": {"type": "boolean"}}),
        {"deleted": True},
    ),
    ("GET", f"{_ONE}/scores"): (None, None, {"type": "object"}, None),
    ("POST", f"{_ONE}/predict"): (
        _object(
            {"rows": _list(_ROW, minItems=1), "ids": _list(_TEXT, minItems=1)}, ["rows"]
        ),
        {"rows": _EXAMPLE_ROWS},
        _PREDICTIONS,
        {
            "ids": ["0f3a9c11d20000000", "0f3a9c11d20000001"],
            "labels": ["oak", "elm"],
            "confidence": [0.93, 0.71],
        },
    ),
    ("POST", f"{_ONE}/ask"): (
        _object(
            {"rows": _list(_ROW, minItems=1), "ids": _list(_TEXT, minItems=1)}, ["rows"]
        ),
        {"rows": _EXAMPLE_ROWS},
        _object(
            {
                **_PREDICTIONS["properties"],
                "asked": _list({"type": "boolean"}),
                "weights": _list(_WEIGHT),
            }
        ),
        {
            "ids": ["0f3a9c11d20000000", "0f3a9c11d20000001"],
            "labels": ["oak", "elm"],
            "confidence": [0.93, 0.71],
            "asked": [False, True],
            "weights": [None, 8.5],
        },
    ),
    ("GET", f"{_ONE}/ask"): (
        None,
        None,
        _object(
            {
                "ids": _list(_TEXT),
                "times": _list({"type": "number"}),
                "weights": _list(_WEIGHT),
                "offered": _COUNT,
                "drawn": _COUNT,
                "labels": _COUNT,
                "error": _SHARE,
                "standard_error": _SHARE,
            }
        ),
        {
            "ids": ["0f3a9c11d20000001"],
            "times": [1763445600.0],
            "weights": [8.5],
            "offered": 2,
            "drawn": 1,
            "labels": 0,
            "error": None,
            "standard_error": None,
        },
    ),
    ("POST", f"{_ONE}/explain"): (
        _object({"rows": _list(_ROW, minItems=1)}, ["rows"]),
        {"rows": _EXAMPLE_ROWS},
        _object(
            {
                "labels": _list(_LABEL),
                "against": _list(_LABEL),
                "base": _list({"type": "number"}),
                "score": _list({"type": "number"}),
                "contributions": _list(_list({"type": "number"})),
                "errors": _list(_list({"type": "number"})),
                "members": _list(_list({"type": "number"})),
                "member_names": _list(_TEXT),
                "features": _list(_TEXT),
            }
        ),
        {
            "labels": ["oak", "elm"],
            "against": ["elm", "oak"],
            "base": [0.2, -0.2],
            "score": [2.6, 0.9],
            "contributions": [[1.5, 0.9], [0.4, 0.7]],
            "features": ["width", "height"],
        },
    ),
    ("POST", f"{_ONE}/labels"): (
        _object(
            {"ids": _list(_TEXT, minItems=1), "labels": _list(_LABEL, minItems=1)},
            ["ids", "labels"],
        ),
        {"ids": ["0f3a9c11d20000001"], "labels": ["elm"]},
        _object(
            {
                "results": _list({"enum": ["learned", "duplicate", "unknown"]}),
                "learned": _COUNT,
                "duplicate": _COUNT,
                "unknown": _COUNT,
            }
        ),
        {"results": ["learned"], "learned": 1, "duplicate": 0, "unknown": 0},
    ),
    ("POST", f"{_ONE}/learn"): (
        _LEARN,
        {"rows": _EXAMPLE_ROWS, "labels": ["oak", "elm"]},
        _object({"learned": _COUNT}),
        {"learned": 2},
    ),
    ("POST", f"{_ONE}/observe"): (
        _LEARN,
        {"rows": _EXAMPLE_ROWS, "labels": ["oak", "elm"]},
        _object({"labels": _list(_LABEL_OR_NULL), "learned": _COUNT}),
        {"labels": ["oak", "oak"], "learned": 2},
    ),
    ("POST", f"{_ONE}/forget"): (
        _object({"ids": _list(_TEXT, minItems=1)}, ["ids"]),
        {"ids": ["0f3a9c11d20000001"]},
        _object(
            {
                "results": _list({"enum": ["forgotten", "unknown"]}),
                "forgotten": _COUNT,
                "unknown": _COUNT,
            }
        ),
        {"results": ["forgotten"], "forgotten": 1, "unknown": 0},
    ),
    ("GET", f"{_ONE}/challengers"): (
        None,
        None,
        _object(
            {
                "champion": _CONTENDER,
                "challengers": _list(_CONTENDER),
                "promotions": _list({"type": "object"}),
                "versions": _VERSIONS,
            }
        ),
        None,
    ),
    ("POST", f"{_ONE}/challengers"): (
        _object(
            {
                "name": _NAME,
                "learner": {"type": "string"},
                "parameters": {"type": "object"},
                "start": {"type": "string", "enum": ["log", "now"], "default": "log"},
            },
            ["name"],
        ),
        {"name": "bayes", "learner": "GaussianNB", "start": "log"},
        _NAMED_EVENT,
        {"name": "bayes", "event": 17},
    ),
    ("DELETE", _OTHER): (
        None,
        None,
        _object({"withdrawn": {"type": "boolean"}}),
        {"withdrawn": True},
    ),
    ("POST", f"{_OTHER}/promote"): (
        _object({}, []),
        {},
        _PROMOTED,
        {"promoted": True, "event": 18},
    ),
    ("POST", f"{_ONE}/rollback"): (
        _object({"version": _NAME}, []),
        {},
        _PROMOTED,
        {"promoted": True, "event": 19},
    ),
    ("GET", f"{_ONE}/versions"): (None, None, _object({"versions": _VERSIONS}), None),
    ("POST", f"{_ONE}/versions"): (
        _object({"name": _NAME, "event": _EVENT}, ["name"]),
        {"name": "monday"},
        _NAMED_EVENT,
        {"name": "monday", "event": 16},
    ),
    ("DELETE", _VERSION): (
        None,
        None,
        _object({"deleted": {"type": "boolean"}}),
        {"deleted": True},
    ),
    ("GET", "/healthz"): (None, None, {"type": "object"}, None),
    ("GET", "/readyz"): (None, None, {"type": "object"}, None),
}
_TABLES = [
    ("POST", f"{_ONE}/{action}")
    for action in ("predict", "explain", "ask", "learn", "observe")
]
_LABELLED = [("POST", f"{_ONE}/{action}") for action in ("labels", "learn", "observe")]
_WITH_IDS = [
    ("POST", f"{_ONE}/{action}") for action in ("predict", "ask", "labels", "forget")
]
# Query parameters: their operations, description and schema.
_QUERY: dict[str, tuple[list[tuple[str, str]], str, Schema]] = {
    "remember": (
        [("POST", f"{_ONE}/predict")],
        "Whether to keep the rows until their labels arrive.",
        _FLAG,
    ),
    "probabilities": (
        [("POST", f"{_ONE}/predict"), ("POST", f"{_ONE}/ask")],
        "Whether to return the probabilities of all classes.",
        _FLAG,
    ),
    "budget": (
        [("POST", f"{_ONE}/ask")],
        "Share of the rows whose labels to ask for.",
        {"type": "number", "minimum": 1e-6, "maximum": 1, "default": 0.05},
    ),
    "random_share": (
        [("POST", f"{_ONE}/ask")],
        "Share of the odds of being asked for that is the same for all rows.",
        {"type": "number", "minimum": 0.01, "maximum": 1, "default": 0.2},
    ),
    "limit": (
        [("GET", f"{_ONE}/ask")],
        "Largest number of rows to return, oldest first.",
        {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000},
    ),
    "version": (
        [("POST", f"{_ONE}/predict"), ("GET", f"{_ONE}/file")],
        "Name of a version of the model; by default the current state.",
        _NAME,
    ),
    "kind": (
        [("GET", f"{_ONE}/file")],
        "Kind of file: the model, a frozen model, or an ONNX graph.",
        {"type": "string", "enum": ["model", "frozen", "onnx"], "default": "model"},
    ),
    "new_classes": (
        [("PUT", f"{_ONE}/file")],
        "What happens to labels that are not one of the file's classes.",
        _NEW_CLASSES,
    ),
    "columns": (
        _TABLES,
        "Whether to match the columns of an Arrow table by name or by position.",
        {"type": "string", "enum": ["name", "position"], "default": "name"},
    ),
    "label_column": (
        _LABELLED,
        "Name of the column of labels in an Arrow table.",
        {**_TEXT, "default": "label"},
    ),
    "id_column": (
        _WITH_IDS,
        "Name of the column of ids in an Arrow table.",
        {**_TEXT, "default": "id"},
    ),
}
_FILES = {("GET", f"{_ONE}/file"), ("PUT", f"{_ONE}/file"), ("GET", "/metrics")}
_MEANINGS = {
    400: "The request was cut off, or its path or a header is malformed.",
    401: "A token is required.",
    403: "The token lacks the scope, or the request is from another origin.",
    404: "There is no such model.",
    405: "The method is not allowed for this path.",
    408: "The body arrived too slowly.",
    409: "The current state does not allow the request.",
    413: "A limit is exceeded; the message names it.",
    415: "The media type is not accepted.",
    421: "The host is not this machine.",
    422: "The content is invalid; the message names row and column.",
    503: "The log cannot be written now, or the server is busy: try again.",
}


def describe(routes: Iterable[Route]) -> Schema:
    """Return the OpenAPI description of the routes for clients."""
    paths: Schema = {}
    for method, path, endpoint in routes:
        if (method, path) in _OPERATIONS or (method, path) in _FILES:
            text = endpoint.__doc__ or ""
            paths.setdefault(path, {})[method.lower()] = {
                "summary": text.splitlines()[0].rstrip("."),
                "description": text,
                "operationId": endpoint.__name__,
                **_request(method, path),
                "responses": _responses(method, path),
            }
    info = {
        "title": "rpnb serve",
        "description": _DESCRIPTION,
        "version": __version__,
    }
    return {"openapi": "3.1.0", "info": info, "paths": paths}


def _creates(method: str, path: str) -> bool:
    """Return whether an operation answers 201."""
    return (method, path) in {
        ("POST", "/v1/models"),
        ("PUT", f"{_ONE}/file"),
        ("POST", f"{_ONE}/challengers"),
        ("POST", f"{_ONE}/versions"),
    }


def _responses(method: str, path: str) -> Schema:
    """Return the responses of an operation, including errors."""
    status = "201" if _creates(method, path) else "200"
    found: Schema = {}
    if (method, path) in _OPERATIONS:
        _, _, schema, example = _OPERATIONS[method, path]
        content: Schema = {"schema": schema}
        if example is not None:
            content["example"] = example
        found[status] = {
            "description": "Done.",
            "content": {"application/json": content},
        }
    elif path == "/metrics":
        found[status] = {"description": "Done.", "content": {"text/plain": {}}}
    elif method == "PUT":
        found[status] = {
            "description": "Done.",
            "content": {"application/json": {"schema": _MODEL}},
        }
    else:
        found[status] = {"description": "Done.", "content": {_BINARY: {}}}
    errors: Schema = {"application/json": {"schema": _ERROR}}
    for code, meaning in _MEANINGS.items():
        if path == "/readyz" and code == 503:
            errors = {"application/json": {"schema": {"type": "object"}}}
        found[str(code)] = {"description": meaning, "content": errors}
    return found


_BINARY = "application/octet-stream"


def _request(method: str, path: str) -> Schema:
    """Return the request body and the parameters of an operation."""
    found: Schema = {}
    if (method, path) == ("PUT", f"{_ONE}/file"):
        body = {"schema": {"type": "string", "format": "binary"}}
        found["requestBody"] = {"required": True, "content": {_BINARY: body}}
    elif (method, path) in _OPERATIONS and _OPERATIONS[method, path][0] is not None:
        schema, example, *_ = _OPERATIONS[method, path]
        if (method, path) == ("POST", "/v1/models") and schema is not None:
            names = {
                **schema["properties"]["learner"],
                "enum": list(learners()),
                "default": DEFAULT,
            }
            properties = {**schema["properties"], "learner": names}
            schema = {**schema, "properties": properties}
        content = {"application/json": {"schema": schema, "example": example}}
        found["requestBody"] = {"required": True, "content": content}
    found["parameters"] = _parameters(method, path)
    return found


def _parameters(method: str, path: str) -> list[Schema]:
    """Return the parameters of an operation in its path, query and headers."""
    found: list[Schema] = []
    for name in ("name", "challenger", "version"):
        if f"{{{name}}}" in path:
            place: Schema = {"in": "path", "required": True}
            found.append({"name": name, **place, "schema": _NAME})
    for name, (operations, text, schema) in _QUERY.items():
        if (method, path) in operations:
            found.append(
                {"name": name, "in": "query", "description": text, "schema": schema}
            )
    if method in ("POST", "PUT"):
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "A request with the same key gets the same answer, and "
                "nothing is done twice.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 128},
            }
        )
    return found
