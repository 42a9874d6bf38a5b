"""Problems of the service, and counts of its work, as its endpoints report them."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Health:
    """Problems of the service."""

    writes: str | None = None
    """why the log cannot be written; None if it can"""
    since: float = 0.0
    """when writes began to fail"""
    notes: list[str] = field(default_factory=list)
    """damage found at the start"""
    unsound: list[str] = field(default_factory=list)
    """models whose entries in the log are damaged, so that they have no name"""


@dataclass(slots=True)
class Counts:
    """Counts of the writer's work since the start."""

    transactions: int = 0
    commands: int = 0
    failures: int = 0
    snapshots: int = 0
    commit_seconds: float = 0.0
    learn_seconds: float = 0.0
