"""Which lines run a piece of a source: its own, or those that use what it defines."""

import ast
from collections.abc import Iterable
from pathlib import Path

Lines = dict[Path, set[int]]
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


class Sources:
    """All sources of the package, parsed once."""

    def __init__(self, root: Path) -> None:
        self.trees = {
            path.relative_to(root): ast.parse(path.read_bytes())
            for path in sorted((root / "src").rglob("*.py"))
        }

    def lines(self, path: Path, line: int) -> list[Lines]:
        """Return where to look for tests of a line: the best first, then substitutes.

        A line of a function is run with it, and what a module has made of it when it is
        imported by the functions that name that. A default of a function is run with
        the function's body. What a module or class defines is run by the functions that
        name it, or else by any function of its module.
        """
        tree = self.trees[path]
        function = _innermost(tree, line)
        if function is not None and line >= function.body[0].lineno:
            statement = _statement(function, line)
            here = self._users(_made_at_import(tree, function.name))
            here.setdefault(path, set()).add(line)
            return [
                here,
                {path: _span(statement)},
                {path: _body(function)},
            ]
        found: list[Lines] = []
        if function is not None:
            found.append({path: _body(function)})
        else:
            found.append(self._users(_defined(tree, line)))
        functions = (node for node in ast.walk(tree) if isinstance(node, FUNCTION))
        return [*found, {path: {line for f in functions for line in _body(f)}}]

    def beside(self, path: Path, line: int) -> set[int]:
        """Return the lines of the function that contains a line."""
        function = _innermost(self.trees[path], line)
        return set() if function is None else _body(function)

    def _users(self, names: set[str]) -> Lines:
        """Return lines inside functions that mention any of these names."""
        found: Lines = {}
        for path, tree in self.trees.items():
            for function in ast.walk(tree):
                if isinstance(function, FUNCTION):
                    lines = set(_mentions(function.body, names))
                    defaults = [*function.args.defaults, *function.args.kw_defaults]
                    if any(_mentions([node for node in defaults if node], names)):
                        lines |= _body(function)
                    if lines:
                        found.setdefault(path, set()).update(lines)
        return found


def _mentions(nodes: Iterable[ast.AST], names: set[str]) -> Iterable[int]:
    for node in nodes:
        for leaf in ast.walk(node):
            if (isinstance(leaf, ast.Name) and leaf.id in names) or (
                isinstance(leaf, ast.Attribute) and leaf.attr in names
            ):
                yield leaf.lineno


def _span(node: ast.stmt) -> set[int]:
    """Return the lines of a statement, without those of blocks that it contains."""
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    return set(range(node.lineno, max(last, node.lineno) + 1))


def _body(function: FUNCTION) -> set[int]:
    return set(range(function.body[0].lineno, (function.end_lineno or 0) + 1))


def _contains(node: ast.stmt, line: int) -> bool:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return first <= line <= (node.end_lineno or node.lineno)


def _innermost(tree: ast.Module, line: int) -> FUNCTION | None:
    """Return the innermost function that contains a line."""
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, FUNCTION) and _contains(node, line)
    ]
    return max(inside, key=lambda node: node.lineno, default=None)


def _statement(function: FUNCTION, line: int) -> ast.stmt:
    """Return the innermost statement of a function that contains a line."""
    inside = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and _contains(node, line)
    ]
    return max(inside, key=lambda node: (node.lineno, -(node.end_lineno or 0)))


def _made_at_import(tree: ast.Module, function: str) -> set[str]:
    """Return the names that statements of a module define by means of a function."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            leaves = ast.walk(node.value)
            used = {leaf.id for leaf in leaves if isinstance(leaf, ast.Name)}
            if function in used:
                names |= _defined(tree, node.lineno)
    return names


def _defined(tree: ast.Module, line: int) -> set[str]:
    """Return the names that a statement of a module or class defines."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and _contains(node, line):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names |= {
                    leaf.id for leaf in ast.walk(target) if isinstance(leaf, ast.Name)
                }
    return names
