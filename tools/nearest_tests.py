"""Which tests are nearest to a module: by who imports whom, and by mirrored folders."""

import ast
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def module_name(path: Path) -> str:
    """Return the dotted name of a file below ``src``."""
    parts = path.with_suffix("").parts
    parts = parts[parts.index("src") + 1 :]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(path: Path) -> Iterator[str]:
    """Yield every dotted name that a file may import, wherever it does."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # for import_module, if it is a module's name
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


class NearestTests:
    """The tests of a tree, to be asked for those nearest to a module."""

    def __init__(self, root: Path) -> None:
        self.root = root
        source = sorted((root / "src").rglob("*.py"))
        self.modules = {module_name(path.relative_to(root)): path for path in source}
        helpers = sorted((root / "tests").rglob("*.py"))
        for path in helpers:
            relative = path.relative_to(root / "tests").with_suffix("")
            self.modules[".".join(relative.parts)] = path
        self.files = [path for path in helpers if path.name.startswith("test_")]

    @cache  # noqa: B019 - there is one of these a process
    def _imports(self, path: Path) -> list[str]:
        names = set(imported_names(path)) & self.modules.keys()
        if path.name == "__init__.py" and b"import_module(f" in path.read_bytes():
            beside = set(path.parent.glob("*.py")) | set(path.parent.glob("*/*.py"))
            names |= {name for name, file in self.modules.items() if file in beside}
        return sorted(name for name in names if self.modules[name] != path)

    @cache  # noqa: B019
    def _distances(self, path: Path) -> dict[str, int]:
        """Return the number of imports between a test file and each module."""
        found: dict[str, int] = {}
        queue = deque([(path, 0)])
        while queue:
            file, steps = queue.popleft()
            for name in self._imports(file):
                if name not in found:
                    found[name] = steps + 1
                    queue.append((self.modules[name], steps + 1))
        return found

    def nearest(self, path: Path, most: int) -> list[Path]:
        """Return the test files nearest to a source file, the nearest first.

        A test that is named like the module in the mirrored folder comes first; then
        the fewer imports lie between, and the more folders are shared, the nearer.
        """
        name = module_name(path)
        own = path.with_suffix("").parts[2:]  # without src and rpnb
        ranked = []
        for file in self.files:
            distance = self._distances(file).get(name)
            if distance is None:
                continue
            parts = file.relative_to(self.root / "tests").with_suffix("").parts
            folders = zip(own[:-1], parts[:-1], strict=False)
            shared = 0
            for mine, theirs in folders:
                if mine != theirs:
                    break
                shared += 1
            mirrored = shared == len(own) - 1 and own[-1] in parts[-1]
            ranked.append((not mirrored, distance - shared, file))
        ranked.sort()
        return [file.relative_to(self.root) for *_, file in ranked[:most]]
