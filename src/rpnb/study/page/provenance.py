"""The last section of the page: versions, command, data and parameters."""

from collections.abc import Iterable, Iterator

from rpnb.datasets import UnknownDatasetError, describe
from rpnb.datasets.catalogue import Entry
from rpnb.report.html import Html, join, row, section, table, tag
from rpnb.study.analysis import StudyAnalysis
from rpnb.study.run_records import RunRecord


def provenance_section(analysis: StudyAnalysis, command: str | None) -> Html:
    """Return version, command, permutations, seed, parameters and data sources."""
    records = analysis.records()
    facts = dict(_facts(analysis, records, command))
    terms = (join((tag("dt", name), tag("dd", value))) for name, value in facts.items())
    return section(
        "provenance",
        "How it was made",
        tag("dl", *terms),
        _methods(analysis),
        _datasets(analysis),
        fold=True,
    )


def _facts(
    analysis: StudyAnalysis, records: list[RunRecord], command: str | None
) -> Iterator[tuple[str, str]]:
    """Yield names and values of what identifies the runs."""
    yield "Version", "rpnb " + _several(record.version for record in records)
    if command is not None:
        yield "Command", tag("code", command)
    runs = {len(cell) for cell in analysis.runs.values()}
    yield (
        "Permutations",
        f"{_several(map(str, runs))} of each dataset, the same for all methods; "
        f"{len(records)} runs in all",
    )
    yield (
        "Seed of the study",
        _several(str(seed) for seed in sorted({r.seed for r in records})),
    )
    seconds = sum(record.seconds for record in records)
    yield "Time of all runs", f"{_duration(seconds)} in sequence"
    versions = {
        "paper": "the data as the paper must have used it; changes are listed below",
        "true": "the data as published",
    }
    for reading in sorted({record.reading for record in records}):
        yield "Version of the data", f"“{reading}”: {versions.get(reading, 'unknown')}"
    yield (
        "Measures",
        "Every row is predicted before it is learned. Error: share of wrong "
        "predictions. F1: unweighted mean over the classes of the F1 of the "
        "predictions. Updates: rows that changed the model.",
    )
    yield "Fresh draws", _fresh_draws(analysis)


def _fresh_draws(analysis: StudyAnalysis) -> Html | str:
    shapes = [s for s in analysis.shapes if (s.source or "").startswith("drawn")]
    drawn = [shape.dataset for shape in shapes]
    if not drawn:
        return "None: no dataset was drawn at random."
    items = []
    for name in drawn:
        entry = _entry(name)
        why = entry.stands_for if entry and entry.stands_for else "a fresh draw"
        items.append(tag("li", tag("b", name), f": {why}."))
    return tag("ul", *items)


def _methods(analysis: StudyAnalysis) -> Html:
    lines = []
    for method in analysis.methods:
        cells = [cell for (_, name), cell in analysis.runs.items() if name == method]
        if cells:
            found = sorted({record.parameters for cell in cells for record in cell})
            seconds = sum(record.seconds for cell in cells for record in cell)
            lines.append(
                row(
                    method,
                    (
                        str(sum(map(len, cells))),
                        _duration(seconds),
                        tag("td", tag("code", "; ".join(found)), class_="text wide"),
                    ),
                )
            )
    head = ("Method", "Runs", "Time", "Parameters")
    caption = "The methods and their parameters."
    return table(caption, head, [tag("tbody", *lines)], label="Methods", align="lrrl")


def _datasets(analysis: StudyAnalysis) -> Html:
    """Return a table of where the rows of each dataset come from."""
    lines = []
    for shape in analysis.shapes:
        entry = _entry(shape.dataset)
        readings = {
            record.reading
            for (name, _), cell in analysis.runs.items()
            if name == shape.dataset
            for record in cell
        }
        changed = entry.paper_reading if entry and "paper" in readings else None
        origin = entry.origin if entry else "not in the catalogue"
        cells = (
            tag("td", shape.source or "not recorded", class_="text"),
            tag("td", changed or "", class_="text wide"),
            tag("td", origin, class_="text wide"),
        )
        lines.append(row(shape.dataset, cells))
    head = ("Dataset", "Rows from", "Changes in the paper's version", "Origin")
    caption = "The datasets, and where their rows came from."
    return table(caption, head, [tag("tbody", *lines)], label="Sources", align="llll")


def _entry(dataset: str) -> Entry | None:
    try:
        return describe(dataset)
    except UnknownDatasetError:
        return None


def _several(texts: Iterable[str]) -> str:
    return ", ".join(sorted(set(texts)))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
