"""The service corrects a changing class mix like the library, also over kills."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rpnb.client import Client, ServeError
from rpnb.evaluate.waiting import PriorCorrection
from rpnb.serve.backtest import backtest
from rpnb.serve.log import open_log
from rpnb.serve.maintenance import check
from rpnb.serve.mixes import MixCorrection, read_mix
from rpnb.serve.specs import ModelSpec
from serve.process import ServerProcess
from serve.test_challengers import caught_up

CLASSES = ["ash", "elm"]
STEP, LATE = 50, 100
Start = Callable[..., ServerProcess]


def stream(n: int) -> tuple[Any, Any]:
    """Return rows of two classes whose shares change abruptly, and their classes."""
    rng = np.random.default_rng(2)
    share = 0.5 + 0.45 * np.sign(np.sin(np.arange(n) / 250))
    y = (rng.random(n) < share).astype(np.int64)
    return rng.normal(y[:, None] * 2.0, 1.0, (n, 2)), y


def rebuilt(server: ServerProcess, *, whole: bool) -> MixCorrection:
    """Restore the correction from the log, from its saved state or the first row."""
    with closing(open_log(server.folder)) as log:
        log.execute("BEGIN")
        if whole:
            log.execute("DELETE FROM mixes")
        else:
            assert log.execute("SELECT count(*) FROM mixes").fetchone() == (1,)
        found = read_mix(log, 1, 0)
        log.execute("ROLLBACK")
        return found


def test_answers_are_those_of_the_library(start: Start) -> None:
    X, y = stream(3000)
    labels = [CLASSES[each] for each in y]
    server = start("--snapshot-rows", "400")
    client = Client(server.address)
    kind: dict[str, Any] = {"learner": "GaussianNB", "features": 2, "classes": CLASSES}
    client.create("mixed", **kind, correct_class_mix=True)
    client.create("plain", **kind)
    for name in ("mixed", "plain"):
        client.learn(name, X[:500], labels[:500])
    library, shares = PriorCorrection(), []
    asked: list[tuple[list[str], int]] = []
    for begin in range(500, 3000, STEP):
        rows = slice(begin, begin + STEP)
        P = np.array(client.predict("plain", X[rows], probabilities=True).probabilities)
        now = library.apply(P)
        found = client.predict("mixed", X[rows], probabilities=True)
        assert_array_equal(found.probabilities, now)
        assert client.predict("mixed", X[rows]).labels == found.labels
        expected = library.correct(P)
        found = client.predict("mixed", X[rows], remember=True, probabilities=True)
        assert_array_equal(found.probabilities, expected)
        assert found.labels == [CLASSES[i] for i in expected.argmax(axis=1)]
        assert found.confidence == expected.max(axis=1).tolist()
        asked.append((found.ids or [], begin))
        if len(asked) * STEP > LATE:
            ids, first = asked.pop(0)
            client.label("mixed", ids, labels[first : first + STEP])
            client.learn("plain", X[first : first + STEP], labels[first : first + STEP])
            late = np.arange(first, first + STEP)
            library.add_labelled(late - 500, y[late])
        shares.append(client.model("mixed")["class_mix"]["share"])
        assert shares[-1] == library.share
        if begin in (1500, 2200):
            client.close()
            server.kill()
            server = start("--snapshot-rows", "400")
            client = Client(server.address)
    assert max(shares) > 0.0
    assert client.model("plain")["class_mix"] is None
    assert "rpnb_model_mix_share" in client._http.get("/metrics").text
    client.close()
    server.stop()
    again = rebuilt(server, whole=True).to_json()
    assert again == rebuilt(server, whole=False).to_json()
    assert all(sound for sound, _ in check(server.folder))
    server = start()
    with Client(server.address) as client:
        client.forget("mixed", asked[0][0][:10])
        client.predict("mixed", X[:10], remember=True)
        shown = client.model("mixed")["class_mix"]
    server.stop()
    left = rebuilt(server, whole=True)
    assert left.describe() == shown
    assert left.to_json() != again


def test_a_state_that_was_written_goes_on_as_the_one_in_memory() -> None:
    rng = np.random.default_rng(0)
    one, other = MixCorrection(), MixCorrection()
    for begin in range(0, 1500, 25):
        P = rng.dirichlet([1.0, 2.0, 0.5], 25)
        both = [mix.correct(["a", "b", "c"], P) for mix in (one, other)]
        assert np.array_equal(both[0].P, both[1].P)
        for mix, rows in zip((one, other), both, strict=True):
            for number in rows.numbers:
                mix.note_row(10 + 2 * number, number)
            if begin >= 100:
                seqs = [10 + 2 * (begin - 100 + i) for i in range(25)]
                mix.add_labelled(begin, seqs, ["abc"[begin % 3]] * 25)
        other = MixCorrection.from_json(json.loads(json.dumps(other.to_json())))
    assert one.to_json() == other.to_json()


def test_a_learner_without_probabilities_is_refused(client: Client) -> None:
    with pytest.raises(ServeError, match="AROW has no probabilities"):
        client.create("unsure", "AROW", features=2, correct_class_mix=True)
    with pytest.raises(ServeError, match="must be true or false"):
        client.create("unsure", features=2, correct_class_mix=1)  # type: ignore[arg-type]


def figures(of: dict[str, Any]) -> dict[str, Any]:
    return {key: of[key] for key in ("learned", "scored", "error", "window_error")}


Asked: TypeAlias = list[tuple[list[str], int]]


def predict_and_label(client: Client, name: str, begin: int, asked: Asked) -> None:
    """Predict the next rows of the stream, and label earlier ones, but not all."""
    X, y = stream(3000)
    labels = [CLASSES[each] for each in y]
    rows = slice(begin, begin + STEP)
    if begin < 500:
        client.learn(name, X[rows], labels[rows])
        return
    ids = client.predict(name, X[rows], remember=True).ids
    asked.append((ids or [], begin))
    if len(asked) * STEP > LATE:
        ids, first = asked.pop(0)
        client.label(name, ids[2:], labels[first + 2 : first + STEP])


def test_challengers_and_backtests_correct_like_the_serving_model(start: Start) -> None:
    server = start("--snapshot-rows", "400")
    client = Client(server.address)
    kind: dict[str, Any] = {"features": 2, "classes": CLASSES}
    client.create("mixed", "GaussianNB", **kind, correct_class_mix=True)
    client.create("plain", "GaussianNB", **kind)
    client.challenge("mixed", "same", "GaussianNB")
    client.challenge("mixed", "unsure", "AROW")  # without probabilities
    waiting: dict[str, Asked] = {"mixed": [], "plain": []}
    for begin in range(0, 3000, STEP):
        for name, asked in waiting.items():
            predict_and_label(client, name, begin, asked)
        if begin in (1500, 2200):
            caught_up(client, "mixed")
            client.close()
            server.kill()
            server = start("--snapshot-rows", "400")
            client = Client(server.address)
    found = caught_up(client, "mixed")
    served, plain = client.model("mixed"), client.model("plain")
    assert served["error"] < plain["error"]
    same = found["challengers"][0]
    assert figures(same) == figures(served)
    for loss in ("difference", "log_loss_difference"):
        assert same[loss]["rows"] == served["scored"] > 2000
        assert (same[loss]["mean"], same[loss]["low"]) == (0.0, -same[loss]["high"])
    spec = ModelSpec("GaussianNB", {}, 2, None, tuple(CLASSES))
    specs = {"plain": spec, "same": replace(spec, correct_class_mix=True)}
    serving, without, again = backtest(server.folder, "mixed", specs).learners
    assert figures(serving.scores.summary()) == figures(served)
    assert (again.error, again.log_loss, again.kappa) == (
        *(serving.error, serving.log_loss, serving.kappa),
    )
    assert again.scores.to_json() == serving.scores.to_json()
    assert without.error == plain["error"]
    assert serving.log_loss is not None
    assert without.log_loss is not None
    assert serving.log_loss < without.log_loss
    # Also for rows that the learner answered, or did not, before a promotion.
    client.promote("mixed", "same")
    promoted = backtest(server.folder, "mixed", {}).learners[0]
    assert promoted.scores.to_json() == serving.scores.to_json()
    assert promoted.log_loss == serving.log_loss
    client.close()
    server.stop()
    assert all(sound for sound, _ in check(server.folder))


@pytest.mark.parametrize("dropped", [False, True])
def test_rows_that_are_gone_leave_challengers_sound(
    start: Start, dropped: bool
) -> None:
    options = ["--max-waiting", "160"] if dropped else []
    server = start("--snapshot-rows", "200", *options)
    with Client(server.address) as client:
        kind: dict[str, Any] = {"features": 2, "classes": CLASSES}
        client.create("mixed", "GaussianNB", **kind, correct_class_mix=True)
        client.challenge("mixed", "same", "GaussianNB")
        asked: Asked = []
        for begin in range(0, 3000, STEP):
            predict_and_label(client, "mixed", begin, asked)
            if begin == 2000 and not dropped:
                caught_up(client, "mixed")
                waiting = asked.pop()[0]
                assert client.forget("mixed", waiting) == ["forgotten"] * STEP
        found = caught_up(client, "mixed")["challengers"][0]
        expired = client.model("mixed")["expired"]
        spec = ModelSpec("GaussianNB", {}, 2, None, tuple(CLASSES))
        specs = {"same": replace(spec, correct_class_mix=True)}
        again = backtest(server.folder, "mixed", specs).learners[1]
        assert (expired > 0) is dropped
        assert (figures(found) == figures(again.scores.summary())) is not dropped
    server.stop()
    assert [line for sound, line in check(server.folder) if not sound] == []
