"""References in the documentation exist: pages, headings, scripts, options, names."""

import ast
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import oracles.paper
from argparse_html import command_reference, find_command, subcommands
from build_site import loaded_from_elsewhere
from evidence.__main__ import _parser as evidence_parser
from peers.__main__ import _parser as peers_parser
from rpnb.cli import _parser
from tutorial_notebook import NOTEBOOK, PAGE, text_of_notebook

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "rpnb"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")], key=lambda page: str(page))
LINK = re.compile(r"\]\(([^)\s]+)\)")
#: Addresses of the project's own files, which work on a package index, too.
OURS = re.compile(
    r"https://(?:github\.com/rpnb/rpnb/blob|raw\.githubusercontent\.com/rpnb/rpnb)/main/"
)
SITE = "https://rpnb.github.io/rpnb/stable/"
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(?!\s)([^$]+?)(?<!\s)\$(?!\d)", re.DOTALL)
OBJECT = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
#: Modules that cannot be imported without the packages of an extra.
EXTRAS = ("capymoa", "client", "mlflow", "spark")
#: Parsers of the programs that pages run by `python -m`.
MODULES = {"evidence": evidence_parser, "peers": peers_parser}
#: Programs of others, whose options are not checked.
OTHERS = ("cd", "curl", "docker", "pip", "vw")
#: Modules whose `__all__` is public.
PUBLIC = (
    "rpnb",
    "rpnb.baselines",
    "rpnb.datasets",
    "rpnb.datasets.streams",
    "rpnb.drift",
    "rpnb.evaluate",
    "rpnb.files",
    "rpnb.river",
    *(f"rpnb.{extra}" for extra in EXTRAS),
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings, as GitHub and the site make them."""
    text = page.read_text()
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", text), re.MULTILINE)
    bare = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in bare} | set(OBJECT.findall(text))


def links(page: Path) -> list[str]:
    """The links of a page; those to own files and pages are paths from the page."""
    found = LINK.findall(FORMULA.sub("", FENCE.sub("", page.read_text())))
    up = os.path.relpath(ROOT, page.parent)
    own = []
    for link in found:
        path, _, anchor = link.removeprefix(SITE).partition("#")
        if link.startswith(SITE):
            name = path.rstrip("/") or "index"
            name = f"{name}/index" if (DOCS / name).is_dir() else name
            link = f"{up}/docs/{name}.md" + (f"#{anchor}" if anchor else "")
        own.append(OURS.sub(f"{up}/", link))
    return own


def commands(page: Path) -> list[list[str]]:
    """The words of each command in the page's blocks for a shell."""
    blocks = SHELL.findall(page.read_text())
    lines = "\n".join(blocks).replace("\\\n", "").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def resolve(name: str) -> Any:
    """The module, class or function of a dotted name; fails if there is none."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        path = ROOT / "src" / Path(*parts[:end])
        if path.with_suffix(".py").exists() or (path / "__init__.py").exists():
            break
    else:
        raise AssertionError(name)
    if parts[0] == "rpnb" and parts[1:2] and parts[1] in EXTRAS:
        place = PACKAGE / parts[1]
        files = sorted(place.glob("*.py")) or [place.with_suffix(".py")]
        source = "\n".join(file.read_text() for file in files)
        for each in parts[end:]:
            assert re.search(rf"^(class|def) {each}\b", source, re.M), name
        return source
    found = importlib.import_module(".".join(parts[:end]))
    for part in parts[end:]:
        found = getattr(found, part)
    return found


def mentioned(page: Path) -> set[str]:
    """The dotted names of the package that a page mentions, from `rpnb` on."""
    text = page.read_text()
    full = re.findall(r"(?<![\w./-])rpnb(?:\.[A-Za-z_]\w*)+", text)
    inner = re.findall(r"`((?:core|estimators)(?:\.[A-Za-z_]\w*)+)`", text)
    return {*full, *(f"rpnb.{each}" for each in inner)}


@pytest.mark.parametrize("page", ["index.md", "tutorial/quickstart.md"])
def test_the_first_pages_work_in_a_new_process(page: str, tmp_path: Path) -> None:
    """Other tests import modules that a user has not imported."""
    run = "import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], False).failed)"
    done = subprocess.run(  # noqa: S603 - a page of ours
        [sys.executable, "-c", run, str(DOCS / page)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_pages_links_and_commands() -> None:
    assert {"README.md", "docs/tutorial/quickstart.md"} <= set(map(name_of, PAGES))
    assert "./docs/tutorial/index.md" in links(ROOT / "README.md")
    assert "./CONTRIBUTING.md" in links(ROOT / "README.md")
    assert ["rpnb", "run", "rows.csv", "--target", "label"] in commands(
        ROOT / "README.md"
    )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_images_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def check_command(words: list[str]) -> None:
    """Fail if there is no such program, option, target or script."""
    words = words[1:] if "=" in words[0] else words
    if words[0] == "rpnb":
        _parser().parse_args(words[1:])
    elif words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(), words
    elif words[0].endswith("python") and words[1] == "-m":
        MODULES[words[2]]().parse_args(words[3:])
    elif words[0].endswith("python") and words[1].endswith(".py"):
        assert (ROOT / words[1]).exists(), words
    elif words[0].endswith("pytest"):
        assert all((ROOT / word).exists() for word in words[1:] if "/" in word)
    else:
        assert words[0] in OTHERS, words


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_understood(page: Path) -> None:
    for words in commands(page):
        check_command(words)


@pytest.mark.parametrize(
    "command",
    [
        "rpnb run rows.csv --taget label",
        "make tests",
        "python -m evidence shw",
        "python -m peers --grow 3",
        "python -m nothing",
        "python benchmarks/nothing.py",
        ".venv/bin/pytest tests/nothing",
        "nothing --version",
    ],
)
def test_unknown_commands_are_found(command: str) -> None:
    with pytest.raises((AssertionError, KeyError, SystemExit)):
        check_command(shlex.split(command))


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_targets_and_scripts_that_exist(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    called = re.findall(r"run: make ([\w-]+)", text)
    if matrix := re.search(r"^ +target:\n((?: +- [\w-]+\n)+)", text, re.MULTILINE):
        called += re.findall(r"- ([\w-]+)\n", matrix[1])
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert sorted({*called} - {*targets}) == []
    scripts = re.findall(r"python3? ((?:tools|benchmarks)/[\w/.]+)", text)
    assert [script for script in scripts if not (ROOT / script).exists()] == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop().resolve()
        if page in reached:
            continue
        reached.add(page)
        paths = [link.partition("#")[0] for link in links(page)]
        ahead += [
            page.parent / path
            for path in paths
            if path.endswith(".md") and not path.startswith("https://")
        ]
    docs = {page for page in PAGES if page.is_relative_to(DOCS)}
    assert sorted(map(name_of, docs - reached)) == []


def test_the_menu_of_the_site_has_every_page_once() -> None:
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    pages = re.findall(r"^ +- (?:.*: )?(\S+\.md)$", menu, re.MULTILINE)
    assert sorted(pages) == sorted(
        str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")
    )


# Names of the code


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_of_modules_and_functions_exist(page: Path) -> None:
    for name in mentioned(page):
        resolve(name)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    rooms = "|".join(path.name for path in PACKAGE.iterdir() if path.is_dir())
    kinds = f"src|tests|benchmarks|docs|tools|rpnb|{rooms}"
    for path in re.findall(rf"`((?:{kinds})/[\w./-]*)`", text):
        homes = (ROOT, ROOT / "src", PACKAGE)
        assert any((home / path).exists() for home in homes), path


def test_names_are_found_only_where_they_exist() -> None:
    assert (
        resolve("rpnb.core.bayes.statistics").__name__ == "rpnb.core.bayes.statistics"
    )
    assert resolve("rpnb.evaluate.kappa").__name__ == "kappa"
    for name in ("rpnb.core.moments", "rpnb.Nothing", "rpnb.capymoa.Nothing"):
        with pytest.raises((AssertionError, AttributeError)):
            resolve(name)
    assert "rpnb.core.bayes.statistics.add_observation" in mentioned(
        DOCS / "explanation" / "algorithm.md"
    )
    assert "rpnb.river.RPNBClassifier" in mentioned(DOCS / "how-to" / "river.md")


def test_every_equation_has_an_oracle() -> None:
    text = (DOCS / "explanation" / "algorithm.md").read_text()
    sentences = re.findall(r"[Oo]racle: (.*?\.)(?:\s|$)", text, re.DOTALL)
    named = {each for line in sentences for each in re.findall(r"`(\w+)", line)}
    assert {"project", "log_posteriors", "class_scores", "update_one", "run"} <= named
    assert all(callable(getattr(oracles.paper, each)) for each in named)


def exported(module: str) -> list[str]:
    """Return the `__all__` of a module."""
    _, _, name = module.partition(".")
    if name not in EXTRAS:
        return list(importlib.import_module(module).__all__)
    path = PACKAGE / name
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = re.search(r"^__all__ = (\[.*?\])", path.read_text(), re.M | re.S)
    return list(ast.literal_eval(found[1])) if found else []


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_has_every_public_name(module: str) -> None:
    pages = [page.read_text() for page in (DOCS / "reference").glob("*.md")]
    documented = {name for text in pages for name in OBJECT.findall(text)}
    # A function that has the name of its module is named with it.
    documented |= {re.sub(r"\.(\w+)\.\1$", r".\1", name) for name in documented}
    names = exported(module)
    assert names
    assert sorted({f"{module}.{name}" for name in names} - documented) == []


def functions_of(name: str) -> list[tuple[str, Any]]:
    """Return a documented function, or the functions of a class or module, by name."""
    found = resolve(name)
    if inspect.isfunction(found):
        return [(name, found)]
    if not (inspect.isclass(found) or inspect.ismodule(found)):
        return []
    owner = found.__name__ if inspect.ismodule(found) else "rpnb."
    return [
        (f"{name}.{key}", value)
        for key, value in inspect.getmembers(found, inspect.isroutine)
        if not key.startswith("_")
        and (getattr(value, "__module__", None) or "").startswith(owner)
    ]


def properties_of(name: str, found: Any) -> list[tuple[str, Any]]:
    """Return the public properties of a documented class, by name."""
    return [
        (f"{name}.{key}", value)
        for key, value in inspect.getmembers(found, lambda each: type(each) is property)
        if not key.startswith("_") and value.fget.__module__.startswith("rpnb.")
    ]


def docstrings_in(source: str, name: str) -> list[tuple[str, str]]:
    """Return the docstrings of a function, or of a class and its members, by name."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    last = name.rpartition(".")[2]
    found = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, kinds) and node.name == last
    )
    inner = [
        each
        for each in (found.body if isinstance(found, ast.ClassDef) else [])
        if isinstance(each, kinds) and not each.name.startswith("_")
    ]
    named = [(name, found), *((f"{name}.{each.name}", each) for each in inner)]
    return [(key, ast.get_docstring(node) or "") for key, node in named]


