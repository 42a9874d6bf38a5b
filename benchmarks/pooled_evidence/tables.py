"""What the runs say: tables in Markdown, tests, and charts."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rpnb.report.charts.drawing import Dot, Drawing, Label, Line, Mark, Scale, spread
from rpnb.report.charts.palette import style
from rpnb.report.charts.ranks import critical_difference_diagram
from rpnb.report.charts.svg import standalone
from rpnb.study.statistics import friedman, pairwise

Records = Sequence[Mapping[str, Any]]
#: By data and learner, the mean error.
Errors = dict[str, dict[str, float]]

OWN = ("Pooled", "RPNB", "RPNB, scaled", "AROW", "OnlineBayes", "kNN")
JAVA = ("ARF100", "SRP100", "SGBT", "SAMkNN", "KNN")
BATCH = ("LightGBM", "ExtraTrees")
FIRST = "Pooled"


def show(records: Records, peers: Path | None, figures: Path | None) -> None:
    """Print all tables for which there are results, and write the charts."""
    charts: dict[str, Drawing] = {}
    permuted = _of(records, "permutations")
    if permuted:
        _heading("The paper's datasets")
        runs = {r["permutation"] for r in permuted}
        print(f"Mean error over {len(runs)} permutations, first 8,000 rows.\n")
        errors = _errors(permuted)
        _print_errors(errors, OWN, spreads=_spreads(permuted))
        charts["pooled_ranks"] = _print_tests(errors, OWN)
    streams = _of(records, "streams")
    earlier = {} if peers is None or not peers.exists() else _read_peers(peers)
    if streams:
        _heading("Streams in their own order")
        errors = _errors(streams)
        for name, found in errors.items():
            others = earlier.get(name, {})
            found.update({k: v for k, v in others.items() if k not in found})
        _print_errors(errors, (*OWN, "NoChange", "ARF100", "SRP100", "KNN", "SAMkNN"))
    again = _of(records, "peers")
    if again and earlier:
        _heading("The same rows as in the table of earlier runs")
        errors = _errors(again)
        for name, found in errors.items():
            found.update(earlier.get(f"real_{name}", {}))
        whole = _errors(streams)
        errors |= {name: {**earlier[name], **whole[name]} for name in whole}
        names = (FIRST, "RPNB", "ARF100", "SRP100", "SAMkNN", "KNN")
        _print_tests(errors, names)
    same_run = _of(records, "same_run")
    if any(record["learner"] in JAVA for record in same_run):
        _heading("CapyMOA's learners in the same run")
        charts["pooled_speed"] = _print_speed(same_run)
    timed = _of(records, "timed")
    if timed:
        _heading("Labels in runs")
        _print_last_label(timed)
    aside = _of(records, "aside")
    if aside:
        _heading("Kept aside")
        errors = _errors(aside)
        runs = {r["permutation"] for r in aside}
        print(f"Mean error over {len(runs)} permutations.\n")
        shown = (*OWN, *BATCH, "AMF", *JAVA, "NoChange")
        _print_errors(errors, shown, spreads=_spreads(aside))
        charts["pooled_aside"] = _print_tests(errors, (*OWN, *BATCH))
        everyone = (*OWN, *BATCH, "AMF", *JAVA)
        if len(_complete(errors, everyone)) > 1:
            charts["pooled_aside"] = _print_tests(errors, everyone)
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        for name, drawing in charts.items():
            (figures / f"{name}.svg").write_text(standalone(drawing), encoding="utf-8")


def _of(records: Records, part: str) -> list[Mapping[str, Any]]:
    return [record for record in records if record["part"] == part]


def _heading(text: str) -> None:
    print(f"\n### {text}\n")


def _errors(records: Iterable[Mapping[str, Any]]) -> Errors:
    """Return the mean error by data and learner."""
    found: dict[str, dict[str, list[float]]] = {}
    for record in records:
        learners = found.setdefault(record["data"], {})
        learners.setdefault(record["learner"], []).append(record["error"])
    return {
        data: {learner: float(np.mean(values)) for learner, values in learners.items()}
        for data, learners in sorted(found.items())
    }


def _spreads(records: Records) -> dict[str, float]:
    """Return the standard error of the first learner's mean, by data."""
    values: dict[str, list[float]] = {}
    for record in records:
        if record["learner"] == FIRST:
            values.setdefault(record["data"], []).append(record["error"])
    return {
        data: float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
        for data, errors in values.items()
        if len(errors) > 1
    }


