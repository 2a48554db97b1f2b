"""The state tables as triggers: the database itself refuses an arrow that the tables do not have."""

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
"""The state table of each database table."""


def guard(table: str, machine: StateTable) -> str:
    """The trigger that keeps one database table within its state table.

    The arrows are one string to search, because SQLite would build a list again for every row. The states are
    a list: SQLite builds it only for an arrow that the string does not have.
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
    """All triggers, in the text of the schema."""
    return "\n".join(guard(table, machine) for table, machine in GUARDED.items())
