"""What people do in a world, and when: a scenario is data."""

from __future__ import annotations

from holdfast.config.settings import GatewaySettings
from holdfast.records import dataclass
from holdfast.testing.observation.history import Windows


@dataclass(frozen=True, slots=True)
class Say:
    """A person writes. A number is put behind work, a goal as well, so that no two are alike."""

    at: float
    text: str
    chat: str = "a"
    platform: str = "strong"
    exact: bool = False
    """No number is put behind it: an answer to a question."""
    person: str = ""
    """Who, where a chat is a group (its name begins with `group`)."""
    attached: bool = False
    """A file comes with it, where people can send files."""


@dataclass(frozen=True, slots=True)
class Press:
    """A person presses a button under the newest question of a chat; without one, nothing happens."""

    at: float
    option: int
    chat: str = "a"
    platform: str = "strong"
    person: str = ""
    """Who, where a chat is a group."""


@dataclass(frozen=True, slots=True)
class Revise:
    """A person changes (or, without text, takes back) the message they wrote last in this chat."""

    at: float
    text: str | None
    chat: str = "a"
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class Babble:
    """The platform sends something nobody can read."""

    at: float
    text: str = "{"
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class Outage:
    """A platform cannot be reached for a while."""

    at: float
    seconds: float
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class Refusing:
    """A platform takes no message for a while, each for good."""

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
    """Without one, all of them."""
    arrives: bool = False
    """People see them all the same."""


@dataclass(frozen=True, slots=True)
class FullDisk:
    """No commit finds room for a while."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class SetClock:
    """Somebody sets the machine's clock."""

    at: float
    milliseconds: int


@dataclass(frozen=True, slots=True)
class BootBeside:
    """Somebody starts a second gateway on the same home; it has to be turned away."""

    at: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Somebody asks the gateway to stop in order; it is started again afterwards."""

    at: float
    restart: bool = True
    at_once: bool = False
    """Nothing that runs is waited for."""
    on_claim: bool = False
    """Not at that time, but at the instant the next turn after it is claimed."""


@dataclass(frozen=True, slots=True)
class Die:
    """The process dies."""

    at: float
    away: float = 0.0
    """Seconds before anybody starts it again, beyond the usual."""
    power: bool = False
    """The whole machine does: nothing that ran in the background is there any more."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The person of a chat is not allowed to talk any more."""

    at: float
    chat: str = "a"
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class Admit:
    """They are allowed again."""

    at: float
    chat: str = "a"
    platform: str = "strong"


@dataclass(frozen=True, slots=True)
class BackUp:
    """An operator makes a backup while the gateway works, and tries it."""

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
    """Something done not at a time but at a point: in the commit after which so much stands in the ledger.

    If the point is never reached, it is done when nothing else is left to do.
    """

    entries: int
    """What people said, models replied and tools returned."""
    started: int
    """Calls that have been started."""
    act: Act


@dataclass(frozen=True, slots=True)
class Scenario:
    """Who does what, on which platforms."""

    name: str
    acts: tuple[Act, ...]
    settings: GatewaySettings = GatewaySettings()
    cues: tuple[Cue, ...] = ()
    """In the order in which they are waited for."""
    reads: int | None = None
    """Tokens its model can read at once; None: any number."""
    effects: bool = False
    """Whether the replies of its model have effects of their own."""

    @property
    def in_background(self) -> bool:
        """Whether something is started that outlives its turn."""
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
