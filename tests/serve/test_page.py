"""The page in a real Chromium: live figures, narrow and dark, keyboard and reader."""

import csv
import os
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import numpy as np
import pytest

from rpnb.client import Client
from serve.process import ServerProcess, run_command
from serve.streams import clusters

#: Where to keep screenshots, to be looked at.
SCREENSHOTS = os.environ.get("RPNB_SCREENSHOTS", "")
#: How long to wait for a part of the page, in milliseconds.
PATIENCE = 120_000
ALLOWED = ("http://127.0.0.1", "data:", "blob:")


@pytest.fixture
def page(browser: Any, shared: ServerProcess) -> Iterator[Any]:
    """Return a page that fails on errors, and on requests to other hosts."""
    problems: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda line: problems.append(line.text) if line.type == "error" else None,
    )
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(ALLOWED) else problems.append(request.url)
        ),
    )
    yield page
    context.close()
    assert problems == []


@pytest.fixture(scope="module")
def model(shared: ServerProcess) -> str:
    """Return the address of the page of a model with learned and waiting rows."""
    with Client(shared.address, timeout=300) as client:
        client.create("garden", "GaussianNB", features=["w", "x", "y", "z"])
        client.create("mute", "AROW", features=4)
        X, y = clusters(1500)
        client.observe("mute", X[:100], y[:100])
        client.predict("mute", X[:3])
        # From row 700 on, classes have other names: a drift that raises an alarm.
        names = sorted(set(y))
        y = [*y[:700], *(names[names.index(each) - 1] for each in y[700:])]
        client.observe("garden", X[:1000], y[:1000])
        found = client.predict("garden", X[1000:], remember=True)
        ids = found.ids or []
        client.label("garden", ids[:400], y[1000:1400])
    return f"{shared.address}/#/models/garden"


def keep(page: Any, name: str) -> None:
    if SCREENSHOTS:
        folder = Path(SCREENSHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(folder / f"{name}.png"), full_page=True)


def test_models_at_a_glance(page: Any, shared: ServerProcess, model: str) -> None:
    page.goto(shared.address)
    link = page.get_by_role("link", name="garden")
    link.wait_for()
    assert page.get_by_role("status").inner_text() == "Live"
    assert not page.get_by_label("Access token").is_visible()
    text = page.locator("#models").inner_text()
    assert "GaussianNB" in text
    assert "1,400" in text
    assert "100" in text
    keep(page, "overview")
    link.click()
    page.get_by_role("heading", name="garden").wait_for()
    page.go_back()
    link.wait_for()


def test_a_model_in_detail(page: Any, model: str) -> None:
    page.goto(model)
    page.get_by_role("heading", name="garden").wait_for()
    page.locator("#error-chart canvas").wait_for()
    page.locator("#calibration-chart canvas").wait_for()
    figures = page.locator("#figures").inner_text()
    for word in ("Error", "Majority class", "Without a prediction", "Previous class"):
        assert word in figures
    label = page.locator("#error-chart [role=img]").get_attribute("aria-label")
    assert label.startswith("Error rates after 1,399 predictions")
    assert page.locator("#balance tr").count() == 3
    assert page.locator("#confusion tbody tr").count() == 3
    assert page.locator("#confusion").inner_text().count("ash") == 2
    assert page.title() == "garden – rpnb serve"
    # Where classes are about equally frequent, the error says enough.
    assert "Balanced accuracy" not in figures
    assert not page.locator("#advice").is_visible()
    assert page.locator("#recent tr").count() >= 1
    reasons = page.locator("#recent .reason").first.inner_text()
    one = r"[wxyz] [+−][\d.e+-]+"
    whole = rf"(now \w+, )?against \w+: {one}, {one}, {one}, 1 more"
    assert re.fullmatch(whole, reasons)
    assert "Drift alarms: row " in page.locator("#alarms").inner_text()
    keep(page, "model-light")


def test_a_new_row_appears_without_a_reload(
    page: Any, shared: ServerProcess, client: Client
) -> None:
    X, y = clusters(30, seed=9)
    client.create("growing", "GaussianNB", features=4)
    client.observe("growing", X[:20], y[:20])
    page.goto(f"{shared.address}/#/models/growing")
    learned = page.locator("#figures div", has_text="Rows learned").locator("dd")
    learned.get_by_text("20").wait_for()
    client.observe("growing", X[20:], y[20:])
    learned.get_by_text("30").wait_for()


