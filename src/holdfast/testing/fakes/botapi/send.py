"""Methods with which the bot sends, changes and deletes messages."""

from __future__ import annotations

from .core import BotApi, ShownDraft
from .entities import LONGEST_CAPTION, LONGEST_TEXT, Formatted, Json, given, length16, settled
from .errors import ApiError, bad_request
from .html import parse_html
from .params import Params
from .world import Chat, ChatMessage, StoredFile

LARGEST_UPLOAD = 50 * 1024 * 1024
LARGEST_PHOTO = 10 * 1024 * 1024
LONGEST_DATA = 64
_TWO_DAYS = 48 * 60 * 60
_PICTURES = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF", b"GIF8")
_ACTIONS = (
    "button",
    "callback_data",
    "url",
    "web_app",
    "login_url",
    "switch_inline_query",
    "copy_text",
    "pay",
)


def content_of(params: Params, name: str = "text", looks: str = "entities") -> Formatted:
    """The given text with its looks, as it will be kept."""
    text, mode = params.text(name), params.text("parse_mode").lower()
    if mode not in ("", "html"):
        # Both Markdown modes are refused: the adapter of Holdfast sends HTML.
        raise bad_request("unsupported parse_mode")
    if mode == "html":
        return settled(parse_html(text))
    entities = params.json(looks, "can't parse entities JSON object")
    return settled(given(text, entities if entities is not None else []))


def _text_of(params: Params) -> Formatted:
    if not params.text("text"):
        raise bad_request("message text is empty")
    content = content_of(params)
    if not content.text:
        raise bad_request("text must be non-empty")
    if length16(content.text) > LONGEST_TEXT:
        raise bad_request("message is too long")
    return content


def chat_of(api: BotApi, params: Params) -> Chat:
    """The chat to send to."""
    if not params.text("chat_id"):
        raise bad_request("chat_id is empty")
    return api.world.to_say(params.number("chat_id"))


def thread_of(chat: Chat, params: Params) -> int | None:
    """The topic to send to; an unknown one is refused."""
    if chat.is_direct_messages:
        topic = params.optional("direct_messages_topic_id")
        if topic is None:
            raise bad_request("direct messages topic must be specified")
    else:
        topic = params.optional("message_thread_id")
    if topic is None:
        return None
    found = chat.topics.get(topic)
    if found is None:
        raise bad_request("message thread not found")
    if found.closed:
        raise bad_request("TOPIC_CLOSED")
    return topic


def _reply_of(chat: Chat, params: Params) -> int | None:
    reply = params.object("reply_parameters", "can't parse reply parameters JSON object")
    if reply is None:
        legacy = params.optional("reply_to_message_id")
        reply = {"message_id": legacy} if legacy is not None else {}
        reply["allow_sending_without_reply"] = params.flag("allow_sending_without_reply")
    message = reply.get("message_id")
    if message is None:
        return None
    if not isinstance(message, int) or message not in chat.messages:
        if reply.get("allow_sending_without_reply"):
            return None
        raise bad_request("message to be replied not found")
    return message


def markup_of(params: Params) -> Json | None:
    """The buttons below a message; other kinds of keyboards are accepted and dropped."""
    markup = params.object("reply_markup", "can't parse reply keyboard markup JSON object")
    if not markup or "inline_keyboard" not in markup:
        return None
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    kept = [[_button(button) for button in row] for row in rows if row]
    return {"inline_keyboard": kept} if kept else None


def _button(button: object) -> Json:
    if not isinstance(button, dict) or not isinstance(button.get("text"), str):
        raise bad_request("can't parse inline keyboard button: expected an Object")
    if not button["text"].strip():
        raise bad_request("can't parse inline keyboard button: text must be non-empty")
    if not any(action in button for action in _ACTIONS):
        raise bad_request("text buttons are unallowed in the inline keyboard")
    data = button.get("callback_data")
    if data is not None and (not isinstance(data, str) or not 1 <= len(data.encode()) <= LONGEST_DATA):
        raise bad_request("BUTTON_DATA_INVALID")
    return dict(button)


def say(
    api: BotApi, params: Params, content: Formatted, media: Json | None = None, chat: Chat | None = None
) -> Json:
    """Put a message of the bot into a chat, where and how the parameters say."""
    chat = chat or chat_of(api, params)
    thread, reply_to, markup = thread_of(chat, params), _reply_of(chat, params), markup_of(params)
    replied = chat.messages.get(reply_to) if reply_to is not None else None
    if thread is None and replied is not None and replied.in_topic:
        # A reply belongs to the topic of the message that it replies to.
        thread = replied.thread
    message = api.world.post(
        chat,
        lambda id_: ChatMessage(
            id_,
            chat,
            api.world.bot,
            api.now // 1_000,
            content,
            media or {},
            thread=thread,
            in_topic=thread is not None and not chat.is_direct_messages,
            reply_to=reply_to,
            markup=markup,
        ),
    )
    api.show("message", message)
    return message.payload()


