"""`docs/reference/tools.md`, written from the tools themselves.

After a change that is meant:  .venv/bin/python -m tests.unit.tools.tools_page
"""

# ruff: noqa: E501 - the prose of the page is as wide as the other pages are
from typing import Any

from holdfast.clock import SystemClock
from holdfast.policy.settings import ToolSettings
from holdfast.tools import READ_OUTPUT, Tool, spec_of
from holdfast.tools.builtin import NAMES, builtin_tools
from tests.unit.project.tree import ROOT

PAGE = ROOT / "docs" / "reference" / "tools.md"
UPDATE = ".venv/bin/python -m tests.unit.tools.tools_page"

HEAD = """\
# Built-in tools

<!-- Written by tests/unit/tools/tools_page.py from holdfast.tools.builtin; do not edit by hand. -->

An agent of the configuration has all of these but `restart`, unless its `agents.NAME.tools` says which. Any other is given them
besides its own by `tools.use = ["terminal", "files"]`; without that it has none. The class of a tool says what may be done with a
call that was cut off ([what that means](../howto/bring-your-own-agent.md)); those of class `effect`, and `process_start`,
[need consent](../howto/questions-and-approvals.md).

"""

WHY = {
    "terminal": "A command can do anything, so a call that was cut off is never repeated.",
    "read_file": "It changes nothing.",
    "write_file": "What was there and what will be is recorded before the change: the same call run again knows.",
    "edit_file": "As for `write_file`: an edit is made once, also where the new text holds the old.",
    "list_files": "It changes nothing.",
    "search_files": "It changes nothing.",
    "send_file": "The file is owed by the call's key, in the commit that settles it: run again, it is owed once.",
    "fetch_url": "It only asks (GET), which by its definition changes nothing there.",
    "todo": "All of the list is given at once: giving it again changes nothing.",
    "history_search": "It changes nothing.",
    "ask_person": "It does nothing itself: asked for again, it is the same question.",
    "process_start": "The place of a process is named by the call's key: started again, it is the same one.",
    "process_look": "It changes nothing; that an end was seen is recorded with the result.",
    "process_write": "What was written cannot be taken back, and nobody knows whether it arrived.",
    "process_kill": "Killing what is gone changes nothing.",
    "goal": "It says how the goal stands: saying it again changes nothing.",
    "restart_gateway": "The request is a row with the call's key: asked for again, it is the same.",
    READ_OUTPUT: "It changes nothing.",
}

TAIL = """\
## Where they work

Each session has a folder of its own below the home, `workspace/sessions/SESSION`; with `tools.workspace = "agent"` all sessions
of an agent share one. The tools for files know no other place: a path is walked name by name, links are not followed, `..`
and paths from the root are refused. `/forget` removes the
[files that people sent](../howto/files.md), and no others: they are the agent's work, for you to remove.

## What keeps a command from the gateway

A command runs under a guard, a process of its own that ends with the gateway and ends all the command has begun: when the
command is over, its time is up, a person stops the turn, or the gateway is gone in whatever way. It sees of the gateway's environment
`PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LANGUAGE`, `LC_*`, `TZ`, `TMPDIR` and what `tools.terminal.env` names.

| | contained (Linux that allows namespaces) | guarded (other Linux) | elsewhere |
|---|---|---|---|
| nothing is left of it | the kernel ends all of it at once | the guard inherits and ends what detaches itself | its process group |
| it cannot signal or trace the gateway | it does not see it | refused by a filter of system calls (x86-64, ARM64) | no |
| it does not see the home: ledger, configuration, socket | yes, but for the workspace | no | no |
| memory, each process | limited by the kernel | limited by the kernel | limited by the kernel |
| memory and processes, all together | looked at many times a second | the same | no |
| out of memory, it is ended before the gateway | yes | yes | no |

Which of them it is, is tried out for every command. Contained needs user namespaces (many containers and some
distributions do not allow them), or root. It is no jail:

- A command has the rights of the gateway's user, the network included. Give that user nothing it must not touch.
- Guarded, it can read the files of that user, so also the configuration, and `/proc` of the gateway with its environment.
  Threads the gateway begins while a command runs are not in the filter.
- As root a command keeps the rights of root, but for those to mount, to trace and to load modules. The kernel does
  not limit root's processes: many of them in no time are only seen by the guard. Run the gateway as a user of its own.

## What is fetched

A name is looked up once; every address it has must be a public one, and the connection goes to the address that was
looked at. Where an answer leads to is looked at in the same way, five times at most. `tools.fetch.allow_private = true` allows
addresses of this machine and its network. Proxies of the environment are not used.
"""


def page() -> str:
    parts = [HEAD]
    for name in NAMES:
        parts.append(f"## `{name}`\n\n")
        parts += [_shown(one) for one in _tools(name) if one.name != READ_OUTPUT]
    parts.append("## With any of them\n\n")
    parts += [_shown(one) for one in _tools(NAMES[0]) if one.name == READ_OUTPUT]
    return "".join([*parts, TAIL])


def _tools(name: str) -> tuple[Tool, ...]:
    return builtin_tools((name,), ToolSettings(), SystemClock())


def _shown(tool: Tool) -> str:
    spec = spec_of(tool)
    required = spec.parameters["required"]
    rows = [
        f"| `{name}` | {_kind(schema)} | {'' if name in required else _default(schema)} | "
        f"{schema.get('description', '')} |\n".replace("|  |", "| |")
        for name, schema in spec.parameters["properties"].items()
    ]
    table = "| argument | | default | |\n|---|---|---|---|\n" + "".join(rows)
    return f"### {tool.name}\n\n{spec.description}\n\n{table}\nClass `{tool.effect}`: {WHY[tool.name]}\n\n"


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_kind(schema['items'])}"
    if schema.get("type") == "object" and "properties" in schema:
        inside = ", ".join(f"`{name}`: {_kind(one)}" for name, one in schema["properties"].items())
        return f"object ({inside})"
    return str(schema.get("type", "anything"))


def _default(schema: dict[str, Any]) -> str:
    return f"`{str(schema['default']).lower()}`" if "default" in schema else "none"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
