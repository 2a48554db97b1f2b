"""A bot's life with real gateways: what people did while it was dead, and what outlives its deaths."""

import json
from collections.abc import Callable

import pytest

from holdfast.testing.fakes.botapi import Flood, LostAnswer, LostRequest, Person, ServerError
from tests.support.commands import command
from tests.support.inside import EFFECTS
from tests.support.town import Office, Town

Build = Callable[[str], Office]


@pytest.mark.guards("D5", "R9.5")
def test_what_was_written_and_changed_while_it_was_dead_is_read_as_it_is_now(
    office: Office, town: Town
) -> None:
    ada = town.add("Ada")
    town.write(ada, "do #first")
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to first")
    office.until_settled()
    gateway.kill()
    number = town.write(ada, "do #wrong")
    town.do(lambda: ada.edit(number, "do #right"))
    town.write(ada, "do #last")
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to last")
    gateway.stop()
    assert town.hears(ada) == ["answer to first", "answer to right", "answer to last"]


@pytest.mark.guards("R13", "R7.3")
def test_a_button_that_was_shown_before_a_kill_still_works_once_after_it(
    open_office: Build, town: Town
) -> None:
    office = open_office('approvals.effect = "ask"')
    ada = town.add("Ada")
    town.write(ada, "do effect #a")
    gateway = office.begin()
    town.until(lambda: any(one.buttons for one in ada.sees()))
    # Of a message whose send was cut off nobody knows the number: its buttons stay, and are answered.
    office.until_sent()
    gateway.kill()
    label = town.do(lambda: next(one.buttons[0] for one in ada.sees() if one.buttons))
    town.do(lambda: ada.press(label))
    again = town.do(lambda: ada.press(label))
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to a")
    town.until(lambda: ada.answer(again) is not None)
    town.until_heard(ada, "That question already has an answer")
    town.until(lambda: not any(one.buttons for one in ada.sees()))
    office.until_settled()
    gateway.stop()
    assert office.times(EFFECTS, "a") == 1
    assert sum(text == "answer to a" for text in town.hears(ada)) == 1


@pytest.mark.guards("R13")
def test_buttons_go_once_their_question_is_over_also_if_nobody_got_to_it_before_a_kill(
    open_office: Build, town: Town
) -> None:
    office = open_office('approvals.effect = "ask"')
    ada = town.add("Ada")
    office.hold("before cards")
    town.write(ada, "do effect #a")
    gateway = office.begin()
    town.until(lambda: any(one.buttons for one in ada.sees()))
    town.write(ada, "yes")
    town.until_heard(ada, "answer to a")
    office.until_settled()
    gateway.kill()
    assert town.do(lambda: any(one.buttons for one in ada.sees()))
    office.hold()
    gateway = office.begin().ready()
    town.until(lambda: not any(one.buttons for one in ada.sees()))
    town.write(ada, "do effect #b")
    town.until(lambda: any(one.buttons for one in ada.sees()))
    town.write(ada, "/stop")
    town.until(lambda: not any(one.buttons for one in ada.sees()))
    gateway.stop()
    closed = [text.rpartition("\n\n")[2] for text in town.hears(ada) if "effect" in text]
    assert closed[:2] == ["Answered: allow once", "I no longer ask this."]


@pytest.mark.guards("R5", "R13")
def test_a_question_that_expired_while_no_gateway_ran_says_so_and_calls_no_model(
    office: Office, town: Town
) -> None:
    ada = town.add("Ada")
    town.write(ada, "do ask_person effect #a")
    gateway = office.begin()
    town.until_heard(ada, "what about a?")
    office.until_sent()
    gateway.kill()
    # To the gateway it is three days later.
    office.set_clock(3 * 24 * 3_600_000)
    gateway = office.begin().ready()
    town.until(lambda: any("No answer came in time" in text for text in ada.hears()))
    office.until_settled()
    gateway.stop()
    (card,) = town.hears(ada)
    assert card.startswith("what about a?") and "/resume" in card, (
        "the card itself says it, and nothing beside it"
    )
    assert (office.model_calls("a"), office.times(EFFECTS, "a")) == (1, 0)


@pytest.mark.guards("R10.3")
def test_the_time_that_telegram_asked_for_is_kept_across_a_kill(office: Office, town: Town) -> None:
    ada = town.add("Ada")
    town.do(lambda: town.api.faults.add(Flood(5), "sendMessage"))
    office.hold("after record_delivery")
    town.write(ada, "do #a")
    gateway = office.begin()
    office.reached("after record_delivery")
    gateway.kill()
    office.hold()
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to a")
    gateway.stop()
    first, second = (one.at for one in town.api.asked("sendMessage"))
    assert second - first >= 5_000
    assert town.hears(ada) == ["answer to a"]


@pytest.mark.guards("R10.2")
def test_a_send_without_an_answer_is_repeated_and_says_so(office: Office, town: Town) -> None:
    ada = town.add("Ada")
    town.do(lambda: town.api.faults.add(LostAnswer(), "sendMessage"))
    town.write(ada, "do #a")
    gateway = office.begin().ready()
    town.until(lambda: len(ada.hears()) == 2)
    gateway.stop()
    assert town.hears(ada) == ["answer to a", "(possibly repeated) answer to a"]


