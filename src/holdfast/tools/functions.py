"""A typed Python function as a tool: its annotations are the schema, its docstring is for the model.

    @tool(effect=EffectClass.READ, timeout=30)
    async def weather(city: str, days: int = 3) -> str:
        '''Tell the weather.

        Args:
            city: The name of the place.
            days: How many days to forecast.
        '''

A parameter annotated with `ToolContext` gets the call's context and is hidden from the model. A plain
function runs in its own thread, which runs on alone when the gateway gives the call up.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, is_dataclass, replace
from typing import Any, get_type_hints

from holdfast.model import EffectClass

from .base import Outcome, ToolContext, ToolFailed
from .intentions import Intention
from .json_schema import Field, Misfit, Shape, object_of, shape_of

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters):\s*$", re.MULTILINE)
_ARGUMENT = re.compile(r"^(?P<indent>\s+)(?P<name>\w+)(?:\s*\([^)]*\))?:\s*(?P<words>.*)$")
_NEXT_SECTION = re.compile(r"^\s*[A-Z]\w+:\s*$")

_INDENT = 4

Function = Callable[..., Any]


class FunctionTool:
    """A tool that is a function; made by `tool`."""

    starts_program = False

    def __init__(
        self, function: Function, name: str | None, effect: EffectClass, timeout: float | None
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        self.effect = effect
        self.timeout = timeout
        if not _NAME.fullmatch(self.name):
            raise TypeError(f"{self.name!r} is not a tool name: letters, digits, _ and -, at most 64")
        self._context, arguments = _signature(function, self.name)
        self._read = arguments.read
        self.parameters = arguments.schema
        self.description = _description(function)

    async def run(self, context: ToolContext, arguments: str) -> Outcome:
        found = await self._call(self.function, context, arguments)
        return found if isinstance(found, (str, Intention)) else _as_text(found)

    async def _call(self, function: Function, context: ToolContext, arguments: str) -> Any:
        given = self._given(arguments)
        is_async = inspect.iscoroutinefunction(function)
        if self._context is not None:
            given[self._context] = context if is_async else _from_thread(context)
        return await (function(**given) if is_async else in_thread(self.name, lambda: function(**given)))

    def _given(self, arguments: str) -> dict[str, Any]:
        """The arguments of the function; an error names each mistake, so that the model can correct it."""
        try:
            given: dict[str, Any] = self._read(json.loads(arguments) if arguments.strip() else {}, "")
        except (ValueError, RecursionError) as error:
            raise ToolFailed(f"{self.name} was not run: its arguments are not JSON ({error})") from None
        except Misfit as misfit:
            raise ToolFailed(f"{self.name} was not run: {misfit}") from None
        return given


class CheckedTool(FunctionTool):
    """A tool that can say what happened to a call; `ask` takes the same arguments as the function."""

    def __init__(self, function: Function, name: str | None, timeout: float | None, ask: Function) -> None:
        super().__init__(function, name, EffectClass.RECONCILABLE, timeout)
        theirs, ours = inspect.signature(ask).parameters, inspect.signature(function).parameters
        if list(theirs) != list(ours):
            raise TypeError(f"the check of {self.name} must take the same arguments: {', '.join(ours)}")
        self._ask = ask

    async def check(self, context: ToolContext, arguments: str) -> str | None:
        found = await self._call(self._ask, context, arguments)
        return None if found is None else found if isinstance(found, str) else _as_text(found)


def tool(
    effect: EffectClass = EffectClass.EFFECT,
    *,
    name: str | None = None,
    timeout: float | None = None,
    check: Function | None = None,
) -> Callable[[Function], FunctionTool]:
    """Make a tool of a typed function; raises `TypeError` at once if a model could not call it.

    `effect` says what the gateway may do with a call that was cut off; by default it never runs it again.
    `timeout` is in seconds. `check` takes the same arguments and returns the result if the call happened,
    else None.
    """

    def make(function: Function) -> FunctionTool:
        if (check is None) == (effect is EffectClass.RECONCILABLE):
            raise TypeError(f"{function.__name__}: `check` and the effect RECONCILABLE need each other")
        if check is not None:
            return CheckedTool(function, name, timeout, check)
        return FunctionTool(function, name, effect, timeout)

    return make


async def in_thread(name: str, work: Callable[[], Any]) -> Any:
    """The result of the work, done in its own thread; if the caller is cancelled, the thread goes on."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    inside = contextvars.copy_context()

    def settle(result: Any, fault: BaseException | None) -> None:
        if done.done():
            return
        if fault is None:
            done.set_result(result)
        else:
            done.set_exception(RuntimeError(repr(fault)) if isinstance(fault, StopIteration) else fault)

    def run() -> None:
        result, fault = None, None
        try:
            result = inside.run(work)
        except BaseException as raised:  # noqa: BLE001 - a thread has no caller: the loop gets it as it is
            fault = raised
        # The loop may have ended, and the waiting caller with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=run, name=f"tool {name}", daemon=True).start()
    return await done


def _from_thread(context: ToolContext) -> ToolContext:
    """The same context for a thread: its callbacks run on the loop."""
    call = asyncio.get_running_loop().call_soon_threadsafe
    return replace(
        context,
        progress=lambda: void(call(context.progress)),
        output=lambda text: void(call(context.output, text)),
    )


def void(_: object) -> None:
    """Ignore the argument."""


def _signature(function: Function, name: str) -> tuple[str | None, Shape]:
    """The parameter that takes the context, if there is one, and the shape of the others in JSON."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(f"the tool {name}: an annotation cannot be read ({error})") from error
    said = _arguments_said(inspect.getdoc(function) or "")
    context: str | None = None
    fields: list[Field] = []
    for parameter in inspect.signature(function).parameters.values():
        if hints.get(parameter.name) is ToolContext:
            context = parameter.name
        else:
            fields.append(_field(parameter, hints, said, name))
    return context, object_of(tuple(fields))


def _field(parameter: inspect.Parameter, hints: dict[str, Any], said: dict[str, str], name: str) -> Field:
    where = f"the tool {name}: its parameter {parameter.name!r}"
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise TypeError(f"{where} has no name that a model could use")
    if parameter.name not in hints:
        raise TypeError(f"{where} has no annotation")
    try:
        shape = shape_of(hints[parameter.name])
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from None
    if parameter.name in said:
        shape = Shape({**shape.schema, "description": said[parameter.name]}, shape.read)
    required = parameter.default is parameter.empty
    return Field(parameter.name, shape, required, None if required else parameter.default)


def _description(function: Function) -> str:
    """The docstring up to its section `Args:`."""
    return _SECTION.split(inspect.getdoc(function) or "", maxsplit=1)[0].strip()


def _arguments_said(text: str) -> dict[str, str]:
    """What the section `Args:` of the docstring says about each parameter."""
    _, *rest = _SECTION.split(text, maxsplit=1)
    said: dict[str, str] = {}
    last = ""
    for line in rest[-1].splitlines() if rest else ():
        if _NEXT_SECTION.match(line):
            break
        found = _ARGUMENT.match(line)
        if found and len(found["indent"]) <= _INDENT:
            last = found["name"]
            said[last] = found["words"].strip()
        elif last and line.strip():
            said[last] = f"{said[last]} {line.strip()}"
    return said


def _as_text(value: object) -> str:
    """A result that is not text, as JSON."""
    if value is None:
        return "done"
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return json.dumps(plain, ensure_ascii=False, default=str)
