"""The soak counts what was acknowledged, and repeats what got no answer."""

import asyncio

import pytest

from rpnb.client import ServeError
from soak_serve import Life, acknowledged


def test_a_request_without_an_answer_is_repeated_until_there_is_one() -> None:
    errors = [ServeError(0, "no_answer", ""), ServeError(503, "busy", "")]

    async def call() -> int:
        if errors:
            raise errors.pop(0)
        return 7

    life = Life()
    assert asyncio.run(acknowledged(call, life)) == 7
    assert life.repeated == 2


def test_an_error_of_the_request_itself_is_not_repeated() -> None:
    async def call() -> None:
        raise ServeError(422, "invalid", "no such column")

    life = Life()
    with pytest.raises(ServeError, match="no such column"):
        asyncio.run(acknowledged(call, life))
    assert life.repeated == 0