@pytest.fixture(scope="module")
def contested(shared: ServerProcess) -> str:
    """Return the address of a model with challengers and a promotion."""
    with Client(shared.address, timeout=300) as client:
        client.create("contested", "MajorityClass", features=4)
        X, y = clusters(3000, seed=4)
        X += np.random.default_rng(0).normal(size=X.shape)
        client.observe("contested", X[:500], y[:500])
        client.challenge("contested", "bayes", "GaussianNB")
        client.challenge(
            "contested", "late", "Pooled", start="now", members=["binned_bayes"]
        )
        client.name_version("contested", "start")
        client.promote("contested", "bayes")
        for start in range(500, 3000, 250):
            some = slice(start, start + 250)
            client.observe("contested", X[some], y[some])
    return f"{shared.address}/#/models/contested"


@pytest.mark.parametrize("width", [390, 1280])
def test_champion_and_challengers(page: Any, contested: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(contested)
    page.locator("#difference-chart canvas").wait_for()
    lines = page.locator("#contender-rows tr")
    assert lines.count() == 3
    assert "bayes" in lines.nth(0).inner_text()
    assert "serving since event" in lines.nth(0).inner_text()
    first = lines.filter(has_text="first")
    first.get_by_text("worse").wait_for()
    assert re.search(r"\+\d+\.\d+ % \([+−].*\sto\s\+.*\)", first.inner_text())
    told = page.locator("#promotions").inner_text()
    assert told.startswith("Promotions: bayes was promoted over first (")
    assert "Versions: start at event " in told
    label = page.locator("#difference-chart [role=img]").get_attribute("aria-label")
    assert label.startswith("Error minus that of the champion: first +")
    if width < 640:
        assert page.evaluate("document.documentElement.scrollHeight") <= 4 * 844
        page.locator("#contenders summary").click()
    page.locator("#log-loss-chart canvas").wait_for()
    label = page.locator("#log-loss-chart [role=img]").get_attribute("aria-label")
    assert label.startswith("Log-loss minus that of the champion: late ")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    keep(page, f"challengers-{width}")


def test_a_model_without_challengers_shows_none(page: Any, model: str) -> None:
    page.goto(model)
    page.locator("#error-chart canvas").wait_for()
    assert not page.locator("#contenders").is_visible()


def test_a_learner_that_cannot_explain_says_so(page: Any, model: str) -> None:
    page.goto(model.replace("garden", "mute"))
    page.get_by_text("AROW cannot explain predictions.").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_screens_wide_and_narrow_light_and_dark(
    page: Any, model: str, width: int, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(model)
    page.locator("#error-chart canvas").wait_for()
    page.locator("#recent tr").first.wait_for(state="attached")
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 26)" if scheme == "dark" else "rgb(255, 255, 255)")
    keep(page, f"model-{scheme}-{width}")
    page.goto(model.partition("#")[0])
    page.get_by_role("link", name="garden").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    keep(page, f"overview-{scheme}-{width}")


def test_the_keyboard_is_enough(page: Any, shared: ServerProcess, model: str) -> None:
    page.goto(shared.address)
    page.get_by_role("link", name="garden").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    # Other tests may have added models to this service: pass all of its links.
    for _ in range(page.locator("a, button, input, [tabindex]").count()):
        if page.evaluate("document.activeElement.hash") == "#/models/garden":
            break
        page.keyboard.press("Tab")
    page.wait_for_timeout(1500)  # the table was drawn again: the focus stays
    assert page.evaluate("document.activeElement.hash") == "#/models/garden"
    page.keyboard.press("Enter")
    page.locator("#error-chart canvas").wait_for()
    assert page.evaluate("document.activeElement.id") == "model-title"
    # From there on, in the order of the page: charts, their series and what they offer,
    # and the tables that may be wider than the page. Every section is there by then.
    page.locator("#recent tr").first.wait_for()
    page.locator("#waiting").wait_for()
    stops: list[str] = []
    while len(stops) < 99:
        page.keyboard.press("Tab")
        name = page.evaluate(
            "((e) => e === document.body ? '' : e.tagName === 'SUMMARY' ? e.textContent"
            " : e.dataset.name ?? e.ariaLabel ?? e.attributes['aria-labelledby'].value)"
            "(document.activeElement)"
        )
        if not name:
            break
        stops.append(name.strip().partition(":")[0])
    errors, *stops = stops
    assert errors.startswith("Error rates after ")
    assert stops == [
        *("model", "model, window", "majority class", "previous class", "rest"),
        *("csv", "svg", "How far inputs moved", "What changed", "Class balance"),
        *("balance-title", "Calibration", "Calibration", "csv", "svg"),
        *("Confusion matrix", "confusion-title", "Last predictions", "recent-title"),
    ]
    page.locator("#model-title").focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.textContent") == "← All models"
    page.keyboard.press("Enter")
    page.get_by_role("link", name="garden").wait_for()
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_screen_reader_finds_names_for_everything(page: Any, model: str) -> None:
    page.goto(model)
    page.locator("#error-chart canvas").wait_for()
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("main").count() == 1
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3')]"
        ".filter(e => e.checkVisibility()).map(e => +e.tagName[1])"
    )
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for image in page.get_by_role("img").all():
        assert image.get_attribute("aria-label")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('th:not([scope])')]"
        ".filter(e => e.checkVisibility()).length"
    )
    assert unnamed == 0
    for caption in page.locator("table:visible caption").all():
        assert caption.inner_text() is not None


