"""The invariants, checked from outside: from what platforms, tools and models saw, and a separate read.

Each function takes a `History` and returns its violations in words. I1, I7, I8, I9, I12, I13 and I14 hold at
every instant: the facts they need were recorded at that instant.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from holdfast.model import INBOX, TURN, CallState, EffectClass, Entry, TurnId, answer_key
from holdfast.policy.turn.views import Message, Role, view
from holdfast.store.verbs.codec import load_body
from holdfast.testing.observation.history import EntryLine, History, Span
from holdfast.testing.scripts import MARKING, head_of

from .answerers import only_the_person_asked_answers
from .background import happened, r11_processes, woken_by_the_gateway
from .bounds import (
    i11_poison_is_parked,
    i12_too_old_is_left,
    i13_told_is_kept,
    i14_only_for_who_is_allowed,
    i15_secrets_stay_secret,
    i19_size_is_bounded,
    nobody_is_deaf,
)
from .cut_off import effects_inside_once, seen_is_kept
from .feed import readers_miss_nothing
from .files import files_are_given, files_last
from .goals import r17_goals
from .parks import parked_too_often, r8_park_words, r8_poison, r8_safe_mode
from .progress import only_what_runs_is_shown
from .promises import (
    answers_are_remembered,
    cancelled_by_somebody,
    failures_are_told,
    r1_sessions_last,
    shown_to_a_model_is_kept,
)
from .questions import r7_consent_first, r13_questions
from .reasons import (
    ended_for_a_reason,
    given_up_for_a_reason,
    sent_where_it_belongs,
    turned_away_for_a_reason,
)
from .reply_targets import replies_go_where_they_belong
from .resume_line import resumes_wait_for_no_other
from .sends import LATE, r10_3_sends, r12_notices
from .summaries import summed_up_what_is_over
from .together import all_are_answered, commands_once, joined_where_wanted, said_in_order

Invariant = Callable[[History], Iterator[str]]


def i1_confirmed_means_kept(history: History) -> Iterator[str]:
    """Every confirmed update has exactly one inbox row, set-aside row or refusal, from that instant on."""
    kinds = {(event.account, event.event_id): event.kind for event in history.events}
    yield from history.vanished
    ledger = history.ledger
    rows = Counter((row.account, row.event_id) for row in ledger.inbox)
    for account, event_id, known in history.confirmed:
        event = (account, event_id)
        if kinds.get(event) == "revision":
            if not known:
                yield f"{account} {event_id} was confirmed, but its change was not carried out"
            continue
        if not known:
            yield f"{account} {event_id} was confirmed before the ledger had it"
        homes = rows[event] + (event in ledger.set_aside) + (event in ledger.refused)
        if homes != 1:
            yield f"{account} {event_id} is confirmed and is in {homes} places"


def i2_consumed_once(history: History) -> Iterator[str]:
    """Every inbox row is consumed exactly once, visibly; every turn reaches one final state."""
    ledger = history.ledger
    said = Counter((line.turn, text) for line in ledger.entries if (text := _said(line)) is not None)
    taken = Counter((row.turn or "", row.text) for row in ledger.inbox if row.state == "taken")
    asked = {turn.key for turn in ledger.turns if turn.id in ledger.open_questions}
    waits = asked | parked_too_often(history)
    for row in ledger.inbox:
        # A message after a question waits for its answer; after too many parks it waits for an owner.
        behind = row.kind != "command" and row.key in waits
        if row.state not in INBOX.finals and row.state != "offered" and not behind:
            yield f"inbox row {row.position} ({row.text}) is still {row.state}"
        if row.state in ("refused", "dropped", "offered") and not row.reason:
            yield f"inbox row {row.position} ({row.text}) is {row.state} without a reason"
        # An erased row has no text any more.
        one = (row.turn or "", row.text)
        if row.text and said[one] != taken[one]:
            yield f"{row.text!r} was taken {taken[one]} times, but written {said[one]} times"
    for turn in ledger.turns:
        if turn.state not in TURN.finals and turn.id not in ledger.open_questions:
            yield f"turn {turn.id} is still {turn.state}"
    yield from _commands_answered(history)
    yield from commands_once(history)
    yield from cancelled_by_somebody(history)
    yield from turned_away_for_a_reason(history)
    yield from ended_for_a_reason(history)


def _commands_answered(history: History) -> Iterator[str]:
    """A command has one answer; a command that says it stopped something did so."""
    ledger = history.ledger
    answers = defaultdict(list)
    for line in ledger.outbox:
        if line.dedupe.startswith("command:") and line.part == 1:
            answers[line.dedupe.split(":")[1]].append(line.text)
    # A message that interrupts may have asked for the same stop before.
    stops = ("stop", "new", "forget", "stop_asked", "interrupt")
    stopped = {turn.key for turn in ledger.turns if turn.why in stops}
    for row in ledger.inbox:
        if row.state == "offered" or (row.kind != "command" and row.reason != "made from a command"):
            continue
        found = answers[str(row.position)]
        if len(found) != 1:
            yield f"command {row.position} ({row.text}) has {len(found)} answers"
        # The turn of a stopped goal may finish.
        over = row.key in stopped or row.text.startswith("/goal")
        if any(text.startswith("Stopped") for text in found) and not over:
            yield f"command {row.position} ({row.text}) says it stopped something, but it did not"


def i3_replies_arrive(history: History) -> Iterator[str]:
    """Every part of a done turn's reply is delivered, or has a visible final state with its reason."""
    shown = {shown.key for shown in history.shown}
    by_dedupe = defaultdict(list)
    for line in history.ledger.outbox:
        by_dedupe[line.dedupe].append(line)
        if line.state == "sent" and f"{line.dedupe}/{line.part}" not in shown:
            yield f"part {line.id} ({line.dedupe}) is sent, but it is not visible"
        if line.state not in ("sent", "failed", "expired"):
            yield f"part {line.id} ({line.dedupe}) is still {line.state}"
        if line.state in ("failed", "expired") and not line.reason:
            yield f"part {line.id} ({line.dedupe}) is {line.state} without a reason"
    yield from _too_long(history)
    yield from failures_are_told(history)
    yield from answers_are_remembered(history)
    yield from all_are_answered(history)
    yield from given_up_for_a_reason(history)
    yield from sent_where_it_belongs(history)
    yield from files_are_given(history)
    causes = {row.position: row.text for row in history.ledger.inbox}
    for turn in history.ledger.turns:
        if turn.state != "done" or not causes.get(turn.cause, "erased"):
            continue
        reply = " ".join(line.text for line in by_dedupe[answer_key(TurnId(turn.id))])
        if not reply:
            yield f"turn {turn.id} is done, but its reply is not in the outbox"
        elif head_of(causes.get(turn.cause, "")) not in reply:
            yield f"turn {turn.id} answers something other than {causes.get(turn.cause)!r}: {reply!r}"


