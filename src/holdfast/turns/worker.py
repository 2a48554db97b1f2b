"""Workers: claim a turn, run it, claim the next; asleep while the ledger has nothing."""

from __future__ import annotations

from holdfast.store import ClaimSettings, Judge, Store

from .runner import Runner


class Worker:
    """One pair of hands."""

    def __init__(self, store: Store, runner: Runner, settings: ClaimSettings, judge: Judge) -> None:
        self._store = store
        self._runner = runner
        self._settings = settings
        self._judge = judge

    async def work_once(self) -> bool:
        """Claim and run one turn; False when there is none to claim."""
        claimed = await self._store.claim(self._settings, self._judge)
        if claimed is None:
            return False
        await self._runner.run(claimed)
        return True

    async def work(self) -> None:
        """Work for ever; a wake-up is a hint, the claim is the truth."""
        while True:
            seen = self._store.version("turns")
            if not await self.work_once():
                await self._store.changed("turns", seen)
