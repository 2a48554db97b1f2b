"""Random worlds: people with habits, platforms of every kind, and different faults for each seed.

Every seed leaves out a random part of all faults: few faults show what many faults at once hide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace

from holdfast.model import OnInterruption
from holdfast.policy.settings import (
    HOUR,
    MINUTE,
    SECOND,
    ApprovalSettings,
    Approver,
    Ruling,
    SafeModeSettings,
)
from holdfast.records import dataclass
from holdfast.testing.marks import STRANGER
from holdfast.testing.sim.faults import FaultRates
from holdfast.testing.sim.platforms.bot_names import BOT
from holdfast.testing.sim.platforms.kinds import EVERY
from holdfast.testing.sim.ports import SeededRng
from holdfast.testing.sim.scenario import (
    Act,
    Admit,
    Babble,
    BackUp,
    Bar,
    BootBeside,
    Die,
    FullDisk,
    Outage,
    Press,
    Refusing,
    Revise,
    Say,
    Scenario,
    SetClock,
    Stop,
)

from .options import Options
from .permissions import allows_always, decides
from .random_settings import ASKING, random_settings

DAYTIME = 10.0
"""Seconds in which people act."""
WORK = (
    *("plain", "plain", "tools effect", "tools read idempotent effect reconcilable", "parallel"),
    *("tools reconcilable+reconcilable read", "tools reconcilable reconcilable reconcilable"),
    *("tools effect+read", "long 4", "slow 3", "wordy 9", "wordy 30", "fail"),
    *("tools give", "tools read give+effect"),
)
ATTACHED = ("tools read give+effect", "wordy 9", "tools effect+read")
"""What people write together with a file."""
BACKGROUND = (
    *("tools start:3", "tools start:6:2:look read", "tools start:2 wait", "tools serve look"),
    *("tools start:4+start:5", "tools start:1:quiet read look", "tools serve:x:2 read kill"),
    *("tools start:8:3:5:look", "tools read start:2"),
)
TOPIC = "group/1"
"""A topic of a group: its people share one conversation."""
REAL, REAL_PLATFORMS = 0.25, (BOT, BOT, "web")
"""How often one platform has its real adapter."""
READ_ALONG = 0.2
"""How often readers follow the feeds of all chats."""
ALWAYS = 0.4
"""How often an owner allows calls always, where calls need consent."""
READS = 900
"""Tokens of a model's context, where a person writes a lot."""
CHANCES = FaultRates(
    lost_request=0.06,
    lost_response=0.06,
    throttled=0.06,
    refused=0.03,
    down=0.03,
    duplicate=0.1,
    slow=0.05,
    blocked=0.015,
    disk_full=0.02,
    sync_failed=0.004,
    model_errors=0.05,
    model_slow=0.05,
    tool_breaks=0.04,
    tool_hangs=0.03,
    process_blind=0.1,
)
"""The highest rate of each fault, if a seed has it at all."""


@dataclass(frozen=True, slots=True)
class WorldPerson:
    """One person in a chat."""

    chat: str
    platform: str
    name: str = ""

    def says(self, at: float, text: str, exact: bool = False) -> Say:
        # A person who writes to a bot attaches a file now and then, always with the same words.
        attached = self.platform == BOT and not exact and text in ATTACHED
        return Say(at, text, self.chat, self.platform, exact, self.name, attached)


Habit = Callable[[WorldPerson, SeededRng, float], Iterable[Act]]
"""What a person does from a given time on."""