def _too_long(history: History) -> Iterator[str]:
    for shown in history.shown:
        if len(shown.text) > history.longest.get(shown.platform, len(shown.text)):
            yield f"{shown.key} has {len(shown.text)} characters, more than {shown.platform} takes"


def i4_no_silent_duplicate(history: History) -> Iterator[str]:
    """A part has at most one unmarked delivery; where sends are idempotent, at most one delivery."""
    unmarked = Counter((shown.platform, shown.key) for shown in history.shown if not shown.marked)
    for (platform, key), count in unmarked.items():
        if count > 1:
            yield f"{key} was shown {count} times unmarked on {platform}"
    every = Counter((shown.platform, shown.key) for shown in history.shown)
    for (platform, key), count in every.items():
        if platform in history.idempotent and count > 1:
            yield f"{key} was shown {count} times on {platform}, which has idempotent sends"


def i5_effects_once(history: History) -> Iterator[str]:
    """An effect tool runs at most once per call; other tools always run with the same key."""
    keys: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    runs = Counter[tuple[str, str, str]]()
    for ran in history.ran:
        call = (ran.turn, ran.tool, ran.arguments)
        keys[call].add(ran.key)
        if ran.what == "begun" and ran.effect in (EffectClass.EFFECT, EffectClass.RECONCILABLE):
            runs[call] += 1
    for (turn, tool, arguments), count in runs.items():
        if count > 1:
            yield f"{tool} {arguments} of turn {turn} ran {count} times"
    for (turn, tool, arguments), known in keys.items():
        if len(known) > 1:
            yield f"{tool} {arguments} of turn {turn} ran under the keys {', '.join(sorted(known))}"


def i6_unknown_is_told_once(history: History) -> Iterator[str]:
    """An effect that began and never returned is unknown to the model, once, and never a success."""
    returned = {ran.key for ran in history.ran if ran.what == "returned"}
    asked = {ran.key for ran in history.ran if ran.what == "asked"}
    begun = {ran.key for ran in history.ran if ran.what == "begun"}
    for call in history.ledger.calls:
        if call.name not in MARKING:
            continue  # The gateway's own tools leave their marks in the ledger and on the machine.
        key = f"{call.turn}:{call.id}"
        effect = call.effect == EffectClass.EFFECT
        if call.state == CallState.DONE and key not in (returned if effect else returned | asked):
            yield f"{call.name} {key} is done in the ledger, but it never returned"
        if call.state in (CallState.SKIPPED, CallState.PLANNED) and key in begun:
            yield f"{call.name} {key} is {call.state} in the ledger, but it was run"
        # While a person is asked about the turn, its calls stay as they were cut off.
        settled = call.state != CallState.STARTED or call.turn not in history.ledger.open_questions
        if effect and settled and key in begun - returned and call.state != CallState.UNKNOWN:
            yield f"{call.name} {key} was cut off and is {call.state}, not unknown"
    unknown = {(call.turn, call.id) for call in history.ledger.calls if call.state == CallState.UNKNOWN}
    results = Counter((e.turn, e.call) for e in history.ledger.entries if e.kind == "returned")
    yield from _shown_as_they_are(history)
    for turn, id_ in unknown:
        if results[turn, id_] != 1:
            yield f"unknown call {turn}:{id_} has {results[turn, id_]} results"


