"""What a test on the real stages has to guard: the rules by number, known failures by letter and number.

A test says so itself: `@pytest.mark.guards("R3.2", "A5")`.  All of them, with their tests:
.venv/bin/python -m tests.unit.project.guards
"""

import ast
import sys
from collections.abc import Iterator, Mapping

from tests.unit.project.tree import ROOT, modules, parse

FOLDERS = ("scenario", "sim", "processes", "e2e", "crash", "web", "security")

_SECTIONS: Mapping[int, tuple[int, ...]] = {
    1: (1, 2, 3, 4, 5),
    2: (1, 2, 3, 4),
    3: (1, 2, 3, 4, 5, 6),
    4: (1, 2, 3, 4, 5),
    6: (1, 2, 3, 4),
    7: (1, 2, 3, 4),
    8: (1, 2, 3, 4, 6),
    9: (1, 2, 3, 4, 5, 6),
    10: (1, 2, 3, 4, 5),
    11: (1, 2, 3),
    22: (1, 2, 3, 4, 5, 6, 7, 8, 9),
    24: (1, 2, 3),
}
ALONE = ("R5", "R12", "R13", "R14", "R15", "R16", "R17", "R18", "R19", "R20", "R21")
RULES = (*(f"R{n}.{part}" for n, parts in _SECTIONS.items() for part in parts), *ALONE)

