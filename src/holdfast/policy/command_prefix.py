"""Which commands a stored consent may cover: an exact beginning, in plain words, of a program that takes no code.

A shell gives a meaning to much more than words. So a command has a prefix only if it is nothing but plain words: no
operator, expansion, quote, redirection, assignment or line end can be in it, whatever stands behind the prefix.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,-]+")
"""Words in which a shell finds nothing to expand, quote or redirect."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_LONGEST = 500
_WORDS_STORED = 2
"""The program and the word behind it: `git status`. One word alone would allow everything a program can do."""
TAKES_CODE = frozenset(
    (
        *("sh", "bash", "dash", "zsh", "fish", "ksh", "csh", "tcsh", "busybox", "eval", "exec", "source", "command"),
        *("python", "python2", "python3", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua"),
        *("awk", "gawk", "mawk", "sed", "ed", "ex", "vi", "vim", "nvim", "emacs", "nano", "less", "more", "man"),
        *("env", "xargs", "find", "fd", "parallel", "watch", "time", "timeout", "nice", "nohup", "setsid", "stdbuf"),
        *("sudo", "doas", "su", "runuser", "chroot", "unshare", "nsenter", "bwrap", "flatpak", "script", "strace"),
        *("ssh", "scp", "sftp", "rsync", "docker", "podman", "kubectl", "lxc", "systemd-run", "at", "batch", "crontab"),
        *("make", "gmake", "cmake", "ninja", "just", "tox", "nox", "pytest", "npm", "npx", "pnpm", "yarn", "uv", "uvx"),
        *("pip", "pipx", "poetry", "cargo", "go", "gradle", "mvn", "ant", "rake", "bundle", "gem", "composer", "tar"),
        *("gdb", "lldb", "sqlite3", "psql", "mysql", "expect", "tclsh", "jq", "git-shell", "screen", "tmux", "dd"),
        *("builtin", "trap", "alias", "export", "declare", "set", "shopt", "enable", "coproc", "."),
    )
)
"""Programs whose arguments, or whose files in the workspace, are code or further commands: no prefix of these is safe."""


def words_of(command: str) -> tuple[str, ...] | None:
    """The words of a command that is nothing but plain words, each as the shell takes it; None for any other."""
    if len(command) > _LONGEST or not command.isascii():
        return None
    words = command.strip(" ").split(" ")
    plain = [word for word in words if word]
    if not plain or not all(_PLAIN.fullmatch(word) for word in plain) or _ASSIGNMENT.match(plain[0]):
        return None
    return tuple(plain)


def safe_prefix(command: str) -> tuple[str, ...] | None:
    """The beginning that may be allowed for good: the program and one word behind it; None if none is safe.

    The second word says what the program does, so it is neither an option nor a path.
    """
    words = words_of(command)
    if words is None or len(words) < _WORDS_STORED:
        return None
    program, what = words[0], words[1]
    if "/" in program or program.lower() in TAKES_CODE or program.startswith("-"):
        return None
    return (program, what) if re.fullmatch(r"[a-z][a-z0-9-]*", what) else None


def begins_with(command: str, prefix: tuple[str, ...]) -> bool:
    """Whether a command is plain words, and the first of them are just these."""
    words = words_of(command)
    return words is not None and len(prefix) >= _WORDS_STORED and words[: len(prefix)] == prefix
