"""The datasets of the paper, its printed results, and generators of streams.

`load` returns one of the 33 datasets of Table 1 of Nguyen et al. (2017) by name;
`rpnb.datasets.paper` has the results printed there; `rpnb.datasets.streams` generates
streams of any length in chunks.
"""

from rpnb.datasets import paper as paper
from rpnb.datasets import streams as streams
from rpnb.datasets.catalogue import describe, names
from rpnb.datasets.dataset import (
    DataFileError,
    Dataset,
    DatasetError,
    DatasetUnavailableError,
    Description,
    UnknownDatasetError,
)
from rpnb.datasets.loader import load

__all__ = [
    "DataFileError",
    "Dataset",
    "DatasetError",
    "DatasetUnavailableError",
    "Description",
    "UnknownDatasetError",
    "describe",
    "load",
    "names",
]
