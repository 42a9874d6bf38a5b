"""Challengers learn beside the serving learner, and can replace it."""

import json
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest

from rpnb.client import Client, ServeError
from rpnb.evaluate.differences import DifferenceTracker, Loss, difference_of
from rpnb.serve import guesses
from rpnb.serve.backtest import backtest
from rpnb.serve.comparison import Comparison
from rpnb.serve.limits import Limits
from rpnb.serve.log import open_log
from rpnb.serve.maintenance import check
from rpnb.serve.model_rows import stored_models
from rpnb.serve.restoring import replay_from_base
from rpnb.serve.shadows import Shadow
from rpnb.serve.snapshots import delete_events
from rpnb.serve.specs import ModelSpec
from serve.process import ServerProcess, run_command, wait_until
from serve.streams import clusters

CLASSES = ["ash", "elm", "oak"]
Start = Callable[..., ServerProcess]


class Life:
    """A client with late and missing labels, that also learns and observes rows."""

    def __init__(self, client: Client, name: str, seed: int = 0) -> None:
        self.client, self.name = client, name
        self.rng = np.random.default_rng(seed)
        self.waiting: list[tuple[str, str]] = []
        self.answers: list[Any] = []
        self.turn = 0

    def go_on(self, turns: int) -> None:
        for _ in range(turns):
            self.turn += 1
            X, y = clusters(15, seed=1000 + self.turn)
            X += 0.8 * np.random.default_rng(self.turn).normal(size=X.shape)
            if self.turn % 5 == 0:
                self.answers += self.client.observe(self.name, X, y)
            elif self.turn % 7 == 0:
                self.client.learn(self.name, X, y)
            else:
                ids = [f"{self.turn}-{i}" for i in range(15)]
                found = self.client.predict(self.name, X, remember=True, ids=ids)
                self.answers += [*found.labels, *found.confidence]
                self.waiting += zip(ids[1:], y[1:], strict=True)
            self.rng.shuffle(self.waiting)
            now, self.waiting = self.waiting[:12], self.waiting[12:]
            if now:
                named = [each for each, _ in now]
                labels = [label for _, label in now]
                result = self.client.label(self.name, named, labels)
                self.answers += result.results


def caught_up(client: Client, name: str) -> dict[str, Any]:
    """Return the figures once all challengers have learned everything."""
    found: dict[str, Any] = {}

    def done() -> bool:
        found.update(client.challengers(name))
        applied = found["champion"]["applied"]
        for each in found["challengers"]:
            assert each["problem"] is None
        return all(
            each["caught_up"] and each["applied"] == applied
            for each in found["challengers"]
        )

    wait_until(done, "challengers have caught up")
    return found


def figures(of: dict[str, Any]) -> dict[str, Any]:
    return {key: of[key] for key in ("learned", "scored", "error", "references")}


def all_sound(server: ServerProcess) -> list[str]:
    lines = list(check(server.folder))
    assert [line for sound, line in lines if not sound] == []
    return [line for _, line in lines]


def state(server: ServerProcess, name: str, contender: int | None) -> bytes | None:
    """Return the model after a replay of the whole log, event by event."""
    with closing(open_log(server.folder, read_only=True)) as connection:
        row = next(row for row in stored_models(connection) if row.name == name)
        *_, (_, model) = replay_from_base(connection, row, contender, chunk=1)
        return model.to_bytes()


def test_the_champion_is_the_same_with_and_without_challengers(client: Client) -> None:
    lives = {}
    for name in ("with", "without"):
        client.create(
            name, "RPNB", features=4, classes=CLASSES, n_estimators=5, random_state=1
        )
        lives[name] = Life(client, name)
        lives[name].go_on(4)
    client.challenge("with", "nb", "GaussianNB")
    client.challenge("with", "pool", "Pooled", start="now", window=300, random_state=0)
    for life in lives.values():
        life.go_on(30)
    assert lives["with"].answers == lives["without"].answers
    assert client.download("with") == client.download("without")
    with_, without = client.model("with"), client.model("without")
    assert figures(with_) == figures(without)
    assert caught_up(client, "with")["champion"]["scored"] == without["scored"]


