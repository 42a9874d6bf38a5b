"""The price of large mini-batches: error against the rows of a mini-batch.

Six datasets, each repeated in new orders up to 200,000 rows, so that even mini-batches
of 100,000 follow each other, and two streams that drift. Each mini-batch is predicted
before it is learnt. Of a first mini-batch of 100,000 rows nothing is known before:
errors are therefore compared from row 100,000 on, and those of all rows given besides.
"""

import argparse
from itertools import islice
from typing import Any

import numpy as np

from rpnb import RPNBClassifier
from rpnb.datasets import streams
from workloads import paper_stream

SIZES = (1, 10, 100, 1_000, 10_000, 100_000)
DATASETS = ("Letter", "Penbased", "Chess-krvk", "Nursery", "Skin_NonSkin", "Twonorm")
ROWS = 200_000
COUNTED = 100_000


def repeated(name: str, rows: int) -> tuple[Any, Any, bool]:
    """Return a dataset in one random order after the other."""
    data = paper_stream(name)
    n = data.y.shape[0]
    rng = np.random.default_rng(0)
    orders = [rng.permutation(n) for _ in range(-(-rows // n))]
    order = np.concatenate(orders)[:rows]
    return data.X[order], data.y[order], data.stand_in


def drifting(name: str, rows: int) -> tuple[Any, Any, bool]:
    """Return a stream that drifts."""
    if name == "SEA, abrupt":
        chunks = streams.sea(rows, thresholds=(8.0, 9.0, 7.0, 9.5) * 5)
    else:
        chunks = streams.hyperplane(rows, speed=0.001)
    parts = list(islice(chunks, rows))
    X = np.concatenate([part[0] for part in parts])
    return X, np.concatenate([part[1] for part in parts]), False


def errors(X: Any, y: Any, members: int) -> list[tuple[float, float]]:
    """Return the error over the counted rows and all rows, by size of mini-batch."""
    found = []
    for size in SIZES:
        model = RPNBClassifier(members, batch_size=size, random_state=0)
        wrong = model.predict_then_learn(X, y, classes=np.unique(y)) != y
        found.append((float(wrong[COUNTED:].mean()), float(wrong.mean())))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--rows", type=int, default=ROWS)
    arguments = parser.parse_args()
    print(
        f"error on rows {COUNTED:,} to {arguments.rows:,} by rows of a mini-batch; "
        f"{arguments.members} projections; in brackets of all rows\n"
    )
    print("| stream | " + " | ".join(f"{size:,}" for size in SIZES) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for name in (*DATASETS, "SEA, abrupt", "Hyperplane, gradual"):
        make = repeated if name in DATASETS else drifting
        X, y, stand_in = make(name, arguments.rows)
        cells = [
            f"{late:.4f} ({all_:.4f})" for late, all_ in errors(X, y, arguments.members)
        ]
        mark = " (drawn, of its shape)" if stand_in else ""
        print(f"| {name}{mark} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
