"""Loan applications of Agrawal, Imielinski & Swami (1993), generated in chunks.

"Database mining: a performance perspective", IEEE TKDE 5(6): nine attributes of a
person and ten functions that decide between group A and group B.
"""

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.datasets.chunks import (
    Chunk,
    block_of,
    children,
    in_chunks,
    require,
    require_probability,
)

#: The columns, in this order.
ATTRIBUTES = (
    *("salary", "commission", "age", "elevel", "car", "zipcode"),
    *("hvalue", "hyears", "loan"),
)

# Widths of the ranges that perturbation is relative to; codes are not perturbed.
_WIDTHS = np.array([130e3, 65e3, 60.0, 0.0, 0.0, 0.0, 13e5, 29.0, 500e3])

Person: TypeAlias = dict[str, FloatArray]


def agrawal(
    n: int,
    *,
    functions: tuple[int, ...] = (1,),
    perturbation: float = 0.0,
    chunk: int = 1000,
    seed: int = 0,
) -> Iterator[Chunk]:
    """Generate loan applications, group A (label 1) against group B (label 0).

    The features are nine attributes of a person, and a function decides the group.

    Parameters
    ----------
    n : int
        Number of samples of the stream.
    functions : tuple of int, default=(1,)
        Number, from 1 to 10, of the function of each part of the stream. The parts are
        equally long, so that several functions give abrupt drift.
    perturbation : float, default=0.0
        Noise of the continuous attributes, from 0 to 1: after the label is decided,
        each is changed by up to half of `perturbation` times the width of its range.
    chunk : int, default=1000
        Largest number of samples per chunk.
    seed : int, default=0
        Seed of the random numbers.

    Yields
    ------
    X : ndarray of shape (n_samples, 9)
        Features of the chunk's samples.
    y : ndarray of int of shape (n_samples,)
        Labels, 0 or 1.

    Examples
    --------
    >>> from rpnb.datasets import streams
    >>> X, y = next(streams.agrawal(500, chunk=500))
    >>> X.shape, len(set(y.tolist()))
    ((500, 9), 2)
    """
    for number in functions:
        require(number in FUNCTIONS, "functions", number, "numbers from 1 to 10")
    require(len(functions) >= 1, "functions", functions, "at least one number")
    require_probability(perturbation, "perturbation")
    attributes, moves = children(seed, 2)

    def draw(rows: IntArray) -> Chunk:
        person = _persons_from(attributes.random((len(rows), 9)))
        block = block_of(rows, n, len(functions))
        y = np.zeros(len(rows), dtype=np.int64)
        for part, number in enumerate(functions):
            y[block == part] = FUNCTIONS[number](person)[block == part]
        X = np.column_stack([person[name] for name in ATTRIBUTES])
        move = moves.random((len(rows), 9)) - 0.5
        # Who has no commission still has none.
        move[:, 1] *= person["commission"] > 0.0
        return X + perturbation * _WIDTHS * move, y

    return in_chunks(n, chunk, draw)


def _persons_from(u: FloatArray) -> Person:
    """Return the paper's attributes from uniform random numbers (rows, 9).

    The paper does not say how the value of a house depends on the zip code; here it is
    about 100,000 times 9 minus the code, as in MOA.
    """
    salary = 20e3 + 130e3 * u[:, 0]
    zipcode = np.floor(9.0 * u[:, 5])
    return {
        "salary": salary,
        "commission": np.where(salary >= 75e3, 0.0, 10e3 + 65e3 * u[:, 1]),
        "age": 20.0 + 60.0 * u[:, 2],
        "elevel": np.floor(5.0 * u[:, 3]),
        "car": 1.0 + np.floor(20.0 * u[:, 4]),
        "zipcode": zipcode,
        "hvalue": (9.0 - zipcode) * 100e3 * (0.5 + u[:, 6]),
        "hyears": 1.0 + np.floor(30.0 * u[:, 7]),
        "loan": 500e3 * u[:, 8],
    }


def _by_age(
    person: Person, young: BoolArray, middle: BoolArray, old: BoolArray
) -> BoolArray:
    """Return `young` for ages below 40, `middle` below 60, and `old` from 60 on."""
    age = person["age"]
    chosen: BoolArray = np.where(age < 40.0, young, np.where(age < 60.0, middle, old))
    return chosen


def _within(values: FloatArray, low: float, high: float) -> BoolArray:
    inside: BoolArray = (low <= values) & (values <= high)
    return inside


# The ten functions of the paper; sums of money in thousands where compared.


def _function_1(person: Person) -> BoolArray:
    outside: BoolArray = (person["age"] < 40.0) | (person["age"] >= 60.0)
    return outside


def _function_2(person: Person) -> BoolArray:
    salary = person["salary"] / 1e3
    bands = ((50, 100), (75, 125), (25, 75))
    return _by_age(person, *(_within(salary, *band) for band in bands))


def _function_3(person: Person) -> BoolArray:
    elevel = person["elevel"]
    return _by_age(person, *(_within(elevel, *b) for b in ((0, 1), (1, 3), (2, 4))))


def _function_4(person: Person) -> BoolArray:
    salary, elevel = person["salary"] / 1e3, person["elevel"]
    low, mid, high = (_within(salary, *b) for b in ((25, 75), (50, 100), (75, 125)))
    return _by_age(
        person,
        np.where(_within(elevel, 0, 1), low, mid),
        np.where(_within(elevel, 1, 3), mid, high),
        np.where(_within(elevel, 2, 4), mid, low),
    )


def _function_5(person: Person) -> BoolArray:
    salary, loan = person["salary"] / 1e3, person["loan"] / 1e3
    return _by_age(
        person,
        np.where(
            _within(salary, 50, 100), _within(loan, 100, 300), _within(loan, 200, 400)
        ),
        np.where(
            _within(salary, 75, 125), _within(loan, 200, 400), _within(loan, 300, 500)
        ),
        np.where(
            _within(salary, 25, 75), _within(loan, 300, 500), _within(loan, 100, 300)
        ),
    )


def _function_6(person: Person) -> BoolArray:
    income = (person["salary"] + person["commission"]) / 1e3
    bands = ((50, 100), (75, 125), (25, 75))
    return _by_age(person, *(_within(income, *band) for band in bands))


def _net_income(person: Person) -> FloatArray:
    """Return 0.67 times salary plus commission."""
    income: FloatArray = 0.67 * (person["salary"] + person["commission"])
    return income


def _function_7(person: Person) -> BoolArray:
    return _net_income(person) - 0.2 * person["loan"] - 20e3 > 0.0


def _function_8(person: Person) -> BoolArray:
    return _net_income(person) - 5e3 * person["elevel"] - 20e3 > 0.0


def _function_9(person: Person) -> BoolArray:
    left = _net_income(person) - 5e3 * person["elevel"] - 0.2 * person["loan"]
    return left - 10e3 > 0.0


def _function_10(person: Person) -> BoolArray:
    equity = 0.1 * person["hvalue"] * np.maximum(person["hyears"] - 20.0, 0.0)
    return _net_income(person) - 5e3 * person["elevel"] + 0.2 * equity - 10e3 > 0.0


#: By number: the function that returns which persons belong to group A.
FUNCTIONS: MappingProxyType[int, Callable[[Person], BoolArray]] = MappingProxyType(
    {
        1: _function_1,
        2: _function_2,
        3: _function_3,
        4: _function_4,
        5: _function_5,
        6: _function_6,
        7: _function_7,
        8: _function_8,
        9: _function_9,
        10: _function_10,
    }
)
