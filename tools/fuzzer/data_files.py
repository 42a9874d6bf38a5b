"""Target: files of labelled rows in every format, intact or damaged."""

import bz2
import gzip
import io
import json
import lzma
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzzer.commands import model_file, run_command, small_run
from fuzzer.target import Case, Target, choose, from_text, to_text

_WORDS = (
    *("", " ", "?", "NaN", "nan", "inf", "-inf", "1e400", "1_000", "0x10", "١", "1,5"),
    *('"', '""', "'", "\x00", "\ud800", "﻿", "a" * 300, "{", "}", "[", "%", "@data"),
    *("1:2", "0:1", "-1:1", "1e9:1", "999999999:1", "1:1 1:1", "2:1 1:1", ":", "1:"),
    *("true", "null", "None", "-0", "+1", ".5", "5.", "1e5", "1" * 400, "é", "\u2028"),
)


#: A study that takes a few milliseconds.
PAPER = (
    *("--offline", "--jobs", "1", "--datasets", "Iris", "--methods", "PA"),
    *("--permutations", "2"),
)


def make(rng: np.random.Generator) -> Case:
    """Return a random file, and options to read it."""
    kind = choose(rng, _MAKERS)
    content, options = _MAKERS[kind](rng)
    if rng.random() < 0.5:
        content = _damaged(rng, content)
    name = f"rows.{kind}"
    if kind not in ("parquet", "arrow", "feather") and rng.random() < 0.15:
        ending = choose(rng, _COMPRESSED)
        content, name = _COMPRESSED[ending](content), f"{name}.{ending}"
        if rng.random() < 0.5:
            content = _damaged(rng, content)
    for more in _OPTIONS:
        if rng.random() < 0.1:
            options += choose(rng, [more])
    case = {"name": name, "content": to_text(content), "options": options}
    if kind == "results":
        case["command"] = "paper"
    elif rng.random() < 0.2:
        case["command"] = choose(rng, ("predict", "compare"))
        case["learner"] = choose(rng, ("RPNB", "PA"))
    return case


_COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda content: gzip.compress(content, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


_OPTIONS: tuple[list[str], ...] = (
    ["--missing", "mean"],
    ["--categorical", "one-hot"],
    ["--no-header"],
    ["--drop", "a"],
    ["--as-category", "a"],
    ["--shuffle", "3"],
    ["--chunk-rows", "3"],
    ["--delimiter", ";"],
    ["--classes", "p", "q"],
    ["--max-categories", "2"],
    ["--features", "3"],
    ["--zero-based"],
    ["--max-classes", "2"],
)


def _table(rng: np.random.Generator) -> list[list[str]]:
    rows = []
    for _ in range(int(rng.integers(0, 12))):
        cells = [f"{value:.3g}" for value in rng.normal(size=2)]
        cells += [choose(rng, ("red", "blue", "7")), choose(rng, ("p", "q"))]
        if rng.random() < 0.15:
            cells[int(rng.integers(4))] = choose(rng, _WORDS)
        if rng.random() < 0.05:
            cells = cells[: int(rng.integers(5))] + ["1"] * int(rng.integers(3))
        rows.append(cells)
    return rows


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _csv(rng: np.random.Generator, delimiter: str = ",") -> tuple[bytes, list[str]]:
    end = choose(rng, ("\n", "\n", "\r\n", "\r"))
    lines = [["a", "b", "colour", "kind"], *_table(rng)]
    text = end.join(delimiter.join(cells) for cells in lines)
    return _encode(text + choose(rng, ("", end))), ["--target", "kind"]


def _tsv(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    return _csv(rng, "\t")


def _arff(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    head = "@relation r\n@attribute a numeric\n@attribute b real\n"
    head += "@attribute colour {red, blue, 7}\n@attribute kind {p, q}\n@data\n"
    rows = "\n".join(",".join(cells) for cells in _table(rng))
    if rng.random() < 0.1:
        rows = "\n".join("{0 1.5, 3 q}" for _ in range(3))
    return _encode(head + rows), ["--target", "kind"]


def _svm(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    lines = []
    for _ in range(int(rng.integers(0, 12))):
        words = [choose(rng, ("1", "-1"))]
        words += [f"{j + 1}:{rng.normal():.3g}" for j in range(int(rng.integers(4)))]
        if rng.random() < 0.15:
            words.append(choose(rng, _WORDS))
        lines.append(" ".join(words))
    return _encode("\n".join(lines)), []


def _jsonl(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    lines = []
    for cells in _table(rng):
        cells = [*cells, "", "", "", ""][:4]
        row: dict[str, Any] = dict(
            zip(("a", "b", "colour", "kind"), cells, strict=True)
        )
        for key in ("a", "b"):
            with suppress(ValueError):
                row[key] = float(row[key])
        if rng.random() < 0.1:
            odd: tuple[Any, ...] = (
                None,
                True,
                [],
                {},
                [[1]],
                {"a": {"b": 1}},
                10**30,
                1e400,
                "x",
            )
            row[choose(rng, list(row))] = choose(rng, odd)
        line = json.dumps(row)
        if rng.random() < 0.03:
            line = choose(
                rng,
                ("null", "true", "[" * 20_000, '{"a":' * 3000, "[]", "1", "nul", ""),
            )
        lines.append(line)
    return _encode("\n".join(lines)), ["--target", "kind"]


def _arrow_table(rng: np.random.Generator) -> Any:
    import pyarrow as pa

    n = int(rng.integers(0, 12))
    a = pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1)
    colour = pa.array([choose(rng, ("red", "blue")) for _ in range(n)])
    if rng.random() < 0.5:
        colour = colour.dictionary_encode()
    kind = pa.array([choose(rng, ("p", "q")) for _ in range(n)])
    return pa.table({"a": a, "colour": colour, "kind": kind})


def _parquet(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    compression = choose(rng, ("NONE", "SNAPPY", "GZIP"))
    pq.write_table(_arrow_table(rng), stream, compression=compression)
    return stream.getvalue(), ["--target", "kind"]


def _arrow(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    import pyarrow as pa

    stream = io.BytesIO()
    table = _arrow_table(rng)
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue(), ["--target", "kind"]


@cache
def _sound_results() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "sound.jsonl")
        run_command(["paper", "--results", str(path), *PAPER], Path(name))
        return path.read_bytes()


def _results(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    """Return the results of a study, of which values were changed."""
    lines = []
    for line in _sound_results().decode().splitlines():
        record = json.loads(line)
        if rng.random() < 0.3:
            key = choose(rng, list(record))
            record[key] = choose(rng, (None, True, -1, 0.5, 1e400, "x", [], {}, [[1]]))
        if rng.random() < 0.1:
            del record[choose(rng, list(record))]
        text = json.dumps(record)
        if rng.random() < 0.05:
            text = choose(rng, ("[" * 20_000, '{"a":' * 3000, "[]", "1", "nul", ""))
        lines.append(text)
    return _encode("\n".join(lines) + "\n"), []


def _damaged(rng: np.random.Generator, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(damaged) + 1))
        how = rng.random()
        if how < 0.3:
            del damaged[at : at + int(rng.integers(1, 20))]
        elif how < 0.6:
            damaged[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif how < 0.8 and damaged:
            damaged[at % len(damaged)] ^= 1 << int(rng.integers(8))
        else:
            damaged[at:at] = _encode(choose(rng, _WORDS))
    return bytes(damaged)


_MAKERS = {
    "csv": _csv,
    "tsv": _tsv,
    "arff": _arff,
    "svm": _svm,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "arrow": _arrow,
    "feather": _arrow,
    "results": _results,
}


def run(case: Case, folder: Path) -> None:
    """Read the file by `rpnb run`, or by another command."""
    path = folder / case["name"]
    path.write_bytes(from_text(case["content"]))
    command, options = case.get("command", "run"), case["options"]
    if command == "paper":
        words = ["--results", str(path), *PAPER]
    elif command == "predict":
        model = folder / "saved.rpnb"
        model.write_bytes(model_file(case["learner"]))
        reading = [word for word in options if word not in ("--target", "kind")]
        words = [str(path), "--load", str(model), "--quiet", *reading]
        words += ["--output", str(folder / "labels.csv")]
    elif command == "compare":
        words = [str(path), *options, "--quiet", "--learners", "PA", case["learner"]]
    else:
        words = [str(path), *options, *small_run(folder)]
    run_command([command, *words], folder)


def prepare() -> None:
    """Read an undamaged file of each format."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, maker in _MAKERS.items():
            content, options = maker(np.random.default_rng(0))
            path = folder / f"rows.{kind}"
            path.write_bytes(content)
            run_command(["run", str(path), *options, *small_run(folder)], folder)
        for learner in ("RPNB", "PA"):
            model_file(learner)


TARGET = Target(make, run, prepare)
