"""After 20 kills with 32 clients, no acknowledged label is lost or learned twice."""

from pathlib import Path

from kill_serve import kill


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    outcome = kill(20, 32, tmp_path)
    assert outcome.kills == 20
    assert outcome.sound, "\n".join([*outcome.lines(), *outcome.wrong_answers[:5]])
    assert len(outcome.acknowledged) > 100
    assert outcome.cut_off > 20
    assert outcome.observed > 20
