"""The metrics: counters of this process, and a few figures that the ledger counts by an index."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from holdfast import __version__
from holdfast.api.frontend import RunningGateway
from holdfast.gateway.metrics import BOUNDS, ProcessTotals
from holdfast.policy.settings import SECOND
from holdfast.store import Overview

from .events import Streams

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class Metrics:
    """Collects all figures at each request."""

    def __init__(self, inside: RunningGateway, streams: Streams) -> None:
        self._inside = inside
        self._streams = streams

    async def __call__(self, request: Request) -> Response:
        from prometheus_client import CollectorRegistry  # noqa: PLC0415 - a start does not wait for it
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest  # noqa: PLC0415 - as above

        inside = self._inside
        ledger = await inside.store.overview(inside.clock.now(), runs=1)
        found = [
            *_of_process(inside.counts, inside.is_ready()),
            _gauge("holdfast_streams_open", "Open event streams.", self._streams.count),
            *_of_ledger(ledger),
            *_of_run(ledger),
        ]
        registry = CollectorRegistry()
        registry.register(_Collected(found))
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Collected:
    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


_SINCE = "since this process began (the ledger holds all of them)"


def _of_process(counts: ProcessTotals, ready: bool) -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily, InfoMetricFamily  # noqa: PLC0415 - as above

    version = {"version": __version__, "python": platform.python_version()}
    yield InfoMetricFamily("holdfast_build", "The version that runs.", value=version)
    yield _gauge("holdfast_ready", "1 if the gateway starts turns, as /readyz says.", int(ready))
    yield _counters(
        "holdfast_turns",
        f"Turns ended by runs, stops and recovery, by state, {_SINCE}.",
        "state",
        counts.turns,
    )
    yield _counters(
        "holdfast_interruptions",
        f"Turns found or cut off, by reason, {_SINCE}.",
        "reason",
        counts.interruptions,
    )
    yield _counters(
        "holdfast_recovery_decisions", f"What recovery decided, {_SINCE}.", "outcome", counts.decisions
    )
    yield _counter("holdfast_claims", f"Turns started or resumed, {_SINCE}.", counts.claimed)
    yield _counter("holdfast_resumes", f"Turns resumed, {_SINCE}.", counts.resumed)
    yield _counter("holdfast_unknown_sends", f"Sends whose outcome became unknown, {_SINCE}.", counts.unknown)
    names = [*map(str, BOUNDS), "+Inf"]
    yield HistogramMetricFamily(
        "holdfast_commit_seconds",
        f"From a step's end to its commit, {_SINCE}.",
        buckets=list(zip(names, accumulate(counts.commits), strict=True)),
        sum_value=counts.commit_seconds,
    )


def _of_ledger(found: Overview) -> Iterator[Metric]:
    """Work that is open now. An index of the open rows serves each count."""
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    stands = dict.fromkeys(("queued", "running", "waiting", "interrupted"), 0)
    for one in found.open_turns:
        stands[one.state.value] += one.count
    turns = GaugeMetricFamily(
        "holdfast_turns_open", "Turns in the ledger that have not ended.", labels=["state"]
    )
    for state, count in stands.items():
        turns.add_metric([state], count)
    yield turns
    yield _gauge("holdfast_messages_waiting", "Messages in the ledger that wait for a turn.", found.waiting)
    yield _gauge(
        "holdfast_deliveries_owed", "Parts of replies in the ledger that are not sent yet.", found.owed
    )
    yield _gauge(
        "holdfast_deliveries_unknown",
        "Parts of replies in the ledger whose outcome is unknown.",
        found.unknown,
    )
    yield _gauge("holdfast_sessions_parked", "Sessions in the ledger that are parked.", found.parked)


def _of_run(found: Overview) -> Iterator[Metric]:
    """When this run began, and how long recovery took to decide about the work of the run before."""
    (run,) = found.instances[:1] or (None,)
    if run is None:
        return
    yield _gauge(
        "holdfast_start_time_seconds",
        "When this run began, in seconds since 1970, from the ledger.",
        run.started_at / SECOND,
    )
    if found.reports and found.reports[0].instance == run.id:
        seconds = max(0, found.reports[0].at - run.started_at) / SECOND
        yield _gauge(
            "holdfast_recovery_seconds",
            "Time from this run's start until recovery had decided about all it found, from the ledger.",
            seconds,
        )


def _gauge(name: str, words: str, value: float) -> Metric:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    return GaugeMetricFamily(name, words, value=value)


def _counter(name: str, words: str, value: float) -> Metric:
    from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415 - as above

    return CounterMetricFamily(name, words, value=value)


def _counters(name: str, words: str, label: str, values: Mapping[str, int]) -> Metric:
    from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415 - as above

    family = CounterMetricFamily(name, words, labels=[label])
    for which, count in sorted(values.items()):
        family.add_metric([which], count)
    return family
