"""The libraries that are compared, how each is installed, and their learners."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

#: A library and one of its learners, by name.
PeerLearner: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Peer:
    """A library.

    Attributes
    ----------
    label
        Its display name.
    worker
        Its script in `peers.workers`.
    packages
        Packages to install, in their newest releases.
    module
        A module that must be importable in its environment.
    learners
        The name of each learner in the worker's script, and its name in tables; {K} is
        the number of members.
    """

    label: str
    worker: str
    packages: tuple[str, ...]
    module: str
    learners: Mapping[str, str]


#: The learner that all others are compared with.
REFERENCE: PeerLearner = ("rpnb", "RPNB")

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


def select_learners(
    peers: Iterable[str], names: Iterable[str] | None = None
) -> tuple[PeerLearner, ...]:
    """Return the learners of some libraries, all or those named, and RPNB.

    Raises
    ------
    ValueError
        If none of the libraries has a learner by one of the names.
    """
    all_of_them = tuple((peer, key) for peer in peers for key in PEERS[peer].learners)
    if names is None:
        return all_of_them
    wanted = set(names)
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