def test_a_group_that_became_a_supergroup_while_it_was_dead_goes_on(open_office: Build, town: Town) -> None:
    ada = town.add("Ada")
    group = town.do(lambda: town.people.group("Small", ada, kind="group"))
    office = open_office("")
    text = (office.home / "holdfast.toml").read_text()
    (office.home / "holdfast.toml").write_text(
        text.replace("telegram/1000/-1000000003001", f"telegram/1000/{group}")
    )
    office.hold("before telegram")
    town.write(ada, "do #a", group)
    gateway = office.begin()
    office.reached("before telegram")
    gateway.kill()
    large = town.do(lambda: town.people.upgrade(group, ada))
    town.write(ada, "do #b", large)
    office.hold()
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to a", large)
    town.until_heard(ada, "answer to b", large)
    gateway.stop()
    sessions = office.look("sessions")["sessions"]
    assert len(sessions) == 1, "it is the same conversation"


def test_a_file_is_there_although_the_gateway_died_before_its_message_was_kept(
    office: Office, town: Town
) -> None:
    ada = town.add("Ada")
    town.do(lambda: ada.send_file(b"the bytes", "a.txt", caption="do #a"))
    office.hold("before accept")
    gateway = office.begin()
    office.reached("before accept")
    gateway.kill()
    office.hold()
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to a")
    gateway.stop()
    (session,) = office.look("sessions")["sessions"]
    entries = json.dumps(office.look("session", session=session["id"])["entries"])
    (blob,) = [path for path in (office.home / "blobs").rglob("*") if path.is_file()]
    assert blob.name in entries
    assert blob.read_bytes() == b"the bytes"


@pytest.mark.guards("O18", "O15")
def test_a_second_reader_is_loud_and_the_bot_goes_on_when_it_is_gone(office: Office, town: Town) -> None:
    ada = town.add("Ada")
    gateway = office.begin().ready()
    town.until(lambda: bool(town.api.asked("getUpdates")))
    town.do(lambda: town.api.updates.stop_polling("other getUpdates request"))
    town.until(lambda: any(one.code == 409 for one in town.api.asked("getUpdates")))
    trouble = None
    while trouble is None:
        trouble = office.platform("telegram")["trouble"]
    assert "409" in trouble
    town.write(ada, "do #a")
    town.until_heard(ada, "answer to a")
    found = office.platform("telegram")
    assert (found["connected"], found["trouble"]) == (True, None)
    gateway.stop()


@pytest.mark.guards("R14")
def test_strangers_learn_only_how_to_be_let_in_and_nothing_of_theirs_is_kept(
    office: Office, town: Town
) -> None:
    ada, eve = town.add("Ada"), town.add("Eve")
    group = town.do(lambda: town.people.group("Elsewhere", ada, topics=False))
    other = town.do(lambda: town.people.group("Elsewhere too", ada, topics=False))
    assert group == -1000000003001, "the one that is allowed"
    town.write(eve, "do #stranger")
    town.write(ada, "do #elsewhere", other)
    town.write(ada, "do #here", group)
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to here", group)
    gateway.stop()
    (told,) = town.hears(eve)
    assert "holdfast pair" in told and "stranger" not in told
    assert not any("answer" in words for words in town.hears(ada, other))
    assert b"stranger" not in b"".join(path.read_bytes() for path in office.home.glob("ledger*"))


@pytest.mark.guards("R3.1")
def test_a_stop_lets_what_is_owed_out_and_a_bot_that_polls_does_not_hold_it_up(
    office: Office, town: Town
) -> None:
    ada = town.add("Ada")
    town.write(ada, "do #a")
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to a")
    gateway.stop()
    assert office.leaks() == []


@pytest.mark.guards("R12", "R10.4", "E8")
def test_a_word_about_work_in_progress_is_ended_after_a_kill_and_the_answer_comes_once(
    open_office: Build, town: Town
) -> None:
    office = open_office('progress.notice = "1s"')
    ada = town.add("Ada")
    forum = town.do(lambda: town.people.group("Forum", ada, topics=True))
    topic = town.do(lambda: ada.open_topic("plans", forum))
    office.hold("model a 0")
    town.write(ada, "do #a", forum, topic)
    gateway = office.begin()
    office.reached("model a 0")
    town.until(lambda: any("Still working" in text for text in ada.hears(forum, topic)))
    town.until(lambda: ada.typing(forum, topic))
    # A group has no room for drafts: what is written is seen in that message.
    town.until(lambda: any("thinking about a" in text for text in ada.hears(forum, topic)))
    office.until_sent()
    gateway.kill()
    office.hold()
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to a", forum, topic)
    town.until(lambda: not any("Still working" in text for text in ada.hears(forum, topic)))
    gateway.stop()
    heard = town.hears(ada, forum, topic)
    assert sum("answer to a" in text for text in heard) == 1
    assert town.hears(ada, forum) == [], "nothing of it stood outside its topic"


