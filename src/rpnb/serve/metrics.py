"""Prometheus metrics of requests, the log, and each model."""

from collections.abc import Callable, Iterator
from math import nan
from typing import Any, final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from rpnb._version import __version__
from rpnb.serve.scores import Scores
from rpnb.serve.served_model import ServedModel
from rpnb.serve.writer import Writer

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


@final
class Metrics:
    """The registry of a service, and the metrics of requests."""

    def __init__(self, writer: Writer) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rpnb_requests",
            "Number of answered requests.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "rpnb_request_seconds",
            "Seconds from a request to its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "rpnb_requests_in_flight",
            "Number of requests being answered.",
            registry=self.registry,
        )
        self.memory = Gauge(
            "rpnb_requests_memory_bytes",
            "Upper bound of the memory of all requests in flight.",
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
    """Metrics read from the writer and the models when they are requested."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def collect(self) -> Iterator[Any]:
        """Yield all metrics."""
        writer, counts = self._writer, self._writer.counts
        info = GaugeMetricFamily("rpnb_info", "Version of rpnb.", labels=("version",))
        info.add_metric((__version__,), 1)
        yield info
        for name, text, value in (
            ("log_transactions", "Committed transactions.", counts.transactions),
            ("log_commands", "Commands written.", counts.commands),
            ("log_failures", "Failed transactions.", counts.failures),
            ("log_snapshots", "Snapshots written.", counts.snapshots),
            (
                "log_commit_seconds",
                "Seconds spent in transactions.",
                counts.commit_seconds,
            ),
            ("learn_seconds", "Seconds spent learning.", counts.learn_seconds),
        ):
            yield CounterMetricFamily(f"rpnb_{name}", text, value=value)
        yield GaugeMetricFamily(
            "rpnb_log_queue", "Commands waiting for the writer.", value=writer.waiting
        )
        yield GaugeMetricFamily(
            "rpnb_log_oldest_seconds",
            "Seconds that the oldest command has been waiting.",
            value=writer.oldest(),
        )
        yield GaugeMetricFamily(
            "rpnb_writes_failing",
            "1 while the log cannot be written.",
            value=float(writer.health.writes is not None),
        )
        yield from self._of_models()
        yield from self._of_challengers()
        yield from self._of_waiting()

    def _of_models(self) -> Iterator[Any]:
        """Yield the metrics that each model has."""
        models = list(self._writer.models.values())
        counts: tuple[tuple[str, str, Callable[[ServedModel], int]], ...] = (
            ("learned", "Learned rows.", lambda m: m.scores.learned),
            (
                "scored",
                "Predictions whose label has arrived.",
                lambda m: m.scores.scored,
            ),
            ("mistakes", "Wrong scored predictions.", lambda m: m.scores.mistakes[0]),
            ("expired", "Rows dropped without a label.", lambda m: m.expired),
            ("predicted", "Predictions.", lambda m: m.predicted),
            ("alarms", "Drift alarms.", lambda m: m.scores.raised),
        )
        for name, text, count in counts:
            family = CounterMetricFamily(f"rpnb_model_{name}", text, labels=("model",))
            for model in models:
                family.add_metric((model.name,), count(model))
            yield family
        for name, text, read in (
            ("waiting", "Rows waiting for a label.", lambda m: m.waiting),
            ("broken", "1 if labels are refused.", lambda m: m.broken is not None),
            (
                "degraded",
                "1 if the model predicts with the state before a bad event.",
                lambda m: m.degraded,
            ),
            ("set_aside", "Events set aside.", lambda m: m.set_aside),
            (
                "mix_share",
                "Share of the class-mix correction that is applied, 0 for none.",
                lambda m: 0.0 if m.mix is None else m.mix.share,
            ),
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

    def _of_challengers(self) -> Iterator[Any]:
        """Yield metrics of challengers; a model has at most `max_challengers`."""
        both = ("model", "challenger")
        found = [
            ((model.name, shadow.contender.name), shadow)
            for model in list(self._writer.models.values())
            for shadow in list(self._writer.shadows.of(model).values())
        ]
        counts: tuple[tuple[str, str, Callable[[Scores], int]], ...] = (
            ("learned", "Rows learned by a challenger.", lambda s: s.learned),
            (
                "scored",
                "A challenger's predictions whose label has arrived.",
                lambda s: s.scored,
            ),
            ("mistakes", "Wrong scored predictions.", lambda s: s.mistakes[0]),
        )
        for name, text, count in counts:
            family = CounterMetricFamily(f"rpnb_challenger_{name}", text, labels=both)
            for key, shadow in found:
                family.add_metric(key, count(shadow.scores))
            yield family
        for name, text, read in (
            (
                "window_error",
                "Error rate of a challenger's latest predictions.",
                lambda s: s.scores.window_errors()[0],
            ),
            (
                "caught_up",
                "1 if a challenger has learned all events of its model.",
                lambda s: s.caught_up,
            ),
            (
                "failed",
                "1 if a challenger has stopped learning after an error.",
                lambda s: s.problem is not None,
            ),
        ):
            gauge = GaugeMetricFamily(f"rpnb_challenger_{name}", text, labels=both)
            for key, shadow in found:
                gauge.add_metric(key, float(read(shadow)))
            yield gauge
        ends = {"mean": "Mean", "low": "Lower end", "high": "Upper end"}
        for end, what in ends.items():
            gauge = GaugeMetricFamily(
                f"rpnb_challenger_difference_{end}",
                f"{what} of a challenger's loss minus that of the serving learner.",
                labels=(*both, "loss"),
            )
            for key, shadow in found:
                for loss, summary in shadow.differences().items():
                    value = summary[end]
                    gauge.add_metric((*key, loss), nan if value is None else value)
            yield gauge

    def _of_waiting(self) -> Iterator[Any]:
        """Yield metrics of predictions whose labels have not arrived."""
        models = list(self._writer.models.values())
        found = self._writer.followers.figures(models)
        for name, text in (
            ("expected", "Expected error rate of waiting rows."),
            ("low", "Lower end of the band of the expected error."),
            ("high", "Upper end of the band of the expected error."),
            ("known", "1 if the band is reliable."),
            ("outside", "Share of rows with inputs for which labels were rare."),
        ):
            family = GaugeMetricFamily(
                f"rpnb_model_waiting_{name}", text, labels=("model",)
            )
            for model, figures in found.items():
                value = figures[name]
                family.add_metric((model,), nan if value is None else float(value))
            yield family
        family = GaugeMetricFamily(
            "rpnb_model_waiting_alarms",
            "Alarms for inputs, predicted classes (predictions) and errors.",
            labels=("model", "kind"),
        )
        for model, figures in found.items():
            for kind, count in figures["alarms_by_kind"].items():
                family.add_metric((model, kind), count)
        yield family
        family = GaugeMetricFamily(
            "rpnb_model_predicted_moved",
            "Share of the distribution of predicted classes that moved.",
            labels=("model",),
        )
        for model, figures in found.items():
            moved = figures["predicted_moved"]
            family.add_metric((model,), nan if moved is None else moved)
        yield family
        family = GaugeMetricFamily(
            "rpnb_model_input_moved",
            "Share of a feature's distribution that moved, for the largest ones.",
            labels=("model", "feature"),
        )
        for model, figures in found.items():
            for feature, distance in figures["distances"]:
                family.add_metric((model, feature), distance)
        yield family
