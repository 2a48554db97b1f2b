"""Which entries a model is shown: undo markers remove entries, summaries replace them."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from holdfast.model import Entry, Summed, Undone
from holdfast.records import dataclass

from .problems import ProblemKind

MARKERS = (Undone, Summed)


@dataclass(frozen=True, slots=True)
class Range:
    """A marker and the part of its range that lies before it."""

    marker: Entry
    first: int
    last: int

    def touches(self, other: Range) -> bool:
        return self.first <= other.last and other.first <= self.last

    def covers(self, other: Range) -> bool:
        return self.first <= other.first and other.last <= self.last


@dataclass(frozen=True, slots=True)
class MarkerFault:
    """Something wrong with a marker."""

    kind: ProblemKind
    entry: Entry
    words: str


@dataclass(frozen=True, slots=True)
class Markers:
    """The effect of all markers of a transcript together."""

    undone: frozenset[int]
    summaries: tuple[Range, ...]
    """The valid summaries, oldest first; where two overlap, the later one counts."""
    faults: tuple[MarkerFault, ...]

    def stand_for(self, first: int, last: int) -> bool:
        """Whether one summary replaces all of `first`..`last`."""
        return any(summary.first <= first and last <= summary.last for summary in self.summaries)


def read_markers(entries: Sequence[Entry]) -> Markers:
    """Read the markers of a transcript whose entries are in order."""
    faults: list[MarkerFault] = []
    undos: list[Range] = []
    sums: list[Range] = []
    for entry in entries:
        body = entry.body
        if isinstance(body, MARKERS):
            if body.first < 0 or body.first > body.last or body.last >= entry.seq:
                faults.append(_bad_range(entry, body))
            found = Range(entry, body.first, min(body.last, entry.seq - 1))
            if found.first <= found.last:
                (undos if isinstance(body, Undone) else sums).append(found)
    undone = _seqs_within(entries, undos)
    summaries = [s for s in sums if s.marker.seq not in undone and not _dissolved(s, undos)]
    faults += _overlaps(summaries)
    return Markers(undone, tuple(summaries), tuple(faults))


def visible_entries(entries: Sequence[Entry], markers: Markers) -> Iterator[Entry]:
    """Yield the entries of the view in order; a summary comes at the first place that it replaces."""
    undone = markers.undone
    if not markers.summaries:
        for entry in entries:
            if entry.seq not in undone and not isinstance(entry.body, MARKERS):
                yield entry
        return
    places: dict[int, Entry | None] = {summary.first: None for summary in markers.summaries}
    places.update((entry.seq, entry) for entry in entries)
    given: set[int] = set()
    for place, summary in _covered(sorted(places), markers.summaries):
        here = places[place]
        if summary is None:
            if here and place not in undone and not isinstance(here.body, MARKERS):
                yield here
        elif summary.marker.seq not in given:
            given.add(summary.marker.seq)
            yield summary.marker


def _covered(places: Sequence[int], summaries: Sequence[Range]) -> Iterator[tuple[int, Range | None]]:
    """Pair each place with the latest summary that covers it."""
    coming = sorted(summaries, key=lambda summary: summary.first, reverse=True)
    latest: list[tuple[int, int, Range]] = []
    for place in places:
        while coming and coming[-1].first <= place:
            summary = coming.pop()
            heapq.heappush(latest, (-summary.marker.seq, summary.last, summary))
        while latest and latest[0][1] < place:
            heapq.heappop(latest)
        yield place, latest[0][2] if latest else None


def _seqs_within(entries: Sequence[Entry], ranges: Sequence[Range]) -> frozenset[int]:
    seqs = [entry.seq for entry in entries] if ranges else []
    within: set[int] = set()
    reached = 0
    for found in sorted(ranges, key=lambda r: r.first):
        # Ranges are sorted by their start, so the entries before `reached` are in the set already.
        start = max(bisect_left(seqs, found.first), reached)
        reached = max(bisect_right(seqs, found.last), reached)
        within.update(seqs[start:reached])
    return frozenset(within)


def _dissolved(summary: Range, undos: Sequence[Range]) -> bool:
    """Whether a later undo in its range makes a summary wrong, so that the originals are shown again."""
    return any(undo.marker.seq > summary.marker.seq and undo.touches(summary) for undo in undos)


def _overlaps(summaries: Sequence[Range]) -> Iterator[MarkerFault]:
    """Name each summary that covers a part, but not all, of an earlier one that still counts."""
    valid: list[Range] = []
    for summary in summaries:
        valid = [earlier for earlier in valid if not summary.covers(earlier)]
        if any(summary.touches(earlier) for earlier in valid):
            words = f"the summary at entry {summary.marker.seq} overlaps an earlier one"
            yield MarkerFault(ProblemKind.OVERLAPPING_SUMMARY, summary.marker, words)
        valid.append(summary)


def _bad_range(entry: Entry, body: Undone | Summed) -> MarkerFault:
    what = "undo" if isinstance(body, Undone) else "summary"
    words = f"the {what} at entry {entry.seq} names entries {body.first} to {body.last}, which is impossible"
    return MarkerFault(ProblemKind.BAD_RANGE, entry, words)
