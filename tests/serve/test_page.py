"""The page in a real Chromium: live figures, narrow and dark, keyboard and reader."""

import os
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb.client import Client
from serve.process import ServerProcess, run_command
from serve.streams import clusters

#: Where to keep screenshots, to be looked at.
SCREENSHOTS = os.environ.get("RPNB_SCREENSHOTS", "")
ALLOWED = ("http://127.0.0.1", "data:", "blob:")


@pytest.fixture
def page(browser: Any, shared: ServerProcess) -> Iterator[Any]:
    """Return a page that fails on errors, and on requests to other hosts."""
    problems: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
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
    """Return the address of a model's view, with rows learned and rows that wait."""
    with Client(shared.address, timeout=300) as client:
        client.create("garden", "GaussianNB", features=["w", "x", "y", "z"])
        client.create("mute", "AROW", features=4)
        X, y = clusters(1500)
        client.observe("mute", X[:100], y[:100])
        client.predict("mute", X[:3])
        # From row 700 on classes have other names: a drift that is noticed.
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


def test_a_model_in_detail_and_live(
    page: Any, shared: ServerProcess, model: str
) -> None:
    page.goto(model)
    page.get_by_role("heading", name="garden").wait_for()
    page.locator("#error-chart canvas").wait_for()
    page.locator("#calibration-chart canvas").wait_for()
    figures = page.locator("#figures").inner_text()
    for word in ("Error", "Majority class", "Without a prediction", "Class before"):
        assert word in figures
    label = page.locator("#error-chart [role=img]").get_attribute("aria-label")
    assert label.startswith("Error rates after 1,399 predictions")
    assert page.locator("#balance tr").count() == 3
    assert page.locator("#confusion tbody tr").count() == 3
    assert page.locator("#confusion").inner_text().count("ash") == 2
    assert page.locator("#recent tr").count() >= 1
    reasons = page.locator("#recent .reason").first.inner_text()
    one = r"[wxyz] [+−][\d.e+-]+"
    whole = rf"(now \w+, )?against \w+: {one}, {one}, {one}, 1 more"
    assert re.fullmatch(whole, reasons)
    assert "Drift alarms: row " in page.locator("#alarms").inner_text()
    keep(page, "model-light")
    # It is live: a new row shows without anything being done.
    with Client(shared.address) as client:
        X, y = clusters(10, seed=9)
        client.observe("garden", X, y)
    page.get_by_text("1,410").wait_for(timeout=10_000)


@pytest.fixture(scope="module")
def contested(shared: ServerProcess) -> str:
    """Return the address of a model with challengers, and a promotion."""
    with Client(shared.address, timeout=300) as client:
        client.create("contested", "MajorityClass", features=4)
        X, y = clusters(3000, seed=4)
        X += np.random.default_rng(0).normal(size=X.shape)
        client.observe("contested", X[:500], y[:500])
        client.challenge("contested", "bayes", "GaussianNB")
        client.challenge("contested", "late", "PA", start="now")
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
    assert "answers since event" in lines.nth(0).inner_text()
    first = lines.filter(has_text="first")
    first.get_by_text("worse").wait_for(timeout=30_000)
    assert re.search(r"\+\d+\.\d+ % \([+−].* to \+.*\)", first.inner_text())
    told = page.locator("#promotions").inner_text()
    assert told.startswith("Promotions: bayes was promoted over first (")
    assert "Versions: start at event " in told
    label = page.locator("#difference-chart [role=img]").get_attribute("aria-label")
    assert label.startswith("Error less that of the answers: first +")
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
    page.locator("#recent tr").first.wait_for()
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
    for _ in range(12):
        if page.evaluate("document.activeElement.hash") == "#/models/garden":
            break
        page.keyboard.press("Tab")
    page.wait_for_timeout(1500)  # the table was drawn anew: the focus stays
    assert page.evaluate("document.activeElement.hash") == "#/models/garden"
    page.keyboard.press("Enter")
    page.locator("#error-chart canvas").wait_for()
    assert page.evaluate("document.activeElement.id") == "model-title"
    # From there on, in the order of the page: the series of the charts, and the tables
    # that may be wider than it.
    page.locator("#recent tr").first.wait_for()
    stops = []
    for _ in range(7):
        page.keyboard.press("Tab")
        stops.append(
            page.evaluate(
                "(({ dataset, ariaLabel, attributes }) => dataset.name ?? ariaLabel ??"
                " attributes['aria-labelledby'].value)(document.activeElement)"
            )
        )
    series = ["model", "model, window", "majority class", "class before", ""]
    tables = ["Confusion matrix", "recent-title"]
    assert stops == [*series, *tables]
    for _ in stops:
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
    page = context.new_page()
    page.goto(server.address)
    field = page.get_by_label("Access token")
    field.wait_for()
    field.fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("A token is needed.").wait_for()
    field.fill(made.stdout.strip())
    page.keyboard.press("Enter")
    page.get_by_text("There is no model yet").wait_for()
    context.close()


def test_a_problem_is_shown(browser: Any, start: Callable[..., ServerProcess]) -> None:
    import sqlite3

    server = start()
    context = browser.new_context()
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
        page.get_by_role("alert").wait_for(state="hidden", timeout=20_000)
    server.kill()
    page.get_by_text("No connection").wait_for()
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
    page = context.new_page()
    page.goto(again.address)
    page.get_by_text("(degraded)").wait_for()
    said = "event 2 is damaged: its checksum is another; predictions come from"
    page.get_by_role("alert").get_by_text(said).wait_for()
    page.get_by_role("link", name="m", exact=True).click()
    page.get_by_role("alert").get_by_text(said).wait_for()
    context.close()


def test_what_is_known_before_labels_come(
    page: Any, shared: ServerProcess, client: Client
) -> None:
    X, y = clusters(4000)
    X[3000:, 1] += 4.0
    client.create("early", "GaussianNB", features=["w", "x", "y", "z"])
    client.learn("early", X[:100], y[:100])
    asked: list[Any] = []
    for start in range(0, 4000, 100):
        found = client.predict("early", X[start : start + 100], remember=True)
        asked.append((found.ids, y[start : start + 100]))
        if len(asked) > 2:
            client.label("early", *asked[-3])
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{shared.address}/#/models/early")
        section = page.locator("section", has=page.locator("#waiting-title"))
        section.locator("#waiting-chart canvas").first.wait_for()
        section.locator("#moved-chart canvas").first.wait_for()
        text = section.inner_text()
        assert "rows that wait" in text
        assert "Inputs" in section.locator("#changes").inner_text()
        assert section.locator("#changes tr").first.is_visible()
        inner = page.evaluate("document.documentElement.scrollWidth")
        assert inner <= width
        keep(page, f"early-{width}")
