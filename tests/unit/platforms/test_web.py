import asyncio

import pytest

from holdfast.model import Accepted, Position
from holdfast.platforms import Ack, Arrival, Incoming
from holdfast.platforms.web import NotTaken, WebChat
from holdfast.policy.delivery.retry import Settling
from tests.support.loops import on_a_loop


def arrival(web: WebChat, event_id: str = "e1", text: str = "hello") -> Arrival:
    return Arrival(event_id, web.origin("home", "local"), text)


def accepted(event_id: str, position: int = 1) -> Accepted:
    return Accepted(event_id, Position(position), fresh=True)


@on_a_loop
async def test_a_post_is_answered_once_its_row_is_committed_and_not_before() -> None:
    web = WebChat()
    post = asyncio.ensure_future(web.post(arrival(web)))
    incoming = await web.receive(None)
    assert [event.event_id for event in incoming.events] == ["e1"]
    assert not post.done()
    await web.confirm(incoming, (accepted("e1"),))
    assert await post == accepted("e1")


@on_a_loop
async def test_what_was_not_confirmed_is_brought_again_in_order() -> None:
    web = WebChat()
    posts = [asyncio.ensure_future(web.post(arrival(web, f"e{n}"))) for n in range(3)]
    first = await web.receive(None)
    assert await web.receive(None) == first
    await web.confirm(first, tuple(accepted(f"e{n}") for n in range(3)))
    await asyncio.gather(*posts)
    posts = [asyncio.ensure_future(web.post(arrival(web, "e3")))]
    again = await web.receive(None)
    assert [event.event_id for event in again.events] == ["e3"]
    await web.confirm(again, (accepted("e3"),))
    await asyncio.gather(*posts)


@on_a_loop
async def test_a_sender_who_may_not_talk_is_told_so() -> None:
    web = WebChat()
    post = asyncio.ensure_future(web.post(arrival(web)))
    await web.confirm(await web.receive(None), ())
    with pytest.raises(NotTaken):
        await post


@on_a_loop
async def test_a_post_goes_on_without_its_caller() -> None:
    web = WebChat()
    post = asyncio.ensure_future(web.post(arrival(web)))
    await web.receive(None)
    post.cancel()
    await asyncio.gather(post, return_exceptions=True)
    incoming = await web.receive(None)
    assert len(incoming.events) == 1
    await web.confirm(incoming, (accepted("e1"),))
    await web.confirm(Incoming(()), ())


@on_a_loop
async def test_the_same_event_posted_twice_at_once_is_one_row_and_both_are_answered() -> None:
    web = WebChat()
    posts = [asyncio.ensure_future(web.post(arrival(web))) for _ in range(2)]
    incoming = await web.receive(None)
    assert len(incoming.events) == 1
    await web.confirm(incoming, (accepted("e1"),))
    assert await asyncio.gather(*posts) == [accepted("e1")] * 2


def test_a_send_in_doubt_is_asked_about_and_the_answer_is_yes() -> None:
    assert WebChat().capabilities.settling(0) is Settling.ASK
    assert WebChat().capabilities.ack is Ack.ANSWER
