"""`rpnb completion`: shell scripts that complete commands and options.

They are generated from the parser, and need nothing installed. zsh reads the script of
bash through its own `bashcompinit`.
"""

import argparse
import sys
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")
_ABOUT = """\
Print a script for the completion of commands, options and learners.
bash: eval "$(rpnb completion bash)" in ~/.bashrc;
zsh: eval "$(rpnb completion zsh)" in ~/.zshrc, after compinit;
fish: rpnb completion fish > ~/.config/fish/completions/rpnb.fish
"""
# Options whose values are learners.
_LEARNERS = ("--model", "--compare", "--learners")


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _ABOUT
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=SHELLS, help="name of the shell")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from rpnb.cli import _parser
    from rpnb.estimators.registry import ALIASES, learners

    parser = _parser()
    names = sorted({*learners(), *ALIASES})
    script = fish_script if arguments.shell == "fish" else bash_script
    text = script(parser, names)
    if arguments.shell == "zsh":
        text = "autoload -U +X bashcompinit && bashcompinit\n" + text
    sys.stdout.write(text)
    return 0


def commands_of(
    parser: argparse.ArgumentParser,
) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Return the commands of a parser: their summaries and parsers."""
    (action,) = (
        each for each in parser._actions if isinstance(each, argparse._SubParsersAction)
    )
    helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
    return {name: (helps[name], each) for name, each in action.choices.items()}


def _options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options of a parser, positional arguments aside."""
    yield from (each for each in parser._actions if each.option_strings)


def _values(action: argparse.Action, learners: list[str]) -> list[str] | None:
    """Return the values of an option; [] for any value, None if it takes none."""
    if action.nargs == 0:
        return None
    if any(name in _LEARNERS for name in action.option_strings):
        return learners
    return [str(choice) for choice in action.choices or ()]


def bash_script(parser: argparse.ArgumentParser, learners: list[str]) -> str:
    """Return the script for bash."""
    commands = commands_of(parser)
    lines = [
        "# Completion of rpnb for bash, from `rpnb completion bash`.",
        "_rpnb() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '  local command="${COMP_WORDS[1]}"',
        "  COMPREPLY=()",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- '
        '"$word"))',
        "    return",
        "  fi",
        '  case "$command $before" in',
    ]
    for name, (_, command) in commands.items():
        for action in _options(command):
            values = _values(action, learners)
            if values:
                patterns = "|".join(f'"{name} {o}"' for o in action.option_strings)
                words = " ".join(values)
                lines.append(
                    f'    {patterns}) COMPREPLY=($(compgen -W "{words}" -- "$word")); '
                    "return;;"
                )
    lines += ["  esac", '  case "$word" in -*)', '    case "$command" in']
    for name, (_, command) in commands.items():
        words = " ".join(o for each in _options(command) for o in each.option_strings)
        lines.append(f'      {name}) COMPREPLY=($(compgen -W "{words}" -- "$word"));;')
    lines += [
        "    esac",
        "    return;;",
        "  esac",
        '  if [ "$command" = learners ]; then',
        f'    COMPREPLY=($(compgen -W "{" ".join(learners)}" -- "$word"))',
        '  elif [ "$command" = completion ]; then',
        f'    COMPREPLY=($(compgen -W "{" ".join(SHELLS)}" -- "$word"))',
        "  else",
        '    COMPREPLY=($(compgen -f -- "$word"))',
        "  fi",
        "}",
        "complete -o filenames -F _rpnb rpnb",
    ]
    return "\n".join(lines) + "\n"


def fish_script(parser: argparse.ArgumentParser, learners: list[str]) -> str:
    """Return the script for fish."""
    commands = commands_of(parser)
    lines = [
        "# Completion of rpnb for fish, from `rpnb completion fish`.",
        "complete -c rpnb -n __fish_use_subcommand -l version -d 'the version'",
    ]
    for name, (text, command) in commands.items():
        lines.append(
            f"complete -c rpnb -f -n __fish_use_subcommand -a {name} -d {_quoted(text)}"
        )
        within = f"complete -c rpnb -n '__fish_seen_subcommand_from {name}'"
        for action in _options(command):
            values = _values(action, learners)
            flags = " ".join(
                f"-l {o[2:]}" if o.startswith("--") else f"-s {o[1:]}"
                for o in action.option_strings
            )
            takes = "" if values is None else " -r"
            if values:
                takes = f" -x -a {_quoted(' '.join(values))}"
            described = _quoted((action.help or "").replace("%%", "%")[:70])
            lines.append(f"{within} {flags}{takes} -d {described}")
        if name == "learners":
            lines.append(f"{within} -f -a {_quoted(' '.join(learners))}")
        if name == "completion":
            lines.append(f"{within} -f -a {_quoted(' '.join(SHELLS))}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text in single quotation marks, as fish reads them."""
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
