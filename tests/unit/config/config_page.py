"""`docs/reference/configuration.md`, written from the keys themselves.

After a change that is meant:  .venv/bin/python -m tests.unit.config.config_page
"""

from holdfast.config.load import Described, needed, reference
from tests.unit.project.tree import ROOT

PAGE = ROOT / "docs" / "reference" / "configuration.md"
UPDATE = ".venv/bin/python -m tests.unit.config.config_page"

HEAD = """\
# Configuration

<!-- Written by tests/unit/config/config_page.py from holdfast.config.keys; do not edit by hand. -->

The configuration is the file `holdfast.toml` in the home folder (`HOLDFAST_HOME`, else `~/.holdfast`). You
can write a key with a dot in a section: `drain.wait = 60` is `[drain]` with `wait = 60`. Every key has a
variable in the environment, which wins over the file: `HOLDFAST_DRAIN_WAIT` for `drain.wait`. Lists have
commas there. If a value is not allowed or a key is unknown, the gateway does not start: it prints the key,
the value and what is allowed, and ends with exit code 78.

NAME in a key is a name you give: `agents.NAME.model` is `[agents.main]` with `model = "..."`. You can have
several such tables. Their names have small letters, digits and dashes. The file never contains a secret:
`key_env` names the variable that holds it, `key_file` the file.

Times are seconds, or a number with its unit: `500ms`, `90s`, `10m`, `24h`, `7d`.

| key | default | allowed | what it is |
|---|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(map(_row, reference()))


def _row(line: Described) -> str:
    default = "needed" if line.key in needed() else _shown(line.default)
    return f"| `{line.key}` | {default} | {line.allowed} | {line.help} |\n".replace("|  |", "| |")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(f"`{one}`" for one in value) or "none"
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
