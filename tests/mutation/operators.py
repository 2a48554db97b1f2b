"""Small changes of a source file, each one a slip that a developer could make.

`mutations` finds all of them in one file, always in the same order. A mutation knows the bytes it replaces
and the lines that a test has to run to notice the change. Types, decorators, docstrings, words to people and
the insides of f-strings stay as they are.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

DROPPED = "(dropped)"
TOP = "<module>"
"""The function of what stands outside of all functions."""
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
Enums = dict[str, tuple[str, ...]]
"""The members of each enumeration, by its name, in their order."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Compound = (
    ast.If | ast.While | ast.For | ast.AsyncFor | ast.With | ast.AsyncWith | ast.Try | ast.TryStar | ast.Match
)


@dataclass(frozen=True)
class Mutation:
    """One change of one file."""

    file: str
    """From the top of the package: `policy/ages.py`."""
    function: str
    operator: str
    line: int
    was: str
    becomes: str
    start: int
    end: int
    text: str
    """What replaces the bytes from `start` to `end`."""
    runs: tuple[int, int] | None
    """First and last line that runs with the changed code; None: it runs when the module is imported."""
    nth: int = 1
    """Which one it is of those that read the same in this function."""

    @property
    def key(self) -> str:
        """The same as long as the function holds this code: lines above it come and go."""
        words = (self.file, self.function, self.operator, self.was, self.becomes, str(self.nth))
        return sha256("\0".join(words).encode()).hexdigest()[:16]

    @property
    def package(self) -> str:
        return self.file.split("/")[0] if "/" in self.file else "base"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.was}  →  {self.becomes}"

    def applied_to(self, source: str) -> str:
        encoded = source.encode()
        return (encoded[: self.start] + self.text.encode() + encoded[self.end :]).decode()


def mutations(file: str, source: str, enums: Enums) -> list[Mutation]:
    """All changes of this file, in the order of its text."""
    found = sorted(
        _Finder(file, source, enums).all(), key=lambda m: (m.start, m.end, m.operator, m.becomes, m.text)
    )
    seen: Counter[tuple[str, ...]] = Counter()
    numbered = []
    for mutation in found:
        alike = (mutation.function, mutation.operator, mutation.was, mutation.becomes)
        seen[alike] += 1
        numbered.append(replace(mutation, nth=seen[alike]))
    return numbered


def enums_of(sources: Iterable[str]) -> Enums:
    """Every enumeration that these sources define."""
    return {
        node.name: tuple(
            target.id
            for statement in node.body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        )
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id.endswith("Enum") for base in node.bases)
    }


@dataclass(frozen=True)
class _Place:
    """Where a node stands."""

    function: str
    runs: tuple[int, int] | None
    returns: str = ""
    """What the function says it returns."""


