"""Reference of a command line as HTML, from its parser, for the documentation."""

import argparse
import re
from html import escape
from typing import Any


def find_command(
    parser: argparse.ArgumentParser, command: str
) -> argparse.ArgumentParser:
    """Return the parser of a command such as "rpnb run"."""
    program, *words = command.split()
    if program != parser.prog:
        raise ValueError(f"no such program: {program}")
    for word in words:
        parser = subcommands(parser)[word]
    return parser


def subcommands(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the parsers of a parser's commands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def command_reference(parser: argparse.ArgumentParser) -> str:
    """Return the description and the arguments of a command as HTML."""
    parts = [f"<p>{_text(parser.description or '')}</p>"]
    for group in parser._action_groups:
        actions = [
            each
            for each in group._group_actions
            if each.help != argparse.SUPPRESS
            and not isinstance(each, argparse._SubParsersAction)
        ]
        if not actions:
            continue
        parts.append(f"<p><strong>{_text(group.title or '')}</strong>")
        parts.append(
            f": {_text(group.description)}</p>" if group.description else "</p>"
        )
        rows = "".join(
            f"<tr><td>{_names(each)}</td><td>{_help(parser, each)}</td></tr>"
            for each in actions
        )
        parts.append(
            "<table><thead><tr><th>argument</th><th>meaning</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
    return f'<div class="argparse">{"".join(parts)}</div>'


def _names(action: argparse.Action) -> str:
    """Return an argument with its values, as typed."""
    if action.choices is not None:
        value = "{" + ", ".join(map(str, action.choices)) + "}"
    elif action.nargs == 0:
        value = ""
    else:
        value = str(action.metavar or action.dest)
    if action.nargs == "+":
        value = f"{value} […]"
    names = ", ".join(f"<code>{escape(name)}</code>" for name in action.option_strings)
    if not names:
        return f"<code>{escape(value)}</code>"
    return f"{names} {escape(value)}".strip()


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = parser._get_formatter()
    return _text(formatter._expand_help(action) if action.help else "")


def _text(text: str) -> str:
    """Return plain text as HTML, with text in backquotes as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