def _shown_as_they_are(history: History) -> Iterator[str]:
    """A result says the same of its call as the ledger."""
    states = {(call.turn, call.id): call.state for call in history.ledger.calls}
    for line in history.ledger.entries:
        if line.kind == "returned" and line.body:
            told, state = json.loads(line.body)["state"], states.get((line.turn, line.call or ""))
            if state is not None and told != state:
                yield f"call {line.turn}:{line.call} is {state}, but the model is told that it is {told}"


def i7_no_phantom(history: History) -> Iterator[str]:
    """Each turn has one cause that really happened; no model is called outside a running turn."""
    sent = {(event.account, event.event_id) for event in history.events}
    rows = {row.position: row for row in history.ledger.inbox}
    causes = Counter(turn.cause for turn in history.ledger.turns)
    for turn in history.ledger.turns:
        row = rows.get(turn.cause)
        if row is None or row.turn != turn.id:
            yield f"turn {turn.id} has no cause that names it"
        elif row.kind in ("message", "command") and (row.account, row.event_id) not in sent:
            yield f"turn {turn.id} comes from {row.event_id}, which no person sent"
        elif row.kind == "wakeup" and not happened(history, row.event_id):
            yield f"turn {turn.id} comes from {row.event_id}, which never happened"
        if causes[turn.cause] > 1:
            yield f"inbox row {turn.cause} caused {causes[turn.cause]} turns"
    yield from joined_where_wanted(history)
    for asked in history.asked:
        if not asked.running:
            yield f"a model was called outside a running turn, about {asked.request!r}"
    if not all(history.summing):
        yield "a model was asked for a summary while no turn was running"


def i8_one_at_a_time(history: History) -> Iterator[str]:
    """One running turn per session, one connection per bot identity, over all processes."""
    by_what: dict[str, list[Span]] = defaultdict(list)
    for span in history.spans:
        by_what[span.what].append(span)
    for what, spans in by_what.items():
        spans.sort(key=lambda span: span.begun)
        for earlier, later in _overlapping(spans):
            yield f"{what} was held by {earlier.holder} and by {later.holder} at once"


