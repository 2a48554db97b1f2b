"""What a bot says, where it appears, and the words with which it is refused."""

from collections.abc import Awaitable, Callable

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError, TelegramMigrateToChat
from aiogram.types import (
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    MessageEntity,
    ReplyParameters,
)

from holdfast.testing.fakes.botapi import BotPeople, Person
from tests.support.loops import on_a_loop
from tests.unit.testing.fakes.botapi.clients import Scene, scene


def here(people: BotPeople) -> Person:
    ada = people.add("Ada")
    ada.write("hello")
    return ada


def keyboard(*labels: str) -> InlineKeyboardMarkup:
    buttons = [InlineKeyboardButton(text=label, callback_data=f"say:{label}") for label in labels]
    return InlineKeyboardMarkup(inline_keyboard=[buttons])


@on_a_loop
async def test_a_person_sees_what_the_bot_says_with_its_looks_and_its_buttons() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = here(people)
        sent = await bot.send_message(
            ada.id, "<b>bold</b> &lt;x&gt; 🌊<code>c</code>", parse_mode="HTML", reply_markup=keyboard("yes")
        )
        seen = ada.sees()[-1]
        assert (seen.id, seen.by, seen.text) == (sent.message_id, "Holdfast", "bold <x> 🌊c")
        assert (seen.looks("bold"), seen.looks("code"), seen.buttons) == (["bold"], ["c"], ("yes",))
        await bot.send_message(ada.id, "abc", entities=[MessageEntity(type="bold", offset=1, length=2)])
        assert ada.sees()[-1].looks("bold") == ["bc"]


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("", None, "message text is empty"),
        ("  ", None, "text must be non-empty"),
        ("<b></b>", "HTML", "text must be non-empty"),
        ("x" * 4097, None, "message is too long"),
        ("🌊" * 2049, None, "message is too long"),
        ("<b>x", "HTML", "can't parse entities: Can't find end tag corresponding to start tag \"b\""),
        ("a < b", "HTML", 'can\'t parse entities: Unsupported start tag "" at byte offset 2'),
        ("<p>x</p>", "HTML", 'can\'t parse entities: Unsupported start tag "p" at byte offset 0'),
        ("<b>x</i>", "HTML", "can't parse entities: Unmatched end tag at byte offset 4"),
        ("x</b>", "HTML", "can't parse entities: Unexpected end tag at byte offset 1"),
        ("<a href='x", "HTML", "can't parse entities: Unclosed start tag at byte offset 0"),
        ("*x*", "MarkdownV2", "unsupported parse_mode"),
        ("x", "BBCode", "unsupported parse_mode"),
    ],
)
def test_text_that_telegram_does_not_take_is_refused_in_its_words(
    text: str, mode: str | None, words: str
) -> None:
    @on_a_loop
    async def run() -> None:
        async with scene() as (bot, _, people, _, _):
            ada = here(people)
            with pytest.raises(TelegramBadRequest) as refused:
                await bot.send_message(ada.id, text, parse_mode=mode)
            assert words in refused.value.message
            assert ada.hears() == []

    run()


@on_a_loop
async def test_the_longest_text_is_taken_measured_after_its_markup() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = here(people)
        await bot.send_message(ada.id, f"<b>{'x' * 4096}</b>", parse_mode="HTML")
        await bot.send_message(ada.id, "🌊" * 2048)
        assert [len(text) for text in ada.hears()] == [4096, 2048]


@on_a_loop
async def test_a_reply_needs_its_message_unless_it_may_go_without() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = people.add("Ada")
        said = ada.write("a question")
        await bot.send_message(ada.id, "an answer", reply_parameters=ReplyParameters(message_id=said))
        assert ada.sees()[-1].reply_to == said
        ada.delete(said)
        with pytest.raises(TelegramBadRequest, match="message to be replied not found"):
            await bot.send_message(ada.id, "late", reply_parameters=ReplyParameters(message_id=said))
        anyway = ReplyParameters(message_id=said, allow_sending_without_reply=True)
        await bot.send_message(ada.id, "late", reply_parameters=anyway)
        assert ada.sees()[-1].reply_to is None