def test_a_page_with_a_token(
    browser: Any, start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    file = tmp_path / "tokens"
    made = run_command(
        *("serve", tmp_path, "--token-file", file, "--add-token", "page", "predict")
    )
    server = start("--token-file", str(file))
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(server.address)
    field = page.get_by_label("Access token")
    field.wait_for()
    field.fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("A token is needed.").wait_for()
    field.fill(made.stdout.strip())
    page.keyboard.press("Enter")
    page.get_by_text("No models yet").wait_for()
    context.close()


def test_a_problem_is_shown(browser: Any, start: Callable[..., ServerProcess]) -> None:
    import sqlite3

    server = start()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(server.address)
    page.get_by_text("Live").wait_for()
    other = sqlite3.connect(server.folder / "log.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Client(server.address, retries=0) as client:
        with pytest.raises(Exception, match="locked"):
            client.create("m", "GaussianNB", features=2)
        page.get_by_role("alert").get_by_text("database is locked").wait_for()
        other.execute("ROLLBACK")
        other.close()
        page.get_by_role("alert").wait_for(state="hidden")
    server.kill()
    page.get_by_text("Connection lost").wait_for()
    context.close()


def test_a_degraded_model_is_shown(
    browser: Any, start: Callable[..., ServerProcess]
) -> None:
    import sqlite3

    server = start()
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4)
        for _ in range(2):
            client.learn("m", *clusters(20))
    server.kill()
    with sqlite3.connect(server.folder / "log.sqlite") as connection:
        connection.execute("UPDATE events SET checksum=1 WHERE id=2")
    connection.close()
    again = start()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(again.address)
    page.get_by_text("(degraded)").wait_for()
    said = "event 2 is damaged: its checksum does not match; predictions come from"
    page.get_by_role("alert").get_by_text(said).wait_for()
    page.get_by_role("link", name="m", exact=True).click()
    page.get_by_role("alert").get_by_text(said).wait_for()
    context.close()


@pytest.fixture(scope="module")
def early(shared: ServerProcess) -> str:
    """Return the address of a model whose labels come late, and whose inputs move."""
    X, y = clusters(4000)
    X[3000:, 1] += 4.0
    asked: list[Any] = []
    with Client(shared.address, timeout=300) as client:
        client.create("early", "GaussianNB", features=["w", "x", "y", "z"])
        client.learn("early", X[:100], y[:100])
        for start in range(0, 4000, 100):
            found = client.predict("early", X[start : start + 100], remember=True)
            asked.append((found.ids, y[start : start + 100]))
            if len(asked) > 2:
                client.label("early", *asked[-3])
    return f"{shared.address}/#/models/early"


def test_what_is_known_before_labels_come(page: Any, early: str) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("about:blank")
        page.goto(early)
        section = page.locator("section", has=page.locator("#waiting-title"))
        section.locator("#waiting-chart canvas").first.wait_for()
        if width < 640:
            screens = page.evaluate("document.documentElement.scrollHeight") / 844
            assert screens <= 4.0
            assert not section.locator("#moved-chart").is_visible()
            for part in ("How far inputs moved", "What changed"):
                section.get_by_text(part, exact=True).click()
        section.locator("#moved-chart canvas").first.wait_for()
        text = section.inner_text()
        assert "predictions that wait" in text
        assert "Inputs" in section.locator("#changes").inner_text()
        assert section.locator("#changes tr").first.is_visible()
        inner = page.evaluate("document.documentElement.scrollWidth")
        assert inner <= width
        keep(page, f"early-{width}")


def test_an_alarm_shows_three_changes_and_counts_the_others(
    page: Any, model: str
) -> None:
    page.goto(model)
    page.locator("#figures div").first.wait_for()
    change = {"kind": "feature", "distance": 0.2, "cells": []}
    alarm = {
        "row": 500,
        "what": "inputs",
        "changes": [change | {"name": f"x{k}"} for k in range(5)],
        "more": 2,
    }
    lines = page.evaluate(
        "alarm => { showChanges([alarm]); "
        "return [...$('changes').children].map((line) => line.textContent) }",
        alarm,
    )
    assert len(lines) == 4
    # Row and kind are seen once, and read for each change.
    seen = "e => getComputedStyle(e.children[0]).color !== 'rgba(0, 0, 0, 0)'"
    rows = page.locator("#changes tr").all()
    assert [each.evaluate(seen) for each in rows] == [True, False, False, False]
    assert all(line.startswith("500Inputs") for line in lines)
    assert ["no value stands out" in line for line in lines] == [True] * 3 + [False]
    assert "4 more" in lines[3]


def drag(page: Any, chart: Any, start: float, end: float) -> None:
    """Select a part of a chart, given as shares of its width."""
    over = chart.locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.move(box["x"] + start * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], box["y"] + 40, steps=4)
    page.mouse.up()


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))


