"""What people and the world around do to platforms, clock and access: the acts that need no process."""

from __future__ import annotations

from holdfast.model import PersonId
from holdfast.policy.access import Access

from .observer import Observer
from .ports import WallClock
from .scenario import Admit, Babble, Bar, Outage, Press, Refusing, Revise, Say, Scenario, SetClock
from .servers import Server, is_group, person_in

STRANGER = "stranger"
"""The chat of somebody who may not talk."""

Outside = Say | Press | Revise | Babble | Outage | Refusing | Bar | Admit | SetClock


class People:
    """Everybody outside the gateway."""

    def __init__(
        self, scenario: Scenario, servers: dict[str, Server], observer: Observer, wall: WallClock
    ) -> None:
        self._servers = servers
        self._observer = observer
        self._wall = wall
        self._said: dict[tuple[str, str], str] = {}
        saying = [act for act in scenario.all_acts if isinstance(act, Say)]
        self._everybody = frozenset(
            PersonId(f"{act.platform}:{act.person or person_in(act.chat)}")
            for act in saying
            if act.chat != STRANGER
        )
        self._groups = frozenset(
            servers[act.platform].place(act.chat).address for act in saying if is_group(act.chat)
        )

    def access(self) -> Access:
        """Everybody may talk but strangers and who is let out; whoever is in chat `a` is an owner."""
        people = self._everybody - self._observer.barred
        return Access(frozenset(p for p in people if p.endswith("-a")), people, self._groups)

    def act(self, act: Outside, number: int) -> None:
        """Do one of these; a number behind a text tells it from all others."""
        match act:
            case Say():
                self._say(act, number)
            case Press(_, option, chat, platform, person):
                self._servers[platform].press(chat, option, person)
            case Revise():
                self._revise(act, number)
            case Babble(_, text, platform):
                self._servers[platform].babble("?", text)
            case Outage(_, seconds, platform):
                self._servers[platform].go_down(seconds)
            case Refusing(_, seconds, platform):
                self._servers[platform].refuse(seconds)
            case Bar(_, chat, platform):
                self._observer.bar(f"{platform}:{person_in(chat)}")
            case Admit(_, chat, platform):
                self._observer.admit(f"{platform}:{person_in(chat)}")
            case SetClock(_, milliseconds):
                self._wall.jump(milliseconds)
                self._observer.cover("clock set forward" if milliseconds > 0 else "clock set back")

    def _revise(self, act: Revise, number: int) -> None:
        said = self._said.get((act.platform, act.chat))
        if said is not None:
            revised = None if act.text is None else f"{act.text} #{number}"
            self._servers[act.platform].revise(act.chat, said, revised)

    def _say(self, act: Say, number: int) -> None:
        tagged = act.text if act.exact or act.text.startswith("/") else f"{act.text} #{number}"
        said = self._servers[act.platform].say(act.chat, tagged, person=act.person)
        self._said[act.platform, act.chat] = said
