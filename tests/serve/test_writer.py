"""The writer shares transactions between commands, and answers every one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rpnb.serve.app import make_app
from rpnb.serve.commands import Command, Create, Delete, LabelRows, Learn, Remember
from rpnb.serve.kafka.topic_command import FromTopic
from rpnb.serve.limits import ApiError, Limits
from rpnb.serve.log import LogError
from rpnb.serve.maintenance import backup, check
from rpnb.serve.metrics import Metrics
from rpnb.serve.restoring import same_state
from rpnb.serve.specs import ModelSpec, new_learner
from rpnb.serve.upkeep import Schedule
from rpnb.serve.writer import Writer
from serve.replays import replayed_state
from serve.streams import clusters

X, Y = clusters(12)
SPEC = ModelSpec("GaussianNB", {}, 4, None, ("ash", "elm", "oak"))


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    with stopped_in_the_end(Writer(tmp_path, Limits(max_waiting=8))) as writer:
        yield writer


@contextmanager
def stopped_in_the_end(writer: Writer) -> Iterator[Writer]:
    """Stop the writer even if a test fails, to end its thread."""
    try:
        yield writer
    finally:
        if writer._thread.is_alive():
            writer.stop()


def run(writer: Writer, work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        writer.start()
        await submit(writer, create())
        await work()

    asyncio.run(main())


async def submit(writer: Writer, *commands: Command) -> list[Any]:
    """Submit commands in one iteration of the loop, to share a transaction."""
    return await asyncio.gather(*map(writer.submit, commands), return_exceptions=True)


def create() -> Create:
    return Create(name="m", spec=SPEC, learner=new_learner(SPEC))


def remember(writer: Writer, ids: list[str] | None, rows: slice) -> Remember:
    number = writer.models["m"].id
    return Remember(name="m", number=number, X=X[rows], ids=ids, probabilities=False)


def label(ids: list[str], labels: list[str], key: str | None = None) -> LabelRows:
    return LabelRows(name="m", ids=ids, labels=list(labels), key=key)


def test_commands_of_one_transaction_see_each_other(
    writer: Writer, tmp_path: Path
) -> None:
    async def work() -> None:
        before = writer.counts.transactions
        found = await submit(
            writer,
            remember(writer, ["a", "b"], slice(0, 2)),
            remember(writer, ["b"], slice(1, 2)),
            remember(writer, ["b"], slice(2, 3)),
            label(["a", "x", "a"], ["oak", "oak", "elm"], "key"),
            label(["a", "x", "a"], ["oak", "oak", "elm"], "key"),
            label(["b"], ["ash"], "key"),
            label(["a", "b"], ["ash", "ash"]),
            Learn(name="m", X=X[3:5], labels=["oak", "elm"], observe=True, key="o"),
            Learn(name="m", X=X[3:5], labels=["oak", "elm"], observe=True, key="o"),
        )
        assert writer.counts.transactions == before + 1
        assert found[0]["labels"] == writer_predicts(slice(0, 2))
        assert found[1]["ids"] == ["b"]
        assert found[2].code == "id_taken"
        assert found[3]["results"] == ["learned", "unknown", "duplicate"]
        assert found[4] == found[3]
        assert found[5].code == "key_reused"
        assert found[6]["results"] == ["duplicate", "learned"]
        assert found[7] == found[8]
        assert (writer.models["m"].scores.learned, writer.models["m"].waiting) == (4, 0)

    def writer_predicts(rows: slice) -> list[Any]:
        return new_learner(SPEC).predict(X[rows]).tolist()

    run(writer, work)
    state = writer.models["m"].to_bytes()
    writer.stop()
    assert state is not None
    replayed = replayed_state(tmp_path, "m")
    assert replayed is not None
    assert same_state(state, replayed)


def learn(labels: list[Any], name: str = "m") -> Learn:
    return Learn(name=name, X=X[: len(labels)], labels=labels, observe=False)


def test_the_learner_checks_only_new_classes_before_they_are_written(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[list[Any]] = []
    monkeypatch.setattr(
        "rpnb.serve.served_model.check_labels",
        lambda _learner, y: checked.append(sorted(y.tolist())),
    )

    async def work() -> None:
        assert await submit(writer, learn(["oak", "elm"])) == [{"learned": 2}]
        assert checked == []
        await submit(writer, learn(["oak", "fir"]), learn(["fir"]), learn(["yew"]))
        assert checked == [
            ["ash", "elm", "fir", "oak"],
            ["ash", "elm", "fir", "oak", "yew"],
        ]
        await submit(writer, learn(["yew", "fir"]))
        assert len(checked) == 2

    run(writer, work)


def test_labels_have_the_type_of_the_first_one_even_within_a_transaction(
    writer: Writer,
) -> None:
    spec = ModelSpec("GaussianNB", {}, 4, None, None)

    async def work() -> None:
        await submit(writer, Create(name="n", spec=spec, learner=new_learner(spec)))
        found = await submit(writer, learn([True], "n"), learn([1], "n"))
        assert found[0] == {"learned": 1}
        assert (
            found[1].message == "labels are integers; those of this model are booleans"
        )
        (later,) = await submit(writer, learn(["oak"], "n"))
        assert later.message == "labels are text; those of this model are booleans"
        assert writer.models["n"].label_kind is bool

    run(writer, work)


def test_rows_predicted_together_are_predicted_as_alone(writer: Writer) -> None:
    async def work() -> None:
        await submit(writer, Learn(name="m", X=X, labels=Y, observe=False))
        together = await submit(
            writer, *(remember(writer, None, slice(i, i + 1)) for i in range(6))
        )
        model = writer.models["m"]
        for i, each in enumerate(together):
            alone = model.predict(X[i : i + 1], confidence=True, probabilities=False)
            assert (each["labels"], each["confidence"]) == (
                alone.labels,
                alone.confidence,
            )
        assert len({each["ids"][0] for each in together}) == 6

    run(writer, work)


@pytest.mark.parametrize("batch_size", [1, 2])
def test_labels_of_a_group_share_an_event_unless_events_are_mini_batches(
    tmp_path: Path, batch_size: int
) -> None:
    parameters = {"n_estimators": 5, "random_state": 0, "batch_size": batch_size}
    spec = ModelSpec("RPNB", parameters, 4, None, ("ash", "elm", "oak"))
    writer = Writer(tmp_path, Limits())

    async def work() -> None:
        writer.start()
        await submit(writer, Create(name="m", spec=spec, learner=new_learner(spec)))
        ids = [f"r{i}" for i in range(8)]
        await submit(writer, remember(writer, ids, slice(0, 8)))
        await submit(
            writer,
            *(label([each], [Y[i]]) for i, each in enumerate(ids[:4])),
            Learn(name="m", X=X[8:10], labels=Y[8:10], observe=True),
            *(label([each], [Y[4 + i]]) for i, each in enumerate(ids[4:7])),
        )
        await submit(writer, label(ids[7:], [Y[7]]))  # learned as a row alone

    asyncio.run(work())
    model = writer.models["m"]
    state, applied = model.to_bytes(), model.applied
    kinds = writer._connection.execute("SELECT kind, n FROM events ORDER BY id")
    single = [("labels", 7), ("observe", 2), ("labels", 1)]
    cut = [("labels", 1)] * 4 + [("observe", 2)] + [("labels", 1)] * 4
    found = kinds.fetchall()
    writer.stop()
    assert found == (single if batch_size == 1 else cut)
    assert (model.scores.learned, model.waiting, applied) == (10, 0, len(found))
    assert model.learner.n_samples_seen_ == 10
    replayed = replayed_state(tmp_path, "m")
    assert state is not None
    assert replayed is not None
    assert same_state(state, replayed)


def test_rows_beyond_the_limit_are_dropped_after_labels_of_the_group(
    writer: Writer, tmp_path: Path
) -> None:
    """A label is learned even if rows of its group exceed the limit of waiting rows."""

    async def work() -> None:
        await submit(writer, remember(writer, [f"r{i}" for i in range(8)], slice(0, 8)))
        found = await submit(
            writer, remember(writer, ["new"], slice(8, 9)), label(["r0"], ["oak"])
        )
        assert found[1]["results"] == ["learned"]
        model = writer.models["m"]
        assert (model.waiting, model.expired) == (8, 0)
        await submit(writer, remember(writer, ["more"], slice(9, 10)))
        assert (model.waiting, model.expired) == (8, 1)
        (late,) = await submit(writer, label(["r1"], ["oak"]))
        assert late["results"] == ["unknown"]

    run(writer, work)
    writer.stop()
    assert replayed_state(tmp_path, "m") is not None


def test_a_model_deleted_with_its_rows_in_flight(writer: Writer) -> None:
    async def work() -> None:
        observe = Learn(
            name="m",
            number=writer.models["m"].id,
            X=X[:2],
            labels=["oak", "elm"],
            observe=True,
            key="k",
        )
        kept = remember(writer, ["a"], slice(0, 1))
        found = await submit(writer, observe, kept, Delete(name="m"), create(), kept)
        assert found[0]["learned"] == 2
        assert found[2] == {"deleted": True}
        assert found[3]["learned"] == 0
        assert isinstance(found[4], ApiError)
        (again,) = await submit(writer, label(["a"], ["oak"]))
        assert again["results"] == ["unknown"]
        assert writer._thread.is_alive()

    run(writer, work)


def test_an_error_that_should_not_be_is_answered_and_rolled_back(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        def fail(*_: object) -> None:
            raise RuntimeError("broken")

        with monkeypatch.context() as patch:
            patch.setattr("rpnb.serve.commands.group.pack_labels", fail)
            await submit(writer, remember(writer, ["a"], slice(0, 1)))
            (found,) = await submit(writer, label(["a"], ["oak"]))
        assert found.status == 503
        assert not writer._connection.in_transaction
        (again,) = await submit(writer, label(["a"], ["oak"]))
        assert again["results"] == ["learned"]

    run(writer, work)


def test_a_stop_answers_everybody(tmp_path: Path) -> None:
    writer = Writer(tmp_path, Limits())

    async def main() -> None:
        writer.start()
        await submit(writer, create())
        number = writer.models["m"].id
        tasks = [
            asyncio.ensure_future(
                writer.submit(
                    Learn(name="m", number=number, X=X, labels=Y, observe=False)
                )
            )
            for _ in range(1500)
        ]
        await asyncio.sleep(0)
        await asyncio.to_thread(writer.stop, grace_period=60.0)
        found = await asyncio.gather(*tasks)
        assert found == [{"learned": 12}] * 1500
        with pytest.raises(ApiError, match="stopping"):
            await writer.submit(create())

    asyncio.run(main())
    state = replayed_state(tmp_path, "m")
    kept = writer.models["m"].to_bytes()
    assert state is not None
    assert kept is not None
    assert same_state(state, kept)
    assert writer.models["m"].scores.learned == 12 * 1500


def test_a_stop_without_grace_period_refuses_what_is_not_on_the_disk(
    writer: Writer, tmp_path: Path
) -> None:
    async def work() -> None:
        await writer.submit(
            Learn(name="m", X=X[:2], labels=["oak", "elm"], observe=True)
        )
        late = asyncio.create_task(
            writer.submit(Learn(name="m", X=X[:2], labels=["oak", "elm"], observe=True))
        )
        await asyncio.sleep(0)  # submitted, and not handed over yet
        writer.stop(grace_period=-1.0)
        with pytest.raises(ApiError, match="stopping"):
            await late

    run(writer, work)
    again = Writer(tmp_path, Limits())
    assert again.models["m"].scores.learned == 2
    again.start()
    again.stop()


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: list(check(folder)),
        lambda folder: backup(folder, folder / "copy"),
        lambda folder: replayed_state(folder, "m"),
    ],
    ids=["check", "backup", "replay"],
)
def test_a_folder_without_a_log_is_refused_and_stays_empty(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(LogError, match="not a folder of rpnb serve"):
        read(tmp_path)
    assert not any(tmp_path.iterdir())


def test_rows_that_have_waited_too_long_are_dropped_and_counted(tmp_path: Path) -> None:
    schedule = Schedule(cleaning_seconds=0.0)
    writer = Writer(tmp_path, Limits(max_age=0.0), schedule)

    async def work() -> None:
        await submit(writer, remember(writer, ["a", "b", "c"], slice(0, 3)))
        model = writer.models["m"]
        for _ in range(500):
            await submit(writer, label(["x"], ["oak"]))
            if model.waiting == 0:
                break
        assert (model.waiting, model.expired) == (0, 3)
        (late,) = await submit(writer, label(["a"], ["oak"]))
        assert late["results"] == ["unknown"]

    with stopped_in_the_end(writer):
        run(writer, work)


@pytest.mark.parametrize(("seconds", "snapshots"), [(0.0, 1), (600.0, 0)])
def test_a_state_is_written_after_some_time_if_it_has_changed(
    seconds: float, snapshots: int, tmp_path: Path
) -> None:
    writer = Writer(tmp_path, Limits(), Schedule(snapshot_seconds=seconds))

    async def work() -> None:
        for n in (0, snapshots):
            for _ in range(4):  # each is followed by a check of due work
                await submit(writer, label(["x"], ["oak"]))
            assert writer.counts.snapshots == n
            learn = Learn(
                name="m", X=X[:2], labels=["oak", "elm"], observe=False, key=None
            )
            await submit(writer, learn)

    with stopped_in_the_end(writer):
        run(writer, work)


def test_the_application_starts_the_writer_and_says_that_it_stops(
    writer: Writer,
) -> None:
    async def live() -> None:
        app = make_app(writer, Metrics(writer))
        async with app.lifespan(None):
            assert writer._thread.is_alive()
            assert not app.stopping.is_set()
        assert app.stopping.is_set()  # pages that are watched live end
        assert not writer._thread.is_alive()

    asyncio.run(live())


def test_messages_of_a_partition_are_learned_once(writer: Writer) -> None:
    def message(first: int, following: int) -> FromTopic:
        model, rows = writer.models["m"], slice(first, following)
        inner = Learn(
            name="m", number=model.id, X=X[rows], labels=list(Y[rows]), observe=False
        )
        return FromTopic(
            name="m",
            number=model.id,
            inner=inner,
            topic="rows",
            partition=0,
            first=first,
            following=following,
        )

    async def work() -> None:
        await submit(writer, message(0, 3))
        (again,) = await submit(writer, message(0, 3))
        assert again == {"repeated": True}
        (some,) = await submit(writer, message(2, 5))
        assert isinstance(some, ApiError)
        assert some.status == 409
        await submit(writer, message(3, 5))
        assert writer.models["m"].scores.learned == 5

    run(writer, work)