@pytest.mark.guards("R14")
def test_the_token_appears_nowhere_whatever_goes_wrong(office: Office, town: Town) -> None:
    ada = town.add("Ada")
    wrong = (
        (LostRequest(), "getUpdates"),
        (ServerError(502), "getUpdates"),
        (LostAnswer(), "sendMessage"),
        (LostRequest(), "sendMessage"),
        (LostRequest(), "getFile"),
        (LostRequest(), "setMyCommands"),
    )
    for effect, method in wrong:
        town.do(lambda effect=effect, method=method: town.api.faults.add(effect, method))  # type: ignore[misc]  # bound at once
    town.do(lambda: ada.send_file(b"x", caption="do #a"))
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to a")
    town.do(lambda: town.api.revoke("1000:another"))
    town.do(lambda: town.api.updates.stop_polling("other getUpdates request"))
    town.until(lambda: any(one.code == 401 for one in town.api.log))
    while "does not know" not in (office.platform("telegram")["trouble"] or ""):
        town.until(lambda: True)
    said = [json.dumps(office.ask(verb)) for verb in ("status", "overview")]
    home = ("--home", office.home)
    session = office.look("sessions")["sessions"][0]["id"]
    for words in (("status",), ("config",), ("logs",), ("show", session), ("outbox",), ("set-aside",)):
        done = command(*words, *home)
        assert done.code == 0, done.err
        said.append(done.out + done.err)
    looked = command("doctor", *home)
    said.append(looked.out + looked.err)
    for written in (("export", session, office.home / "incident.json"), ("backup", office.home / "b.tar")):
        assert command(*written, *home).code == 0
    gateway.stop()
    assert "canary" not in "".join(said)
    assert office.leaks() == []


@pytest.mark.guards("R10.4", "E8")
def test_what_is_written_is_seen_as_a_draft_and_after_a_kill_the_answer_comes_once(
    office: Office, town: Town
) -> None:
    ada = town.add("Ada")
    topic = town.do(lambda: ada.open_topic("plans"))
    office.hold("model a 0")
    town.write(ada, "do #a", thread=topic)
    gateway = office.begin()
    town.until(lambda: ada.drafts(topic) == ["thinking about a"])
    gateway.kill()
    office.hold()
    gateway = office.begin().ready()
    town.until_heard(ada, "answer to a", thread=topic)
    office.until_settled()
    gateway.stop()
    assert (town.hears(ada, thread=topic), town.do(lambda: ada.drafts(topic))) == (["answer to a"], [])


PAGE = 100
"""Updates that one read brings at most."""


@pytest.mark.guards("R9.4", "D5")
def test_what_piled_up_is_all_answered_though_a_kill_comes_between_its_pages(
    open_office: Build, town: Town
) -> None:
    office = open_office('busy = "collect"\nqueue.most = 1000')
    ada = town.add("Ada")
    topic = town.do(lambda: ada.open_topic("plans"))
    here, there = ([f"{where}{number}" for number in range(PAGE - 20)] for where in "ab")
    for one, other in zip(here, there, strict=True):
        town.write(ada, f"do #{one}")
        town.write(ada, f"do #{other}", thread=topic)
    office.hold("before confirm")
    gateway = office.begin()
    office.reached("before confirm")
    gateway.kill()
    office.hold()
    gateway = office.begin().ready()
    _until_answered(town, ada, here[-1])
    _until_answered(town, ada, there[-1], topic)
    office.until_settled()
    gateway.stop()
    assert _answered(town.hears(ada)) == here, "each once, in order, and in its place"
    assert _answered(town.hears(ada, thread=topic)) == there


def _until_answered(town: Town, person: Person, tag: str, thread: int | None = None) -> None:
    town.until(lambda: tag in _answered(person.hears(thread=thread)))


def _answered(heard: list[str]) -> list[str]:
    """What was answered, in order; what may be a repeat counts once."""
    answers = [text.partition("answer to ")[2] for text in heard if "answer to " in text]
    return list(dict.fromkeys(tag for answer in answers for tag in answer.split(",")))


@pytest.mark.guards("R9.4")
def test_what_was_written_too_long_ago_is_offered_once_per_chat_and_not_begun_with(
    open_office: Build, town: Town
) -> None:
    office = open_office('queue.backlog = "1h"')
    ada = town.add("Ada")
    topic = town.do(lambda: ada.open_topic("plans"))
    for number in range(3):
        town.write(ada, f"do effect #a{number}")
        town.write(ada, f"do effect #b{number}", thread=topic)
    # To the gateway it is three hours later.
    office.set_clock(3 * 3_600_000)
    office.hold("after accept")
    gateway = office.begin()
    office.reached("after accept")
    gateway.kill()
    office.hold()
    gateway = office.begin().ready()
    town.until(lambda: bool(ada.hears()) and bool(ada.hears(thread=topic)))
    office.until_sent()
    gateway.stop()
    for thread in (None, topic):
        (offered,) = town.hears(ada, thread=thread)
        assert "I have not started on it" in offered
    assert office.seen(EFFECTS) == []
