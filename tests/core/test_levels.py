"""The choice among the instruction sets for which the core was compiled."""

import pytest

from rpnb import _core


def choose(
    monkeypatch: pytest.MonkeyPatch, supported: list[str], wanted: str = ""
) -> str:
    monkeypatch.setattr(_core, "supported_levels", lambda: supported)
    monkeypatch.setenv("RPNB_LEVEL", wanted)
    return _core._choose()


def test_the_best_level_is_taken_unless_another_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert choose(monkeypatch, ["v2", "v3"]) == "v3"
    assert choose(monkeypatch, ["v2", "v3"], "v2") == "v2"


def test_a_level_that_the_processor_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ImportError, match=r"'v4', but this processor has v2, v3$"):
        choose(monkeypatch, ["v2", "v3"], "v4")


@pytest.mark.parametrize("wanted", ["", "v2"])
def test_processors_that_are_too_old_get_a_clear_error(
    monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    with pytest.raises(ImportError, match=r"needs a processor with SSE4\.2 and POPCNT"):
        choose(monkeypatch, [], wanted)
