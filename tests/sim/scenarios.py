"""The canonical scenarios that sweeps kill everywhere, and the random ones of worlds."""

from holdfast.testing import (
    Act,
    Babble,
    BootBeside,
    FaultRates,
    Options,
    Outage,
    Say,
    Scenario,
    SeededRng,
    SetClock,
)

CANONICAL = {
    scenario.name: scenario
    for scenario in (
        Scenario("an answer", (Say(0.1, "plain"),)),
        Scenario("every class of tool", (Say(0.1, "tools read effect idempotent reconcilable effect"),)),
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
        Scenario("something unreadable", (Say(0.1, "plain"), Babble(0.11), Say(0.12, "plain"))),
        Scenario("a second gateway", (Say(0.1, "tools effect"), BootBeside(0.3))),
        Scenario(
            "one that kills beside one that does not",
            (Say(0.1, "crash"), Say(0.2, "tools read effect", "b", platform="plain")),
        ),
    )
}

SCRIPTS = (
    "plain",
    "plain",
    "tools effect",
    "tools read idempotent effect reconcilable",
    "parallel",
    "long 4",
    "slow 3",
    "crash",
    "fail",
)
RATES = FaultRates(
    lost_request=0.05,
    lost_response=0.05,
    throttled=0.05,
    refused=0.02,
    down=0.03,
    duplicate=0.1,
    slow=0.05,
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
    if rng.random() < 0.3:
        acts.append(Outage(rng.uniform(0, 5), rng.uniform(1, 10), rng.choice(platforms)))
    if rng.random() < 0.3:
        acts.append(Babble(rng.uniform(0, 5), platform=rng.choice(platforms)))
    if rng.random() < 0.3:
        acts.append(SetClock(rng.uniform(0, 8), rng.choice([-3_600_000, -500, 500, 60_000])))
    acts.sort(key=lambda act: act.at)
    options = Options(seed=seed, kill_rate=rng.choice([0.0, 0.005, 0.02]), most_kills=4, faults=RATES)
    return Scenario(f"random {seed}", tuple(acts)), options