class _Finder:
    def __init__(self, file: str, source: str, enums: Enums) -> None:
        self._file = file
        self._enums = enums
        self._tree = ast.parse(source)
        starts = [0]
        for line in source.encode().splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts

    def all(self) -> Iterator[Mutation]:
        yield from self._block(self._tree.body, _Place(TOP, None))

    # Statements

    def _block(self, body: list[ast.stmt], place: _Place) -> Iterator[Mutation]:
        for statement in body:
            yield from self._statement(statement, self._at(statement, place))

    def _at(self, statement: ast.stmt, place: _Place) -> _Place:
        """Where a statement stands inside of a function: a compound one runs with its first lines."""
        if place.runs is None:
            return place
        last = statement.end_lineno or statement.lineno
        inner = getattr(statement, "body", None) or getattr(statement, "cases", None)
        if isinstance(statement, Compound) and inner:
            first = inner[0].pattern if isinstance(inner[0], ast.match_case) else inner[0]
            last = max(statement.lineno, first.lineno - 1)
        return replace(place, runs=(statement.lineno, last))

    def _statement(self, node: ast.stmt, place: _Place) -> Iterator[Mutation]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._function(node, place)
            case ast.ClassDef():
                name = node.name if place.function == TOP else f"{place.function}.{node.name}"
                yield from self._block(node.body, _Place(name, None))
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Import() | ast.ImportFrom() | ast.Assert():
                pass
            case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
                pass
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                yield from self._changed_statement(node, place)
                yield from self._inside(node, place)

    def _inside(self, node: ast.stmt, place: _Place) -> Iterator[Mutation]:
        """What a statement holds: expressions, blocks, handlers and cases."""
        if isinstance(node, ast.If | ast.While):
            yield from self._condition(node.test, place)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "type_comment", "target", "targets"):
                continue
            for part in value if isinstance(value, list) else [value]:
                match part:
                    case ast.stmt():
                        yield from self._block([part], place)
                    case ast.expr():
                        yield from self._expression(part, place)
                    case ast.withitem():
                        yield from self._expression(part.context_expr, place)
                    case ast.ExceptHandler():
                        yield from self._block(part.body, place)
                    case ast.match_case():
                        yield from self._case(part, place)

    def _case(self, node: ast.match_case, place: _Place) -> Iterator[Mutation]:
        at = replace(place, runs=(node.pattern.lineno, node.pattern.end_lineno or 0)) if place.runs else place
        for value in ast.walk(node.pattern):
            if isinstance(value, ast.MatchValue):
                yield from self._expression(value.value, at)
        if node.guard:
            yield from self._condition(node.guard, at)
            yield from self._expression(node.guard, at)
        yield from self._block(node.body, place)

    def _function(self, node: Function, place: _Place) -> Iterator[Mutation]:
        name = node.name if place.function == TOP else f"{place.function}.{node.name}"
        returns = ast.unparse(node.returns) if node.returns else ""
        inside = _Place(name, (node.body[0].lineno, node.end_lineno or node.lineno), returns)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                yield from self._expression(default, inside)
        yield from self._block(node.body, inside)

    def _changed_statement(self, node: ast.stmt, place: _Place) -> Iterator[Mutation]:
        match node:
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise():
                if place.function != TOP:
                    yield self._made(node, "drop statement", "pass", place)
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                if place.function != TOP:
                    yield self._made(node, "drop statement", "pass", place)
            case ast.Break():
                yield self._made(node, "loop", "continue", place)
            case ast.Continue():
                yield self._made(node, "loop", "break", place)
            case ast.Return(value=ast.expr() as value):
                yield from self._returned(node, value, place)

    def _returned(self, node: ast.Return, value: ast.expr, place: _Place) -> Iterator[Mutation]:
        if isinstance(value, ast.Constant):
            return
        if place.returns != "bool":
            yield self._made(node, "return", "return None", place)
        elif not isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield self._made(node, "negate", f"return {ast.unparse(_not(value))}", place)

    # Expressions

    def _condition(self, node: ast.expr, place: _Place) -> Iterator[Mutation]:
        """A condition that no other operator turns round."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr | ast.Await | ast.Subscript):
            yield self._made(node, "negate", _not(node), place)

    def _expression(self, node: ast.expr, place: _Place) -> Iterator[Mutation]:
        if isinstance(node, ast.JoinedStr):
            return
        yield from self._changed(node, place)
        if isinstance(node, ast.IfExp):
            yield from self._condition(node.test, place)
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.Subscript) and isinstance(child, ast.Tuple):
                continue  # The arguments of a type.
            if isinstance(child, ast.comprehension):
                for test in child.ifs:
                    yield from self._condition(test, place)
            for part in _parts(child):
                yield from self._expression(part, place)

    def _changed(self, node: ast.expr, place: _Place) -> Iterator[Mutation]:
        match node:
            case ast.Compare():
                yield from self._compared(node, place)
            case ast.BoolOp():
                yield from self._joined(node, place)
            case ast.UnaryOp(op=ast.Not()):
                yield self._made(node, "drop not", node.operand, place)
            case ast.BinOp() if type(node.op) in COUNTED:
                changed_op = copy.deepcopy(node)
                changed_op.op = COUNTED[type(node.op)]()
                yield self._made(node, "arithmetic", changed_op, place)
            case ast.Constant():
                for value in _neighbours(node.value):
                    yield self._made(node, "constant", ast.Constant(value), place)
            case ast.Attribute(value=ast.Name(id=name)) if node.attr in self._enums.get(name, ()):
                members = self._enums[name]
                other = members[(members.index(node.attr) + 1) % len(members)]
                yield self._made(node, "enum", f"{name}.{other}", place)
            case ast.Call():
                yield from self._called(node, place)
            case ast.Set() | ast.Tuple() | ast.List() | ast.Dict():
                yield from self._collected(node, place)

    def _compared(self, node: ast.Compare, place: _Place) -> Iterator[Mutation]:
        for index, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[index] = COMPARED[type(operator)]()
            yield self._made(node, "compare", changed, place)

    def _joined(self, node: ast.BoolOp, place: _Place) -> Iterator[Mutation]:
        changed = copy.deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield self._made(node, "and or", changed, place)
        for index in range(len(node.values)):
            fewer = copy.deepcopy(node)
            del fewer.values[index]
            yield self._made(
                node, "drop condition", fewer.values[0] if len(fewer.values) == 1 else fewer, place
            )

    def _called(self, node: ast.Call, place: _Place) -> Iterator[Mutation]:
        if isinstance(node.func, ast.Name) and node.func.id in CALLED:
            changed = copy.deepcopy(node)
            changed.func = ast.Name(CALLED[node.func.id])
            yield self._made(node, "call", changed, place)
        for index, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                fewer = copy.deepcopy(node)
                del fewer.keywords[index]
                was = f"{ast.unparse(node.func)}(… {keyword.arg}={ast.unparse(keyword.value)})"
                yield self._made(node, "drop argument", fewer, place, was, DROPPED)

    def _collected(
        self, node: ast.Set | ast.Tuple | ast.List | ast.Dict, place: _Place
    ) -> Iterator[Mutation]:
        if isinstance(node, ast.Dict):
            if len(node.keys) > 1:
                for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
                    if key is not None:
                        fewer = copy.deepcopy(node)
                        del fewer.keys[index], fewer.values[index]
                        was = f"{ast.unparse(key)}: {ast.unparse(value)}"
                        yield self._made(node, "drop entry", fewer, place, was, DROPPED)
        elif len(node.elts) > 1 and all(isinstance(e, ast.Constant | ast.Attribute) for e in node.elts):
            for index, element in enumerate(node.elts):
                smaller = copy.deepcopy(node)
                del smaller.elts[index]
                was = f"{ast.unparse(element)} of {ast.unparse(node)}"
                yield self._made(node, "drop entry", smaller, place, was, DROPPED)

    def _made(
        self,
        node: ast.stmt | ast.expr,
        operator: str,
        new: ast.expr | str,
        place: _Place,
        was: str = "",
        becomes: str = "",
    ) -> Mutation:
        said = new if isinstance(new, str) else ast.unparse(new)
        return Mutation(
            file=self._file,
            function=place.function,
            operator=operator,
            line=node.lineno,
            was=was or ast.unparse(node),
            becomes=becomes or said,
            start=self._starts[node.lineno - 1] + node.col_offset,
            end=self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0),
            text=said if isinstance(node, ast.stmt) else f"({said})",
            runs=place.runs,
        )


def _parts(node: ast.AST) -> list[ast.expr]:
    """The expressions in a part of an expression."""
    match node:
        case ast.expr():
            return [node]
        case ast.keyword():
            return [node.value]
        case ast.comprehension():
            return [node.iter, *node.ifs]
        case ast.arguments():
            return [default for default in (*node.defaults, *node.kw_defaults) if default is not None]
        case _:
            return []


def _not(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), node)


def _neighbours(value: object) -> tuple[int | float, ...]:
    match value:
        case bool():
            return (not value,)
        case int():
            return (value + 1, value - 1)
        case float():
            return (value + 1,)
        case _:
            return ()