@on_a_loop
async def test_topics_keep_their_messages_apart_in_groups_and_private_chats() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = here(people)
        forum = people.group("Forum", ada, topics=True)
        for chat in (None, forum):
            place = ada.id if chat is None else chat
            topic = ada.open_topic("plans", chat)
            said = ada.write("in here", chat, topic)
            await bot.send_message(place, "yes", message_thread_id=topic)
            await bot.send_message(place, "too", reply_parameters=ReplyParameters(message_id=said))
            assert ada.hears(chat, topic) == ["yes", "too"]
            assert ada.hears(chat) == []
            with pytest.raises(TelegramBadRequest, match="message thread not found"):
                await bot.send_message(place, "nowhere", message_thread_id=topic + 100)
        made = await bot.create_forum_topic(forum, "more")
        await bot.send_message(forum, "new", message_thread_id=made.message_thread_id)
        assert ada.hears(forum, made.message_thread_id) == ["new"]
        await bot.close_forum_topic(forum, made.message_thread_id)
        with pytest.raises(TelegramBadRequest, match="TOPIC_CLOSED"):
            await bot.send_message(forum, "closed", message_thread_id=made.message_thread_id)
        updates = await bot.get_updates()
        inside = [one.message for one in updates if one.message and one.message.text == "in here"]
        assert [message.is_topic_message for message in inside] == [True, True]


@on_a_loop
async def test_replies_in_a_plain_supergroup_have_a_thread_that_is_no_topic() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = people.add("Ada")
        group = people.group("Plain", ada)
        first = ada.write("one", group)
        ada.write("two", group, reply_to=first)
        message = (await bot.get_updates())[-1].message
        assert message is not None
        assert (message.message_thread_id, message.is_topic_message) == (first, None)
        with pytest.raises(TelegramBadRequest, match="message thread not found"):
            await bot.send_message(group, "x", message_thread_id=first)
        with pytest.raises(TelegramBadRequest, match="not a forum"):
            await bot.create_forum_topic(group, "x")


@on_a_loop
async def test_direct_messages_of_a_channel_want_their_topic() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = people.add("Ada")
        chat = people.direct_messages("Channel", ada)
        ada.write("hi", chat, thread=ada.id)
        message = (await bot.get_updates())[0].message
        assert message and message.direct_messages_topic
        assert message.direct_messages_topic.topic_id == ada.id
        with pytest.raises(TelegramBadRequest):
            await bot.send_message(chat, "where?")
        await bot.send_message(chat, "here", direct_messages_topic_id=ada.id)
        assert ada.hears(chat, ada.id) == ["here"]


@on_a_loop
async def test_an_edit_changes_what_is_seen_and_counts_as_no_message() -> None:
    async with scene() as (bot, _, people, clock, _):
        ada = here(people)
        sent = await bot.send_message(ada.id, "one")
        await bot.edit_message_text("two", chat_id=ada.id, message_id=sent.message_id)
        assert (ada.hears(), people.times_shown("two")) == (["two"], 0)
        with pytest.raises(TelegramBadRequest, match="message is not modified"):
            await bot.edit_message_text("two", chat_id=ada.id, message_id=sent.message_id)
        with pytest.raises(TelegramBadRequest, match="message to edit not found"):
            await bot.edit_message_text("two", chat_id=ada.id, message_id=999)
        with pytest.raises(TelegramBadRequest, match="message can't be edited"):
            await bot.edit_message_text("two", chat_id=ada.id, message_id=1)
        await bot.delete_message(ada.id, sent.message_id)
        assert ada.hears() == []
        with pytest.raises(TelegramBadRequest, match="message to delete not found"):
            await bot.delete_message(ada.id, sent.message_id)
        old = await bot.send_message(ada.id, "old")
        clock.advance(48 * 60 * 60 * 1_000)
        with pytest.raises(TelegramBadRequest, match="message can't be deleted"):
            await bot.delete_message(ada.id, old.message_id)


@on_a_loop
async def test_drafts_and_typing_fade_and_give_way_to_the_message() -> None:
    async with scene() as (bot, _, people, clock, _):
        ada = here(people)
        await bot.send_message_draft(ada.id, 7, text="Once")
        await bot.send_message_draft(ada.id, 7, text="Once upon")
        await bot.send_chat_action(ada.id, "typing")
        assert (ada.drafts(), ada.typing(), ada.hears()) == (["Once upon"], True, [])
        clock.advance(5_000)
        assert (ada.drafts(), ada.typing()) == (["Once upon"], False)
        clock.advance(25_000)
        assert ada.drafts() == []
        await bot.send_message_draft(ada.id, 8, text="Again")
        await bot.send_message(ada.id, "Again and whole")
        assert (ada.drafts(), ada.hears()) == ([], ["Again and whole"])
        group = people.group("Plain", ada)
        with pytest.raises(TelegramBadRequest):
            await bot.send_message_draft(group, 8, text="x")
        with pytest.raises(TelegramBadRequest, match="non-zero"):
            await bot.send_message_draft(ada.id, 0, text="x")
        with pytest.raises(TelegramBadRequest, match="wrong parameter action"):
            await bot.send_chat_action(ada.id, "dancing")


