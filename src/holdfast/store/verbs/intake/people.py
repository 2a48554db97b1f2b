"""Access in the ledger: the codes of newcomers and the grants of owners."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from holdfast.model import ChatAddress, Grant, GrantScope, Knock, Owed, OwedKind, PairingRequest, PersonId
from holdfast.policy.intake.pairing import (
    PAIRED_WORDS,
    Paired,
    Pairing,
    PairingRefusal,
    PairingRefused,
    approve,
    chat_words,
    code_words,
    may_issue,
)
from holdfast.policy.settings import PairingSettings
from holdfast.store.contract.people import AS_USUAL
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.tx import Read, Tx


def answer_knock(tx: Tx, knock: Knock, settings: PairingSettings) -> None:
    """Tell a refused person, in their chat, how to get access, unless they were told often enough."""
    if knock.code is None:
        # Once for each chat: repeating these words would only annoy the people there.
        _tell(tx, knock, f"not_here:{replace(knock.place, thread=None).address}", chat_words(knock.place))
        return
    issued = _count(tx, "codes_of", person=knock.person, since=tx.now - settings.within)
    if not may_issue(issued, _count(tx, "open_codes", now=tx.now), settings):
        return
    digest = _digest(knock.code)
    fresh = tx.run(
        "add_pairing",
        code_hash=digest,
        person=knock.person,
        chat=knock.place.address,
        expires_at=tx.now + settings.lasts,
        now=tx.now,
    )
    if fresh:
        tx.event("code_given", f"person:{knock.person}")
        tx.changed("access")
        _tell(tx, knock, f"pairing:{digest}", code_words(knock.code, issued, settings))


def _tell(tx: Tx, knock: Knock, dedupe: str, words: str) -> None:
    place = knock.place
    tx.run("ensure_chat", address=place.address, platform=place.platform)
    owe_all(tx, (Owed(place.address, dedupe, (words,), OwedKind.NOTICE, knock.message_id),))


def pair(
    tx: Tx,
    code: str,
    by: PersonId,
    by_owner: bool,
    scope: GrantScope = GrantScope.PERSON,
    settings: PairingSettings = AS_USUAL,
) -> Paired | PairingRefused:
    digest, subject = _digest(code), f"pairing:{by}"
    row = tx.one("pairing", code_hash=digest)
    pairing = Pairing(code, PersonId(row[0]), row[2], row[3]) if row else None
    tries = _count(tx, "wrong_codes", subject=subject, since=tx.now - settings.within)
    verdict = approve(pairing, by_owner, tries, tx.now, settings)
    if isinstance(verdict, PairingRefused):
        if verdict.reason is PairingRefusal.UNKNOWN:
            tx.event("wrong_code", subject)
        return verdict
    assert row is not None
    tx.run("use_pairings", person=verdict.person, by=by, now=tx.now)
    grant(tx, scope, verdict.person, by)
    chat = ChatAddress(row[1])
    owe_all(tx, (Owed(chat, f"paired:{digest}", (PAIRED_WORDS,), OwedKind.NOTICE),))
    return verdict


def grant(tx: Tx, scope: GrantScope, subject: str, by: PersonId) -> bool:
    fresh = tx.run("add_grant", scope=scope, subject=subject, by=by, now=tx.now) == 1
    if fresh:
        tx.event("let_in", f"{scope}:{subject}", by=by)
        tx.changed("access")
    return fresh


def revoke(tx: Tx, subject: str, by: PersonId) -> bool:
    gone = tx.run("revoke", subject=subject) > 0
    if gone:
        tx.event("taken_out", f"access:{subject}", by=by)
        tx.changed("access")
    return gone


def grants(read: Read) -> tuple[Grant, ...]:
    return tuple(
        Grant(GrantScope(scope), subject, PersonId(by), at) for scope, subject, by, at in read.all("grants")
    )


def asking(read: Read, limit: int = 100) -> tuple[PairingRequest, ...]:
    found = read.all("asking", now=read.now, limit=limit)
    return tuple(
        PairingRequest(PersonId(person), ChatAddress(chat), at, until) for person, chat, at, until in found
    )


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def _count(tx: Tx, name: str, **values: str | int) -> int:
    row = tx.one(name, **values)
    return int(row[0]) if row else 0