def test_charts_of_the_same_rows_share_pointer_and_range(page: Any, early: str) -> None:
    page.goto(early)
    expected, moved = page.locator("#waiting-chart"), page.locator("#moved-chart")
    moved.locator("canvas").wait_for()
    expected.locator("canvas").wait_for()
    over = expected.locator(".u-over")
    over.hover(position={"x": 0.75 * over.bounding_box()["width"], "y": 40})
    tip = moved.locator(".tip")
    tip.wait_for()
    (head, *_) = tip.inner_text().split("\n")
    assert head == expected.locator(".tip b").inner_text() == "row 3,000"
    # The band is told as well.
    told = expected.locator(".tip em").inner_text()
    assert re.fullmatch(r"[\d.]+ % \([\d.]+ % to [\d.]+ %\)", told)
    back = page.get_by_role("button", name="show all rows")
    assert back.count() == 0
    drag(page, expected, 0.5, 0.75)
    assert back.count() == 2
    # New figures leave the range as it is.
    page.wait_for_timeout(1500)
    assert back.count() == 2
    for chart in (expected, moved):  # the left edge is in the middle of the rows
        chart.locator(".u-over").hover(position={"x": 2, "y": 40})
        head = chart.locator(".tip b").inner_text()
        assert head in ("row 2,000", "row 2,500")
    moved.get_by_role("button", name="show all rows").click()
    assert back.count() == 0


def test_a_chart_is_saved_as_a_table_and_as_a_picture(page: Any, early: str) -> None:
    page.goto(early)
    chart = page.locator("#waiting-chart")
    chart.locator("canvas").wait_for()
    with page.expect_download() as download:
        chart.get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "early-rpnb-serve-expected-error.csv"
    head, *rows = rows_of(download.value.path().read_text("utf-8"))
    assert head == ["rows kept", "expected", "expected, low", "expected, high"]
    assert [int(row[0]) for row in rows] == list(range(500, 4001, 500))
    known = [[float(cell) for cell in row[1:]] for row in rows if row[1]]
    assert known
    assert all(low <= value <= high for value, low, high in known)
    with page.expect_download() as download:
        chart.get_by_role("button", name="SVG").click()
    assert download.value.suggested_filename == "early-rpnb-serve-expected-error.svg"
    picture = ElementTree.fromstring(download.value.path().read_text("utf-8"))  # noqa: S314 - our own
    space = {"": "http://www.w3.org/2000/svg"}
    texts = [each.text for each in picture.iterfind(".//text", space)]
    assert {"expected error", "expected"} <= {*texts}
    assert len(picture.findall(".//polygon", space)) == 1
    assert len(picture.findall(".//path", space)) > 1  # the line, and alarms