def _complete(errors: Errors, names: Sequence[str]) -> Errors:
    return {
        data: found
        for data, found in errors.items()
        if all(name in found for name in names)
    }


def _read_peers(path: Path) -> Errors:
    found: Errors = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            learners = found.setdefault(row["stream"], {})
            learners[row["learner"]] = float(row["error"])
    return found


def _print_errors(
    errors: Errors, names: Sequence[str], spreads: Mapping[str, float] | None = None
) -> None:
    """Print a line for each dataset, the lowest error bold."""
    print("| data |", " | ".join(names), "|")
    print("|---|" + "---|" * len(names))
    for data, found in errors.items():
        known = [found[name] for name in names if name in found]
        cells = []
        for name in names:
            if name not in found:
                cells.append("—")
                continue
            text = f"{found[name]:.4f}"
            if found[name] <= min(known):
                text = f"**{text}**"
            if spreads and name == FIRST and data in spreads:
                text += f" ± {spreads[data]:.4f}"
            cells.append(text)
        print(f"| {data} |", " | ".join(cells), "|")


def _print_tests(errors: Errors, names: Sequence[str]) -> Drawing:
    """Print mean ranks, wins and losses of the first learner; return the diagram."""
    complete = _complete(errors, names)
    means = {name: [found[name] for found in complete.values()] for name in names}
    test = friedman(means, "low")
    print(
        f"\n{test.N} datasets. Friedman test: F = {test.F:.1f}, p = {test.p_F:.1e}; "
        f"critical difference of mean ranks {test.critical_difference:.2f}.\n"
    )
    print("| learner | mean rank | mean error | Pooled wins, ties, losses "
          "| ratio of errors | p (Holm) | Pooled loses on |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    tests = {
        pair.second: pair for pair in pairwise(means, "low") if pair.first == FIRST
    }
    for name in sorted(names, key=lambda name: test.ranks[name]):
        line = f"| {name} | {test.ranks[name]:.2f} | {np.mean(means[name]):.4f} | "
        if name == FIRST:
            print(line + "| | | |")
            continue
        pair = tests[name]
        ours, its = np.array(means[FIRST]), np.array(means[name])
        both = (ours > 0) & (its > 0)
        ratio = np.exp(np.mean(np.log(ours[both] / its[both])))
        lost = [data for data, o, i in zip(complete, ours, its, strict=True) if o > i]
        shown = ", ".join(lost) if len(lost) <= 8 else f"{len(lost)} of them"
        print(
            line + f"{pair.wins}, {pair.ties}, {pair.losses} | {ratio:.2f} | "
            f"{pair.p_holm:.1e} | {shown} |"
        )
    title = f"Mean ranks of learners on {test.N} datasets"
    return critical_difference_diagram(
        title, test.ranks, test.critical_difference, names
    )