def _overlapping(spans: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    for number, later in enumerate(spans):
        for earlier in spans[:number]:
            over = earlier.ended is not None and earlier.ended <= later.begun
            if not over and earlier.holder != later.holder:
                yield earlier, later
                return


def i9_fences_hold(history: History) -> Iterator[str]:
    """No turn writes, and no tool runs, under a generation lower than its session's at that instant.

    Every claim raises the generation, so an earlier run is always below it.
    """
    for claim in history.claims:
        if min(claim.generation, claim.after) <= claim.before:
            yield (
                f"the claim of turn {claim.turn} under generation {claim.generation} left its session's "
                f"generation at {claim.after}, and it had been {claim.before}"
            )
    for write in history.writes:
        if write.generation < write.before:
            yield (
                f"entry {write.seq} of {write.session} was written under generation {write.generation}, "
                f"when its session had {write.before}"
            )
    for ran in history.ran:
        if ran.what == "begun" and ran.current != ran.generation:
            yield (
                f"{ran.tool} {ran.key} began under generation {ran.generation}, "
                f"when its turn had {ran.current or 'no owner'}"
            )
    for answered in history.answers:
        if answered.incarnation < answered.current:
            yield (
                f"question {answered.question} of incarnation {answered.incarnation} was answered, when its "
                f"session had {answered.current}"
            )


def i10_in_order(history: History) -> Iterator[str]:
    """Within a chat parts arrive in order; turns of a conversation start in the order of their causes."""
    last: dict[tuple[str, str], int] = {}
    for shown in history.shown:
        chat = (shown.platform, shown.chat)
        # A late part has left the line, and its mark says so.
        if shown.order < last.get(chat, 0) and not shown.text.startswith(LATE):
            yield f"part {shown.order} of {'/'.join(chat)} came after part {last[chat]}"
        last[chat] = max(shown.order, last.get(chat, 0))
    numbers: dict[str, list[int]] = defaultdict(list)
    for line in history.ledger.outbox:
        numbers[line.dedupe].append(line.number - line.part)
    for dedupe, starts in numbers.items():
        if len(set(starts)) > 1:
            yield f"other parts came between the parts of {dedupe}"
    newest: dict[str, int] = {}
    for turn in sorted(history.ledger.turns, key=lambda turn: turn.id):
        if turn.cause < newest.get(turn.key, 0):
            yield f"turn {turn.id} of {turn.key} began after a later message's"
        newest[turn.key] = max(turn.cause, newest.get(turn.key, 0))
    yield from said_in_order(history)


def i16_transcripts_stay_valid(history: History) -> Iterator[str]:
    """A provider would accept every transcript, as the model saw it and as it is now."""
    yield from shown_to_a_model_is_kept(history)
    for asked in history.asked:
        for complaint in complaints(asked.messages):
            yield f"the model was shown something invalid about {asked.request!r}: {complaint}"
    by_session: dict[str, list[EntryLine]] = defaultdict(list)
    for entry in history.ledger.entries:
        by_session[entry.session].append(entry)
    for session, lines in by_session.items():
        seen = view([_entry(line) for line in lines])
        for problem in seen.problems:
            yield f"the transcript of {session} has a problem: {problem.words}"
        for complaint in complaints(seen.messages):
            yield f"the transcript of {session} is invalid: {complaint}"


def i17_sound_on_disk(history: History) -> Iterator[str]:
    """`integrity_check` and foreign keys hold after every crash."""
    yield from history.damage


def i18_booting_twice_is_booting_once(history: History) -> Iterator[str]:
    """A boot at rest changes nothing."""
    for before, after in history.boots:
        for table in before:
            gone = [row for row in before[table] if row not in after[table]]
            new = [row for row in after[table] if row not in before[table]]
            if gone or new:
                yield f"another boot changed {table}: {gone[:2]} became {new[:2]}"


INVARIANTS: dict[str, Invariant] = {
    "I1": i1_confirmed_means_kept,
    "I2": i2_consumed_once,
    "I3": i3_replies_arrive,
    "I4": i4_no_silent_duplicate,
    "I5": i5_effects_once,
    "I6": i6_unknown_is_told_once,
    "I7": i7_no_phantom,
    "I8": i8_one_at_a_time,
    "I9": i9_fences_hold,
    "I10": i10_in_order,
    "I11": i11_poison_is_parked,
    "I12": i12_too_old_is_left,
    "I13": i13_told_is_kept,
    "I14": i14_only_for_who_is_allowed,
    "I15": i15_secrets_stay_secret,
    "I16": i16_transcripts_stay_valid,
    "I17": i17_sound_on_disk,
    "I18": i18_booting_twice_is_booting_once,
    "I19": i19_size_is_bounded,
    "liveness": nobody_is_deaf,
    "R1": r1_sessions_last,
    "R8.3": r8_safe_mode,
    "R8.4": r8_poison,
    "R8.6": r8_park_words,
    "R9.6": summed_up_what_is_over,
    "R4.2": resumes_wait_for_no_other,
    "R10.1": replies_go_where_they_belong,
    "R10.1 feed": readers_miss_nothing,
    "R10.3": r10_3_sends,
    "R7.3": r7_consent_first,
    "R10.5": only_what_runs_is_shown,
    "R11": r11_processes,
    "R11.2": woken_by_the_gateway,
    "R12": r12_notices,
    "R13": r13_questions,
    "R14": only_the_person_asked_answers,
    "R17": r17_goals,
    "R19": files_last,
    "R24.3": seen_is_kept,
    "R7.2": effects_inside_once,
}


def violations(history: History) -> list[str]:
    """All violations, each with the number of its invariant."""
    found = [f"{name}: {words}" for name, check in INVARIANTS.items() for words in check(history)]
    return list(dict.fromkeys(found))


def complaints(messages: Sequence[Message]) -> Iterator[str]:
    """Why a provider would refuse these messages."""
    if messages and messages[0].role in (Role.ASSISTANT, Role.TOOL):
        yield "it begins with the assistant"
    owed: list[str] = []
    before: Role | None = None
    for message in messages:
        if message.role is Role.TOOL:
            if not owed or owed.pop(0) != message.call:
                yield f"the result of {message.call} is out of place"
        elif owed:
            yield f"a {message.role} message comes before the results of {owed}"
            owed = []
        elif message.role is before is Role.ASSISTANT:
            yield "two assistant messages follow each other"
        owed += [call.id for call in message.calls]
        before = message.role
    if owed:
        yield f"it ends without the results of {owed}"
    ids = [call.id for message in messages for call in message.calls]
    if len(ids) != len(set(ids)):
        yield "a call id occurs twice"


def _entry(line: EntryLine) -> Entry:
    return Entry(
        line.seq, TurnId(line.turn), line.at, load_body(line.kind, line.call, line.number, line.body)
    )


def _said(line: EntryLine) -> str | None:
    return json.loads(line.body)["text"] if line.kind == "said" and line.body else None
