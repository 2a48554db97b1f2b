"""The state tables as triggers, so that the database itself refuses an arrow the tables do not have."""

from __future__ import annotations

from holdfast.model import CALL, DELIVERY, GOAL, INBOX, PROCESS, QUESTION, TURN, StateTable

GUARDED = {
    "turns": TURN,
    "tool_calls": CALL,
    "outbox": DELIVERY,
    "inbox": INBOX,
    "questions": QUESTION,
    "processes": PROCESS,
    "goals": GOAL,
}
"""Which table each state machine rules."""


def guard(table: str, machine: StateTable) -> str:
    """The trigger that keeps one table within its machine.

    The arrows stand in one string to search, because a list would be built anew for every row written. The
    states stand in a list: SQLite builds it only for an arrow that the string does not have.
    """
    lines = ["|"]
    for source, target in machine.pairs:
        arrow = f"{source}>{target}|"
        if len(lines[-1]) + len(arrow) > 100:
            lines.append("")
        lines[-1] += arrow
    arrows = "'\n    || '".join(lines)
    known = ", ".join(f"'{state}'" for state in machine.arrows)
    return (
        f"CREATE TRIGGER {table}_follow_their_states BEFORE UPDATE OF state ON {table}\n"
        f"WHEN NEW.state <> OLD.state AND instr(\n    '{arrows}',\n"
        f"    '|' || OLD.state || '>' || NEW.state || '|') = 0\n"
        f" AND NOT (NEW.state = '{machine.unreadable}' AND OLD.state NOT IN (\n    {known}))\n"
        f"BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;\n"
    )


def guards() -> str:
    """All of them, as they stand at the end of the schema."""
    return "\n".join(guard(table, machine) for table, machine in GUARDED.items())
