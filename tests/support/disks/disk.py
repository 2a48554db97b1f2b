"""A disk under a power cut: what was synced is certain; of what came after, any part may have arrived.

A sector (512 bytes) is written whole or not at all, and holds what the file held at that place at some time
since its last sync. Sizes and folders are written apart from the data. A folder's changes arrive in order.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .events import Event, Made, Moved, Removed, Sized, SyncBegun, SyncEnded, Told, Wrote

SECTOR = 512


@dataclass(slots=True)
class Change:
    """One write or one change of size, and what is known of its way to the disk."""

    at: int
    """Its number among all that happened."""
    start: int
    data: bytes | None
    """None: the size became `start`."""
    certain: bool = False
    lost: bool = False
    """A sync of it failed: no later one will make it certain."""

    @property
    def end(self) -> int:
        return self.start + len(self.data or b"")

    @property
    def sectors(self) -> range:
        return range(self.start // SECTOR, -(-self.end // SECTOR)) if self.data else range(0)


@dataclass(frozen=True, slots=True)
class Landed:
    """How much of one change arrived: which of its sectors (None: all), and whether the size did."""

    sectors: frozenset[int] | None = None
    sized: bool = True


ALL, NONE = Landed(), Landed(frozenset(), sized=False)
Choice = Callable[[Change], Landed]


@dataclass(slots=True)
class File:
    synced: bytes = b""
    changes: list[Change] = field(default_factory=list)
    now: bytearray = field(default_factory=bytearray)
    before: bytes = b""
    """What stood in its place once: what a disk may give back for sectors never written."""

    def change(self, change: Change) -> None:
        _apply(self.now, change)
        self.changes.append(change)

    def settle(self) -> None:
        """Forget how it came to be what it certainly is."""
        done = 0
        while done < len(self.changes) and self.changes[done].certain:
            done += 1
        if done == len(self.changes):
            if len(self.synced) > len(self.before):
                self.before = self.synced
            self.synced = bytes(self.now)
        elif done:
            base = bytearray(self.synced)
            for change in self.changes[:done]:
                _apply(base, change)
            self.synced = bytes(base)
        del self.changes[:done]

    def after_a_cut(self, choose: Choice, stale: bool) -> bytes:
        """What it holds when of each uncertain change that much has arrived."""
        cache, disk, size = bytearray(self.synced), bytearray(self.synced), len(self.synced)
        for change in self.changes:
            landed = ALL if change.certain else choose(change)
            _apply(cache, change)
            if change.data is None:
                if landed.sized:
                    size = change.start
                    del disk[size:]
                continue
            self._reach(disk, change.end, stale)
            for sector in change.sectors:
                if landed.sectors is None or sector in landed.sectors:
                    begin = sector * SECTOR
                    whole = cache[begin : begin + SECTOR]
                    disk[begin : begin + len(whole)] = whole
            if landed.sized:
                size = max(size, change.end)
        self._reach(disk, size, stale)
        return bytes(disk[:size])

    def _reach(self, disk: bytearray, size: int, stale: bool) -> None:
        """Let it have that size: zeros, or whatever those sectors held before they were given to it."""
        missing = size - len(disk)
        if missing > 0:
            old = self.before[len(disk) : size] if stale else b""
            disk.extend(old + bytes(missing - len(old)))


def _apply(content: bytearray, change: Change) -> None:
    if change.data is None and change.start < len(content):
        del content[change.start :]
    elif change.end > len(content):
        content.extend(bytes(change.end - len(content)))
    if change.data is not None:
        content[change.start : change.end] = change.data


@dataclass(slots=True)
class Folder:
    synced: dict[str, "Node"] = field(default_factory=dict)
    changes: list[dict[str, "Node | None"]] = field(default_factory=list)
    """Names given and taken away (None), by one call each."""
    now: dict[str, "Node"] = field(default_factory=dict)

    def change(self, **names: "Node | None") -> None:
        self.changes.append(names)
        _rename(self.now, names)

    def after_a_cut(self, arrived: int) -> dict[str, "Node"]:
        found = dict(self.synced)
        for names in self.changes[:arrived]:
            _rename(found, names)
        return found

    def sync(self, count: int) -> None:
        self.synced = self.after_a_cut(count)
        del self.changes[:count]


Node = File | Folder


def _rename(folder: dict[str, Node], names: Mapping[str, Node | None]) -> None:
    for name, node in names.items():
        if node is None:
            folder.pop(name, None)
        else:
            folder[name] = node


Image = dict[str, bytes | None]
"""Every path and what it holds; None is a folder."""


class Disk:
    """Replays events, and can be cut from its power after any of them."""

    def __init__(self) -> None:
        self._root = Folder()
        self._syncs: dict[int, tuple[Node, list[Change] | int]] = {}
        self.applied = 0
        """How many events."""

    def apply(self, event: Event) -> None:
        self.applied += 1
        match event:
            case Wrote(path, offset, data):
                self._file(path).change(Change(self.applied, offset, data))
            case Sized(path, size):
                self._file(path).change(Change(self.applied, size, None))
            case Made(path, is_folder):
                self._name(path, Folder() if is_folder else File())
            case Moved(path, to):
                self._move(path, to)
            case Removed(path):
                self._name(path, None)
            case SyncBegun(path, number):
                node = self._node(path)
                known = list(node.changes) if isinstance(node, File) else len(node.changes)
                self._syncs[number] = (node, known)
            case SyncEnded(number, kept):
                self._end_sync(*self._syncs.pop(number), kept)
            case Told(_):
                pass

    def syncing(self, number: int) -> Node:
        """What is being made certain by a sync that has not ended."""
        return self._syncs[number][0]

    def find(self, path: str) -> Node | None:
        """What has this name now."""
        try:
            return self._node(path)
        except KeyError:
            return None

    def _end_sync(self, node: Node, known: list[Change] | int, kept: bool) -> None:
        if isinstance(node, Folder):
            assert isinstance(known, int)
            if kept:
                node.sync(known)
            return
        assert isinstance(known, list)
        for change in known:
            if kept:
                change.certain = not change.lost
            else:
                change.lost = not change.certain
        node.settle()

    def _node(self, path: str) -> Node:
        node: Node = self._root
        for name in path.split("/") if path else ():
            assert isinstance(node, Folder)
            node = node.now[name]
        return node

    def _file(self, path: str) -> File:
        node = self._node(path)
        assert isinstance(node, File)
        return node

    def _parent(self, path: str) -> tuple[Folder, str]:
        above, _, name = path.rpartition("/")
        folder = self._node(above)
        assert isinstance(folder, Folder)
        return folder, name

    def _name(self, path: str, node: Node | None) -> None:
        folder, name = self._parent(path)
        old = folder.now.get(name) or folder.synced.get(name)
        if isinstance(node, File) and isinstance(old, File):
            # Of the same name, so likely in the same place of the disk.
            node.before = max(old.before, old.synced, bytes(old.now), key=len)
        folder.change(**{name: node})

    def _move(self, path: str, to: str) -> None:
        folder, name = self._parent(path)
        target, new = self._parent(to)
        assert folder is target, f"{path} is moved to another folder"
        folder.change(**{name: None, new: folder.now[name]})

    def now(self) -> Image:
        """What a process sees, and a power cut after a sync of everything leaves."""
        return self._image(lambda folder: folder.now, lambda file: bytes(file.now))

    def after_a_cut(self, choose: Choice, arrived: Callable[[Folder], int], stale: bool = False) -> Image:
        return self._image(
            lambda folder: folder.after_a_cut(arrived(folder)), lambda file: file.after_a_cut(choose, stale)
        )

    def _image(self, names: Callable[[Folder], Mapping[str, Node]], data: Callable[[File], bytes]) -> Image:
        image: Image = {}

        def walk(folder: Folder, above: str) -> None:
            for name, node in names(folder).items():
                if isinstance(node, File):
                    image[above + name] = data(node)
                else:
                    image[above + name] = None
                    walk(node, f"{above}{name}/")

        walk(self._root, "")
        return image

    def uncertain(self) -> list[Change]:
        """Every change a cut may undo, in order; of files without a name too."""
        found: list[Change] = []

        def walk(folder: Folder) -> None:
            known = {id(node): node for node in (*folder.synced.values(), *folder.now.values())}
            for node in known.values():
                if isinstance(node, File):
                    found.extend(change for change in node.changes if not change.certain)
                else:
                    walk(node)

        walk(self._root)
        return sorted(found, key=lambda change: change.at)


# What may have arrived.


def all_of(disk: Disk) -> Image:
    return disk.after_a_cut(lambda change: ALL, lambda folder: len(folder.changes))


def none_of(disk: Disk) -> Image:
    return disk.after_a_cut(lambda change: NONE, lambda folder: 0)


def some_of(disk: Disk, chance: random.Random) -> Image:
    """One of the many states a cut may leave now."""
    changes = disk.uncertain()
    way = chance.choice(_WAYS)
    landed = way(changes, chance)
    share = chance.choice((0.0, 0.5, 1.0, 1.0))

    def choose(change: Change) -> Landed:
        found = landed.get(change.at, NONE)
        if chance.random() < 0.15:
            # The size is written apart from the data: later, or before it.
            return Landed(found.sectors, sized=chance.random() < 0.5)
        return found

    def arrived(folder: Folder) -> int:
        count = len(folder.changes)
        return round(share * count) if share != 0.5 else chance.randint(0, count)

    return disk.after_a_cut(choose, arrived, stale=chance.random() < 0.5)


def _torn(change: Change, chance: random.Random) -> Landed:
    """A part of one write: its beginning, its end, or sectors here and there."""
    sectors = list(change.sectors)
    if not sectors:
        return chance.choice((ALL, NONE))
    cut = chance.randint(0, len(sectors))
    kept = chance.choice((sectors[:cut], sectors[cut:], [one for one in sectors if chance.random() < 0.5]))
    return Landed(frozenset(kept), sized=bool(kept))


def _first(changes: list[Change], chance: random.Random) -> dict[int, Landed]:
    """As many as there was time for; the last one torn."""
    cut = chance.randint(0, len(changes))
    landed = {change.at: ALL for change in changes[:cut]}
    return landed | {change.at: _torn(change, chance) for change in changes[cut : cut + 1]}


def _last(changes: list[Change], chance: random.Random) -> dict[int, Landed]:
    """In the wrong order."""
    cut = chance.randint(0, len(changes))
    landed = {change.at: ALL for change in changes[cut:]}
    return landed | {change.at: _torn(change, chance) for change in changes[max(0, cut - 1) : cut]}


def _any(changes: list[Change], chance: random.Random) -> dict[int, Landed]:
    share = chance.choice((0.1, 0.5, 0.9))
    return {change.at: ALL for change in changes if chance.random() < share}


def _all_but_one(changes: list[Change], chance: random.Random) -> dict[int, Landed]:
    landed = {change.at: ALL for change in changes}
    if changes:
        missing = chance.choice(changes)
        landed[missing.at] = chance.choice((NONE, _torn(missing, chance)))
    return landed


def _one(changes: list[Change], chance: random.Random) -> dict[int, Landed]:
    return {change.at: _torn(change, chance) for change in chance.sample(changes, min(1, len(changes)))}


def _sectors(changes: list[Change], chance: random.Random) -> dict[int, Landed]:
    """Each sector for itself."""
    share = chance.choice((0.05, 0.5, 0.95))
    return {
        change.at: Landed(frozenset(one for one in change.sectors if chance.random() < share))
        for change in changes
    }


_WAYS = (_first, _first, _last, _any, _all_but_one, _one, _sectors)