def test_the_arrow_keys_read_a_chart(page: Any, early: str) -> None:
    page.goto(early)
    chart = page.locator("#error-chart")
    chart.locator("canvas").wait_for()
    chart.locator(".drawing").focus()
    told = chart.locator("[aria-live]")
    found = []
    for key in ("End", "ArrowLeft", "Home", "ArrowRight", "PageDown"):
        page.keyboard.press(key)
        assert "model " in told.text_content()
        found.append(int(told.text_content().partition(": ")[0][4:].replace(",", "")))
    end, before, first, second, later = found
    assert first < second < later < before < end
    page.keyboard.press("+")
    assert chart.get_by_role("button", name="show all rows").count() == 1
    page.keyboard.press("-")
    assert chart.get_by_role("button", name="show all rows").count() == 0
    page.keyboard.press("+")
    page.keyboard.press("Escape")
    assert chart.get_by_role("button", name="show all rows").count() == 0


def test_a_chart_takes_other_series(page: Any, early: str) -> None:
    page.goto(early)
    page.locator("#error-chart canvas").wait_for()
    shown = page.evaluate(
        """() => {
          const place = document.createElement("div");
          document.querySelector("main").append(place);
          const of = (names) => ({
            title: "t", rows: [1, 2, 3], marks: [],
            x: { label: "rows", low: 0 }, y: { label: "y", low: 0, high: 1 },
            series: names.map((name, k) => ({
              name, role: "s" + k, shown: k < 1, width: 2, values: [0.1, 0.2, 0.3],
            })),
          });
          const chart = rpnbCharts.make(place, of(["a", "b"]));
          chart.update(of(["c", "a"]));
          const found = [...place.querySelectorAll("[aria-pressed]")]
            .map((each) => [each.dataset.name, each.getAttribute("aria-pressed")]);
          chart.destroy();
          return [found, place.childElementCount];
        }"""
    )
    assert shown == [[["c", "true"], ["a", "false"]], 0]


def test_a_band_has_gaps_where_its_line_has(page: Any, early: str) -> None:
    page.goto(early)
    page.locator("#error-chart canvas").wait_for()
    place = """
      const place = document.createElement("div");
      place.id = "banded";
      document.querySelector("main").prepend(place);
      const values = [0.5, 0.5, null, null, null, 0.5, 0.5];
      rpnbCharts.make(place, {
        title: "t", rows: [1, 2, 3, 4, 5, 6, 7], marks: [],
        x: { label: "rows" }, y: { label: "y", low: 0, high: 1 },
        series: [{
          name: "a", role: "s0", shown: true, width: 2, gaps: true, values,
          low: values.map((v) => v && 0.1), high: values.map((v) => v && 0.9),
        }],
      });
    """
    page.evaluate(f"() => {{ {place} }}")
    # Colours beside the line, in the middle of the first run and of the gap.
    painted = page.evaluate(
        """() => {
          const [over, canvas] = [".u-over", "canvas"]
            .map((each) => document.querySelector("#banded " + each));
          const [part, whole] = [over, canvas]
            .map((each) => each.getBoundingClientRect());
          const colour = (share) => [...canvas.getContext("2d").getImageData(
            devicePixelRatio * (part.x - whole.x + share * part.width),
            devicePixelRatio * (part.y - whole.y + 0.4 * part.height), 1, 1).data];
          return [colour(1 / 12), colour(0.5), colour(11 / 12)];
        }"""
    )
    assert [colour[3] > 0 for colour in painted] == [True, False, True]
    with page.expect_download() as download:
        page.locator("#banded").get_by_role("button", name="SVG").click()
    assert download.value.path().read_text("utf-8").count("<polygon") == 2


