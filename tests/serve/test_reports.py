"""Reports in Chromium: interactive charts, narrow screens, no external requests."""

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from report.runs import evaluated, learners, page_of
from rpnb.study.analysis import analyse
from rpnb.study.page import report_page
from rpnb.study.page.charts import draw
from study.report_records import like_the_paper

#: Where to keep screenshots, to be looked at.
SCREENSHOTS = os.environ.get("RPNB_SCREENSHOTS", "")
WILD = "</script><img src=x onerror=alert(1)>"
PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a report of a run, one with hostile names, and one of a study."""
    folder = tmp_path_factory.mktemp("reports")
    wild = {f"{WILD}{name}": model for name, model in learners().items()}
    labels = tuple(f"{WILD}{k}" for k in range(3))
    study = analyse(like_the_paper(["Iris", "Zoo", "GM"], permutations=3))
    whole = analyse(like_the_paper(permutations=6))  # all datasets and methods
    pages = {
        "run": page_of(evaluated(learners())),
        "wild": page_of(evaluated(wild, labels)),
        "study": report_page(study, draw(study), "rpnb paper"),
        "paper": report_page(whole, draw(whole), "rpnb paper"),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture
def open_page(browser: Any, reports: dict[str, Path]) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a report; errors and requests fail the test."""
    problems: list[str] = []
    contexts = []

    def opened(name: str, viewport: dict[str, int] = WIDE, **options: Any) -> Any:
        context = browser.new_context(viewport=viewport, **options)
        context.set_default_timeout(120_000)
        contexts.append(context)
        page = context.new_page()
        address = reports[name].as_uri()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.partition("#")[0] == address
                else problems.append(request.url)
            ),
        )
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def scroll_through(page: Any) -> None:
    """Scroll to every chart, and wait: they are drawn when they become visible."""
    page.evaluate(
        """(async () => {
          for (const each of document.querySelectorAll("figure.plot")) {
            if (!each.checkVisibility()) continue;
            each.scrollIntoView({ behavior: "instant" });
            while (!each.classList.contains("drawn")) {
              await new Promise(requestAnimationFrame);
            }
          }
          scrollTo({ top: 0, behavior: "instant" });
        })()"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, WIDE], ids=["phone", "wide"])
@pytest.mark.parametrize("name", ["run", "wild", "study"])
def test_a_report_fits_the_screen(
    name: str, viewport: dict[str, int], scheme: str, open_page: Callable[..., Any]
) -> None:
    page = open_page(name, viewport, color_scheme=scheme)
    scroll_through(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= viewport["width"]
    drawn = page.locator("figure.drawn canvas").count()
    assert drawn >= 2
    if SCREENSHOTS:
        folder = Path(SCREENSHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name}-{viewport['width']}-{scheme}.png"
        page.screenshot(path=str(file), full_page=True)


@pytest.mark.parametrize("name", ["run", "paper"])
def test_a_report_has_at_most_four_screens_on_a_phone(
    name: str, open_page: Callable[..., Any]
) -> None:
    page = open_page(name, PHONE)
    scroll_through(page)
    height = page.evaluate("document.documentElement.scrollHeight")
    assert height <= 4 * PHONE["height"]


def test_tables_of_a_study_are_not_cut_on_a_wide_screen(
    open_page: Callable[..., Any],
) -> None:
    page = open_page("study")
    for number in (1, 2, 3):
        box = page.get_by_role("region", name=f"Table {number}", exact=True).last
        cut = box.evaluate("e => e.scrollWidth - e.clientWidth")
        assert cut <= 0


def test_the_pointer_shows_values_and_buttons_switch_series(
    open_page: Callable[..., Any],
) -> None:
    page = open_page("run")
    chart = page.locator("#curves figure.drawn").first
    chart.locator("canvas").wait_for()
    over = chart.locator(".u-over")
    over.hover(position={"x": 300, "y": 80})
    tip = chart.locator(".tip")
    tip.wait_for()
    lines = tip.inner_text()
    for name in (*learners(), "majority class", "same as last"):
        assert name in lines
    assert lines.startswith("row ")
    # The emphasised are three; a click on a grey one asks for a fourth.
    pressed = chart.locator(".names button[aria-pressed=true]")
    assert pressed.count() == 3
    grey = chart.locator(".names button[aria-pressed=false]")
    asked = grey.first.locator("span").inner_text()
    grey.first.click()
    assert pressed.count() == 4
    assert asked in [each.inner_text() for each in pressed.locator("span").all()]
    # All other grey ones can be hidden.
    chart.get_by_role("button", name="hide grey lines").click()
    over.hover(position={"x": 310, "y": 80})
    page.wait_for_function(
        "document.querySelectorAll('#curves .drawn .tip > span').length === 4"
    )
    # The keyboard is enough, too: the focus stays on its button.
    pressed.first.focus()
    page.keyboard.press("Enter")
    assert pressed.count() == 3


def test_on_a_phone_values_stand_beside_the_names(
    open_page: Callable[..., Any],
) -> None:
    page = open_page("run", PHONE, has_touch=True)
    chart = page.locator("#curves figure.drawn").first
    chart.locator("canvas").wait_for()
    names = chart.locator(".names")
    before = names.inner_text()
    assert before.startswith("error so far")
    chart.locator(".u-over").tap(position={"x": 100, "y": 80})
    page.wait_for_function(
        "document.querySelector('#curves .names').innerText.startsWith('row')"
    )
    assert names.inner_text() != before
    assert not chart.locator(".tip").is_visible()


def test_charts_of_the_same_rows_share_their_range(
    open_page: Callable[..., Any],
) -> None:
    page = open_page("run")
    scroll_through(page)
    back = page.get_by_role("button", name="show all rows")
    assert back.count() == 0
    over = page.locator("#balance .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 40, steps=4)
    page.mouse.up()
    assert back.count() == 2  # that of the visible curves, too
    # The pointer at the left edge of a member's panel is in the middle of the rows.
    panel = page.locator("#members > .multiples figure").first
    panel.locator(".u-over").hover(position={"x": 2, "y": 40})
    page.wait_for_function(
        "parseInt(document.querySelector('#curves .tip b').innerText.slice(4)) >= 300"
    )
    back.first.click()
    assert back.count() == 0


def test_a_chart_of_a_report_is_saved_without_a_request(
    open_page: Callable[..., Any],
) -> None:
    page = open_page("wild")
    chart = page.locator("#curves figure.drawn").first
    chart.locator("canvas").wait_for()
    names = [f"{WILD}{name}" for name in learners()]
    with page.expect_download() as download:
        chart.get_by_role("button", name="CSV").click()
    name = download.value.suggested_filename
    assert name == "rpnb-some-csv-error-so-far.csv"
    text = download.value.path().read_text("utf-8")
    head, *rows = csv.reader(text.splitlines())
    assert head[0] == "rows"
    assert {*names, "majority class", "same as last"} == {*head[1:]}
    assert rows[-1][0] == "600"
    with page.expect_download() as download:
        chart.get_by_role("button", name="SVG").click()
    picture = ElementTree.fromstring(download.value.path().read_text("utf-8"))  # noqa: S314
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    lines = picture.findall(".//{http://www.w3.org/2000/svg}path")
    assert len(lines) == len(head) - 1


def test_panels_of_members_share_their_pointer(open_page: Callable[..., Any]) -> None:
    page = open_page("run")
    page.locator("#members").scroll_into_view_if_needed()
    panels = page.locator("#members > .multiples figure")
    panels.first.locator("canvas").wait_for()
    panels.nth(1).locator("canvas").wait_for()
    before = panels.nth(1).locator(".value").inner_text()
    panels.first.locator(".u-over").hover(position={"x": 60, "y": 40})
    page.wait_for_function(
        "document.querySelectorAll('#members .value')[1].textContent.includes('error')"
    )
    page.mouse.move(5, 5)
    page.wait_for_function(
        "text => document.querySelectorAll('#members .value')[1].textContent === text",
        arg=before,
    )


def test_one_confusion_matrix_at_a_time(open_page: Callable[..., Any]) -> None:
    page = open_page("run")
    matrices = page.locator("#confusion svg:visible")
    assert matrices.count() == 1
    select = page.locator("#confusion").get_by_label("Learner")
    names = select.locator("option").all_inner_texts()
    assert sorted(names) == sorted(learners())
    best = page.locator("tr.best th").inner_text()
    assert names[0] in best
    select.select_option(names[-1])
    assert matrices.count() == 1
    label = matrices.get_attribute("aria-label")
    assert label == f"Confusion of {names[-1]}"


def test_a_link_unfolds_its_section(open_page: Callable[..., Any]) -> None:
    page = open_page("run", PHONE)
    inner = page.locator("#scores table").first
    assert not inner.is_visible()
    page.get_by_role("navigation").get_by_role("link", name="Scores").click()
    inner.wait_for()


def test_without_scripts_and_in_print_pictures_are_seen(
    open_page: Callable[..., Any],
) -> None:
    plain = open_page("run", PHONE, java_script_enabled=False)
    assert plain.locator("#curves > .choice > div svg:visible").count() == 1
    assert plain.locator("#confusion svg:visible").count() == 1
    assert plain.locator("#confusion summary:visible").count() > len(learners()) - 1
    printed = open_page("run")
    scroll_through(printed)
    printed.emulate_media(media="print")
    assert printed.locator("canvas:visible").count() == 0
    assert printed.locator("#curves svg:visible").count() == 1
