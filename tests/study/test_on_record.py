"""The page of a study and its tables are as on record, word by word.

A column, a threshold or a number of decimals that has slipped breaks no law of the
other tests, and shows on every page. What is meant to change is written anew, and read:
``python tests/study/test_on_record.py``. How charts look is on record elsewhere.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from rpnb.report.charts.drawing import Drawing, Label
from rpnb.report.tables import to_text
from rpnb.study.analysis import StudyAnalysis, analyse
from rpnb.study.page import report_page
from rpnb.study.page.charts import draw
from rpnb.study.records import RunRecord
from rpnb.study.text_tables import table_files, terminal_tables
from study.report_records import like_the_paper, make_record

RECORD = Path(__file__).parents[1] / "golden" / "study.txt"


def study() -> list[RunRecord]:
    """Return runs of which some agree with the paper and some do not.

    One method, one dataset and one reading are none of the paper's; one method was run
    on some datasets only, one is without its last runs.
    """
    records = like_the_paper(["Iris", "Ecoli", "GM"], ["RPNB", "AROW", "PA"], 6)
    records += like_the_paper(["Zoo", "Tic_TacToe"], ["RPNB", "AROW"], 6, seed=6)
    records += [
        make_record("Iris", "Mine", r, error=0.06 + 0.002 * r, f1=0.9) for r in range(4)
    ]
    for r in range(6):
        common = {"n": 500, "p": 40, "M": 2, "source": "a file of mine"}
        one = make_record("Own", "RPNB", r, error=0.1 + 0.01 * r, **common)  # type: ignore[arg-type]
        two = make_record("Own", "PA", r, error=0.3 - 0.01 * r, **common)  # type: ignore[arg-type]
        records += [one, replace(two, reading="true", version="0.2.0")]
    shift = {
        ("Iris", "PA"): 0.05,
        ("Ecoli", "RPNB"): 0.1,
        ("Zoo", "RPNB"): 0.1,
        ("Zoo", "AROW"): 0.1,
    }
    seconds = {"AROW": 20.0, "PA": 700.0}
    return [
        replace(
            each,
            error=each.error + shift.get((each.dataset, each.method), 0.0),
            seconds=seconds.get(each.method, 0.25),
        )
        for each in records
    ]


def texts(name: str, drawing: Drawing) -> str:
    """Return the words of a chart, and what is shown when the pointer is on a mark."""
    written = [mark.text for mark in drawing.marks if isinstance(mark, Label)]
    tips = [tip for mark in drawing.marks if (tip := getattr(mark, "tip", None))]
    return f"{name}: {drawing.title} | {' | '.join(written + tips)}"


def shown(analysis: StudyAnalysis, command: str | None) -> Iterator[str]:
    charts = draw(analysis)
    page = report_page(analysis, charts, command)
    page = page[page.index("<body") :]
    page = re.sub("<svg.*?</svg>", "<svg/>", page, flags=re.DOTALL)
    page = re.sub("<script.*?</script>", "", page, flags=re.DOTALL)
    yield from page.replace("><", ">\n<").splitlines()
    for name, drawing in charts.items():
        yield texts(name, drawing)
    for table in terminal_tables(analysis, ["RPNB", "PA"]):
        yield from to_text(table).splitlines()
    files = table_files(analysis)
    del files["tables.txt"]  # the same as in Markdown
    for name, content in files.items():
        yield f"# {name}"
        for line in content.decode().splitlines():
            yield re.sub(r"\d\.\d{6,}(e-\d+)?", rounded, line)


def rounded(found: re.Match[str]) -> str:
    """Return a number without the digits that other processors may round otherwise."""
    return f"{float(found.group()):.6g}"


def lines() -> Iterator[str]:
    yield from shown(analyse(study()), "rpnb paper")
    few = [make_record("Iris", "RPNB"), make_record("Own", "PA", source="")]
    yield from shown(analyse(few), None)


def test_the_page_and_the_tables_are_as_on_record() -> None:
    assert list(lines()) == RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
