"""All methods by name, and the ones that are not about messages of the bot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from .core import LINK_LASTS, QUERY_LASTS, BotApi
from .entities import Json
from .errors import bad_request, conflict
from .params import Params
from .send import (
    chat_of,
    delete_message,
    edit_message_caption,
    edit_message_reply_markup,
    edit_message_text,
    send_document,
    send_message,
    send_message_draft,
    send_photo,
    thread_of,
)
from .webhook import Webhook
from .world import LARGEST_DOWNLOAD, Chat, ChatMessage, Topic, User

Method = Callable[[BotApi, Params], object]

_ACTIONS = frozenset(
    (
        *("typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice"),
        *("upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note"),
    )
)
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")


def get_me(api: BotApi, params: Params) -> object:
    return api.world.bot.payload() | {
        "can_join_groups": True,
        "can_read_all_group_messages": True,
        "supports_inline_queries": False,
        "has_topics_enabled": api.world.bot_has_topics,
    }


async def get_updates(api: BotApi, params: Params) -> object:
    if api.deliverer.webhook.url:
        raise conflict(
            "can't use getUpdates method while webhook is active; "
            "use deleteWebhook to delete the webhook first"
        )
    api.updates.allow(_kinds(params))
    found = await api.updates.poll(
        params.number("offset"), params.number("limit", 100), max(0, params.number("timeout"))
    )
    return [update.payload() for update in found]


def _kinds(params: Params) -> frozenset[str] | None:
    given = params.json("allowed_updates", "can't parse allowed_updates JSON object")
    if given is None:
        return None
    if not isinstance(given, list):
        raise bad_request("can't parse allowed_updates: expected an Array")
    return frozenset(str(kind) for kind in given)


def set_webhook(api: BotApi, params: Params) -> object:
    url = params.text("url")
    if not url:
        return delete_webhook(api, params)
    secret = params.text("secret_token") or None
    if secret is not None and not _SECRET.fullmatch(secret):
        raise bad_request("secret token contains unallowed characters")
    if urlsplit(url).scheme not in ("https", "http"):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    api.updates.allow(_kinds(params))
    most = params.number("max_connections", 40)
    # Telegram requires HTTPS; tests have no certificate.
    api.deliverer.webhook = Webhook(url, secret, min(max(most, 1), 100), params.text("ip_address") or None)
    if params.flag("drop_pending_updates"):
        api.updates.drop()
    api.updates.stop_polling("setWebhook request")
    return True


def delete_webhook(api: BotApi, params: Params) -> object:
    api.deliverer.webhook = Webhook()
    if params.flag("drop_pending_updates"):
        api.updates.drop()
    return True


def get_webhook_info(api: BotApi, params: Params) -> object:
    return api.deliverer.webhook.info(len(api.updates.pending()), api.updates.allowed)


def send_chat_action(api: BotApi, params: Params) -> object:
    chat = chat_of(api, params)
    if params.text("action") not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    api.beside(chat.id, thread_of(chat, params)).typing_at = api.now
    return True


def answer_callback_query(api: BotApi, params: Params) -> object:
    query = api.queries.get(params.text("callback_query_id"))
    if query is None or query.answered is not None or api.now - query.at >= QUERY_LASTS:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    if len(params.text("text")) > 200:
        raise bad_request("MESSAGE_TOO_LONG")
    query.answered = params.text("text")
    return True


def set_my_commands(api: BotApi, params: Params) -> object:
    commands = params.json("commands", "can't parse commands JSON object")
    if not isinstance(commands, list) or len(commands) > 100:
        raise bad_request("can't parse commands: expected an Array of at most 100")
    api.commands[_for_whom(params)] = [_command(one) for one in commands]
    return True


def _command(given: object) -> Json:
    if not isinstance(given, dict):
        raise bad_request("can't parse BotCommand: expected an Object")
    command, description = str(given.get("command", "")), str(given.get("description", ""))
    if not _COMMAND.fullmatch(command.removeprefix("/")):
        raise bad_request("BOT_COMMAND_INVALID")
    if not 1 <= len(description) <= 256:
        raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    return {"command": command.removeprefix("/"), "description": description}


def _for_whom(params: Params) -> tuple[str, str]:
    scope = params.object("scope", "can't parse BotCommandScope JSON object") or {"type": "default"}
    return repr(sorted(scope.items())), params.text("language_code")


def get_my_commands(api: BotApi, params: Params) -> object:
    return api.commands.get(_for_whom(params), [])


def delete_my_commands(api: BotApi, params: Params) -> object:
    api.commands.pop(_for_whom(params), None)
    return True


def get_file(api: BotApi, params: Params) -> object:
    stored = api.world.files.get(params.text("file_id"))
    if stored is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if stored.size > LARGEST_DOWNLOAD:
        raise bad_request("file is too big")
    api.links[stored.path] = (stored.id, api.now + LINK_LASTS)
    return stored.payload(with_path=True)


def get_chat(api: BotApi, params: Params) -> object:
    chat = chat_of(api, params)
    return chat.payload() | {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": _GIFTS}


_GIFTS = dict.fromkeys(
    ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
)


def open_topic(api: BotApi, chat: Chat, name: str, by: User) -> ChatMessage:
    """Open a new topic; its id is that of the message that announces it."""
    message = api.world.post(
        chat,
        lambda id_: ChatMessage(
            id_,
            chat,
            by,
            api.now // 1_000,
            service={"forum_topic_created": {"name": name, "icon_color": 7322096}},
            thread=id_,
            in_topic=True,
        ),
    )
    chat.topics[message.id] = Topic(message.id, name)
    return message


def create_forum_topic(api: BotApi, params: Params) -> object:
    chat, name = chat_of(api, params), params.text("name").strip()
    if not chat.has_topics:
        raise bad_request("the chat is not a forum")
    if not 1 <= len(name) <= 128:
        raise bad_request("TOPIC_TITLE_EMPTY" if not name else "topic name is too long")
    message = open_topic(api, chat, name, api.world.bot)
    return {"message_thread_id": message.id, "name": name, "icon_color": 7322096}


def _topic_of(api: BotApi, params: Params) -> tuple[Chat, Topic]:
    chat = chat_of(api, params)
    topic = chat.topics.get(params.number("message_thread_id"))
    if topic is None:
        raise bad_request("TOPIC_ID_INVALID")
    return chat, topic


def edit_forum_topic(api: BotApi, params: Params) -> object:
    _topic_of(api, params)[1].name = params.text("name")
    return True


def close_forum_topic(api: BotApi, params: Params) -> object:
    _topic_of(api, params)[1].closed = True
    return True


def reopen_forum_topic(api: BotApi, params: Params) -> object:
    _topic_of(api, params)[1].closed = False
    return True


def delete_forum_topic(api: BotApi, params: Params) -> object:
    chat, topic = _topic_of(api, params)
    del chat.topics[topic.id]
    chat.messages = {id_: one for id_, one in chat.messages.items() if one.thread != topic.id}
    return True


def _by_name(*methods: Method) -> dict[str, Method]:
    return {method.__name__.replace("_", ""): method for method in methods}


SAYING: Mapping[str, Method] = _by_name(
    send_message,
    send_document,
    send_photo,
    send_message_draft,
    edit_message_text,
    edit_message_caption,
    edit_message_reply_markup,
)
"""Methods that the limits count."""

METHODS: Mapping[str, Method] = {
    **SAYING,
    **_by_name(
        get_me,
        get_updates,
        set_webhook,
        delete_webhook,
        get_webhook_info,
        delete_message,
        send_chat_action,
        answer_callback_query,
        set_my_commands,
        get_my_commands,
        delete_my_commands,
        get_file,
        get_chat,
        create_forum_topic,
        edit_forum_topic,
        close_forum_topic,
        reopen_forum_topic,
        delete_forum_topic,
    ),
}
"""By their names in lower case: the Bot API ignores case."""