def without_example(name: str) -> list[str]:
    """Return which of a documented object, its functions and properties lack one."""
    found = resolve(name)
    if name.split(".")[1] in EXTRAS:
        documented = docstrings_in(found, name)
    else:
        values = [*functions_of(name), *properties_of(name, found)]
        values += [(name, found)] if inspect.isclass(found) else []
        documented = [(key, value.__doc__ or "") for key, value in values]
    return [key for key, text in documented if ">>>" not in text]


PAGES_WITH_EXAMPLES = (
    *("baselines", "classifiers", "client", "datasets", "drift", "evaluate"),
    *("files", "mlflow", "preprocessing", "river", "spark", "statistics"),
)


@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES)
def test_functions_classes_and_members_have_an_example(page: str) -> None:
    text = (DOCS / "reference" / f"{page}.md").read_text()
    lacking = {each for name in OBJECT.findall(text) for each in without_example(name)}
    assert sorted(lacking) == []


def undescribed(name: str) -> list[str]:
    """Return which parameters of a documented object's functions have no entry."""
    return [
        f"{key}: {parameter}"
        for key, function in functions_of(name)
        for parameter in inspect.signature(function).parameters
        if parameter not in ("self", "kwargs")
        and not re.search(
            rf"^[\w, *]*\b{parameter}\b[\w, ]*( :|$)",
            inspect.getdoc(function) or "",
            re.MULTILINE,
        )
    ]


