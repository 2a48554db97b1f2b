"""One tree of errors; each class says whose fault it is and whether another try can help.

HoldfastError
├── Refused            the ledger refused: the caller's facts were old. Read again, do not repeat the write.
│   ├── StaleWrite         the turn has a newer generation, another owner or no owner
│   ├── StopAsked          a person asked this turn to stop; only its cancellation may be written
│   ├── WrongState         the row is not in a state from which this verb starts
│   ├── RuleRevoked        the rule under which a call would start is not in force any more
│   ├── ForbiddenTransition  no such arrow in the state table (a bug of Holdfast)
│   ├── NotFound           no such row
│   └── ConstraintBroken   a rule of the schema forbids it (a bug of Holdfast, or a hand-made row)
├── StoreFault         the machine's fault: nothing of the transaction was kept
│   ├── DiskFull           stop acknowledging, try again when there is room
│   ├── StoreUnavailable   busy or unreadable for now: try again
│   ├── SyncFailed         what the disk holds is unknown: end the process, recover at the next start
│   └── StoreClosed        the store was closed before the commit
├── BadRequest         the request itself is wrong: the message says what is expected
└── Unusable           the set-up's fault: a person has to change something (exit 78)
    ├── HomeLocked         another gateway runs on this home
    ├── SchemaTooNew       the ledger was written by a newer Holdfast
    ├── WeakDurability     the database will not keep what it confirms
    ├── BadConfig          a key has a value that is not allowed
    ├── Damaged            the ledger's file cannot be read
    └── BadAgent           the agent that the configuration names cannot be found or used
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = [
    "BadAgent",
    "BadConfig",
    "BadRequest",
    "ConstraintBroken",
    "DiskFull",
    "ForbiddenTransition",
    "HoldfastError",
    "HomeLocked",
    "NotFound",
    "Refused",
    "Report",
    "RuleRevoked",
    "SchemaTooNew",
    "StaleWrite",
    "StopAsked",
    "StoreClosed",
    "StoreFault",
    "StoreUnavailable",
    "SyncFailed",
    "Unusable",
    "WeakDurability",
    "WrongState",
    "unreported",
]

LONGEST_SHOWN = 100
"""How many characters of a wrong value an error message repeats."""

Report = Callable[[str, BaseException], None]
"""Takes what a stage was doing and what went wrong, for the operator; must not raise."""


def unreported(doing: str, fault: BaseException) -> None:
    """Drops the report."""


class HoldfastError(Exception):
    """The base of all errors that Holdfast raises on purpose."""


class Refused(HoldfastError):
    """The ledger refused the write and changed nothing."""


class StaleWrite(Refused):
    """The turn has moved on: this process no longer owns it, and nothing was written."""

    def __init__(self, turn: str, generation: int) -> None:
        super().__init__(
            f"this run (generation {generation}) no longer owns turn {turn}; nothing was written"
        )
        self.turn = turn
        self.generation = generation


class StopAsked(Refused):
    """A person asked this turn to stop, so it may start nothing new and may not finish."""

    def __init__(self, turn: str) -> None:
        super().__init__(f"turn {turn} was asked to stop; nothing was written")
        self.turn = turn


class WrongState(Refused):
    """The row is in a state from which this verb does not start."""

    def __init__(self, what: str, found: str | None, wanted: str) -> None:
        super().__init__(f"{what} is {found or 'absent'}, not {wanted}; nothing was written")
        self.what = what
        self.found = found
        self.wanted = wanted


class RuleRevoked(Refused):
    """The rule under which a call would start is not in force in its chat: read again, and ask a person."""

    def __init__(self, rule: int, call: str) -> None:
        super().__init__(f"rule {rule} is not in force for call {call}; nothing was written")
        self.rule = rule
        self.call = call


class ForbiddenTransition(Refused):
    """The state table has no such arrow."""

    def __init__(self, machine: str, source: str, target: str) -> None:
        super().__init__(f"{machine}: {source} → {target} is not in the state table")
        self.machine = machine
        self.source = source
        self.target = target


class NotFound(Refused):
    """There is no such row."""

    def __init__(self, what: str, which: object) -> None:
        super().__init__(f"there is no {what} {which}")
        self.what = what
        self.which = which


class ConstraintBroken(Refused):
    """A rule of the schema forbids the write; it was rolled back."""


class StoreFault(HoldfastError):
    """The machine failed; nothing of this transaction was kept."""


class DiskFull(StoreFault):
    """The disk is full: nothing was kept, and nothing may be acknowledged until there is room."""


class StoreUnavailable(StoreFault):
    """The database could not be used just now; nothing was kept, and another try may help."""


class SyncFailed(StoreFault):
    """The disk did not confirm a sync, so only a new start can tell what it holds."""


class StoreClosed(StoreFault):
    """The store was closed before this transaction was committed."""


class BadRequest(HoldfastError):
    """The request itself is wrong; the message says what is expected. Nothing was changed."""

    @classmethod
    def value(cls, name: str, value: object, allowed: str) -> BadRequest:
        """An error about a value that is not allowed; a very long value is shortened in the message."""
        shown = repr(value)
        if len(shown) > LONGEST_SHOWN:
            shown = f"{shown[:LONGEST_SHOWN]}… ({len(shown)} characters)"
        return cls(f"{name} = {shown} is not allowed; allowed: {allowed}")


class Unusable(HoldfastError):
    """Holdfast cannot start with this set-up; the message says what to change."""


class HomeLocked(Unusable):
    """Another gateway holds the lock of this home."""

    def __init__(self, home: str, holder: str) -> None:
        super().__init__(
            f"another gateway ({holder or 'unknown process'}) runs on {home}; nothing was changed. "
            "Stop it first, or choose another home."
        )
        self.home = home
        self.holder = holder


class SchemaTooNew(Unusable):
    """A newer Holdfast wrote the ledger; it was not changed."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"this ledger has schema {found}, this Holdfast knows up to {known}; nothing was changed. "
            "Run the newer version, or restore a backup made by this one."
        )
        self.found = found
        self.known = known


class Damaged(Unusable):
    """The ledger's file cannot be read; another start does not help."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(
            f"the ledger {path} is damaged ({cause}); nothing was changed. Keep a copy of it, and put a "
            "backup in its place with `holdfast restore`."
        )
        self.path = path


class WeakDurability(Unusable):
    """The database would confirm commits that it may lose."""


class BadConfig(Unusable):
    """A configuration key has a value that is not allowed."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"{key} = {value!r} is not allowed; allowed: {allowed}")
        self.key = key
        self.value = value
        self.allowed = allowed


class BadAgent(Unusable):
    """The agent that the configuration names cannot be used."""

    def __init__(self, module: str, attribute: str, cause: str) -> None:
        name = f"{module}:{attribute}" if attribute else module
        super().__init__(f"the agent {name!r} cannot be used: {cause}")
        self.module = module
        self.attribute = attribute
        self.cause = cause