def test_a_challenger_has_the_figures_it_would_have_as_the_champion(
    client: Client, shared: ServerProcess
) -> None:
    given: dict[str, Any] = {"n_estimators": 4, "random_state": 2}
    client.create("a", "GaussianNB", features=4, classes=CLASSES)
    client.create("b", "RPNB", features=4, classes=CLASSES, **given)
    alone = Life(client, "b", 3)
    life = Life(client, "a", 3)
    alone.go_on(40)
    life.go_on(20)
    client.challenge("a", "rpnb", "RPNB", **given)  # replays what was before it
    client.challenge("a", "same", "GaussianNB")
    life.go_on(20)
    found = caught_up(client, "a")
    rpnb, same = found["challengers"]
    assert figures(rpnb) == figures(client.model("b"))
    assert figures(same) == figures(client.model("a"))
    assert same["kappa"] == found["champion"]["kappa"]
    assert same["difference"]["mean"] == 0.0
    assert rpnb["difference"]["rows"] == found["champion"]["scored"] > 300
    assert rpnb["difference"]["mean"] == pytest.approx(
        rpnb["error"] - found["champion"]["error"]
    )
    low, high = rpnb["difference"]["low"], rpnb["difference"]["high"]
    assert low < rpnb["difference"]["mean"] < high
    # Its state, too, is that of a model by itself.
    client.promote("a", "rpnb")
    assert client.download("a") == client.download("b")


def test_one_that_starts_now_learns_what_comes(client: Client) -> None:
    client.create("now", "GaussianNB", features=4, classes=CLASSES)
    life = Life(client, "now")
    life.go_on(6)
    before = client.model("now")["learned"]
    client.challenge("now", "late", "GaussianNB", start="now")
    life.go_on(10)
    (found,) = caught_up(client, "now")["challengers"]
    assert found["learned"] == client.model("now")["learned"] - before
    client.withdraw("now", "late")
    assert client.challengers("now")["challengers"] == []
    client.challenge("now", "late", "GaussianNB")  # the name is free again
    assert len(caught_up(client, "now")["challengers"]) == 1


def test_promotion_and_rollback_over_kills(start: Start) -> None:
    server = start("--snapshot-rows", "100")
    rows = 0
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4, classes=CLASSES)
        life = Life(client, "m")
        life.go_on(12)
        number = client.challenge("m", "rpnb", "RPNB", n_estimators=4, random_state=0)[
            "event"
        ]
        life.go_on(8)
        promoted = client.promote("m", "rpnb")
        assert promoted["promoted"]
        assert client.model("m")["learner"] == "RPNB"
        life.go_on(9)
        found = caught_up(client, "m")
        assert found["champion"]["name"] == "rpnb"
        assert found["champion"]["since"] == promoted["event"]
        (first,) = found["challengers"]
        assert first["name"] == "first"
        assert 0 < first["difference"]["rows"] < found["champion"]["scored"]
        rows = client.model("m")["learned"]
        served = client.download("m")
    server.kill()
    assert state(server, "m", None) == state(server, "m", number)
    all_sound(server)
    server = start("--snapshot-rows", "100")
    with Client(server.address) as client:
        assert client.download("m") == served
        again = caught_up(client, "m")
        for old, new in zip(
            [found["champion"], *found["challengers"]],
            [again["champion"], *again["challengers"]],
            strict=True,
        ):
            assert old == new
        life.client = client
        life.go_on(5)
        client.roll_back("m")
        assert client.model("m")["learner"] == "GaussianNB"
        life.go_on(5)
        assert client.model("m")["learned"] > rows
        names = [each["name"] for each in client.challengers("m")["promotions"]]
        assert names == ["rpnb", "first"]
        caught_up(client, "m")
    server.stop()
    assert len([line for line in all_sound(server) if "challenger rpnb" in line]) > 1
    # The first learner has learned all events, whichever learner served.
    plain = start()
    with Client(plain.address) as client:
        content = client.download("m")
    plain.stop()
    assert state(plain, "m", 0) is not None
    assert len(content) > 0


def test_versions_are_states_as_of_an_event(start: Start) -> None:
    server = start("--snapshot-rows", "60")
    X, _ = clusters(30, seed=77)
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4, classes=CLASSES)
        life = Life(client, "m")
        life.go_on(6)
        event, labels = client.model("m")["applied"], client.predict("m", X).labels
        file = client.download("m")
        life.go_on(6)
        client.name_version("m", "early", event)
        client.name_version("m", "now")
        assert client.download("m", version="early") == file
        assert client.predict("m", X, version="early").labels == labels
        assert client.download("m", version="now") == client.download("m")
        client.roll_back("m", "early")
        assert client.download("m") == file
        life.go_on(6)
        assert client.download("m") != file
        after = client.download("m")
    server.kill()
    server = start()
    with Client(server.address) as client:
        assert client.download("m") == after
        assert client.download("m", version="early") == file
        client.drop_version("m", "early")
        with pytest.raises(ServeError, match="no version"):
            client.download("m", version="early")
        assert client.challengers("m")["champion"]["name"] == "early-1"
    server.stop()
    all_sound(server)


