"""The gallery's scripts, run as `__main__`, print what the gallery shows."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[1] / "docs" / "how-to" / "gallery"


Printed = Callable[..., str]


@pytest.fixture
def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Printed:
    """A function that runs a script, and returns what it prints."""

    def run(script: str, *arguments: str) -> str:
        path = str(GALLERY / f"{script}.py")
        monkeypatch.setattr("sys.argv", [path, *arguments])
        runpy.run_path(path, run_name="__main__")
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run


def figures(table: str, learner: str) -> list[float]:
    """The numbers in a learner's line, which begins with its name."""
    (line,) = re.findall(rf"^{re.escape(learner)} +(.*)$", table, re.MULTILINE)
    return [float(cell.replace(",", "")) for cell in line.split()]


def test_what_forgets_recovers_from_drift(printed: Printed, tmp_path: Path) -> None:
    table = printed("drifting", str(tmp_path))
    errors = {
        name: figures(table, name)[0]
        for name in ("Pooled", "DriftAware", "forgetting=50", "RPNB", "GaussianNB")
    }
    assert sorted(errors.values()) == list(errors.values())
    assert "alarms at rows [50" in table
    # The pictures of two pages are those that the script draws.
    kept = Path(__file__).parents[1] / "docs" / "results" / "figures"
    for picture in sorted(tmp_path.iterdir()):
        assert picture.read_text() == (kept / picture.name).read_text()
    assert len(list(tmp_path.iterdir())) == 3


def test_activities_are_recognised_with_few_updates(printed: Printed) -> None:
    table = printed("sensor_activity")
    rpnb, pa = figures(table, "RPNB"), figures(table, "PA")
    assert figures(table, "Pooled")[0] > max(rpnb[0], pa[0])
    accuracy, _, temporal = rpnb[:3]
    assert accuracy > 0.97
    # Bouts last, so the last label is a good guess: only this measure shows the gain.
    assert figures(table, "same as last")[0] > 0.9
    assert temporal > 0.6
    assert rpnb[5] < pa[5] / 4


def test_spam_is_told_from_ham_although_it_changes(printed: Printed) -> None:
    table = printed("spam")
    assert figures(table, "RPNB")[0] > 0.88
    assert figures(table, "RPNB")[2] > 0.95
    assert figures(table, "PA")[0] > 0.93
    assert abs(figures(table, "majority class")[0] - 0.5) < 0.01


def test_a_new_attack_is_learned_without_an_announcement(printed: Printed) -> None:
    text = printed("intrusion")
    assert figures(text, "RPNBClassifier")[0] > 0.85
    assert "worm came in row 3,001 and was taken for 'normal'" in text
    found = re.search(r"of the other \d+ (\d+)%", text)
    assert found is not None
    assert int(found[1]) >= 95


def test_labels_known_at_once_flatter(printed: Printed, tmp_path: Path) -> None:
    curves = tmp_path / "curves.png"
    text = printed("late_labels", str(curves))
    at_once, late = text.split("Labels when they are known:")
    assert figures(at_once, "RPNB")[1] > figures(late, "RPNB")[1] + 0.3
    assert 10_000 < curves.stat().st_size < 100_000


def test_learners_are_compared_by_tests_over_orders_and_datasets(
    printed: Printed,
) -> None:
    text = printed("comparing")
    line = r"^(\S+) +Pooled 0\.\d+. +RPNB 0\.\d+ +PA 0\.\d+(.)"
    verdicts = dict(re.findall(line, text, re.MULTILINE))
    assert len(verdicts) == 5
    assert verdicts["Waveform_w_Noise"] == "-"
    assert text.count("(Holm)") == 10
    (line,) = re.findall(r"^mean ranks: (.*)$", text, re.MULTILINE)
    ranks = [float(rank) for rank in re.findall(r"\d\.\d\d", line)]
    assert sum(ranks) == pytest.approx(1 + 2 + 3 + 4 + 5)
