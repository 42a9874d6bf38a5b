"""Small mistakes to put into a source file, one at a time, as edits of its text."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

_BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """Bytes `start` to `stop` of a file are replaced."""

    path: Path
    line: int
    kind: str
    start: int
    stop: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """Return the source with the mistake."""
        return source[: self.start] + self.text.encode() + source[self.stop :]

    def diff(self, source: bytes) -> str:
        """Return what changes, as a patch."""
        before, after = source.decode(), self.apply(source).decode()
        name = self.path.as_posix()
        lines = unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            f"a/{name}",
            f"b/{name}",
        )
        return "".join(lines)


class _Source:
    """A file's bytes and where its nodes stand in them."""

    def __init__(self, path: Path, source: bytes) -> None:
        self.path = path
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the first byte of a node and the one after its last."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def replace(self, node: ast.expr | ast.stmt, kind: str, text: str) -> Mutation:
        """Replace all of a node."""
        return Mutation(self.path, node.lineno, kind, *self.span(node), text)

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Return a node's own text."""
        start, stop = self.span(node)
        return self.source[start:stop].decode()

    def between(
        self, left: ast.expr, right: ast.expr, kind: str, old: str, new: str
    ) -> Iterator[Mutation]:
        """Replace the operator between two expressions."""
        start, stop = self.span(left)[1], self.span(right)[0]
        found = re.search(
            re.escape(old).replace(r"\ ", r"\s+").encode(), self.source[start:stop]
        )
        if found is not None:
            place = start + found.start(), start + found.end()
            yield Mutation(self.path, right.lineno, kind, *place, new)


def mutations(path: Path, source: bytes) -> list[Mutation]:
    """Return all mutations of a file that this tool knows, in order of place.

    Types, decorators, docstrings and what only a type checker runs are left alone; so
    are strings, most of which are messages, and ``strict`` of `zip`.
    """
    file = _Source(path, source)
    return sorted(
        _below(file, ast.parse(source)), key=lambda m: (m.start, m.stop, m.kind, m.text)
    )


def _below(file: _Source, node: ast.AST) -> Iterator[Mutation]:
    for child in _children(node):
        yield from _of_node(file, child)
        yield from _below(file, child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    skipped = {"annotation", "returns", "decorator_list", "bases", "keywords"}
    if isinstance(node, ast.Call):
        skipped = set()
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                yield child


def _is_left_alone(node: ast.AST) -> bool:
    """Say whether a node is for type checkers, or ``strict`` of a zip of equals."""
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    if isinstance(node, ast.If):
        names = {leaf.id for leaf in ast.walk(node.test) if isinstance(leaf, ast.Name)}
        return bool(names & {"TYPE_CHECKING", "__name__"})
    if isinstance(node, ast.ClassDef):
        return any("Protocol" in ast.unparse(base) for base in node.bases)
    if isinstance(node, ast.Assign) and isinstance(
        node.value, ast.BinOp | ast.Subscript
    ):
        root = node.value
        union = isinstance(root, ast.BinOp) and isinstance(root.op, ast.BitOr)
        literal = "Literal[" in ast.unparse(root)
        return literal or (union and node.col_offset == 0)
    return False


def _of_node(file: _Source, node: ast.AST) -> Iterator[Mutation]:
    match node:
        case ast.BinOp(left, op, right) if not _is_text(left, right):
            if type(op) in _BINARY:
                yield from file.between(left, right, "operator", *_BINARY[type(op)])
        case ast.AugAssign(target, op, value):
            if type(op) in _BINARY:
                old, new = (f"{sign}=" for sign in _BINARY[type(op)])
                yield from file.between(target, value, "operator", old, new)
            yield file.replace(node, "statement dropped", "pass")
        case ast.Compare(left, ops, comparators):
            pairs = zip([left, *comparators], comparators, ops, strict=False)
            for before, after, comparison in pairs:
                signs = _COMPARISONS[type(comparison)]
                yield from file.between(before, after, "comparison", *signs)
        case ast.BoolOp(op, values):
            signs = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield from file.between(values[0], values[1], "condition", *signs)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield file.replace(node, "sign", f"({file.text(operand)})")
        case ast.Constant(value):
            yield from _of_constant(file, node, value)
        case ast.Return(ast.expr()) if ast.unparse(node) != "return None":
            yield file.replace(node, "return value", "return None")
        case ast.Raise() | ast.Continue() | ast.Break():
            yield file.replace(node, "statement dropped", "pass")
        case ast.Expr(ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield file.replace(node, "statement dropped", "pass")
        case ast.Assign(targets):
            if not any(isinstance(target, ast.Name) for target in targets):
                yield file.replace(node, "statement dropped", "pass")
        case _:
            pass
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield file.replace(node.test, "condition", f"(not ({file.text(node.test)}))")


def _of_constant(
    file: _Source, node: ast.Constant, value: object
) -> Iterator[Mutation]:
    if isinstance(value, bool):
        yield file.replace(node, "constant", repr(not value))
    elif isinstance(value, int):
        yield file.replace(node, "constant", repr(value + 1))
    elif isinstance(value, float):
        yield file.replace(node, "constant", repr(2.0 * value if value else 1.0))


def _is_text(*nodes: ast.expr) -> bool:
    """Say whether operands are strings: ``%`` and ``+`` mean something else there."""
    return any(
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in nodes
    )