def test_a_bystander_of_a_promotion_is_compared_with_the_new_champion_only(
    client: Client,
) -> None:
    client.create("bystander", "MajorityClass", features=4)
    life = Life(client, "bystander", 5)
    for name in ("good", "twin"):
        client.challenge("bystander", name, "GaussianNB")
    life.go_on(20)
    before = caught_up(client, "bystander")
    assert [each["difference"]["mean"] < -0.2 for each in before["challengers"]]
    # These are predicted by the first learner, and labelled later.
    X, y = clusters(40, seed=9)
    ids = [f"late-{i}" for i in range(40)]
    client.predict("bystander", X, remember=True, ids=ids)
    life.waiting += zip(ids, y, strict=True)
    client.promote("bystander", "good")
    life.go_on(12)
    found = {
        each["name"]: each for each in caught_up(client, "bystander")["challengers"]
    }
    for loss in ("difference", "log_loss_difference"):
        twin = found["twin"][loss]
        assert 0 < twin["rows"] <= 12 * 12
        assert (twin["mean"], twin["better"]) == (0.0, None)
    assert found["first"]["difference"]["mean"] > 0.1
    client.roll_back("bystander")
    life.go_on(12)
    found = {
        each["name"]: each for each in caught_up(client, "bystander")["challengers"]
    }
    good, twin = found["good"]["difference"], found["twin"]["difference"]
    assert good["rows"] > 0
    assert good == twin


@pytest.mark.parametrize("begins_now", [True, False])
def test_challengers_have_caught_up_with_one_that_has_learned_nothing_since(
    client: Client, begins_now: bool
) -> None:
    """The learner that answers may begin after the last labels."""
    name = f"quiet-{begins_now}"
    client.create(name, "GaussianNB", features=4, classes=CLASSES)
    life = Life(client, name)
    life.go_on(6)
    if begins_now:
        client.challenge(name, "other", "GaussianNB", start="now")
        client.promote(name, "other")
    else:
        client.name_version(name, "early", client.model(name)["applied"])
        life.go_on(2)
        client.roll_back(name, "early")

    def done() -> bool:
        return all(
            each["caught_up"] for each in client.challengers(name)["challengers"]
        )

    wait_until(done, "the first learner has caught up")
    assert client.promote(name, "first")["promoted"]