def test_alarms_at_a_row_are_one_line_of_the_tooltip(page: Any, early: str) -> None:
    page.goto(early)
    page.locator("#error-chart canvas").wait_for()
    page.evaluate(
        """() => {
          const place = document.createElement("div");
          place.id = "marked";
          document.querySelector("main").prepend(place);
          const names = ["a", "b", "c", "d", "e"];
          rpnbCharts.make(place, {
            title: "t", rows: [1, 2, 3], x: { label: "rows" },
            y: { label: "y", low: 0, high: 1 },
            marks: names.map((name, k) => ({ row: 2, name, role: "s" + k })),
            series: names.map((name, k) => ({
              name, role: "s" + k, shown: k < 3, width: 2, values: [0.1, 0.2, 0.3],
            })),
          });
        }"""
    )
    # A new chart may bring a scroll bar, and is then drawn again, narrower.
    page.evaluate("() => new Promise((on) => requestAnimationFrame(() => on()))")
    page.evaluate("() => new Promise((on) => requestAnimationFrame(() => on()))")
    over = page.locator("#marked .u-over")
    box = over.bounding_box()
    over.hover(position={"x": box["width"] / 2, "y": 40})
    alarms = page.locator("#marked .tip .alarm")
    assert alarms.all_inner_texts() == ["Alarm at row 2: a, b, c, 2 more"]


def test_three_challengers_are_in_colour(page: Any, contested: str) -> None:
    page.goto(contested)
    page.locator("#difference-chart canvas").wait_for()
    shown = page.evaluate(
        """() => {
          const one = (mean) => ({ mean, low: mean - 1, high: mean + 1, rows: 9,
            curve: [[1, mean, mean - 1, mean + 1], [9, mean, mean - 1, mean + 1]] });
          const all = [0.3, -0.1, 0.2, 0.1].map((mean, k) =>
            ({ name: "c" + k, difference: one(mean) }));
          charts["difference-chart"].destroy();
          delete charts["difference-chart"];
          showDifferences("difference-chart", all, "difference", "Error", {}, String);
          return [...document.querySelectorAll("#difference-chart [aria-pressed]")]
            .map((each) => [each.dataset.name, each.getAttribute("aria-pressed")]);
        }"""
    )
    coloured = [name for name, pressed in shown if pressed == "true"]
    assert coloured == ["c1", "c2", "c3"]


def test_where_a_class_is_rare_the_page_says_what_to_look_at(
    page: Any, shared: ServerProcess, client: Client
) -> None:
    X, y = clusters(1200, names=("honest", "fraud"))
    common = np.array([label == "honest" for label in y])
    common[np.flatnonzero(~common)[::12]] = True  # one in twelve frauds is kept
    X, y = X[common], [y[i] for i in np.flatnonzero(common)]
    client.create("claims", "GaussianNB", features=4)
    client.observe("claims", X, y)
    figures = httpx.get(f"{shared.address}/v1/models/claims/scores").json()
    page.goto(f"{shared.address}/#/models/claims")
    said = page.locator("#advice")
    said.wait_for()
    text = said.inner_text()
    for word in ("“honest”", 'class_weight="balanced"', "balanced_accuracy auc"):
        assert word in text
    shown = f"{100 * figures['balanced_accuracy']:.2f}\N{NO-BREAK SPACE}%"
    same = "always the same class: 50.00\N{NO-BREAK SPACE}%"
    assert f"Balanced accuracy is {shown} ({same})" in text
    assert f"Balanced accuracy\n{shown}" in page.locator("#figures").inner_text()


def test_figures_that_stay_keep_their_elements(page: Any, early: str) -> None:
    page.goto(early)
    page.locator("#recent tr").first.wait_for()
    tables = ("#recent", "#balance", "#confusion tbody", "#changes")
    for table in tables:
        page.locator(f"{table} tr").first.evaluate("e => { e.kept = true; }")
    page.wait_for_timeout(1500)
    for table in tables:
        assert page.locator(f"{table} tr").first.evaluate("e => e.kept === true"), table


def test_tables_without_rows_are_not_shown(
    page: Any, shared: ServerProcess, client: Client
) -> None:
    client.create("nothing", "GaussianNB", features=4)
    page.goto(f"{shared.address}/#/models/nothing")
    page.get_by_text("No requests for predictions since the service").wait_for()
    assert page.locator("table:visible").count() == 0
    assert not page.locator("#waiting").is_visible()
