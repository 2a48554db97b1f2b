"""What people do in a world, and when: a scenario is data."""

from __future__ import annotations

from holdfast.config.settings import GatewaySettings
from holdfast.records import dataclass
from holdfast.testing.observation.history import Windows


@dataclass(frozen=True, slots=True)
class Say:
    """A person writes. Work and goals get a number after their text, so that each is unique."""

    at: float
    text: str
    chat: str = "a"
    platform: str = "strong"
    exact: bool = False
    """Without a number, for an answer to a question."""
    person: str = ""
    """The author, in a group (its name begins with `group`)."""
    attached: bool = False
    """Whether a file comes with it, where people can send files."""


@dataclass(frozen=True, slots=True)
class Press:
    """A person presses a button under the newest question of a chat; without a question, nothing happens."""

    at: float
    option: int
    chat: str = "a"
    platform: str = "strong"
    person: str = ""
    """The person, in a group."""


@dataclass(frozen=True, slots=True)
class Revise:
    """A person edits (or, without text, deletes) their last message in this chat."""

    at: float
    text: str | None
    chat: str = "a"
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class Babble:
    """The platform sends an event that the gateway cannot read."""

    at: float
    text: str = "{"
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class Outage:
    """A platform is unreachable for a while."""

    at: float
    seconds: float
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class Refusing:
    """A platform refuses each message for a while, for good."""

    at: float
    seconds: float
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class BadGateway:
    """For a while a platform answers messages with this word in them by a 502, which says nothing."""

    at: float
    seconds: float
    platform: str = "strong"
    word: str = ""
    """Empty: all messages."""
    arrives: bool = False
    """Whether people see the messages all the same."""


@dataclass(frozen=True, slots=True)
class FullDisk:
    """For a while, the disk has no room for a commit."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class SetClock:
    """An operator sets the machine's clock."""

    at: float
    milliseconds: int


@dataclass(frozen=True, slots=True)
class BootBeside:
    """An operator starts a second gateway on the same home; it must be refused."""

    at: float


@dataclass(frozen=True, slots=True)
class Stop:
    """An operator asks the gateway to stop in order; it is started again afterwards."""

    at: float
    restart: bool = True
    at_once: bool = False
    """Whether running turns get no time to finish."""
    on_claim: bool = False
    """Whether it happens when the next turn after that time is claimed."""


@dataclass(frozen=True, slots=True)
class Die:
    """The process dies."""

    at: float
    away: float = 0.0
    """Seconds until the next start, beyond the usual pause."""
    power: bool = False
    """Whether the whole machine dies, with all background processes."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The person of a chat is not allowed to talk any more."""

    at: float
    chat: str = "a"
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class Admit:
    """The person is allowed again."""

    at: float
    chat: str = "a"
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class BackUp:
    """An operator makes a backup while the gateway works, and tests it."""

    at: float


ACTS = (
    *(Say, Press, Revise, Babble, Outage, Refusing, FullDisk, SetClock, BootBeside, Stop, Die, Bar, Admit),
    *(BackUp, BadGateway),
)
Act = (
    Say
    | Press
    | Revise
    | Babble
    | Outage
    | Refusing
    | BadGateway
    | FullDisk
    | SetClock
    | BootBeside
    | Stop
    | Die
    | Bar
    | Admit
    | BackUp
)


_SOMEWHERE = (Say, Press, Revise, Babble, Outage, Refusing, BadGateway, Bar, Admit)


@dataclass(frozen=True, slots=True)
class Cue:
    """An act at a point instead of a time: in the commit after which the ledger has this much.

    If the world never reaches the point, the act happens when nothing else is left to do.
    """

    entries: int
    """Entries that people, models and tools wrote."""
    started: int
    """Calls that have started."""
    act: Act


@dataclass(frozen=True, slots=True)
class Scenario:
    """All acts, and their platforms."""

    name: str
    acts: tuple[Act, ...]
    settings: GatewaySettings = GatewaySettings()
    cues: tuple[Cue, ...] = ()
    """In the order in which the world waits for them."""
    reads: int | None = None
    """Tokens that fit into the model's context; None: any number."""
    effects: bool = False
    """Whether the replies of its model have effects of their own."""

    @property
    def in_background(self) -> bool:
        """Whether a script starts a process that outlives its turn."""
        texts = [act.text for act in self.all_acts if isinstance(act, Say)]
        return any(word in text for text in texts for word in ("start:", "serve"))

    @property
    def all_acts(self) -> tuple[Act, ...]:
        return (*self.acts, *(cue.act for cue in self.cues))

    @property
    def platforms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(act.platform for act in self.all_acts if isinstance(act, _SOMEWHERE)))

    @property
    def windows(self) -> Windows:
        settings = self.settings
        return Windows(
            settings.recovery.window,
            settings.queue.backlog,
            settings.retry.age,
            settings.retry.aside,
            settings.retry.repeats,
        )

    @property
    def ends(self) -> float:
        return max((act.at for act in self.acts), default=0.0)
