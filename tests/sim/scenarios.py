"""The canonical scenarios that sweeps kill everywhere, and the random ones of worlds."""

from holdfast.testing import (
    Act,
    Babble,
    BootBeside,
    FaultRates,
    Options,
    Outage,
    Revise,
    Say,
    Scenario,
    SeededRng,
    SetClock,
    Stop,
)

CANONICAL = {
    scenario.name: scenario
    for scenario in (
        Scenario("an answer", (Say(0.1, "plain"),)),
        Scenario("every class of tool", (Say(0.1, "tools read effect idempotent reconcilable"),)),
        Scenario("tools side by side", (Say(0.1, "parallel", platform="plain"),)),
        Scenario(
            "a queue",
            (
                Say(0.1, "tools effect", platform="asked"),
                Say(0.3, "plain", platform="asked"),
                Say(0.5, "plain", platform="asked"),
            ),
        ),
        Scenario(
            "answered deliveries",
            (Say(0.1, "plain", platform="hook"), Say(0.15, "tools effect", "b", platform="hook")),
        ),
        Scenario(
            "something unreadable and somebody unknown",
            (Say(0.1, "plain"), Babble(0.11), Say(0.12, "plain", "stranger")),
        ),
        Scenario("a second gateway", (Say(0.1, "tools effect"), BootBeside(0.3))),
        Scenario(
            "one that kills beside one that does not",
            (Say(0.1, "crash"), Say(0.2, "tools read effect", "b", platform="plain")),
        ),
        Scenario("a restart in the middle", (Say(0.1, "tools read effect"), Stop(0.7))),
        Scenario("an edit and a withdrawal", (Say(0.1, "slow 1"), Say(0.2, "plain"), Revise(0.4, "plain"))),
        Scenario("stop", (Say(0.1, "tools read effect"), Say(0.8, "/stop"), Say(1.0, "plain"))),
        Scenario("new", (Say(0.1, "slow 1"), Say(0.5, "plain"), Say(0.7, "/new"), Say(0.9, "plain"))),
        Scenario("undo", (Say(0.1, "tools effect"), Say(2.5, "/undo"), Say(3.5, "plain"))),
    )
}

SCRIPTS = (
    *("plain", "plain", "tools effect", "tools read idempotent effect reconcilable", "parallel"),
    *("long 4", "slow 3", "crash", "fail", "/stop", "/new", "/undo", "/status", "/queue collect"),
)
RATES = FaultRates(
    lost_request=0.05,
    lost_response=0.05,
    throttled=0.05,
    refused=0.02,
    down=0.03,
    duplicate=0.1,
    slow=0.05,
    disk_full=0.02,
    model_errors=0.05,
    tool_breaks=0.03,
)


def random_world(seed: int) -> tuple[Scenario, Options]:
    """A scenario with people, kills and faults, all drawn from the seed."""
    rng = SeededRng("scenario", seed)
    platforms = rng.sample(["strong", "plain", "asked", "hook"], rng.randint(1, 3))
    acts: list[Act] = [
        Say(rng.uniform(0, 8), rng.choice(SCRIPTS), rng.choice("abc"), rng.choice(platforms))
        for _ in range(rng.randint(3, 10))
    ]
    said = [act for act in acts if isinstance(act, Say) and not act.text.startswith("/")]
    if said and rng.random() < 0.3:
        edited = rng.choice(said)
        acts.append(Revise(9, rng.choice([None, "plain"]), edited.chat, edited.platform))
    others: list[Act] = [
        Outage(rng.uniform(0, 5), rng.uniform(1, 10), rng.choice(platforms)),
        Babble(rng.uniform(0, 5), platform=rng.choice(platforms)),
        SetClock(rng.uniform(0, 8), rng.choice([-3_600_000, -500, 500, 60_000])),
        Stop(rng.uniform(1, 10), restart=rng.random() < 0.5),
        BootBeside(rng.uniform(1, 10)),
        Say(rng.uniform(0, 5), "plain", "stranger", rng.choice(platforms)),
    ]
    acts += [act for act in others if rng.random() < 0.25]
    acts.sort(key=lambda act: act.at)
    options = Options(seed=seed, kill_rate=rng.choice([0.0, 0.003, 0.01]), most_kills=3, faults=RATES)
    return Scenario(f"random {seed}", tuple(acts)), options