def test_one_that_waits_for_answers_in_the_log_has_not_caught_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ready to be promoted, but it was not compared on the last rows."""
    monkeypatch.setattr(Shadow, "_run", lambda self: None)
    served: Any = SimpleNamespace(applied=6)
    contender: Any = SimpleNamespace(number=1)
    shadow = Shadow(tmp_path, served, contender, lambda *_: None, (1, 1.0))
    shadow.model = SimpleNamespace(applied=4)  # type: ignore[assignment]
    shadow.settle(4)
    assert (shadow.ready, shadow.caught_up) == (True, False)
    shadow.settle(6)
    assert (shadow.ready, shadow.caught_up) == (False, False)
    shadow.model.applied = 6  # type: ignore[union-attr]
    assert (shadow.ready, shadow.caught_up) == (True, True)


def test_the_intervals_of_all_challengers_hold_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shadow, "_run", lambda self: None)
    contender, nobody = SimpleNamespace(number=1), SimpleNamespace(applied=0)
    about: Any = tmp_path, nobody, contender, lambda *_: None, (1, 1.0), 4
    shadow = Shadow(*about)
    comparison = Comparison()
    rng = np.random.default_rng(0)
    losses = rng.random((2, 3000)) < [[0.2], [0.3]]
    comparison.error.add(*losses.astype(np.float64))
    shadow.model = SimpleNamespace(comparison=comparison)  # type: ignore[assignment]
    alone = difference_of(
        ("a", "b"), "error", (*losses.astype(np.float64),), 1.0 - 0.05 / 8
    )
    found = shadow.differences()["error"]
    assert found["confidence"] == 0.95
    assert [found[end] for end in ("low", "high")] == pytest.approx(
        [alone.low[-1], alone.high[-1]]
    )


def test_what_is_forgotten_is_forgotten_by_all(start: Start) -> None:
    server = start("--snapshot-rows", "50")
    with Client(server.address) as client:
        for name in ("m", "other"):
            client.create(name, "GaussianNB", features=4, classes=CLASSES)
        client.challenge("m", "rpnb", "RPNB", n_estimators=4, random_state=0)
        life = Life(client, "m")
        life.go_on(3)
        client.name_version("m", "before")
        event = client.model("m")["applied"]
        X, y = clusters(3, seed=5)
        client.predict("m", X, remember=True, ids=["x", "y", "z"])
        client.label("m", ["x", "y", "z"], y)
        client.name_version("m", "after")
        life.go_on(8)
        caught_up(client, "m")
        before, after = (
            client.download("m", version=each) for each in ("before", "after")
        )
        assert client.forget("m", ["x", "y", "z"]) == ["forgotten"] * 3
        caught_up(client, "m")
        assert client.download("m", version="before") == before
        # There are no other events between the two versions.
        assert client.download("m", version="after") == before != after
        client.promote("m", "rpnb")
        promoted = client.download("m")
        number = client.challengers("m")["promotions"][0]["event"]
        assert number > event
    server.kill()
    assert state(server, "m", None) is not None
    all_sound(server)
    server = start()
    with Client(server.address) as client:
        assert client.download("m") == promoted


def test_a_forgotten_row_leaves_no_guess(start: Start) -> None:
    server = start("--snapshot-rows", "20")
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4, classes=CLASSES)
        client.challenge("m", "other", "GaussianNB")
        life = Life(client, "m")
        life.go_on(2)
        X, _ = clusters(2, seed=5)
        client.predict("m", X, remember=True, ids=["x", "y"])
        with sqlite3.connect(server.folder / "log.sqlite") as log:
            ((seq,),) = log.execute("SELECT seq FROM rows WHERE id='x'").fetchall()
        log.close()
        life.go_on(4)
        caught_up(client, "m")
        wait_until(lambda: seq in guessed(server), "a snapshot has the guess")
        assert client.forget("m", ["x"]) == ["forgotten"]
        life.go_on(4)
        caught_up(client, "m")
    server.stop()
    assert seq not in guessed(server)
    assert seq + 1 in guessed(server)
    all_sound(server)


def guessed(server: ServerProcess) -> set[int]:
    """Return the numbers of the rows whose guesses are in snapshots."""
    with closing(open_log(server.folder, read_only=True)) as log:
        texts = log.execute("SELECT scores FROM snapshots").fetchall()
    kept = [json.loads(text).get("pending", ()) for (text,) in texts]
    return {int(guess[0]) for guesses in kept for guess in guesses}


def test_old_events_are_deleted_once_no_learner_needs_them(start: Start) -> None:
    server = start("--snapshot-rows", "40")
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4, classes=CLASSES)
        client.challenge("m", "rpnb", "RPNB", n_estimators=4, random_state=0)
        life = Life(client, "m")
        for _ in range(6):
            life.go_on(4)
            caught_up(client, "m")
        client.name_version("m", "old", 8)
        client.promote("m", "rpnb")
        for _ in range(4):
            life.go_on(4)
            caught_up(client, "m")
        served, old = client.download("m"), client.download("m", version="old")
        before = caught_up(client, "m")
    server.stop()
    with closing(open_log(server.folder)) as log:
        (model,) = log.execute("SELECT id FROM models").fetchone()
        (events,) = log.execute("SELECT count(*) FROM events WHERE n>0").fetchone()
        log.execute("BEGIN IMMEDIATE")
        delete_events(log, model, time.time())
        log.execute("COMMIT")
        (left,) = log.execute("SELECT count(*) FROM events WHERE n>0").fetchone()
        assert 0 < left < events
        (kept,) = log.execute("SELECT count(*) FROM events WHERE n=0").fetchone()
        assert kept == 3
    all_sound(server)
    server = start()
    with Client(server.address) as client:
        assert client.download("m") == served
        assert client.download("m", version="old") == old
        after = caught_up(client, "m")
        assert after["champion"] == before["champion"]
        assert after["challengers"] == before["challengers"]
        # A challenger that is added now learns the remaining events.
        client.challenge("m", "again", "GaussianNB")
        again = caught_up(client, "m")["challengers"][-1]
        assert again["start"] > 0
        assert again["learned"] < after["champion"]["learned"]
        life.client = client
        life.go_on(3)
        client.roll_back("m", "old")
        assert client.download("m") == old


def test_a_damaged_promotion_can_be_set_aside(start: Start) -> None:
    server = start()
    with Client(server.address) as client:
        for name in ("m", "sound"):
            client.create(name, "GaussianNB", features=4, classes=CLASSES)
        client.challenge("m", "rpnb", "RPNB", n_estimators=4, random_state=0)
        Life(client, "m").go_on(4)
        event = client.promote("m", "rpnb")["event"]
    server.stop()
    with closing(sqlite3.connect(server.folder / "log.sqlite")) as log:
        log.execute("UPDATE events SET body='{' WHERE id=?", (event,))
        log.commit()
    server = start()
    with Client(server.address, retries=0) as client:
        health = client.health()
        assert list(health["broken_models"]) == ["m"]
        assert client.learn("sound", *clusters(5)) == 5
        with pytest.raises(ServeError, match="cannot be restored"):
            client.predict("m", clusters(1)[0])
    server.stop()
    assert not all(sound for sound, _ in check(server.folder))
    done = run_command("serve", server.folder, "--check", "--set-aside")
    assert done.returncode == 0, done.stdout
    server = start()
    with Client(server.address) as client:
        assert client.model("m")["learner"] == "GaussianNB"
        assert caught_up(client, "m")["challengers"][0]["name"] == "rpnb"


def test_a_challenger_that_cannot_learn_leaves_the_champion_alone(
    client: Client,
) -> None:
    client.create("holes", "Pooled", features=2, window=300, random_state=0)
    client.challenge("holes", "aw", "GaussianNB")
    client.learn("holes", [[1.0, 2.0], [2.0, float("nan")]], ["a", "b"])
    wait_until(lambda: client.challengers("holes")["challengers"][0]["problem"])
    client.learn("holes", [[1.0, 2.0]], ["a"])
    assert client.model("holes")["learned"] == 3
    with pytest.raises(ServeError, match="challenger aw cannot learn") as caught:
        client.promote("holes", "aw")
    assert caught.value.status == 409
    client.withdraw("holes", "aw")


def test_refusals(client: Client) -> None:
    client.create("r", "GaussianNB", features=2, classes=["a", "b"])

    def refused(status: int, message: str, call: Callable[[], object]) -> None:
        with pytest.raises(ServeError, match=message) as caught:
            call()
        assert caught.value.status == status

    refused(422, "learner must be one of", lambda: client.challenge("r", "c", "Nobody"))
    refused(422, "start must be", lambda: client.challenge("r", "c", start="then"))
    refused(422, "name must be", lambda: client.challenge("r", "no/name", "PA"))
    refused(409, "of this name already", lambda: client.challenge("r", "first", "PA"))
    refused(404, "no model", lambda: client.challenge("nobody", "c", "PA"))
    refused(404, "no challenger", lambda: client.promote("r", "c"))
    refused(404, "no challenger", lambda: client.withdraw("r", "c"))
    refused(409, "serving already", lambda: client.promote("r", "first"))
    refused(409, "name a version", lambda: client.roll_back("r"))
    refused(404, "no version", lambda: client.roll_back("r", "v"))
    refused(422, "event must be an integer", lambda: client.name_version("r", "v", 7))
    for k in range(4):
        client.challenge("r", f"c{k}", "PA")
    refused(413, "max_challengers is 4", lambda: client.challenge("r", "c4", "PA"))
    client.create("big", "OnlineBayes", features=2000)
    refused(
        413,
        "the model and its challengers would hold too many numbers: max_state",
        lambda: [client.challenge("big", f"c{k}", "OnlineBayes") for k in range(4)],
    )


def test_a_comparison_is_that_of_the_library_and_survives_a_snapshot() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2000).tolist()
    own = [a if rng.random() < 0.8 else 9 for a in y]
    other = [a if rng.random() < 0.6 else 9 for a in y]
    p, q = rng.random((2, 2000))
    p[::7], q[::5] = np.nan, 0.0
    found = Comparison()
    for start in range(0, 2000, 100):
        some = slice(start, start + 100)
        found.add(y[some], own[some], other[some], p[some], q[some])
        found = Comparison.from_json(json.loads(json.dumps(found.to_json())))
    wrong = [[float(a != b) for a, b in zip(y, z, strict=True)] for z in (own, other)]
    both = ~np.isnan(p)
    losses = [-np.log(np.maximum(each[both], 1e-3)) for each in (p, q)]
    both_losses: tuple[tuple[Loss, Any, Any], ...] = (
        ("error", found.error.summary(), np.array(wrong)),
        ("log_loss", found.log_loss.summary(), np.array(losses)),
    )
    for loss, summary, given in both_losses:
        tracker = DifferenceTracker(("own", "other"), (), loss)
        tracker.add(given)
        tracker.add_checkpoint()
        expected = tracker.difference("own", "other")
        assert expected is not None
        assert [summary[key] for key in ("mean", "low", "high")] == [
            expected.mean[-1],
            expected.low[-1],
            expected.high[-1],
        ]
        assert summary["better"] == "challenger"
        assert summary["curve"][-1][0] == given.shape[1]
        assert len(summary["curve"]) <= 201


def test_log_losses_of_a_challenger_are_those_of_a_backtest(
    client: Client, shared: ServerProcess
) -> None:
    given: dict[str, Any] = {
        "members": ["binned_bayes", "transitions"],
        "random_state": 2,
    }
    client.create("logs", "GaussianNB", features=4, classes=CLASSES)
    client.challenge("logs", "other", "Pooled", **given)
    Life(client, "logs", 5).go_on(25)
    (challenger,) = caught_up(client, "logs")["challengers"]
    spec = ModelSpec("Pooled", given, 4, None, tuple(CLASSES))
    # The intervals of up to four challengers hold together.
    together = 1.0 - (1.0 - 0.95) / Limits().max_challengers
    whole = backtest(shared.folder, "logs", {"other": spec}, confidence=together)
    row = whole.learners[1]
    prefixes: dict[Loss, str] = {"error": "", "log_loss": "log_loss_"}
    for loss, name in prefixes.items():
        found, expected = challenger[f"{name}difference"], row.differences[loss]
        assert found["rows"] == expected.rows[-1] > 200
        assert [found[key] for key in ("mean", "low", "high")] == [
            pytest.approx(getattr(expected, key)[-1], abs=1e-12)
            for key in ("mean", "low", "high")
        ]
    assert challenger["log_loss_difference"]["mean"] != 0.0
    exported = httpx.get(f"{shared.address}/metrics").text
    of = 'challenger="other",loss="log_loss",model="logs"'
    (line,) = re.findall(rf"rpnb_challenger_difference_mean{{{of}}} (\S+)", exported)
    assert float(line) == challenger["log_loss_difference"]["mean"]
    of = 'challenger="other",model="logs"'
    assert f"rpnb_challenger_scored_total{{{of}}} {challenger['scored']}.0" in exported


def test_guesses_of_labels_that_never_come_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guesses, "MOST_ROWS", 50)
    monkeypatch.setattr(guesses, "MOST_BYTES", 1000)
    kept = guesses.Guesses()
    for seq in range(100):
        kept.add(seq, guesses.Guess("a", 0.5))
    assert len(kept) == 50
    assert kept.get(49) == guesses.NOTHING
    assert kept.pop(50).label == "a"
    for seq in range(100, 130):
        kept.add(seq, guesses.Guess("b", 0.5, b"p" * 60, b"s" * 40))
    again = guesses.Guesses.from_json(json.loads(json.dumps(kept.to_json())))
    assert again.to_json() == kept.to_json()
    assert [seq for seq, *_ in kept.to_json()] == list(range(120, 130))


def test_deleting_a_model_leaves_nothing_of_its_challengers(start: Start) -> None:
    server = start("--snapshot-rows", "20")
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4, classes=CLASSES)
        client.challenge("m", "rpnb", "RPNB", n_estimators=4, random_state=0)
        Life(client, "m").go_on(10)
        client.name_version("m", "v")
        client.promote("m", "rpnb")
        client.delete("m")
    server.stop()
    with closing(sqlite3.connect(server.folder / "log.sqlite")) as log:
        for table in ("events", "rows", "snapshots", "observed", "keys"):
            count = f"SELECT count(*) FROM {table}"  # noqa: S608 - our own words
            (left,) = log.execute(count).fetchone()
            assert left == (1 if table == "keys" else 0), table