def _asks(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield person.says(at, rng.choice(WORK))


def _double_texts(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    for place in range(rng.randint(2, 4)):
        yield person.says(at + 0.1 * place, rng.choice(WORK))


def _stops_in_anger(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield from rng.choice((_asks, _double_texts))(person, rng, at)
    for _ in range(rng.randint(1, 3)):
        at += rng.uniform(0.1, 1.2)
        yield person.says(at, "/stop")
    yield person.says(at + rng.uniform(0, 2), "plain")


def _has_second_thoughts(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield from _double_texts(person, rng, at)
    text = rng.choice([None, "plain", "tools read"])
    yield Revise(at + rng.uniform(0, 1.5), text, person.chat, person.platform)


def _answers_old_questions(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield person.says(at, rng.choice(("tools read effect", "long 4")))
    for _ in range(rng.randint(1, 3)):
        at += rng.uniform(1, 12)
        yield person.says(at, rng.choice(("continue", "drop", "yes", "2", "stop")), exact=True)
    yield Press(at + rng.uniform(0, 6), rng.randint(0, 1), person.chat, person.platform, person.name)


def _begins_anew(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield from _double_texts(person, rng, at)
    yield person.says(at + rng.uniform(0.2, 1.5), rng.choice(("/new", "/forget everything")))
    yield person.says(at + rng.uniform(1.5, 3), rng.choice(WORK))


def _commands(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield person.says(at, rng.choice(WORK))
    for _ in range(rng.randint(1, 3)):
        at += rng.uniform(0.3, 3)
        words = ("/undo", "/retry", "/resume", "/status", "/help", "/sessions", "/nonsense", "/restart")
        yield person.says(at, rng.choice(words))


def _steers(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield person.says(at, f"/queue {rng.choice(('steer', 'collect', 'interrupt', 'queue'))}")
    yield person.says(at + 0.3, rng.choice(("long 4", "slow 3", "tools read effect")))
    yield from _double_texts(person, rng, at + rng.uniform(0.5, 1.5))


def _is_poison(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield person.says(at, rng.choice(("crash", "crash 2", "crash 70")))
    yield person.says(at + rng.uniform(0, 9), "plain")


def _is_let_out(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield from _double_texts(person, rng, at)
    at += rng.uniform(0, 2)
    yield Bar(at, person.chat, person.platform)
    yield person.says(at + 0.5, "plain")
    if rng.random() < 0.5:
        at += rng.uniform(1, 6)
        yield Admit(at, person.chat, person.platform)
        yield person.says(at + 0.2, "plain")


def _is_asked(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    """Work is cut off where people want to be asked about it; then one of the possible answers follows."""
    yield person.says(at, "tools read effect")
    yield Die(at + rng.uniform(0.4, 1.2))
    if rng.random() < 0.2:
        yield Refusing(at + 1.2, 12, person.platform)
    yield from _answers(person, rng, at + rng.uniform(8, 11))


def _answers(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield rng.choice(
        (
            person.says(at, "continue", exact=True),
            person.says(at, "drop", exact=True),
            person.says(at, "plain"),
            person.says(at, "/stop"),
            person.says(at, "/new"),
            SetClock(at, 2 * HOUR),
        )
    )


def _is_stopped_without_room(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    """The disk is full when the model's reply comes, before the process ends: only its last write remains."""
    yield person.says(at, rng.choice(("tools effect read", "parallel", "plain", "wordy 30")))
    yield FullDisk(at + 0.3, 0.6)
    yield Stop(at + rng.uniform(0.85, 1.1), at_once=True)
    if rng.random() < 0.3:
        yield person.says(at + rng.uniform(0.9, 1.2), rng.choice(("/stop", "/new")))
    yield from _answers(person, rng, at + rng.uniform(8, 11))


def _runs_in_background(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield person.says(at, rng.choice(BACKGROUND))
    at += rng.uniform(0.5, 6)
    if rng.random() < 0.7:
        words = ("tools look", "tools kill", "tools write look", "tools list wait", "slow 3", "/new", "/stop")
        yield person.says(at, rng.choice(words))
    if rng.random() < 0.5:
        yield Die(at + rng.uniform(0, 4), away=rng.choice((0, 5)), power=rng.random() < 0.8)


def _is_cut_off(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    """The cut comes in a tool that can be asked, or during a process that is lost with its machine."""
    if rng.random() < 0.6:
        yield person.says(at, "tools reconcilable reconcilable reconcilable reconcilable")
        yield from (Die(at + begins + rng.uniform(0.5, 0.75)) for begins in (0, 7))
    else:
        yield person.says(at, rng.choice(("tools serve", "tools start:9:3:5:look", "tools start:6:2:look")))
        yield Die(at + rng.uniform(1.5, 5), power=rng.random() < 0.6)


def _has_a_goal(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    yield person.says(at, f"/goal {rng.choice(('reach 2', 'block 2', 'endless', 'endless'))}")
    if rng.random() < 0.5:
        at += rng.uniform(0.3, 4)
        yield person.says(at, rng.choice(("plain", "/goal stop", "/goal", "/stop", "/new", "/goal reach 1")))


def _says_much(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    for place in range(rng.randint(3, 5)):
        yield person.says(at + 1.6 * place, rng.choice(("tools bulky", "tools bulky", "wordy 30")))
    if rng.random() < 0.4:
        yield person.says(at + rng.uniform(4, 9), rng.choice(("/undo", "/retry", "/stop", "/new")))


def _is_asked_by_the_model(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    work = ("tools ask_person effect", "tools ask_person+read", "tools read effect")
    yield person.says(at, rng.choice(work))
    for _ in range(rng.randint(1, 3)):
        at += rng.uniform(4, 9)
        yield person.says(at, rng.choice(("blue", "yes", "no", "2")), exact=True)


def _gives_consent(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    """Effects need consent here: one of the possible answers follows, and perhaps one more."""
    yield person.says(at, rng.choice(("tools read effect", "tools effect+read+effect", "tools effect")))
    for _ in range(rng.randint(2, 4)):
        at += rng.uniform(4, 10)
        answers: list[Act] = [person.says(at, word, exact=True) for word in ("yes", "yes", "no")]
        answers += [Press(at, option, person.chat, person.platform, person.name) for option in (0, 0, 1)]
        answers += [person.says(at, "plain"), person.says(at, "/stop"), SetClock(at, 2 * HOUR)]
        yield rng.choice(answers)


def _is_spoken_for(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    """Where people share a conversation, others try to answer a question that one of them got."""
    asked, other, owner = (WorldPerson(TOPIC, person.platform, name) for name in ("ann", "bob", "person-a"))
    yield asked.says(at, rng.choice(("tools read effect read", "tools ask_person effect", "tools read give")))
    if rng.random() < 0.5:
        yield Die(at + rng.uniform(0.4, 1.6))
    for _ in range(rng.randint(1, 3)):
        at += rng.uniform(3, 8)
        yield from _interferes(rng.choice((other, other, owner)), rng, at)
    yield from _answers(asked, rng, at + rng.uniform(1, 4))


def _interferes(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    said = ("continue", "continue", "drop", "stop", "yes", "blue")
    acts: list[Act] = [person.says(at, word, exact=True) for word in said]
    acts += [Press(at, option, person.chat, person.platform, person.name) for option in (0, 0, 0, 1)]
    acts += [person.says(at, "plain"), person.says(at, "/resume")]
    yield rng.choice(acts)


def _is_paused(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    """Work is cut off and the gateway starts in safe mode; then one of the possible reactions follows."""
    yield person.says(at, rng.choice(("slow 3", "long 4", "tools read effect", "wordy 30")))
    yield Die(at + rng.uniform(0.4, 1.2))
    yield Die(at + rng.uniform(2, 12))
    at += rng.uniform(14, 20)
    for _ in range(rng.randint(0, 2)):
        yield person.says(at, rng.choice(("plain", "plain", "tools read", "/status")))
        at += rng.uniform(0.2, 3)
    yield from _answers(person, rng, at + rng.uniform(1, 30))


def _insists(person: WorldPerson, rng: SeededRng, at: float) -> Iterable[Act]:
    """A person repeats the message that kills the gateway, whatever the gateway answers."""
    for _ in range(rng.randint(3, 6)):
        yield person.says(at, rng.choice(("crash", "crash", "crash 2", "plain")))
        at += rng.uniform(6, 25)
    yield person.says(at, rng.choice(("plain", "/release", "/resume", "/new")))


DANGERS: tuple[Habit, ...] = (_is_paused, _is_paused, _insists)
"""Habits that cause safe mode, or one park after the other."""
PRELUDES: tuple[Habit, ...] = (_is_asked, _is_stopped_without_room)
"""Habits that lead to states that are rare otherwise; all others follow later."""
HABITS: tuple[Habit, ...] = (
    *(_asks, _asks, _double_texts, _double_texts, _stops_in_anger, _has_second_thoughts),
    *(_answers_old_questions, _begins_anew, _commands, _steers, _is_poison, _is_poison, _is_let_out),
    *(_runs_in_background, _runs_in_background, _runs_in_background, _has_a_goal, _has_a_goal, _says_much),
    *(_is_asked_by_the_model, _gives_consent, _gives_consent),
    *(_is_spoken_for, _is_spoken_for, _is_spoken_for, _is_cut_off, _is_cut_off),
)


def random_world(seed: int) -> tuple[Scenario, Options]:
    """A scenario with people, kills and faults, all drawn from the seed."""
    rng = SeededRng("swarm", seed)
    platforms = rng.sample(sorted((*EVERY, "telegram")), rng.randint(1, 2))
    if rng.random() < REAL:
        platforms[-1] = rng.choice(REAL_PLATFORMS)
        # A gateway serves one account of a platform.
        platforms = [name for name in platforms if name != "telegram"]
    acts: list[Act] = []
    begins, asking = 0.0, False
    if rng.random() < 0.4:
        acts += rng.choice(PRELUDES)(_somebody(rng, platforms), rng, 0.1)
        asking = rng.random() < 0.8
        # The others do not wait until that is over.
        begins = max(act.at for act in acts) * rng.choice((0.2, 0.6, 1.0))
    habits = [rng.choice(HABITS) for _ in range(rng.randint(2, 4))]
    for habit in habits:
        acts += habit(_somebody(rng, platforms), rng, begins + rng.uniform(0, DAYTIME))
    acts += _around(rng, platforms, begins)
    rates = _rates(rng)
    settings = random_settings(rng, platforms[0], rates)
    if asking:
        settings = replace(settings, on_interruption=OnInterruption.ASK)
    if _gives_consent in habits:
        # Where an owner can be asked, the owner decides about the effects of all others.
        people = Approver.OWNER if settings.owner_chat is not None else Approver.OWN
        settings = replace(settings, approvals=ApprovalSettings(effect=Ruling.ASK, people=people))
    if _is_spoken_for in habits:
        settings = rng.choice(ASKING)(settings)
    options = Options(
        seed=seed,
        kill_rate=rng.choice([0.0, 0.002, 0.005, 0.01]),
        edge_rate=rng.choice([0.0, 0.0, 0.01, 0.03]),
        most_kills=rng.randint(2, 12),
        faults=rates,
        most_steps=150_000,
        readers=rng.random() < READ_ALONG,
        # The gateway tells an owner about safe mode, which one more crash may cause.
        boots_twice=settings.owner_chat is None,
    )
    acts.sort(key=lambda act: act.at)
    reads = READS if _says_much in habits else None
    # Drawn last, so that everything else in the world of this seed stays the same.
    effects = rng.random() < 0.08
    if rng.random() < 0.15:
        acts += rng.choice(DANGERS)(_somebody(rng, platforms), rng, rng.uniform(0, DAYTIME))
        acts.sort(key=lambda act: act.at)
        settings = replace(settings, safe_mode=SafeModeSettings(unclean_exits=2))
    if settings.owner_chat is not None and settings.approvals.effect is Ruling.ASK:
        acts += decides(rng, platforms[0], acts)
        acts.sort(key=lambda act: act.at)
    if settings.approvals.effect is Ruling.ASK and rng.random() < ALWAYS:
        acts += allows_always(rng, platforms[0])
        acts.sort(key=lambda act: act.at)
    return Scenario(f"random {seed}", tuple(acts), settings, reads=reads, effects=effects), options


def _somebody(rng: SeededRng, platforms: list[str]) -> WorldPerson:
    platform = rng.choice(platforms)
    if rng.random() < 0.15:
        return WorldPerson(rng.choice(("group", TOPIC)), platform, rng.choice(("ann", "bob")))
    return WorldPerson(rng.choice("abc"), platform)


def _rates(rng: SeededRng) -> FaultRates:
    """Some faults, each up to its highest rate; the others not at all."""
    left_out = rng.random()
    drawn = {
        field.name: 0.0 if rng.random() < left_out else getattr(CHANCES, field.name) * rng.uniform(0.3, 1.5)
        for field in fields(FaultRates)
    }
    return FaultRates(**drawn)


def _around(rng: SeededRng, platforms: list[str], begins: float) -> Iterable[Act]:
    """Faults that hit everyone; each of them happens now and then."""
    platform = rng.choice(platforms)

    def moment() -> float:
        return begins + rng.uniform(0, DAYTIME + 4)

    gone = moment()
    now_and_then: tuple[tuple[Act, ...], ...] = (
        (Outage(moment(), rng.uniform(1, 15), platform),),
        (Babble(moment(), platform=platform),),
        (Refusing(moment(), rng.uniform(1, 8), platform),),
        (SetClock(moment(), rng.choice([-HOUR, -SECOND // 2])), BootBeside(moment())),
        (SetClock(moment(), rng.choice([SECOND // 2, MINUTE])),),
        (SetClock(moment(), rng.choice([61 * MINUTE, 2 * HOUR, 25 * HOUR])),),
        (Stop(moment(), restart=rng.random() < 0.5),),
        (Stop(moment(), at_once=True),),
        (Stop(moment(), at_once=rng.random() < 0.5, on_claim=True),),
        (Die(moment()), Die(moment())),
        (FullDisk(moment(), rng.uniform(0.5, 8)),),
        (BackUp(moment()), BackUp(moment())),
        (Say(moment(), "plain", STRANGER, platform),),
        # The gateway is down for a day, and a person writes meanwhile.
        (
            Die(gone, away=3, power=True),
            Say(gone + 0.5, "tools effect", "b", platform),
            SetClock(gone + 1, 25 * HOUR),
        ),
    )
    for acts in now_and_then:
        if rng.random() < 0.25:
            yield from acts
