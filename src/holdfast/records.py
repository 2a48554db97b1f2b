"""A `dataclass` for records that is much cheaper to import than the one of the standard library.

The standard library compiles six methods for each frozen class, which was most of the import time of a
gateway. Here all records share their methods. Only `__init__` is worth compiling, and it is compiled when the
first record of a class is made. Type checkers see the `dataclass` of the standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")

_PLAIN = dataclasses.dataclass(init=False, repr=False, eq=False)
"""Only collects the fields, for `replace`, `fields`, `asdict` and `match`."""
_INSTEAD = ("__dict__", "__weakref__")


def _record(*, frozen: bool = False, slots: bool) -> Callable[[type[T]], type[T]]:
    """Make a class with slots, the methods of a dataclass and no base but `object`; `slots` must be true."""
    assert slots

    def make(plain: type[T]) -> type[T]:
        # Without a docstring the standard library would compute the signature, which is slow.
        plain.__doc__ = plain.__doc__ or plain.__name__
        names: tuple[str, ...] = vars(_PLAIN(plain))["__match_args__"]
        given = {name: value for name, value in vars(plain).items() if name not in (*names, *_INSTEAD)}
        shared = {**_SHARED, **(_FROZEN if frozen else _OPEN)}
        more = {"__slots__": names, "__qualname__": plain.__qualname__}
        record: type[T] = type(plain.__name__, (), {**shared, **given, **more})
        # A dataclass of the standard library that extends this class needs it.
        vars(record)["__dataclass_params__"].frozen = frozen

        def compile_first(self: T, *positional: object, **named: object) -> None:
            init = _init_of(record)
            setattr(record, "__init__", init)  # noqa: B010 - a type checker allows nothing else
            init(self, *positional, **named)

        setattr(record, "__init__", compile_first)  # noqa: B010 - as above
        return record

    return make


def _init_of(record: type) -> Callable[..., None]:
    """Compile the `__init__` that sets each field through its slot; a frozen record allows no other way."""
    scope: dict[str, Any] = {"_missing": MISSING}
    parameters, lines = ["self"], ["pass"]
    for field in fields(record):
        name, value = field.name, field.name
        scope[f"_set_{name}"] = vars(record)[name].__set__
        if field.default is not MISSING:
            scope[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not MISSING:
            scope[f"_make_{name}"] = field.default_factory
            parameters.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        lines.append(f"_set_{name}(self, {value})")
    source = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines)
    exec(source, scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{record.__qualname__}.__init__"
    return init


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _repr(self: Any) -> str:
    named = zip(self.__match_args__, _values(self), strict=True)
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in named)})"


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    return type(self), _values(self)


def _set(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_SHARED = {"__repr__": _repr, "__eq__": _eq, "__reduce__": _reduce}
_FROZEN = {"__hash__": _hash, "__setattr__": _set, "__delattr__": _delete}
_OPEN = {"__hash__": None}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _record