def send_message(api: BotApi, params: Params) -> object:
    return say(api, params, _text_of(params))


def send_message_draft(api: BotApi, params: Params) -> object:
    chat = chat_of(api, params)
    if chat.kind != "private":
        raise bad_request("drafts can be shown in private chats only")
    number = params.number("draft_id")
    if number == 0:
        raise bad_request("draft_id must be non-zero")
    thread, content = thread_of(chat, params), content_of(params)
    if length16(content.text) > LONGEST_TEXT:
        raise bad_request("message is too long")
    api.beside(chat.id, thread).drafts[number] = ShownDraft(number, api.now, content)
    api.note("draft", chat, thread, number, content.text)
    return True


def own_message(api: BotApi, params: Params) -> ChatMessage:
    """The message to change, which must be the bot's."""
    message = chat_of(api, params).messages.get(params.number("message_id"))
    if message is None:
        raise bad_request("message to edit not found")
    if message.sender is not api.world.bot or message.service:
        raise bad_request("message can't be edited")
    return message


def _changed(api: BotApi, message: ChatMessage, content: Formatted, markup: Json | None) -> Json:
    if (content, markup) == (message.content, message.markup):
        raise bad_request(
            "message is not modified: specified new message content and reply markup are exactly the same "
            "as a current content and reply markup of the message"
        )
    message.content, message.markup, message.edited = content, markup, api.now // 1_000
    api.show("edit", message)
    return message.payload()


def edit_message_text(api: BotApi, params: Params) -> object:
    content, message = _text_of(params), own_message(api, params)
    if message.media:
        raise bad_request("there is no text in the message to edit")
    return _changed(api, message, content, markup_of(params))


def edit_message_caption(api: BotApi, params: Params) -> object:
    message = own_message(api, params)
    if not message.media:
        raise bad_request("there is no caption in the message to edit")
    return _changed(api, message, _caption_of(params), markup_of(params))


def edit_message_reply_markup(api: BotApi, params: Params) -> object:
    message = own_message(api, params)
    return _changed(api, message, message.content, markup_of(params))


def delete_message(api: BotApi, params: Params) -> object:
    chat = chat_of(api, params)
    message = chat.messages.get(params.number("message_id"))
    if message is None:
        raise bad_request("message to delete not found")
    others = message.sender is not api.world.bot and chat.kind != "private"
    if others or api.now // 1_000 - message.date >= _TWO_DAYS:
        raise bad_request("message can't be deleted")
    del chat.messages[message.id]
    api.show("gone", message)
    return True


def _caption_of(params: Params) -> Formatted:
    content = content_of(params, "caption", "caption_entities")
    if length16(content.text) > LONGEST_CAPTION:
        raise bad_request("message caption is too long")
    return content


def _file_of(api: BotApi, params: Params, name: str, folder: str) -> tuple[StoredFile, str]:
    """A file of the request, or a known one by its id."""
    given = params.text(name)
    upload = params.files.get(given.removeprefix("attach://")) if given else params.files.get(name)
    if upload is None:
        if not given:
            raise bad_request(f"there is no {name} in the request")
        stored = api.world.files.get(given)
        if stored is None:
            raise bad_request("wrong file identifier/HTTP URL specified")
        return stored, stored.path.rpartition("/")[2]
    if len(upload.content) > LARGEST_UPLOAD:
        raise ApiError(413, "Request Entity Too Large")
    if not upload.content:
        raise bad_request("file must be non-empty")
    return api.world.keep(upload.content, upload.name, folder), upload.name


def send_document(api: BotApi, params: Params) -> object:
    caption, chat = _caption_of(params), chat_of(api, params)
    stored, name = _file_of(api, params, "document", "documents")
    return say(api, params, caption, {"document": stored.payload() | {"file_name": name}}, chat)


def send_photo(api: BotApi, params: Params) -> object:
    caption, chat = _caption_of(params), chat_of(api, params)
    stored, _ = _file_of(api, params, "photo", "photos")
    if stored.size > LARGEST_PHOTO:
        raise bad_request("file is too big for a photo")
    if not stored.content.startswith(_PICTURES):
        raise bad_request("IMAGE_PROCESS_FAILED")
    return say(api, params, caption, {"photo": [stored.payload() | {"width": 640, "height": 480}]}, chat)
