"""SQL is written in the source, whole: values go in as parameters and never become a part of it.

Read from the syntax trees. What reaches a call that runs SQL must be made of constants alone; where it is an
argument of the function that makes the call, every caller of that function must give constants.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import racebot

ROOT = Path(racebot.__file__).parent
RUNS_SQL = {"execute": 0, "executemany": 0, "executescript": 0, "query": 0}
"""Methods of SQLite's connections and of sqlite-utils, with the place of the SQL among their arguments."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """A module's functions and calls."""

    def __init__(self, source: str, name: str = "example") -> None:
        self.name = name
        self.tree = ast.parse(source)
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
                yield node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id, node

    def function(self, node: ast.AST) -> Function | None:
        """The function that a node stands in."""
        above = self._parents.get(node)
        while above is not None and not isinstance(above, Function):
            above = self._parents.get(above)
        return above

    def depends(
        self, node: ast.expr, function: Function | None, within: frozenset[str] = frozenset()
    ) -> set[str] | None:
        """Names of the arguments that a text is made of besides constants; None where of anything else."""
        parts: list[ast.expr]
        match node:
            case ast.Constant():
                return set()
            case ast.JoinedStr():
                parts = list(node.values)
            case ast.FormattedValue():
                parts = [node.value]
            case ast.BinOp(op=ast.Add()):
                parts = [node.left, node.right]
            case ast.IfExp():
                parts = [node.body, node.orelse]
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(), attr="join"), args=[ast.GeneratorExp() as made]
            ):
                parts = [made.elt]
            case ast.Name(id=name) if name in within:
                return set()
            case ast.Name(id=name):
                within |= {name}
                arguments = function.args if function else None
                if arguments and name in {each.arg for each in arguments.args}:
                    return {name}
                if arguments and arguments.vararg and arguments.vararg.arg == name:
                    return {"*" + name}
                parts = list(self._given(name, function))
                if not parts:
                    return None
            case _:
                return None
        found = [self.depends(part, function, within) for part in parts]
        return None if None in found else set().union(*(each for each in found if each is not None))

    def _given(self, name: str, function: Function | None) -> Iterator[ast.expr]:
        """Everything that a name stands for in a function or, failing that, in the module."""
        for scope in (function, self.tree):
            if scope is None:
                continue
            given = []
            for node in ast.walk(scope):
                match node:
                    case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                        given.append(value)
                    case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if (
                        target == name
                    ):
                        given.append(value)
                    case ast.AugAssign(target=ast.Name(id=target), value=value) if target == name:
                        given.append(value)
                    case ast.For(target=ast.Name(id=target), iter=ast.Tuple() | ast.List() as values):
                        given += values.elts if target == name else []
                    case ast.For(target=ast.Name(id=target), iter=ast.Name() as values) if target == name:
                        given.append(values)
            if given:
                yield from given
                return


def mixed(modules: list[Module]) -> list[str]:
    """Where SQL is made of something else than constants.

    A function whose argument becomes SQL runs SQL itself: one with a private name for its own module alone.
    """
    runs = {("", name): place for name, place in RUNS_SQL.items()}
    gathers: set[tuple[str, str]] = set()
    while True:
        found, more = [], dict(runs)
        for module in modules:
            for name, call in module.calls():
                key = next((key for key in ((module.name, name), ("", name)) if key in runs), None)
                if key is None:
                    continue
                function = module.function(call)
                # What a function takes as `*texts` are all the arguments from there on.
                last = None if key in gathers else runs[key] + 1
                for text in call.args[runs[key] : last]:
                    depends = module.depends(text, function)
                    if depends is None:
                        found.append(f"{module.name}, line {call.lineno}: {ast.unparse(text)[:80]}")
                    elif depends and function is not None:
                        own = (module.name if function.name.startswith("_") else "", function.name)
                        more[own] = min(_place(function, argument) for argument in depends)
                        gathers |= {own for argument in depends if argument.startswith("*")}
        if more == runs:
            return found
        runs = more


def _place(function: Function, argument: str) -> int:
    names = [each.arg for each in function.args.args]
    place = len(names) if argument.startswith("*") else names.index(argument)
    return place - (names[:1] == ["self"])


def test_all_sql_is_made_of_constants() -> None:
    modules = [
        Module(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
        for path in sorted(ROOT.rglob("*.py"))
    ]
    assert sum(name in RUNS_SQL for module in modules for name, _ in module.calls()) > 30
    assert mixed(modules) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(db, name): db.execute(f'SELECT {name()}')",
        "def f(db, name): db.execute('SELECT ' + name.text)",
        "def f(db, name): db.execute('SELECT {}'.format(name))",
        "def f(db, name): db.query('SELECT %s' % name)",
        "def f(db, name): db.execute(sql(name))",
        "def f(db, where): db.execute(f'SELECT 1 WHERE {where}')\ndef g(db, name): f(db, name['x'])",
        "def f(db, names):\n  for name in names():\n    db.execute(f'DELETE FROM {name}')",
        "def f(db, names): marks = ', '.join(n for n in names); db.execute(f'SELECT {marks}')",
    ],
)
def test_what_is_not_constant_is_found(source: str) -> None:
    assert mixed([Module(source)])


@pytest.mark.parametrize(
    "source",
    [
        "def f(db, name): db.execute('SELECT ?' ' WHERE x = ?', (name, name))",
        "def f(db):\n  for table in ('a', 'b'):\n    db.execute(f'DELETE FROM {table}')",
        "def f(db, names): marks = ', '.join('?' for _ in names); db.execute(f'SELECT {marks}', names)",
        "def f(db, where): db.execute(f'SELECT 1 WHERE {where}')\ndef g(db): f(db, 'x = 1')",
    ],
)
def test_what_is_constant_is_let_through(source: str) -> None:
    assert mixed([Module(source)]) == []
