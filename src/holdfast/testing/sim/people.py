"""What people and the world do to platforms, clock and access: the acts that need no process."""

from __future__ import annotations

from holdfast.model import PersonId
from holdfast.policy.intake.access import Access
from holdfast.testing.marks import STRANGER
from holdfast.testing.observation.observer import Observer

from .platforms.servers import PlatformServer, is_group, person_in
from .ports import WallClock
from .scenario import Admit, Babble, BadGateway, Bar, Outage, Press, Refusing, Revise, Say, Scenario, SetClock

Outside = Say | Press | Revise | Babble | Outage | Refusing | BadGateway | Bar | Admit | SetClock


class Crowd:
    """All people outside the gateway."""

    def __init__(
        self, scenario: Scenario, servers: dict[str, PlatformServer], observer: Observer, wall: WallClock
    ) -> None:
        self._servers = servers
        self._observer = observer
        self._wall = wall
        self._said: dict[tuple[str, str], str] = {}
        saying = [act for act in scenario.all_acts if isinstance(act, Say | Press)]
        known = [(act.platform, act.person or person_in(act.chat)) for act in saying if act.chat != STRANGER]
        self._everybody = frozenset(PersonId(servers[where].person_id(name)) for where, name in known)
        self.owners = frozenset(
            PersonId(servers[where].person_id(name)) for where, name in known if name.endswith("-a")
        )
        self._groups = frozenset(
            servers[act.platform].place(act.chat).address for act in saying if is_group(act.chat)
        )

    def access(self) -> Access:
        """Everyone may talk except strangers and barred people; the person in chat `a` is an owner."""
        people = self._everybody - self._observer.barred
        return Access(self.owners & people, people, self._groups)

    def act(self, act: Outside, number: int) -> None:
        """Do one of these; a number after a text makes it unique."""
        match act:
            case Say():
                self._say(act, number)
            case Press(_, option, chat, platform, person):
                self._servers[platform].press(chat, option, person)
            case Revise():
                self._revise(act, number)
            case Babble() | Outage() | Refusing() | BadGateway():
                self._to_platform(act)
            case Bar(_, chat, platform):
                self._observer.bar(self._servers[platform].person_id(person_in(chat)))
            case Admit(_, chat, platform):
                self._observer.admit(self._servers[platform].person_id(person_in(chat)))
            case SetClock(_, milliseconds):
                self._wall.jump(milliseconds)
                self._observer.cover("clock set forward" if milliseconds > 0 else "clock set back")

    def _to_platform(self, act: Babble | Outage | Refusing | BadGateway) -> None:
        server = self._servers[act.platform]
        match act:
            case Babble():
                server.babble("?", act.text)
            case Outage():
                server.go_down(act.seconds)
            case Refusing():
                server.refuse(act.seconds)
            case BadGateway():
                server.answer_badly(act)

    def _revise(self, act: Revise, number: int) -> None:
        said = self._said.get((act.platform, act.chat))
        if said is not None:
            revised = None if act.text is None else f"{act.text} #{number}"
            self._servers[act.platform].revise(act.chat, said, revised)

    def _say(self, act: Say, number: int) -> None:
        command = act.text.startswith("/") and not _is_work(act.text)
        tagged = act.text if act.exact or command else f"{act.text} #{number}"
        server = self._servers[act.platform]
        if act.attached:
            said = server.give(act.chat, tagged, f"the notes of {tagged}".encode() * 9, act.person)
        else:
            said = server.say(act.chat, tagged, person=act.person)
        self._said[act.platform, act.chat] = said


def _is_work(text: str) -> bool:
    """Whether it is a script: a message or a goal."""
    word, _, script = text.partition(" ")
    return word == "/goal" and script not in ("", "stop")
