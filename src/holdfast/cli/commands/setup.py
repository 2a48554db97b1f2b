"""Set up a platform: ask for its token, and check it before anything is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.api.to_json import Json
from holdfast.cli.home_status import is_running
from holdfast.cli.options import AsJson, Home, run
from holdfast.cli.render.output import print_json, stdout
from holdfast.cli.render.terminal_text import styled
from holdfast.clock import SystemClock
from holdfast.config.edit_file import NotWritten, with_lines, write_all
from holdfast.config.load import FILE, load_settings, secret
from holdfast.config.settings import LOCAL_PERSON, Settings
from holdfast.errors import Unusable
from holdfast.installation import missing_extra
from holdfast.platforms.telegram.setup_checks import TOKEN, Bot, Hook, SetupChecks

from .setup_tools import tools

TOKEN_FILE = Path("telegram.token")
app = typer.Typer(
    help="Set up a platform or the tools: ask, check, write the configuration.", no_args_is_help=True
)
app.command()(tools)


@app.command()
def telegram(
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read the token from standard input, and ask for nothing.")
    ] = False,
    token_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The variable with the token, here and where the gateway starts. No file is written.",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The address of your own Bot API server.", show_default="Telegram's own"),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(help="Your numeric id on Telegram. Without it, a code lets you in."),
    ] = None,
    drop_webhook: Annotated[
        bool,
        typer.Option("--drop-webhook", help="Remove the bot's webhook. Waiting messages are not lost."),
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Set up a Telegram bot: ask for its token, check it, write the configuration, say what is next.

    The token comes from @BotFather. The command stores it in a file that only you can read, or leaves it in a
    variable; it is never in holdfast.toml. The command writes nothing unless Telegram accepts the token.
    Without a terminal, give --token-stdin or --token-env.
    """
    _check_packages()
    settings = load_settings(home).settings
    asks = not (as_json or token_stdin or token_env) and sys.stdin.isatty()
    token = _token(settings, token_stdin, token_env, asks)
    where = base_url or settings.telegram.base_url
    bot, hook = run(_checked(where, token, drop_webhook))
    if asks:
        stdout().print(styled("This is ", (bot.name, "bold"), f", @{bot.username}."))
        owner = owner or _asked_owner()
    written = _write(settings, bot, where, token, token_env, _owner(owner))
    running = run(is_running(settings.home))
    if as_json:
        print_json({**written, "running": running, "webhook": hook.url, "waiting": hook.waiting})
    else:
        _tell(bot, hook, written, running)


def _check_packages() -> None:
    """Refuse before any question: a bot without its packages would keep the gateway from starting."""
    line = missing_extra("telegram")
    if line is not None:
        raise Unusable(
            f"Telegram needs packages that are not installed; nothing was asked or written. Install them, "
            f"then run this again: {line}"
        )


def _token(settings: Settings, from_stdin: bool, variable: str | None, asks: bool) -> str:
    if variable is not None:
        found = secret("telegram.token", variable, None, settings.home)
        token = found or ""
    elif from_stdin:
        token = sys.stdin.readline().strip()
    elif asks:
        token = typer.prompt("The bot's token, from @BotFather (it is not shown)", hide_input=True).strip()
    else:
        raise typer.BadParameter(
            "this command cannot ask for the token here: give --token-stdin or --token-env NAME"
        )
    if not TOKEN.fullmatch(token):
        raise Unusable("that is not a token (a token looks like 123456789:AAE…); nothing was written")
    return token


def _asked_owner() -> str | None:
    said: str = typer.prompt(
        "Your own numeric id on Telegram, if you know it (empty: a code lets you in)",
        default="",
        show_default=False,
    )
    return said.strip() or None


def _owner(owner: str | None) -> str | None:
    """The id of a person. A name can pass to another person, so this takes no names."""
    if owner is None:
        return None
    number = owner.removeprefix("telegram:")
    if not number.isdecimal() or not number.isascii():
        raise Unusable(f"owner = {owner!r} is not allowed; allowed: the digits of your id, like 123456789")
    return f"telegram:{number}"


async def _checked(where: str, token: str, drop_webhook: bool) -> tuple[Bot, Hook]:
    asking = SetupChecks(where, token, SystemClock())
    bot = await asking.bot()
    if drop_webhook:
        await asking.drop_hook()
    return bot, await asking.hook()


def _write(
    settings: Settings, bot: Bot, where: str, token: str, variable: str | None, owner: str | None
) -> Json:
    """Write the configuration, and the token in a file of its own: both or neither."""
    home, path = settings.home, settings.home / FILE
    keys: dict[str, object] = {"token_env": variable} if variable else {"token_file": str(TOKEN_FILE)}
    telegram = settings.telegram
    if variable is None and telegram.token_env is not None:
        keys["token_env"] = "none"
    if variable is not None and telegram.token_file is not None:
        keys["token_file"] = "none"
    if where != telegram.base_url:
        keys["base_url"] = where
    top: dict[str, object] = {}
    if owner is not None:
        known = settings.access.owners - {LOCAL_PERSON}
        if owner not in known:
            top["owners"] = sorted([*known, owner])
        if settings.gateway.owner_chat is None:
            top["owner_chat"] = f"telegram/{bot.id}/{owner.partition(':')[2]}"
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError):
        raise NotWritten(f"{path} cannot be read; nothing was changed") from None
    files = {path: with_lines(text, top, "telegram", keys)}
    if not variable:
        files = {home / TOKEN_FILE: f"{token}\n", **files}
    write_all(files, frozenset({home / TOKEN_FILE}))
    return {
        "bot": bot.username,
        "account": str(bot.id),
        "name": bot.name,
        "owner": owner,
        "config": str(path),
        "token_in": variable or str(home / TOKEN_FILE),
    }


def _tell(bot: Bot, hook: Hook, written: Json, running: bool) -> None:
    out = stdout()
    token = f"its token is in {written['token_in']}"
    out.print(f"@{bot.username} is set up in {written['config']}; {token}.")
    if hook.url:
        out.print(
            "This bot has a webhook. As long as it has one, the gateway cannot fetch messages. If you do not "
            "need the webhook, run: holdfast setup telegram --drop-webhook",
        )
    if hook.waiting:
        out.print(f"{hook.waiting} updates already wait for it. The gateway will fetch all of them.")
    out.print(f"Next: {'holdfast restart' if running else 'holdfast up'}")
    if written["owner"] is None:
        out.print(
            f"Then write to @{bot.username}: it answers with a code, and `holdfast pair CODE --owner` lets "
            "you in.",
        )
    else:
        out.print(f"Then write to @{bot.username}. `holdfast doctor` checks that all is well.")
    if not bot.reads_groups:
        out.print(
            "In groups it sees only commands and replies to it. For more, turn privacy off with /setprivacy "
            "at @BotFather, then remove it from the group and add it again.",
        )
