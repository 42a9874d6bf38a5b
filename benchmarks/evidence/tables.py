"""Results of the runs: tables in Markdown, tests, and charts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evidence.drawn import CHANGE
from evidence.learners import BATCH, PARTS
from evidence.measuring import BLOCK
from evidence.pictures import growth, scatter
from rpnb.core.kernels.arrays import FloatArray
from rpnb.report.charts.drawing import Drawing
from rpnb.report.charts.ranks import critical_difference_diagram
from rpnb.report.charts.svg import standalone
from rpnb.study.statistics import friedman, holm, signed_rank

Record = Mapping[str, Any]
Records = Sequence[Record]
#: Numbers by stream and learner.
Cells = dict[str, dict[str, float]]

FIRST = "Pooled"
#: Number of rows (or all) that a learner must have completed to be ranked and timed.
_LEAST = 2000
#: Learners that ignore features: only in the table of errors.
_REFERENCES = ("NoChange", "Majority")
#: Rows whose error is compared before and after a change.
_USUAL = 5000
_PICTURED = ("Pooled", "LightGBM, all rows", "LightGBM, window", "ARF", "SRP")
_GROWING = ("random_tree", "hyperplane", "rbf")


def show(records: Records, figures: Path | None) -> None:
    """Print the tables of all parts that have results, and write the charts."""
    charts: dict[str, Drawing] = {}
    for part, tell in _TELL.items():
        found = [record for record in records if record["part"] == part]
        if found:
            print(f"\n### {part}\n")
            charts |= tell(found)
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        for name, drawing in charts.items():
            (figures / f"{name}.svg").write_text(standalone(drawing), encoding="utf-8")


# Parts


def _field(records: Records) -> dict[str, Drawing]:
    names = _present(records, "field")
    first = [record for record in records if record["seed"] == 0]
    stopped = {
        (r["stream"], r["learner"]): r["rows"] for r in first if r["rows"] < r["of"]
    }
    marks = {key: f" ({rows // 1000}k)" for key, rows in stopped.items()}
    _print_errors(first, names, seeds=records, marks=marks)
    charts = {}
    names = [name for name in names if name not in _REFERENCES]
    ranks = _print_tests(first, names)
    if ranks is not None:
        charts["evidence-ranks"] = ranks
    points = _print_costs(first, names)
    if points:
        charts["evidence-speed"] = scatter(points, FIRST)
    curves = {
        stream: {
            name: found[0]["wrong"]
            for name in _PICTURED
            if (found := _select(first, stream, name))
        }
        for stream in _GROWING
    }
    if all(curves.values()):
        charts["evidence-growth"] = growth(curves, _PICTURED)
    return charts


def _runs(records: Records) -> dict[str, Drawing]:
    names = _present(records, "runs")
    _print_errors(records, names)
    print("\nPooled's error less NoChange's, with a bound of its standard error:\n")
    errors = _means(records)
    for stream, found in errors.items():
        n = _select(records, stream, FIRST)[0]["rows"]
        # Mistakes that both make count for neither, so this is an upper bound.
        bound = np.sqrt((found[FIRST] + found["NoChange"]) / n)
        gap = found[FIRST] - found["NoChange"]
        print(f"- {stream} ({n:,} rows): {gap:+.4f} ± {bound:.4f}")
    return {}


def _held_out(records: Records) -> dict[str, Drawing]:
    names = _present(records, "held out")
    _print_errors(records, names)
    ranks = _print_tests(records, [name for name in names if name not in _REFERENCES])
    return {} if ranks is None else {"evidence-held-out": ranks}


def _paper(records: Records) -> dict[str, Drawing]:
    names = _present(records, "paper")
    _print_errors(records, names)
    _print_tests(records, names)
    return {}


def _drifting(records: Records) -> dict[str, Drawing]:
    _print_errors(records, _present(records, "drifting"))
    return {}


def _long(records: Records) -> dict[str, Drawing]:
    """Print the last quarter of long streams, and how they recover from a change."""
    names = _present(records, "long")
    print("| stream |", " | ".join(names), "| log-loss:", " | ".join(names), "|")
    print("|---|" + "---|" * len(names) + "--:|" * len(names))
    last: Cells = {}
    for stream in _streams(records):
        cells, losses = [], []
        for name in names:
            found = _select(records, stream, name)
            quarters = [_last_quarter(record) for record in found]
            last.setdefault(stream, {})[name] = float(np.mean(quarters))
            cells.append(_with_spread(quarters))
            losses.append(f"{np.mean([r['log_loss'] for r in found]):.3f}")
        print(f"| {stream} |", " | ".join(cells + losses), "|")
    steady = {s: found for s, found in last.items() if not s.endswith("_change")}
    for name in names[1:] if steady else ():
        ratios = [found[FIRST] / found[name] for found in steady.values()]
        print(
            f"\nPooled over {name}, last quarter, {len(ratios)} streams: "
            f"{_geometric(ratios):.3f}, at or below on {sum(r <= 1 for r in ratios)}."
        )
    _print_changes(records, names, [s for s in last if s.endswith("_change")])
    return {}


_TELL: dict[str, Callable[[Records], dict[str, Drawing]]] = {
    "field": _field,
    "runs": _runs,
    "held out": _held_out,
    "paper": _paper,
    "drifting": _drifting,
    "long": _long,
}

# Tables


def _print_errors(
    records: Records,
    names: Sequence[str],
    seeds: Records | None = None,
    marks: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Print mean errors, the lowest bold; the first learner has a spread, too.

    The spread is the standard deviation over the seeds; with `seeds`, records of more
    seeds than those of the other learners, it has a column. `marks` follow the errors
    of runs that were stopped, which are never bold.
    """
    marks = marks or {}
    column = [] if seeds is None else ["three seeds"]
    header = [names[0], *column, *names[1:]]
    print("| stream | rows |", " | ".join(header), "|")
    print("|---|--:|" + "--:|" * len(header))
    errors = _means(records)
    for stream, found in errors.items():
        whole = [found[n] for n in names if n in found and (stream, n) not in marks]
        cells = []
        for name in names:
            if name not in found:
                cells += ["—"] * (2 if name == FIRST and column else 1)
                continue
            mark = marks.get((stream, name), "")
            text = f"{found[name]:.4f}"
            bold = not mark and found[name] <= min(whole)
            cells.append((f"**{text}**" if bold else text) + mark)
            if name == FIRST:
                every = [r["error"] for r in _select(seeds or records, stream, name)]
                if seeds is not None:
                    cells.append(_with_spread(every))
                elif len(every) > 1:
                    cells[-1] += f" ± {np.std(every, ddof=1):.4f}"
        rows = max(r["of"] for r in records if r["stream"] == stream)
        print(f"| {stream} | {rows:,} |", " | ".join(cells), "|")


