"""`docs/reference/recovery.md`, written from the table itself.

After a change that is meant:  .venv/bin/python -m tests.unit.policy.recovery.recovery_page
"""

from holdfast.policy.recovery.outcome import LEADS_TO, Row, table
from tests.unit.project.tree import ROOT

PAGE = ROOT / "docs" / "reference" / "recovery.md"
UPDATE = ".venv/bin/python -m tests.unit.policy.recovery.recovery_page"

HEAD = """\
# What becomes of interrupted work

<!-- Written by a test from holdfast.policy.recovery.outcome; do not edit by hand. -->

A turn whose process was stopped or died is `interrupted`. One table says what becomes of it, and the first
row that fits decides. It is asked at boot, every few seconds after, again when the turn is claimed, and when
a message arrives first. The row's name is kept in the ledger as the reason.

Age is the time since the turn's last recorded progress: a person's message, model output, a tool result or
tool output. Notes, marks, claims, boots and lease renewals do not move it, and time spent waiting for the
quarantine lane, or held by safe mode, is not counted. While the machine has not been started again, age is
measured on the machine's own clock, so a wall clock that is set ages nothing; after a start of the machine,
or on another machine, the wall clock counts. Work whose last progress has no readable time is not fresh. A
time ahead of the wall clock has age 0. The window is 3600 s unless set otherwise; 0 means no limit.

"No person said continue" speaks of the gateway's own question, *continue or drop?*, about this very
interruption. A "continue" outranks the rows that name it, and no others.

| # | name | found | outcome | turn becomes | told |
|---|---|---|---|---|---|
"""

WORDS = """
## In words for people

What people are shown for each row; sent to the chat where the table says told, or the outcome is to ask.

| name | words |
|---|---|
"""


def line(number: int, row: Row) -> str:
    told = "once" if row.told else ""
    cells = (
        str(number),
        f"`{row.name}`",
        row.found,
        row.outcome.replace("_", " "),
        LEADS_TO[row.outcome],
        told,
    )
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |")


def page() -> str:
    rows = "".join(line(number, row) for number, row in enumerate(table(), 1))
    words = "".join(f"| `{row.name}` | {row.sentence} |\n" for row in table())
    return HEAD + rows + WORDS + words


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
