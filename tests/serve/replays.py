"""States of models by another way than the service's: an offline replay of the log."""

from pathlib import Path

from rpnb.serve.log import read_log
from rpnb.serve.model_rows import stored_models
from rpnb.serve.restoring import replay_from_base


def replayed_state(folder: Path, name: str) -> bytes | None:
    """Return a model's state after a replay from its first event, one by one."""
    with read_log(folder) as connection:
        (row,) = (each for each in stored_models(connection) if each.name == name)
        *_, (_, model) = replay_from_base(connection, row, chunk=1)
        return model.to_bytes()