def _print_changes(
    records: Records, names: Sequence[str], streams: Sequence[str]
) -> None:
    """Print how learners recover from the change: rows for each seed, and errors."""
    if not streams:
        return
    print(f"\n| stream | learner | rows until it is back | error, {_USUAL:,} rows "
          "before | after the change |")  # fmt: skip
    print("|---|---|--:|--:|--:|")
    for stream in streams:
        for name in names:
            found = _select(records, stream, name)
            rows = [_back(record) for record in found]
            back = ", ".join("—" if n is None else f"{n:,}" for n in rows)
            blocks = [np.array(r["wrong"]) / BLOCK for r in found]
            before = _with_spread([_before(each) for each in blocks])
            after = _with_spread([each[CHANGE // BLOCK :].mean() for each in blocks])
            print(f"| {stream} | {name} | {back} | {before} | {after} |")


def _print_tests(records: Records, names: Sequence[str]) -> Drawing | None:
    """Print mean ranks, and wins and losses of the first learner; draw the ranks.

    Ranks are over the rows that all learners were run on, pairs over those that both
    were. A learner that was stopped early is not ranked.
    """
    ranked = _ranked(records, names)
    means = _columns(_complete(records, ranked), ranked)
    if len(means[FIRST]) < 2:
        return None
    test = friedman(means, "low")
    print(
        f"\n{test.N} streams or datasets. Friedman test: F = {test.F:.1f}, "
        f"p = {test.p_F:.1e}; critical difference of mean ranks "
        f"{test.critical_difference:.2f}.\n"
    )
    others = [name for name in names if name != FIRST]
    pairs = {name: _complete(records, (FIRST, name)) for name in others}
    gains = {
        name: [round(found[name] - found[FIRST], 12) for found in cells.values()]
        for name, cells in pairs.items()
    }
    corrected = holm([signed_rank(gains[name]) for name in others])
    p_values = dict(zip(others, corrected, strict=True))
    print("| learner | mean rank | compared on | error | Pooled's error "
          "| Pooled wins, ties, losses | ratio: median | geometric mean | p (Holm) "
          "| Pooled loses on |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|---|")
    print(f"| Pooled | {test.ranks[FIRST]:.2f} | | | | | | | | |")
    for name in sorted(others, key=lambda name: test.ranks.get(name, np.inf)):
        cells, gain = pairs[name], np.array(gains[name])
        values = [(found[FIRST], found[name]) for found in cells.values()]
        ours, its = np.array(values).T
        ratios = (ours / its)[(ours > 0) & (its > 0)]
        lost = [stream for stream, g in zip(cells, gain, strict=True) if g < 0]
        rank = f"{test.ranks[name]:.2f}" if name in test.ranks else "—"
        print(
            f"| {name} | {rank} | {len(cells)} | {its.mean():.4f} | {ours.mean():.4f} "
            f"| {(gain > 0).sum()}, {(gain == 0).sum()}, {(gain < 0).sum()} "
            f"| {np.median(ratios):.2f} | {_geometric(ratios):.2f} "
            f"| {p_values[name]:.1e} | {', '.join(lost)} |"
        )
    title = f"Mean ranks of learners on {test.N} streams or datasets"
    return critical_difference_diagram(
        title, test.ranks, test.critical_difference, ranked
    )


def _print_costs(
    records: Records, names: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Print means of error, log-loss and temporal kappa, speed and memory.

    The lowest error comes first, and the best value of a column is bold. The means are
    over the rows that all learners were run on, but for those that were stopped early.
    Return the speed and the mean error of each.
    """
    ranked = _ranked(records, names)
    errors = _complete(records, [*ranked, "NoChange"])
    losses = _complete(records, ranked, _loss)
    warm = [
        stream
        for stream in errors
        if all(_select(records, stream, name)[0]["rows"] >= _LEAST for name in ranked)
    ]
    if not warm:
        return {}
    print(f"\nMeans of {len(errors)} streams; speed and memory of {len(warm)}.\n")
    print("| learner | error | log-loss | κ temporal | rows/s | MB, highest |")
    print("|---|--:|--:|--:|--:|--:|")
    points = {}
    lines: list[tuple[str, list[float], list[str]]] = []
    for name in names:
        figures, cells = [np.nan] * 3, ["—"] * 3
        long = [r for stream in warm for r in _select(records, stream, name)]
        rates = [record["rows"] / max(record["seconds"], 1e-9) for record in long]
        if name in ranked:
            error, loss = _mean(errors, name), _mean(losses, name)
            kappa = np.mean([1.0 - e[name] / e["NoChange"] for e in errors.values()])
            shown = "—" if np.isnan(loss) else f"{loss:.3f}"
            figures = [error, loss, float(kappa)]
            cells = [f"{error:.3f}", shown, f"{kappa:.2f}"]
            points[name] = (_geometric(rates), error)
        memory = [max(record["megabytes"], 0.0) for record in long]
        figures += [_geometric(rates), max(memory)] if long else [np.nan] * 2
        cells += (
            [f"{_geometric(rates):,.0f}", f"{max(memory):,.0f}"] if long else ["—"] * 2
        )
        lines.append((name, figures, cells))
    # The lowest is the best, but for kappa and speed.
    signs = np.array([1, 1, -1, -1, 1])
    scores = np.array([figures for _, figures, _ in lines]) * signs
    best = np.nanmin(scores, axis=0)
    for k in np.argsort(scores[:, 0]):
        name, _, cells = lines[k]
        pairs = zip(cells, scores[k] == best, strict=True)
        marked = (f"**{cell}**" if bold else cell for cell, bold in pairs)
        print(f"| {name} |", " | ".join(marked), "|")
    return points


# Numbers of records


def _present(records: Records, part: str) -> list[str]:
    """Return the learners of a part that have results, the first one first."""
    found = {record["learner"] for record in records}
    order = (FIRST, *BATCH, "LightGBM, window", *PARTS[part])
    return [name for name in dict.fromkeys(order) if name in found]


def _streams(records: Records) -> list[str]:
    return list(dict.fromkeys(record["stream"] for record in records))


def _select(records: Iterable[Record], stream: str, learner: str) -> list[Record]:
    return [r for r in records if r["stream"] == stream and r["learner"] == learner]


def _ranked(records: Records, names: Sequence[str]) -> list[str]:
    """Return the learners that were not stopped early on any stream."""
    early = {r["learner"] for r in records if r["rows"] < min(r["of"], _LEAST)}
    return [name for name in names if name not in early]


def _columns(cells: Cells, names: Sequence[str]) -> dict[str, list[float]]:
    return {name: [found[name] for found in cells.values()] for name in names}


def _means(records: Records) -> Cells:
    """Return the mean error by stream and learner."""
    found: dict[str, dict[str, list[float]]] = {}
    for record in records:
        learners = found.setdefault(record["stream"], {})
        learners.setdefault(record["learner"], []).append(record["error"])
    return {
        stream: {name: float(np.mean(values)) for name, values in learners.items()}
        for stream, learners in found.items()
    }


def _error(record: Record, rows: int) -> float:
    """Return the error of the first rows, to which a block of 1,000 ends."""
    return float(sum(record["wrong"][: -(-rows // BLOCK)]) / rows)


def _loss(record: Record, rows: int) -> float:
    """Return the log-loss of the first rows, to which a block of 1,000 ends."""
    return float(sum(record["losses"][: -(-rows // BLOCK)]) / rows)


def _complete(
    records: Records,
    names: Sequence[str],
    measure: Callable[[Record, int], float] = _error,
) -> Cells:
    """Return means over the rows and seeds that all of these learners have."""
    cells: Cells = {}
    for stream in _streams(records):
        runs = {
            name: {r["seed"]: r for r in _select(records, stream, name)}
            for name in names
        }
        seeds = set.intersection(*(set(found) for found in runs.values()))
        if not seeds:
            continue
        rows = min(runs[name][seed]["rows"] for name in names for seed in seeds)
        cells[stream] = {
            name: float(np.mean([measure(runs[name][seed], rows) for seed in seeds]))
            for name in names
        }
    return cells


def _mean(cells: Cells, name: str) -> float:
    return float(np.mean([found[name] for found in cells.values()]))


def _last_quarter(record: Record) -> float:
    """Return the error of the last quarter of the rows, in whole blocks."""
    first = 3 * len(record["wrong"]) // 4
    return float(sum(record["wrong"][first:]) / (record["rows"] - first * BLOCK))


def _before(errors: FloatArray) -> float:
    """Return the error of the last rows before the change."""
    at = CHANGE // BLOCK
    return float(errors[at - _USUAL // BLOCK : at].mean())


def _back(record: Record) -> int | None:
    """Return the rows after a change until the error is within 10 % of the former.

    Both are means of 5,000 rows: a single block of 1,000 can be low by chance.
    """
    errors, width = np.array(record["wrong"]) / BLOCK, _USUAL // BLOCK
    sums = np.cumsum(np.append(0.0, errors[CHANGE // BLOCK :]))
    means = (sums[width:] - sums[:-width]) / width
    found = np.flatnonzero(means <= 1.1 * _before(errors))
    return int(found[0]) * BLOCK if found.size else None


def _with_spread(values: Sequence[float]) -> str:
    """Return the mean, and the standard deviation if there is more than one value."""
    spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread}"


def _geometric(values: Any) -> float:
    return float(np.exp(np.mean(np.log(values))))
