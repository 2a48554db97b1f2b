"""What monitoring reads: figures of this process, and a few that the ledger knows by index."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from holdfast import __version__
from holdfast.app.counting import BOUNDS, Counts
from holdfast.app.door import Inside
from holdfast.app.lifecycle import RunState
from holdfast.model import Instance
from holdfast.policy.settings import SECOND
from holdfast.store import Continuity, KeptReport

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class Metrics:
    """Everything is put together when it is asked for."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside

    async def __call__(self, request: Request) -> Response:
        from prometheus_client import CollectorRegistry  # noqa: PLC0415 - a start does not wait for it
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest  # noqa: PLC0415 - as above

        store = self._inside.store
        found = [
            *_of_process(self._inside.counts, self._inside.state()),
            *_of_ledger(await store.continuity()),
            *_of_recovery(await store.instances(1), await store.continuity_reports(1)),
        ]
        registry = CollectorRegistry()
        registry.register(_Found(found))
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Found:
    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _of_process(counts: Counts, state: RunState) -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily, InfoMetricFamily  # noqa: PLC0415 - as above

    version = {"version": __version__, "python": platform.python_version()}
    yield InfoMetricFamily("holdfast_build", "What runs.", value=version)
    yield _gauge("holdfast_ready", "Whether turns are begun.", int(state is RunState.RUNNING))
    yield _counters("holdfast_turns", "Turns ended, by the state they ended in.", "state", counts.turns)
    yield _counters("holdfast_interruptions", "Turns cut off.", "reason", counts.interruptions)
    yield _counters("holdfast_recovery_decisions", "What recovery decided.", "outcome", counts.decisions)
    yield _counter("holdfast_claims", "Turns begun or taken up again.", counts.claimed)
    yield _counter("holdfast_resumes", "Turns taken up again.", counts.resumed)
    yield _counter("holdfast_unknown_sends", "Sends whose outcome became unknown.", counts.unknown)
    names = [*map(str, BOUNDS), "+Inf"]
    yield HistogramMetricFamily(
        "holdfast_commit_seconds",
        "From a step's end to its commit.",
        buckets=list(zip(names, accumulate(counts.commits), strict=True)),
        sum_value=counts.commit_seconds,
    )


def _of_ledger(left: Continuity) -> Iterator[Metric]:
    yield _gauge("holdfast_messages_waiting", "Messages nobody has begun to answer.", left.waiting)
    yield _gauge("holdfast_turns_open", "Turns that have not ended.", len(left.open_turns))
    yield _gauge("holdfast_deliveries_owed", "Parts of replies not sent yet.", left.owed)
    yield _gauge("holdfast_deliveries_unknown", "Parts of replies of unknown outcome.", left.unknown)


def _of_recovery(runs: tuple[Instance, ...], reports: tuple[KeptReport, ...]) -> Iterator[Metric]:
    """How long this process took until everything the one before it left was decided on."""
    if runs and reports and reports[0].instance == runs[0].id:
        seconds = max(0, reports[0].at - runs[0].started_at) / SECOND
        yield _gauge("holdfast_recovery_seconds", "From this run's start to recovery's first look.", seconds)


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