@on_a_loop
async def test_a_press_comes_as_an_update_and_is_answered_once_in_time() -> None:
    async with scene() as (bot, _, people, clock, _):
        ada = here(people)
        await bot.send_message(ada.id, "sure?", reply_markup=keyboard("yes", "no"))
        pressed = ada.press("no")
        query = (await bot.get_updates())[-1].callback_query
        assert query and query.message
        assert (query.data, query.from_user.id, query.message.chat.id) == ("say:no", ada.id, ada.id)
        assert ada.answer(pressed) is None
        await bot.answer_callback_query(pressed, text="noted")
        assert ada.answer(pressed) == "noted"
        late = ada.press("yes")
        clock.advance(60_000)
        for old in (late, pressed):
            with pytest.raises(TelegramBadRequest, match="query is too old"):
                await bot.answer_callback_query(old)
        with pytest.raises(TelegramBadRequest, match="BUTTON_DATA_INVALID"):
            await bot.send_message(ada.id, "long", reply_markup=keyboard("x" * 61))


async def _kicked(at: Scene, ada: Person) -> int:
    group = at.people.group("Plain", ada)
    ada.kick_bot(group)
    return group


async def _blocked(at: Scene, ada: Person) -> int:
    ada.block()
    return ada.id


async def _never_met(at: Scene, ada: Person) -> int:
    return at.people.add("Bob").id


@pytest.mark.parametrize(
    ("arrange", "words"),
    [
        (_blocked, "bot was blocked by the user"),
        (_kicked, "bot was kicked from the supergroup chat"),
        (_never_met, "bot can't initiate conversation with a user"),
    ],
)
def test_where_the_bot_is_not_wanted_it_is_told_so(
    arrange: Callable[[Scene, Person], Awaitable[int]], words: str
) -> None:
    @on_a_loop
    async def run() -> None:
        async with scene() as at:
            chat = await arrange(at, here(at.people))
            with pytest.raises(TelegramForbiddenError, match=words):
                await at.bot.send_message(chat, "hello?")

    run()


@on_a_loop
async def test_being_blocked_and_let_in_again_comes_as_updates() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = here(people)
        ada.block()
        ada.unblock()
        changes = [one.my_chat_member for one in await bot.get_updates() if one.my_chat_member]
        assert [change.new_chat_member.status for change in changes] == ["kicked", "member"]
        await bot.send_message(ada.id, "welcome back")
        with pytest.raises(TelegramBadRequest, match="chat not found"):
            await bot.send_message(424242, "who?")


@on_a_loop
async def test_a_group_that_became_a_supergroup_names_it() -> None:
    async with scene() as (bot, _, people, _, _):
        ada = people.add("Ada")
        group = people.group("Small", ada, kind="group")
        now = people.upgrade(group, ada)
        with pytest.raises(TelegramMigrateToChat) as moved:
            await bot.send_message(group, "hello")
        assert moved.value.migrate_to_chat_id == now
        told = [one.message for one in await bot.get_updates() if one.message]
        assert [(one.migrate_to_chat_id, one.migrate_from_chat_id) for one in told] == [
            (now, None),
            (None, group),
        ]
        await bot.send_message(now, "hello")


@on_a_loop
async def test_the_menu_of_commands_is_kept_and_checked() -> None:
    async def refused(bot: Bot, command: str, description: str) -> str:
        with pytest.raises(TelegramBadRequest) as error:
            await bot.set_my_commands([BotCommand(command=command, description=description)])
        return error.value.message

    async with scene() as (bot, *_):
        await bot.set_my_commands([BotCommand(command="stop", description="Stop it")])
        assert [one.command for one in await bot.get_my_commands()] == ["stop"]
        assert "BOT_COMMAND_INVALID" in await refused(bot, "Stop!", "x")
        assert "BOT_COMMAND_DESCRIPTION_INVALID" in await refused(bot, "stop", "")
        await bot.delete_my_commands()
        assert await bot.get_my_commands() == []
