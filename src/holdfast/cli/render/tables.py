"""What the commands that only read print for people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from holdfast.store import RULE_USED

from .format import CALL_MARKS, ago, coloured, moment, one_line, plural, span
from .output import Json, print_pairs, print_table
from .terminal_text import Cell, Part, joined, styled


def print_status(console: Console, found: Json, now: int) -> None:
    """A few lines that say at a glance whether all is well."""
    gateway, last = found["gateway"], found["last_run"]
    pairs: list[tuple[str, Cell]] = [("home", found["home"])]
    if gateway is not None:
        since = span(max(0, now - gateway["started_at"]))
        words = f", process {gateway['pid']}, for {since}, version {gateway['version']}"
        pairs.append(("gateway", styled(("running", "green"), words)))
    else:
        pairs.append(("gateway", styled(("not running", "yellow"), "; `holdfast up` starts it")))
    pairs.append(("supervisor", f"process {found['supervisor']}" if found["supervisor"] else "none"))
    if found.get("page") is not None:
        pairs.append(("page", f"{found['page']}; `holdfast link` prints a link that signs you in"))
    if found.get("agent") is not None:
        pairs.append(("agent", found["agent"]))
    pairs += _containment(found.get("containment"))
    if last is not None:
        how: Part = last["ended"] or ("it crashed or was killed", "red")
        ended = f"process {last['pid']}, ended {ago(last['seen_at'], now)}: "
        pairs.append(("last run", styled(ended, how)))
    if "owed" in found:
        pairs += _numbers(found)
    pairs += [_platform(one) for one in found.get("platforms") or () if one["name"] != "web"]
    pairs += [_server(server, now) for server in found.get("mcp") or ()]
    if (found.get("safe_mode") or {}).get("active"):
        words = ": interrupted work is not resumed by itself; `holdfast safe-mode` says why"
        pairs.append(("safe mode", styled(("on", "yellow"), words)))
    restored = [one for one in found.get("held") or () if one["kind"] != "conversation"]
    if restored:
        words = ", open in the backup this was restored from; `holdfast release` lists them"
        pairs.append(("held for you", styled((counted(restored), "yellow"), words)))
    if found.get("boot"):
        pairs += _boot(found["boot"], now)
    print_pairs(console, pairs)
    if found.get("running"):
        print_table(
            console,
            ("running turn", "chat", "for", "quiet for", "if interrupted"),
            running_rows(found["running"]),
        )


_KINDS = ("turn", "part", "message", "conversation")


def counted(held: Sequence[Json]) -> str:
    """The number of held items of each kind."""
    numbers = Counter(one["kind"] for one in held)
    return ", ".join(plural(numbers[kind], kind) for kind in _KINDS if numbers[kind])


def _containment(found: Json | None) -> list[tuple[str, Cell]]:
    """How the gateway contains programs of agents; in red if it does not."""
    if found is None:
        return []
    colour = {"bubblewrap": "green", "landlock": "yellow"}.get(found["containment"], "red")
    refused = found["required"] and found["containment"] == "none"
    more = "; the gateway refuses to run them" if refused else ""
    return [("programs of agents", styled((found["words"], colour), more))]


def _platform(one: Json) -> tuple[str, Cell]:
    """Whether a platform is connected; in red if it is not."""
    words = ("connected", "green") if one["connected"] else ("not connected", "red")
    why = f": {one['trouble']}" if one.get("trouble") else ""
    return (one["name"], styled(words, f" as {one['account']}{why}"))


def _server(server: Json, now: int) -> tuple[str, Cell]:
    """The state of an MCP server; in red if agents cannot use it."""
    since = span(max(0, now - server["since"]))
    if server["state"] == "up":
        words = styled(("up", "green"), f" for {since}, {plural(server['tools'], 'tool')}")
    else:
        why = f": {server['words']}" if server["words"] else ""
        colour = "red" if server["state"] == "down" else "yellow"
        starts = f" for {since}, started {plural(server['starts'], 'time')}{why}"
        words = styled((server["state"], colour), starts)
    return (f"mcp {server['name']}", words)


def _numbers(found: Json) -> list[tuple[str, Cell]]:
    unknown, counts = found["unknown"], found["counts"]
    restored = sum(one["kind"] == "turn" for one in found.get("held", ()))
    waiting = [
        (name, styled((plural(number, thing), "yellow"), f"; `{look}`"))
        for name, number, thing, look in (
            ("held", counts["held"] - restored, "turn", "holdfast sessions --state held"),
            ("parked", counts["parked"], "session", "holdfast sessions --state parked"),
            ("on hold", counts["on_hold"], "conversation", "holdfast release"),
            ("set aside", counts["set_aside"], "event", "holdfast set-aside"),
        )
        if number > 0
    ]
    replies = styled(f"{found['owed']} on their way")
    if unknown:
        outcome = (f"{unknown} with an unknown outcome", "yellow")
        replies = styled(replies, ", ", outcome, "; `holdfast outbox --unknown`")
    return [
        ("turns", f"{len(found['running'])} running, {len(found['open_turns'])} unfinished"),
        ("messages", f"{found['waiting']} waiting"),
        ("replies", replies),
        *waiting,
    ]


def _boot(report: Json, now: int) -> list[tuple[str, Cell]]:
    """What the last start found, in two lines; `holdfast continuity` has the rest."""
    lines = [line for line in report["lines"] if not line.startswith(("-", "…"))]
    return [
        ("last start", f"{ago(report['at'], now)}. {' '.join(lines[:2])}"),
        ("it found", " ".join(lines[2:]) or "–"),
    ]


def print_reports(console: Console, reports: Sequence[Json], now: int) -> None:
    """What each of the last starts found and did, newest first."""
    if not reports:
        console.print("No start has been reported yet.")
    for report in reports:
        when = f"{ago(report['at'], now)}, run {report['instance']}"
        console.print(styled((f"start of {moment(report['at'])}", "bold"), " ", (when, "dim")))
        for line in report["lines"]:
            console.print(styled(f"  {line}"))


def running_rows(running: Sequence[Json]) -> list[tuple[str, ...]]:
    """Running turns, and what an interruption would mean for each."""
    return [
        (
            turn["turn"],
            turn["chat"],
            span(turn["running_for"]),
            span(turn["quiet_for"]),
            _IF_INTERRUPTED.get(turn["on_interruption"], "resumed after the restart"),
        )
        for turn in running
    ]


_IF_INTERRUPTED = {"never": "not resumed: the chat's setting", "ask": "the gateway asks the person"}


def print_plan(console: Console, running: Sequence[Json]) -> None:
    """Print which turns a restart would wait for, or interrupt, now."""
    if not running:
        console.print("No turn runs: a restart now interrupts nothing.")
        return
    console.print(
        f"A restart now waits for {plural(len(running), 'turn')}, and interrupts those that take too long:"
    )
    print_table(console, ("turn", "chat", "runs for", "quiet for", "if interrupted"), running_rows(running))


def print_sessions(console: Console, sessions: Sequence[Json], now: int, everything: bool) -> None:
    """One line per session."""
    if not sessions:
        console.print(
            "No session matches." if everything else "No live sessions; --all shows ended ones, too."
        )
        return
    rows: list[tuple[Cell, ...]] = [
        (
            line["id"],
            line["key"],
            ago(line["began_at"], now),
            coloured(line["state"]) if line["state"] else "–",
            _remarks(line, now),
        )
        for line in sessions
    ]
    print_table(console, ("session", "conversation", "began", "last turn", ""), rows)


def _remarks(line: Json, now: int) -> Text:
    remarks: list[Part] = []
    if line["suspended"]:
        remarks.append(("parked", "red"))
    if line.get("on_hold"):
        remarks.append(styled(("its messages wait for an owner", "red"), ": `holdfast release`"))
    if line["held"]:
        remarks.append(f"held: {line['held']}")
    if line["strikes"]:
        remarks.append(plural(line["strikes"], "strike"))
    if line["ended_at"]:
        remarks.append((f"ended {ago(line['ended_at'], now)}", "dim"))
    return joined(", ", remarks)


def print_trace(console: Console, trace: Json) -> None:
    """Everything that happened to a message, one line each, with a rule where another process continues."""
    message = trace["message"]
    said = f" from {message['sender']}: {one_line(message['text'])} "
    console.print(styled((f"message {trace['position']}", "bold"), said, (f"({message['state']})", "dim")))
    process: str | None = None
    began: int | None = None
    for event in trace["happenings"]:
        if event["instance"] != process and process is not None and event["instance"]:
            console.print(styled(("  ── the process ended here; another one continues ──", "yellow")))
        process = event["instance"] or process
        began = event["at"] if began is None else began
        when = f"  {moment(event['at'])} +{(event['at'] - began) / 1000:.3f}s  "
        console.print(styled((when, "dim"), _happening(event)))
    console.print()


def _happening(event: Json) -> Text:
    """One event and its subject. A step of a tool call has its mark."""
    if event["what"] == RULE_USED:
        return styled(_rule_used(event["detail"]))
    mark = styled(CALL_MARKS[event["what"]], " ") if event["subject"].startswith("call:") else ""
    detail = f"  {one_line(_plain(event['detail']), 100)}" if event["detail"] else ""
    return styled(mark, event["what"], (f"  {event['subject']}", "dim"), detail)


def _rule_used(detail: str) -> str:
    said = json.loads(detail)
    return f"allowed by the rule of {moment(said['given_at'])}  (call {said['call']}, rule {said['rule']})"


_LEFT_OUT = ("facts", "attempt")
"""`holdfast show` prints the facts of a decision. How often a turn was claimed is of no use to a person."""


def _plain(detail: str) -> str:
    """The detail of an event as plain words instead of JSON."""
    try:
        found = json.loads(detail)
    except ValueError:
        return detail
    if not isinstance(found, dict):
        return detail
    return ", ".join(f"{name} {value}" for name, value in found.items() if name not in _LEFT_OUT)