FAILURES: Mapping[str, str] = {
    "A1": "a drain that ran out costs the conversation",
    "A2": "a restart right after a message costs the conversation",
    "A3": "killed before the mark is written, everything recent is lost",
    "A4": "a crash touches a chat that was idle",
    "A5": "killed while the drain waits, long work is lost",
    "A6": "a turn that ran for long is not known after a kill",
    "A7": "after a failed resume the old conversation never ends",
    "A9": "a conversation is reset although nobody set a policy",
    "A10": "a stop costs the conversation",
    "A12": "what is not in the ledger is needed to find a conversation, or a stop ends it",
    "A13": "a conversation is gone from the list after a crash",
    "A15": "a restart winds the idle clock up again",
    "A16": "a topic's notice appears elsewhere",
    "A17": "one damaged row keeps all others from loading",
    "A18": "a conversation ended elsewhere goes on in memory, unheard",
    "B1": "a prompt is lost with its first reply",
    "B2": "the last results are lost in a drain",
    "B3": "a delivered reply is missing from the transcript",
    "B4": "a kill loses the steps of a turn",
    "B7": "a ledger that is busy for long costs a turn",
    "B9": "two processes write one ledger",
    "C1": "a resume and a message make two agents",
    "C2": "a message overtakes the resume of its session",
    "C3": "a boot makes a turn out of nothing",
    "C4": "restarts keep old work young",
    "C5": "who finished in the drain is told of an interruption",
    "C6": "a resume that led to nothing is resumed at each boot",
    "C7": "a question nobody answered counts as unfinished work",
    "C9": "what restarted the host is done again",
    "C10": "an old yes lets something happen again",
    "C11": "a restart is asked for again by who asked for it",
    "C12": "a restart every few seconds is resumed for ever",
    "C14": "hung work comes back at every boot",
    "C15": "a resume greets instead of going on",
    "C16": "old work is taken up with a new topic",
    "C17": "two clocks disagree about what is fresh",
    "C18": "work goes on for who was let out",
    "C20": "one slow resume silences every chat",
    "C23": "a turn without life types for ever",
    "C24": "interrupted work waits for a word",
    "D1": "what was said to come after the restart never does",
    "D2": "queued is said of what was not kept",
    "D3": "the second message of two vanishes",
    "D5": "what was sent while nobody read is dropped",
    "D6": "reading does not go on where it ended",
    "D7": "a message is seen and not handled",
    "D8": "what comes days late is run as if it were new",
    "D9": "a hung turn keeps a stop from being heard",
    "D10": "a leaked slot swallows every message",
    "D11": "two messages become one",
    "D13": "a message cuts off more than it was meant to",
    "D14": "who may not talk is heard while a turn runs",
    "D15": "to interrupt only queues",
    "D16": "a burst runs one action twice",
    "E1": "a reply is lost between answer and platform",
    "E2": "a reply is owed and the drain sees no work",
    "E3": "a reply refused by a flood limit is lost",
    "E5": "a reply is dropped while the network is away",
    "E7": "an unknown outcome is sent again unmarked",
    "E8": "a reply stands there half and whole",
    "E14": "a command brought again is carried out again",
    "E16": "a reply goes to another topic",
    "F1": "a restart costs a background process",
    "F3": "a killed process is told of once more when it is gone",
    "F4": "what was put out during a turn begins another one after it",
    "F6": "output that is watched for begins turns without end",
    "F8": "a call cut off leaves no result",
    "F11": "a restart turns a question into a silent no",
    "F13": "an answer that comes late meets silence",
    "F10": "somebody else, or the gateway itself, is taken for a background process",
    "F14": "clocks of an old turn go on beside the new one's",
    "F15": "a sign of work stays after a restart",
    "F16": "a drain does not see work that no chat began",
    "G1": "a signalled gateway stays dead",
    "G2": "a restart that was asked for stays dead",
    "G3": "killed in the drain, the next start fails",
    "G4": "a platform that does not let go holds up the end",
    "G5": "a dead owner's lock keeps others out",
    "G6": "a stuck thread holds up the end",
    "G7": "a frozen loop outlives its drain",
    "G9": "a stuck turn puts a restart off for ever",
    "G11": "what was stopped once is never started again",
    "G13": "a restart from inside never comes back",
    "G16": "a busy lock is given up on",
    "G17": "a blocked loop leaves the gateway deaf",
    "G18": "two supervisors end each other's gateways",
    "G19": "one fault ends the whole gateway",
    "H2": "who lost a turn goes on writing",
    "H3": "two processes work for one conversation",
    "H6": "being alive counts as getting on",
    "O1": "a drain refuses messages",
    "O2": "confirmed before it was kept",
    "O3": "recovery looks again without a pause",
    "O4": "a finished answer is never delivered",
    "O5": "what was delivered is sent again after a restart",
    "O6": "a refusal for good is tried again for ever",
    "O7": "a platform that is away uses the attempts up",
    "O8": "one culprit stops everybody",
    "O9": "a stuck turn is never ended, or a healthy one is",
    "O10": "more than one notice of a drain",
    "O11": "a model is asked for an answer that exists",
    "O12": "a signal loses what a kill would not",
    "O13": "a slow step is run by two",
    "O14": "rows are stranded when the ledger fails during recovery",
    "O15": "a platform is deaf and nobody is told",
    "O16": "the read position is kept before the messages",
    "O17": "the first read after a start is ignored",
    "O18": "two read one platform as one account",
    "O19": "a replaced token still lets in",
    "O20": "a name decides who may talk",
    "O21": "the name of a file reaches beyond its folder",
}


def guarded() -> Iterator[tuple[str, str]]:
    """Every id that a test names, and that test."""
    for path in (path for folder in FOLDERS for path in modules(ROOT / "tests" / folder)):
        for node in ast.walk(parse(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in node.decorator_list:
                    for id_ in _ids(decorator):
                        yield id_, f"{path.relative_to(ROOT)}::{node.name}"


def _ids(decorator: ast.expr) -> list[str]:
    match decorator:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="guards"), args=args):
            return [str(ast.literal_eval(arg)) for arg in args]
    return []


if __name__ == "__main__":
    tests = list(guarded())
    for wanted in (*RULES, *FAILURES):
        sys.stdout.write(f"{wanted} {FAILURES.get(wanted, '')}".rstrip() + "\n")
        sys.stdout.writelines(f"    {test}\n" for id_, test in tests if id_ == wanted)