@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES)
def test_functions_and_methods_describe_their_parameters(page: str) -> None:
    text = (DOCS / "reference" / f"{page}.md").read_text()
    lacking = {each for name in OBJECT.findall(text) for each in undescribed(name)}
    assert sorted(lacking) == []


def test_a_function_without_an_example_is_found() -> None:
    assert without_example("rpnb.evaluate.metrics.figure_text") != []
    assert without_example("rpnb.evaluate.accuracy") == []
    assert without_example("rpnb.evaluate.metrics.Totals") != []


def test_members_without_an_example_are_found() -> None:
    class Lacking:
        @property
        def size(self) -> int:
            """Return a number, without an example."""
            return 0

    Lacking.size.fget.__module__ = "rpnb.nowhere"  # type: ignore[attr-defined]
    assert [key for key, _ in properties_of("Lacking", Lacking)] == ["Lacking.size"]
    source = 'class A:\n    """>>> A()"""\n    def b(self): "no example"\n'
    assert dict(docstrings_in(source, "x.A")) == {
        "x.A": ">>> A()",
        "x.A.b": "no example",
    }


def test_the_reference_has_every_command() -> None:
    text = (DOCS / "reference" / "command-line.md").read_text()
    blocks = re.findall(r"^```argparse\n(.*)\n```", text, re.MULTILINE)
    assert blocks == ["rpnb", *(f"rpnb {name}" for name in subcommands(_parser()))]


