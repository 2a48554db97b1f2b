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

An agent of the configuration has all of these but `restart`, unless its `agents.NAME.tools` names others. Any other agent has none
of them unless `tools.use = ["terminal", "files"]` adds some to its own. The class of a tool says what the gateway may do with a call
that was cut off ([what that means](../howto/bring-your-own-agent.md)). Tools of class `effect`, `process_start` and `restart_gateway`
[need consent](../howto/questions-and-approvals.md).

"""

WHY = {
    "terminal": "A command can do anything, so a call that was cut off is never repeated.",
    "read_file": "It changes nothing.",
    "write_file": "The old and the new content are recorded before the change, so the same call knows when it runs again.",
    "edit_file": "As for `write_file`: an edit is made once, even if the new text contains the old.",
    "list_files": "It changes nothing.",
    "search_files": "It changes nothing.",
    "send_file": "The commit that settles the call owes the file under the call's key: run again, it is owed once.",
    "fetch_url": "It only asks (GET), which by definition changes nothing on the server.",
    "todo": "Each call gives the complete list: giving it again changes nothing.",
    "history_search": "It changes nothing.",
    "ask_person": "It does nothing itself: a repeated call is the same question.",
    "process_start": "The call's key names the folder of the process: started again, it is the same process.",
    "process_look": "It changes nothing; the commit of the result records that the agent saw an end.",
    "process_write": "Input cannot be taken back, and after a crash it is unknown whether it arrived.",
    "process_kill": "Killing a process that has ended changes nothing.",
    "goal": "It reports the state of the goal: reporting it again changes nothing.",
    "restart_gateway": "The request is a row with the call's key: a repeated call is the same request.",
    READ_OUTPUT: "It changes nothing.",
}

TAIL = """\
## Where they work

Each session has a folder of its own below the home, `workspace/sessions/SESSION`; with `tools.workspace = "agent"` all sessions
of an agent share one. The tools for files reach no other place: they walk a path name by name, follow no links, and refuse `..`
and paths from the root. `/forget` removes the [files that people sent](../howto/files.md) and no others: the others are the agent's
work, and you remove them.

## What keeps a command from the gateway

Commands of the terminal, background processes and programs of MCP servers run *contained*, all by the same code. A contained program
sees an allow-list:

| | it sees |
|---|---|
| the system (`/usr`, `/etc`, `/opt` and the like) | read-only; without the files of `/etc` that only some users may read, and without the files of `key_file` and `token_file` |
| its workspace | writable |
| a private `HOME` and private temporary files | writable, kept from one run to the next; one for each session and each MCP server; `/forget` removes a session's |
| programs on the `PATH` that lie elsewhere (an environment of Python, `~/.cargo/bin`, nvm, pyenv) | their `bin`, `lib`, `share` and the like, read-only; never the files beside them, never a home |
| `read` and `write` of `[agents.NAME]` and `[mcp.NAME]` | as named |
| processes | its own |
| the network | as `tools.network` says, or `network` of the MCP server |
| everything else: the gateway's home with token, configuration, ledger, socket and logs, your files, `/run`, `/mnt`, `/srv` | absent |

It has no rights of root and gains none. It ends with its helper: a command with the call or the gateway, a background process with its
minder. The gateway limits the memory and the number of processes of each program, with everything it started (`tools.terminal.memory`,
`tools.terminal.processes`). If the machine runs out of memory, the kernel ends the program before the gateway. Of the gateway's
environment it sees `PATH`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LANGUAGE`, `LC_*`, `TZ` and what `tools.terminal.env` names.

How well this works depends on the machine. `holdfast status`, `holdfast doctor` and every card that asks for consent to a program say
which case applies:

| | "contained" | "contained by Landlock only" | "not contained" |
|---|---|---|---|
| by | bubblewrap, a filter of system calls, and Landlock where the kernel has it | Landlock and a larger filter of system calls | nothing |
| needs | the package `bubblewrap`, and user namespaces or root | Linux 6.12 or newer, on x86-64 or ARM64 | |
| files that are not named | are not there | cannot be opened; that they exist, and their sizes, can be seen | can be read and written |
| other processes | are not there | cannot be signalled, traced or looked into | can be |
| sockets such as the gateway's or Docker's | are not there | cannot be made: a program has no Unix sockets with a path at all | can be reached |
| `/dev/shm`, `/proc` of its children, `ps` | work | do not work | work |
| protected places in a folder of yours | read-only | a program there is refused | writable |

Where neither works, and on systems other than Linux, the gateway refuses to run programs and says why. `holdfast setup tools` says what
this machine can do, and asks whether you want the tools all the same. `tools.containment = "off"` runs programs anyway, with all rights of
the gateway's user; cards, `status` and `doctor` then say "not contained".

**Protected places.** In a folder of yours (`write`), some places of every Git repository stay as they are, and the folders above them
cannot be renamed. They are `hooks`, `config` and `config.worktree` of the repository, of its modules and of its work trees; the folder that
`core.hooksPath` names; and the files that `include.path` and `includeIf` name. A bare repository counts, too. The gateway reads the
configuration and never runs Git for that. Before a program starts, the gateway makes each missing place as an empty file or folder, so
that an agent cannot make it. `tools.protected` names more places, for every workspace; the file tools follow that list. The gateway refuses a
folder, and says why, if it cannot look through it (too many folders, one that it cannot read, a link in such a place). This does not make it
safe to run Git there yourself: a repository that an agent makes is not protected, even inside of yours, and `git status` looks into it.
`tools.protected = [".git"]` keeps all of `.git`.

[SECURITY.md](../../SECURITY.md) says against whom this protects, and what it does not promise.

## Which values are masked

The gateway removes the exact values of its secrets (`[secret]`) from results, streamed output, the kept output of background processes,
the logs of MCP programs and its own log, before it writes or cuts them. It finds a value as it is, as addresses and JSON write it, and in
base64 wherever the value begins there. These values are secrets:

- the gateway's token, the keys of models, the tokens of bots;
- the value of every variable that `tools.terminal.env`, `mcp.NAME.env` or `mcp.NAME.headers` names, and the password inside of it if it is
  an address.

A value of less than 8 characters is not masked: it would match everywhere by chance. Unless the name of the variable says that it is a
secret, the gateway does not mask a path that begins with a folder of this machine, the address of a server without user, path and query,
a word that switches programs (`production`, `development`, `localhost` and the like), and variables such as `PATH`, `HOME`, `LANG`, `TERM`
and `EDITOR`. `send_file` refuses a file that holds such a value, also in UTF-16; it does not look into archives.

## What is fetched

The gateway looks a name up once. Every address of the name must be public, and the connection goes to the address that was checked.
The gateway follows five redirects at most and checks each in the same way. `tools.fetch.allow_private = true` allows addresses of this
machine and its network. The gateway does not use the proxies of the environment.
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
