"""Commands of messages: labels that arrive before their rows, rows that came before."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest

from rpnb.serve.commands import Command, Create, LabelRows, Remember
from rpnb.serve.commands.group import Group
from rpnb.serve.kafka.topic_command import FromTopic, LearnNamed
from rpnb.serve.limits import ApiError, Limits, unavailable
from rpnb.serve.specs import ModelSpec, new_learner
from rpnb.serve.writer import Writer
from serve.streams import clusters

X, Y = clusters(12)
CLASSES = ("ash", "elm", "oak")
Messages = Callable[..., Awaitable[FromTopic]]


def run(
    folder: Path,
    work: Callable[[Writer, Messages], Awaitable[None]],
    new_classes: Literal["accept", "refuse"] = "refuse",
) -> None:
    """Run with a writer, and a function that submits consecutive messages."""
    writer, offsets = Writer(folder, Limits(max_waiting=100)), count()

    async def send(inner: Command) -> FromTopic:
        offset = next(offsets)
        command = FromTopic(
            name="m",
            number=inner.number,
            inner=inner,
            topic="t",
            partition=0,
            first=offset,
            following=offset + 1,
        )
        await writer.submit(command)
        return command

    async def main() -> None:
        writer.start()
        spec = ModelSpec("GaussianNB", {}, 4, None, CLASSES, new_classes=new_classes)
        await writer.submit(Create(name="m", spec=spec, learner=new_learner(spec)))
        await work(writer, send)

    try:
        asyncio.run(main())
    finally:
        writer.stop()


def remember(writer: Writer, ids: list[str]) -> Remember:
    model = writer.models["m"]
    rows = X[[int(each[1:]) for each in ids]]
    found = model.predict(rows, confidence=True, probabilities=False)
    return Remember(
        name="m", number=model.id, X=rows, ids=ids, probabilities=False, found=found
    )


def label(labels: dict[str, Any]) -> LabelRows:
    return LabelRows(name="m", ids=[*labels], labels=[*labels.values()])


def named(writer: Writer, ids: list[str], labels: list[str]) -> LearnNamed:
    number = writer.models["m"].id
    rows = X[[int(each[1:]) for each in ids]]
    return LearnNamed(name="m", number=number, X=rows, ids=ids, labels=list(labels))


@pytest.mark.parametrize("bad", ["yew", 7])
@pytest.mark.parametrize("place", [0, 5])
def test_an_early_label_that_is_refused_takes_no_others_with_it(
    tmp_path: Path, bad: Any, place: int
) -> None:
    async def work(writer: Writer, send: Messages) -> None:
        for i, y in enumerate(Y):
            await send(label({f"r{i}": bad if i == place else y}))
        command = await send(remember(writer, [f"r{i}" for i in range(12)]))
        assert [each for each, _ in command.refused] == [f"r{place}"]
        model = writer.models["m"]
        assert (model.scores.learned, model.waiting) == (11, 1)
        # The row can still get a label; the refused one is gone.
        assert (await send(label({f"r{place}": "oak"}))).refused == []
        assert (model.scores.learned, model.waiting) == (12, 0)

    run(tmp_path, work)


def test_labels_of_two_types_are_not_learned_together(tmp_path: Path) -> None:
    async def work(writer: Writer, send: Messages) -> None:
        await send(label({"r0": "oak"}))
        await send(label({"r1": 7}))
        command = await send(remember(writer, ["r0", "r1"]))
        assert [each for each, _ in command.refused] == ["r1"]
        assert writer.models["m"].known == {*CLASSES}

    run(tmp_path, work, "accept")


def test_early_labels_of_a_model_that_is_learning_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept = Group.accept_labels

    def busy(self: Group, model: Any, labels: list[Any], places: Any) -> None:
        if len(labels) > 1 or labels[0] == "ash":
            raise (
                ApiError(413, "limit", "too long")
                if len(labels) > 1
                else unavailable("try again")
            )
        accept(self, model, labels, places)

    async def work(writer: Writer, send: Messages) -> None:
        for i, y in enumerate(["oak", "ash", "elm"]):
            await send(label({f"r{i}": y}))
        with monkeypatch.context() as patch:
            patch.setattr(Group, "accept_labels", busy)
            command = await send(remember(writer, ["r0", "r1", "r2"]))
            assert command.refused == []
            assert writer.models["m"].waiting > 0
        await send(label({"none": "oak"}))
        assert writer.models["m"].scores.learned == 3
        assert writer.models["m"].waiting == 0

    run(tmp_path, work)


def test_a_row_that_waits_is_not_learned_again_with_its_label(tmp_path: Path) -> None:
    async def work(writer: Writer, send: Messages) -> None:
        model = writer.models["m"]
        await send(remember(writer, ["r0", "r1"]))
        await send(named(writer, ["r0"], Y[:1]))
        assert (model.scores.learned, model.scores.scored, model.waiting) == (1, 1, 1)
        await send(named(writer, ["r0"], Y[:1]))  # it is labelled by now
        assert model.scores.learned == 1
        await send(named(writer, ["r2", "r3"], Y[2:4]))  # no such rows wait
        assert (model.scores.learned, model.scores.scored) == (3, 1)
        # Each is settled in its own way, one by one.
        with pytest.raises(ApiError, match="wait"):
            await send(named(writer, ["r1", "r4"], [Y[1], Y[4]]))

    run(tmp_path, work)


def test_a_label_that_came_before_its_row_and_label_is_dropped(tmp_path: Path) -> None:
    async def work(writer: Writer, send: Messages) -> None:
        await send(label({"r0": Y[0]}))
        await send(named(writer, ["r0"], Y[:1]))
        await send(remember(writer, ["r0"]))  # an id that is used again
        assert writer.models["m"].waiting == 1

    run(tmp_path, work)
