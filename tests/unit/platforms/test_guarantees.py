"""`holdfast guarantees`: for every combination of capabilities the words follow, and say nothing more."""

from dataclasses import fields, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.platforms import Ack, Capabilities, Idempotency, Rate
from holdfast.platforms.guarantees import About, Guarantee, Holds, guarantees
from holdfast.policy.delivery.retry import Settling
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND

MARKED = "visibly marked as possibly repeated"
rates = st.none() | st.builds(Rate, st.integers(1, 100), st.sampled_from([1.0, 3.0, 60.0]))
capabilities = st.builds(
    Capabilities,
    ack=st.sampled_from(Ack),
    idempotency=st.sampled_from(Idempotency),
    repeat_within=st.sampled_from([0, SECOND, 5 * MINUTE, HOUR, 1_234]),
    reconcile=st.booleans(),
    edit=st.booleans(),
    threads=st.booleans(),
    buttons=st.booleans(),
    cards=st.booleans(),
    longest=st.integers(1, 10**6),
    typing=st.sampled_from([0.0, 4.0]),
    drafts=st.booleans(),
    notices=st.booleans(),
    show_every=st.sampled_from([0.1, 3.0]),
    catch_up=st.sampled_from([None, 0, MINUTE, DAY]),
    each_chat=rates,
    all_chats=rates,
    attachments=st.sampled_from([0, 1_500, 20_000_000]),
    files=st.sampled_from([0, 1_500, 50_000_000]),
    newcomers=st.booleans(),
)


def said(can: Capabilities, about: About) -> Guarantee:
    (found,) = (one for one in guarantees(can) if one.about is about)
    return found


def test_every_capability_is_drawn() -> None:
    drawn = {"ack", "idempotency", "repeat_within", "reconcile", "edit", "threads", "buttons", "longest"}
    drawn |= {"cards", "typing", "drafts", "notices", "show_every", "catch_up", "each_chat", "all_chats"}
    drawn |= {"attachments", "files", "newcomers", "own_chat"}
    assert {one.name for one in fields(Capabilities)} == drawn


@given(capabilities)
def test_every_platform_is_asked_about_everything_once_in_whole_sentences(can: Capabilities) -> None:
    found = guarantees(can)
    assert tuple(one.about for one in found) == tuple(About)
    assert all(one.words[0].isupper() and one.words.endswith(".") for one in found)
    assert not any("  " in one.words or "1 hours" in one.words or "None" in one.words for one in found)


@given(capabilities)
def test_what_is_said_of_an_unknown_send_is_what_the_sender_does_with_it(can: Capabilities) -> None:
    found = said(can, About.DELIVERED_ONCE)
    at_any_age = {can.settling(age) for age in (0, can.repeat_within - 1, can.repeat_within, 10**15)}
    assert ("sends it again with the same key" in found.words) is (
        can.settling(0) is Settling.REPEAT_WITH_KEY
    )
    assert ("asks the platform" in found.words) is (Settling.ASK in at_any_age)
    assert (MARKED in found.words) is bool(at_any_age & {Settling.RESEND_MARKED, Settling.ASK})
    assert (found.holds is Holds.YES) is (Settling.RESEND_MARKED not in at_any_age)


@pytest.mark.parametrize(
    ("can", "holds", "words"),
    [
        (Capabilities(Ack.OFFSET), Holds.PARTLY, MARKED),
        (Capabilities(Ack.OFFSET, Idempotency.STRONG), Holds.YES, "with the same key"),
        (Capabilities(Ack.OFFSET, Idempotency.WINDOW, HOUR), Holds.PARTLY, "within 1 hour of the first try"),
        (Capabilities(Ack.OFFSET, Idempotency.WINDOW, 0), Holds.PARTLY, MARKED),
        (Capabilities(Ack.OFFSET, reconcile=True), Holds.YES, "asks the platform"),
        (Capabilities(Ack.OFFSET, Idempotency.STRONG, reconcile=True), Holds.YES, "asks the platform"),
    ],
)
def test_a_reply_is_seen_once_where_the_platform_can_tell(
    can: Capabilities, holds: Holds, words: str
) -> None:
    found = said(can, About.DELIVERED_ONCE)
    assert found.holds is holds and words in found.words


@pytest.mark.parametrize(
    ("catch_up", "holds", "words"),
    [
        (None, Holds.YES, "the gateway fetches it"),
        (DAY, Holds.PARTLY, "for 1 day"),
        (90 * MINUTE, Holds.PARTLY, "for 90 minutes"),
        (0, Holds.NO, "does not reach it later"),
    ],
)
def test_what_is_written_meanwhile_is_promised_as_far_as_the_platform_keeps_it(
    catch_up: int | None, holds: Holds, words: str
) -> None:
    found = said(Capabilities(Ack.OFFSET, catch_up=catch_up), About.WHILE_DOWN)
    assert found.holds is holds and words in found.words
    assert ("queue.backlog" in found.words) is (holds is not Holds.NO)


@pytest.mark.parametrize(
    ("about", "capability", "value"),
    [
        (About.TOPICS, "threads", True),
        (About.BUTTONS, "buttons", True),
        (About.FILES_IN, "attachments", 5),
        (About.FILES_OUT, "files", 5),
        (About.NEWCOMERS, "newcomers", True),
    ],
)
def test_what_a_platform_lacks_is_not_promised(about: About, capability: str, value: object) -> None:
    without = Capabilities(Ack.OFFSET)
    having = replace(without, **{capability: value})  # type: ignore[arg-type]  # each is one of its fields
    assert said(without, about).holds is Holds.NO
    assert said(having, about).holds is not Holds.NO
    others = [one for one in guarantees(without) if one.about is not about]
    assert [one for one in guarantees(having) if one.about is not about] == others


def test_of_work_in_progress_only_what_can_be_seen_is_named() -> None:
    for typing, drafts, notices, edit in product((0.0, 4.0), *((False, True),) * 3):
        can = Capabilities(Ack.OFFSET, typing=typing, drafts=drafts, notices=notices, edit=edit)
        words = said(can, About.WORKING).words
        assert ("that the agent types" in words) is (typing > 0)
        assert ("as it grows" in words) is drafts
        assert ("beside the messages" in words) is notices
        assert ("edited" in words) is (edit and not notices)


def test_the_limits_of_a_platform_stand_in_its_words() -> None:
    can = Capabilities(
        Ack.OFFSET, longest=4096, each_chat=Rate(20, 60), all_chats=Rate(30), attachments=20_000_000
    )
    assert (
        "20 messages in 60 seconds to one chat and 30 messages a second in all" in said(can, About.PACE).words
    )
    assert "4,096 characters" in said(can, About.LONG).words
    assert "20 MB" in said(can, About.FILES_IN).words
    assert "is read again" in said(can, About.TAKEN).words
    assert "gets no answer" in said(replace(can, ack=Ack.ANSWER), About.TAKEN).words
