"""Figures for Prometheus: requests, the log, and each model."""

from collections.abc import Iterator
from math import nan
from typing import Any, final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from rpnb._version import __version__
from rpnb.serve.writer import Writer

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


@final
class Metrics:
    """The registry of a service, and what is counted by request."""

    def __init__(self, writer: Writer) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rpnb_requests",
            "Answered requests.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "rpnb_request_seconds",
            "Time from a request to its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "rpnb_requests_in_flight",
            "Requests being answered.",
            registry=self.registry,
        )
        self.memory = Gauge(
            "rpnb_requests_memory_bytes",
            "Memory that requests in flight have charged, an upper bound.",
            registry=self.registry,
        )
        self._children: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self.registry.register(_WriterCollector(writer))

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        children = self._children.get((route, method, status))
        if children is None:
            children = (
                self.requests.labels(route, method, str(status)),
                self.seconds.labels(route),
            )
            self._children[route, method, status] = children
        children[0].inc()
        children[1].observe(seconds)


@final
class _WriterCollector:
    """What the writer and the models know themselves."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def collect(self) -> Iterator[Any]:
        """Yield all figures."""
        writer, counts = self._writer, self._writer.counts
        info = GaugeMetricFamily("rpnb_info", "Version.", labels=("version",))
        info.add_metric((__version__,), 1)
        yield info
        for name, text, value in (
            ("log_transactions", "Transactions on the disk.", counts.transactions),
            ("log_commands", "Commands written.", counts.commands),
            ("log_failures", "Transactions that failed.", counts.failures),
            ("log_snapshots", "Snapshots written.", counts.snapshots),
            ("log_commit_seconds", "Time in transactions.", counts.commit_seconds),
            ("learn_seconds", "Time in learning.", counts.learn_seconds),
        ):
            yield CounterMetricFamily(f"rpnb_{name}", text, value=value)
        yield GaugeMetricFamily(
            "rpnb_log_queue", "Commands that wait for the writer.", value=writer.waiting
        )
        yield GaugeMetricFamily(
            "rpnb_log_oldest_seconds",
            "Time for which the oldest command has been waiting.",
            value=writer.oldest(),
        )
        yield GaugeMetricFamily(
            "rpnb_writes_failing",
            "1 while the log cannot be written.",
            value=float(writer.health.writes is not None),
        )
        yield from self._of_models()
        yield from self._of_waiting()

    def _of_models(self) -> Iterator[Any]:
        models = list(self._writer.models.values())
        for name, text, read in (
            ("learned", "Labelled rows.", lambda m: m.scores.learned),
            ("scored", "Predictions whose label came.", lambda m: m.scores.scored),
            ("mistakes", "Of these, wrong ones.", lambda m: m.scores.mistakes[0]),
            ("expired", "Rows dropped without a label.", lambda m: m.expired),
            ("predicted", "Predictions.", lambda m: m.predicted),
            ("alarms", "Drift alarms kept.", lambda m: len(m.scores.alarms)),
        ):
            family = CounterMetricFamily(f"rpnb_model_{name}", text, labels=("model",))
            for model in models:
                family.add_metric((model.name,), read(model))
            yield family
        for name, text, read in (
            ("waiting", "Rows that wait for a label.", lambda m: m.waiting),
            ("broken", "1 if no labels are accepted.", lambda m: m.broken is not None),
            (
                "degraded",
                "1 if predictions come from before an event that cannot be replayed.",
                lambda m: m.degraded,
            ),
            ("set_aside", "Events set aside.", lambda m: m.set_aside),
            (
                "window_error",
                "Error rate of the latest predictions.",
                lambda m: m.scores.window_errors()[0],
            ),
        ):
            family = GaugeMetricFamily(f"rpnb_model_{name}", text, labels=("model",))
            for model in models:
                family.add_metric((model.name,), float(read(model)))
            yield family

    def _of_waiting(self) -> Iterator[Any]:
        """Yield what is known of predictions before their labels come."""
        models = list(self._writer.models.values())
        found = self._writer.followers.figures(models)
        for name, text in (
            ("expected", "Expected error rate of rows that wait."),
            ("low", "Lower end of its band."),
            ("high", "Upper end of its band."),
            ("known", "1 if the band means something."),
            ("outside", "Share of rows whose inputs lie where labels were rare."),
            ("alarms", "Alarms of inputs, predicted classes and errors."),
        ):
            family = GaugeMetricFamily(
                f"rpnb_model_waiting_{name}", text, labels=("model",)
            )
            for model, figures in found.items():
                value = figures[name]
                family.add_metric((model,), nan if value is None else float(value))
            yield family
        family = GaugeMetricFamily(
            "rpnb_model_input_moved",
            "Share of a feature's distribution that moved; the largest ones.",
            labels=("model", "feature"),
        )
        for model, figures in found.items():
            for feature, distance in figures["distances"]:
                family.add_metric((model, feature), distance)
        yield family