def _print_speed(records: Records) -> Drawing:
    """Print errors and rows per second on the rows that all were run on."""
    errors = _errors(records)
    speed: dict[str, dict[str, float]] = {}
    for record in records:
        rate = record["rows"] / max(record["seconds"], 1e-9)
        speed.setdefault(record["data"], {})[record["learner"]] = rate
    run = {name for found in errors.values() for name in found}
    java = [name for name in JAVA if name in run]
    others = ["LightGBM, window"] if "LightGBM, window" in run else []
    names = (FIRST, "RPNB", *others, *java)
    complete = list(_complete(errors, names))
    _print_errors({data: errors[data] for data in complete}, names)
    print("\nµs a row of processor time, one thread:\n")
    print("| data |", " | ".join(names), "| ARF100 / Pooled | SRP100 / Pooled |")
    print("|---|" + "---|" * (len(names) + 2))
    ratios: dict[str, list[float]] = {name: [] for name in java}
    for data in complete:
        rates = speed[data]
        for name in java:
            ratios[name].append(rates[FIRST] / rates[name])
        cells = [f"{1e6 / rates[name]:,.1f}" for name in names[:2]]
        cells += [f"{1e6 / rates[name]:,.0f}" for name in names[2:]]
        cells += [f"{ratios[name][-1]:.0f}" for name in ("ARF100", "SRP100")]
        print(f"| {data} |", " | ".join(cells), "|")
    for name, values in ratios.items():
        print(
            f"\nTime of {name} over that of Pooled: median {np.median(values):.0f}, "
            f"{min(values):.0f} to {max(values):.0f}; "
            f"{sum(value >= 100 for value in values)} of {len(values)} are 100 or more."
        )
    points = {
        name: (
            float(np.exp(np.mean([np.log(speed[d][name]) for d in complete]))),
            float(np.mean([errors[d][name] for d in complete])),
        )
        for name in names
    }
    return _scatter(points, len(complete))


def _print_last_label(records: Records) -> None:
    """Print what the previous label as a feature does for forests."""
    names = (
        FIRST, "NoChange", "RPNB", "ARF100", "ARF100, last label", "SRP100",
        "SRP100, last label",
    )  # fmt: skip
    errors = _errors(records)
    _print_errors(errors, names)
    rows = {record["data"]: record["rows"] for record in records}
    print("\nPooled's error less NoChange's, with a bound of its standard error:\n")
    for data, found in errors.items():
        # Rows that both get wrong count for neither, so that this is an upper bound.
        bound = np.sqrt((found[FIRST] + found["NoChange"]) / rows[data])
        gap = found[FIRST] - found["NoChange"]
        print(f"- {data} ({rows[data]:,} rows): {gap:+.4f} ± {bound:.4f}")


def _scatter(points: Mapping[str, tuple[float, float]], N: int) -> Drawing:
    """Draw mean error against rows per second, on a logarithmic scale."""
    width, height, left, right, top, bottom = 440.0, 272.0, 54.0, 96.0, 24.0, 42.0
    logs = {name: float(np.log10(rate)) for name, (rate, _) in points.items()}
    low, high = np.floor(min(logs.values())), np.ceil(max(logs.values()))
    x = Scale(low, high, left, width - right)
    highest = max(error for _, error in points.values())
    y = Scale(0.0, np.ceil(highest * 10) / 10, height - bottom, top)
    marks: list[Mark] = []
    for power in range(int(low), int(high) + 1):
        at = x(power)
        marks.append(Line(((at, top), (at, height - bottom)), "grid"))
        text = f"{10**power:,}"
        marks.append(Label(at, height - bottom + 16.0, text, "muted", "middle", 12.0))
    for tenth in range(round(y.high * 10) + 1):
        at = y(tenth / 10)
        marks.append(Line(((x.start, at), (x.end, at)), "grid"))
        marks.append(Label(x.start - 6.0, at + 4.0, f"{tenth / 10:g}", "muted", "end"))
    middle = (x.start + x.end) / 2
    unit = "rows per second, one thread"
    marks.append(Label(middle, height - 6.0, unit, "muted", "middle", 12.0))
    marks.append(Label(0.0, 11.0, "mean error", "muted", size=12.0))
    names = list(points)
    ends = [y(points[name][1]) for name in names]
    for name, end, place in zip(
        names, ends, spread(ends, 14.0, top, height - bottom), strict=True
    ):
        look = style(name, names)
        at = x(logs[name])
        tip = f"{name}: {points[name][0]:,.0f} rows/s, error {points[name][1]:.3f}"
        marks.append(Line(((at + 5.0, end), (at + 11.0, place)), "muted", 0.7))
        marks.append(Dot(at, end, look.shape, look.role, 4.5, tip=tip))
        bold = name == FIRST
        marks.append(Label(at + 13.0, place + 4.0, name, size=12.0, bold=bold))
    title = f"Mean error against rows per second on {N} datasets and streams"
    return Drawing(width, height, title, tuple(marks))
