"""Who takes part: libraries, how each is installed, and its learners."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

Who: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Peer:
    """A library.

    Attributes
    ----------
    label
        Its name as readers know it.
    worker
        Its script in `peers.workers`.
    packages
        What to install: the newest releases.
    module
        What must be importable in its environment.
    learners
        The worker's name of each learner, and what the table calls it; {K} is the
        number of members.
    """

    label: str
    worker: str
    packages: tuple[str, ...]
    module: str
    learners: Mapping[str, str]


#: The learner that all others are compared with.
REFERENCE = "rpnb", "RPNB"

PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "rpnb": Peer(
            "rpnb",
            "rpnb_worker.py",
            (),
            "rpnb",
            {
                "RPNB": "RPNB, K = {K}",
                "GaussianNB": "Gaussian naive Bayes",
                "AROW": "AROW",
                "OnlineBagging": "Bagging, {K} Hoeffding trees",
            },
        ),
        "sklearn": Peer(
            "scikit-learn",
            "sklearn_worker.py",
            ("scikit-learn",),
            "sklearn",
            {
                "GaussianNB": "GaussianNB",
                "SGDClassifier": "SGDClassifier",
                "PassiveAggressive": "passive-aggressive",
            },
        ),
        "river": Peer(
            "River",
            "river_worker.py",
            ("river",),
            "river",
            {"GaussianNB": "GaussianNB", "Bagging": "Bagging, {K} GaussianNB"},
        ),
        "capymoa": Peer(
            "CapyMOA",
            "capymoa_worker.py",
            ("capymoa",),
            "capymoa",
            {
                "NaiveBayes": "NaiveBayes",
                "OzaBag of NaiveBayes": "OzaBag, {K} NaiveBayes",
                "OzaBag of HoeffdingTree": "OzaBag, {K} Hoeffding trees",
                "AdaptiveRandomForest": "Adaptive Random Forest, 100 trees",
                "StreamingRandomPatches": "Streaming Random Patches, 100 trees",
            },
        ),
        "vw": Peer(
            "Vowpal Wabbit",
            "vw_worker.py",
            ("numpy", "vowpalwabbit"),
            "vowpalwabbit",
            {
                "text lines": "one against all, text lines",
                "bare calls": "one against all, private calls",
                "driver": "one against all, driver on a file",
            },
        ),
        "vw-next": Peer(
            "VW next",
            "vw_worker.py",
            ("numpy", "vowpal-wabbit-next"),
            "vowpal_wabbit_next",
            {
                "text lines": "one against all, text lines",
                "driver": "one against all, driver on a file",
            },
        ),
    }
)


def contestants(peers: Iterable[str], learners: Iterable[str] | None = None) -> Who:
    """Return the learners of some libraries, all or those named, and RPNB.

    Raises
    ------
    ValueError
        If none of the libraries has a learner by one of the names.
    """
    all_of_them = tuple((peer, key) for peer in peers for key in PEERS[peer].learners)
    if learners is None:
        return all_of_them
    wanted = set(learners)
    known = {key for _, key in all_of_them}
    for name in sorted(wanted - known):
        raise ValueError(
            f"learners must be of {', '.join(sorted(known))}, got {name!r}"
        )
    return tuple(
        (peer, key)
        for peer, key in all_of_them
        if key in wanted or (peer, key) == REFERENCE
    )