# The site


def test_the_notebook_is_the_tutorial() -> None:
    """`python tools/tutorial_notebook.py` writes it; tests/serve executes it."""
    text = PAGE.read_text(encoding="utf-8")
    assert NOTEBOOK.read_text(encoding="utf-8") == text_of_notebook(text)


def test_a_command_is_described_by_its_parser() -> None:
    html = command_reference(find_command(_parser(), "rpnb run"))
    assert "<code>--target</code> COLUMN" in html
    assert "{csv, parquet, feather, jsonl, arff, svmlight, excel}" in html
    assert "<code>rpnb datasets</code>" in html  # in backquotes in the help
    assert "%(default)s" not in html
    with pytest.raises(ValueError, match="no such program"):
        find_command(_parser(), "other run")
    with pytest.raises(KeyError):
        find_command(_parser(), "rpnb nothing")


def test_words_of_the_glossary_have_one_entry_each() -> None:
    text = (DOCS / "reference" / "glossary.md").read_text()
    words = re.findall(r"^### (.*)\n(?=\S)", text, re.MULTILINE)
    assert len(words) > 40
    assert len(set(words)) == len(words) == text.count("\n### ")


@pytest.mark.parametrize(
    "html",
    [
        '<script async src="https://example.org/a.js"></script>',
        "<link href='//example.org/a.css' rel='stylesheet'>",
        '<img alt="" src="http://example.org/a.png">',
        "<style>@import url('https://example.org/a.css')</style>",
    ],
)
def test_pages_that_load_from_another_host_are_found(html: str, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text('<a href="https://example.org">a link is fine</a>')
    assert loaded_from_elsewhere(tmp_path) == []
    page.write_text(html)
    (problem,) = loaded_from_elsewhere(tmp_path)
    assert problem.startswith("index.html loads ")
    assert "//example.org" in problem


def test_all_formulas_have_mathml() -> None:
    pytest.importorskip("latex2mathml")  # of the group docs
    from site_extension import to_mathml

    found = 0
    for page in DOCS.rglob("*.md"):
        for block, inline in FORMULA.findall(FENCE.sub("", page.read_text())):
            assert "<math" in to_mathml((block or inline).strip(), "inline")
            found += 1
    assert found > 100
    with pytest.raises(ValueError, match="without a MathML"):
        to_mathml(r"\nosuchcommand x", "inline")


def test_included_files_have_links_that_fit() -> None:
    pytest.importorskip("markdown")  # of the group docs
    from site_extension import included

    lines = "\n".join(included("CONTRIBUTING.md"))
    assert "](decisions/index.md)" in lines
    for link in LINK.findall(lines):
        assert link.startswith("https://") or (DOCS / link).exists(), link
