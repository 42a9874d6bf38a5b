"""Laws of the report of a run: emphasis, order, and escaping."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from report.runs import FACTS, evaluated, learners, page_of
from rpnb import report
from rpnb.baselines import make
from rpnb.estimators import registry
from rpnb.evaluate.differences import significance_sentence
from rpnb.evaluate.evaluation import Evaluation
from rpnb.report.run_page import stream_page


def section(page: str, anchor: str) -> str:
    found = re.search(rf'<section id="{anchor}".*?</section>', page, re.DOTALL)
    assert found is not None
    return found.group()


def data_of(markup: str) -> list[Any]:
    found = re.findall(
        r'<script type="application/json">(.*?)</script>', markup, re.DOTALL
    )
    return [json.loads(each) for each in found]


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluated(learners())


@pytest.fixture(scope="module")
def page(evaluation: Evaluation) -> str:
    return page_of(evaluation)


@pytest.fixture(scope="module")
def ranked(evaluation: Evaluation) -> list[str]:
    """Return the learners, the lowest error first."""
    found = [each for each in evaluation.participants if not each.reference]
    return [each.name for each in sorted(found, key=lambda e: e.confusion.mistakes)]


def test_the_three_lowest_errors_are_in_colour(page: str, ranked: list[str]) -> None:
    charts = data_of(section(page, "curves"))
    assert len(charts) == 2
    for chart in charts:
        shown = {each["name"]: each for each in chart["series"]}
        assert [name for name in shown if shown[name]["shown"]] == ranked[:3]
        assert shown[ranked[0]]["role"] == "s0"
        assert shown[ranked[0]]["width"] == max(e["width"] for e in shown.values())
        assert set(shown) == {*ranked, "majority class", "same as last"}


def test_significant_differences_are_reported_as_in_the_command(
    page: str, evaluation: Evaluation
) -> None:
    errors = {
        each.name: each.confusion.error
        for each in evaluation.participants
        if not each.reference
    }
    found = evaluation.compare_with_best(errors)
    names = [each.second for each in found if each.better is None]
    assert len(names) == len(errors) - 1  # the run is short
    said = f"At 95 % confidence: not significantly different from {', '.join(names)}."
    assert said in unescape(page)
    sure = [replace(each, high=each.high - 2.0) for each in found[:2]]
    rest = ", ".join(names[2:])
    assert significance_sentence([*sure, *found[2:]]) == (
        f"At 95 % confidence: lower than {names[0]}, {names[1]}; "
        f"not significantly different from {rest}."
    )


def test_differences_in_both_losses_are_in_a_table(
    page: str, evaluation: Evaluation
) -> None:
    text = unescape(section(page, "differences"))
    losses = evaluation.log_losses()
    assert len(losses) > 1
    assert "PA" not in losses  # it has no probabilities
    found = evaluation.compare_with_best(losses, loss="log_loss")
    best = min(losses, key=lambda name: losses[name])
    assert {each.second for each in found} == {*losses} - {best}
    for each in found:
        assert each.first == best
        assert each.loss == "log_loss"
        assert f"{each.first} − {each.second}" in text
        for end in (each.mean[-1], each.low[-1], each.high[-1]):
            assert f"{end:+.4f}" in text


def test_the_report_depends_on_no_name() -> None:
    models = learners()
    names = list(models)
    turned = dict(zip(names, [*names[1:], names[0]], strict=True))
    other = {turned[name]: model for name, model in learners().items()}
    before, after = (
        data_of(section(page_of(evaluated(each)), "curves")) for each in (models, other)
    )
    for one, two in zip(before, after, strict=True):
        for a, b in zip(one["series"], two["series"], strict=True):
            assert b["name"] == turned.get(a["name"], a["name"])
            assert {**a, "name": ""} == {**b, "name": ""}


def test_curves_end_at_the_errors_of_the_table(
    page: str, evaluation: Evaluation
) -> None:
    (so_far, parts) = data_of(section(page, "curves"))
    errors = {each.name: each.confusion.error for each in evaluation.participants}
    for each in so_far["series"]:
        assert each["values"][-1] == pytest.approx(errors[each["name"]], rel=5e-6)
    lengths = np.diff([0, *parts["rows"]])
    for each in parts["series"]:
        mistakes = float(np.dot(lengths, each["values"]))
        assert mistakes / 600 == pytest.approx(errors[each["name"]], rel=1e-4)


def test_the_table_is_sorted_and_marks_the_best(page: str, ranked: list[str]) -> None:
    summary = section(page, "summary")
    rows = re.findall(
        r'<tr( class="best")?><th scope="row">(.*?)</th><td>(?:<b>)?(.*?)<', summary
    )
    errors = [float(error) for _, _, error in rows]
    assert errors == sorted(errors)
    assert [name for marked, name, _ in rows if marked] == [ranked[0]]
    assert [n for _, n, _ in rows if n in ranked] == ranked


@pytest.mark.parametrize("anchor", ["summary", "probabilities"])
def test_the_best_value_of_a_column_is_bold(page: str, anchor: str) -> None:
    markup = section(page, anchor)
    head = [
        unescape(text) for text in re.findall(r"<th scope=\"col\".*?>(.*?)<", markup)
    ]
    lines = re.findall(r"<tr.*?>(<th scope=\"row\".*?)</tr>", markup)
    columns = [
        *zip(*(re.findall("<td>(.*?)</td>", line) for line in lines), strict=True)
    ]
    for name, column in zip(head[1:], columns, strict=True):
        bold = {text for text in column if text.startswith("<b>")}
        if name in ("Updates", "Seconds", "Coverage"):
            assert not bold
            continue
        values = [text.removeprefix("<b>").removesuffix("</b>") for text in column]
        lowest = name in ("Error", "Log loss", "Brier score", "Calibration error")
        lowest |= name.startswith("Last ")
        best = (min if lowest else max)((v for v in values if v != "—"), key=float)
        assert bold == {f"<b>{best}</b>"}


def test_a_table_of_one_learner_has_nothing_bold() -> None:
    markup = page_of(evaluated({"NB": make("GaussianNB")}, alone=True))
    assert "<b>" not in section(markup, "summary") + section(markup, "probabilities")
    # Naive Bayes has no prediction sets.
    assert "Coverage" not in section(markup, "probabilities")


def test_the_sum_of_rare_classes_does_not_flatten_the_others() -> None:
    y = np.random.default_rng(0).integers(0, 26, 600)
    labels = tuple("abcdefghijklmnopqrstuvwxyz")
    found = evaluated({"NB": make("GaussianNB")}, labels, y=y)
    (chart,) = data_of(section(page_of(found), "balance"))
    (others,) = [each for each in chart["series"] if each["name"] == "19 others"]
    assert max(others["values"]) > 0.6
    assert chart["y"]["high"] < 0.3
    assert "The sum of 19 others lies above the axis." in page_of(found)


@pytest.mark.parametrize("anchor", ["confusion", "calibration", "reasons"])
def test_the_best_learner_is_shown_and_the_others_on_request(
    anchor: str, page: str, ranked: list[str]
) -> None:
    markup = section(page, anchor)
    names = re.findall(r'data-name="(.*?)"', markup)
    assert names == [name for name in ranked if name in names]
    first = f'<div class="choice" data-label="Learner"><div data-name="{names[0]}">'
    assert first in markup
    # Without scripts the others are to be unfolded, by name.
    for name in names[1:]:
        assert f'<details data-name="{name}"><summary>{name}</summary>' in markup


def test_each_member_of_the_pool_has_a_panel(page: str) -> None:
    markup = section(page, "members")
    charts = data_of(markup)
    assert all(chart["small"] for chart in charts)
    assert len(charts) == markup.count("<svg") > 4
    assert len(re.findall("more members?</summary>", markup)) == (len(charts) > 8)


def test_the_page_is_self_contained_and_the_same_each_time(page: str) -> None:
    markup = re.sub("<script>.*?</script>", "", page, flags=re.DOTALL)
    assert page.count("<script>") == 1
    for foreign in ("http:", "https:", "//", "url(", "@import", "src=", "<link"):
        assert foreign not in markup
    assert "default-src 'none'" in page
    assert "Leon Sorokin" in page  # the licence of uPlot goes with its code
    assert page_of(evaluated(learners())) == page


def test_hostile_names_stay_text() -> None:
    wild = '</script><img src=x onerror="alert(1)">&'
    labels = tuple(f"{wild}{k}" for k in range(3))
    evaluation = evaluated({wild: make("PA"), f"{wild}2": make("GaussianNB")}, labels)
    facts = replace(FACTS, source=wild, numbers=(wild,), notes=(wild,))
    page = page_of(evaluation, facts)
    markup = re.sub("<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "<img" not in markup
    assert markup.count("</script>") == markup.count("<script ")
    (so_far, _) = data_of(section(page, "curves"))
    assert {wild, f"{wild}2"} <= {each["name"] for each in so_far["series"]}
    assert wild in unescape(section(page, "summary"))


@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_short_stream_of_one_learner_has_a_report(n: int) -> None:
    page = page_of(evaluated({"PA": make("PA")}, n=n))
    assert data_of(section(page, "curves"))[0]["rows"][-1] == n
    assert "PA has an error of" in page


def test_the_report_names_no_learner() -> None:
    names = "|".join((*registry.learners(), *registry.ALIASES))
    for path in Path(report.__file__).parent.rglob("*.py"):
        found = re.findall(rf"\b(?:{names})\b", path.read_text(encoding="utf-8"))
        assert not found, path.name


def test_hints_are_shown_at_the_top(evaluation: Evaluation) -> None:
    page = stream_page(evaluation, FACTS, "rpnb run some.csv", hints=["try <this>."])
    head = page[: page.index("<nav")]
    assert '<p class="advice">Try &lt;this&gt;.</p>' in head
    assert 'class="advice"' not in page_of(evaluation)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "600 rows with 9 features and"),
        ({"numbers": tuple("abcdefghi")}, "600 rows with 9 features and"),
        ({"numbers": ("a",), "categories": {"b": 3}, "dates": ("c",)}, "3 columns (9 "),
        ({"dates": ("c",)}, "1 column (9 features)"),
    ],
)
def test_columns_are_told_from_features(
    known: dict[str, Any], said: str, evaluation: Evaluation
) -> None:
    facts = replace(FACTS, p=9, **{"numbers": (), **known})
    assert said in page_of(evaluation, facts)


@pytest.mark.parametrize("n", [30, 47, 400, 401, 405, 599])
def test_the_last_part_of_the_stream_has_as_many_rows_as_others(n: int) -> None:
    page = page_of(evaluated({"PA": make("PA")}, n=n))
    for anchor, place in (("curves", 1), ("balance", 0)):
        data = data_of(section(page, anchor))[place]
        lengths = np.diff([0, *data["rows"]])
        assert lengths.sum() == n
        assert 2 * lengths[-1] >= lengths[-2]
