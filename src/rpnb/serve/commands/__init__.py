"""Commands to the writer: each is checked and written in a transaction."""

from rpnb.serve.commands.command import Command, not_learned
from rpnb.serve.commands.contenders import (
    Challenge,
    DropVersion,
    NameVersion,
    Promote,
    RollBack,
    Withdraw,
    no_version,
)
from rpnb.serve.commands.group import Group, no_model
from rpnb.serve.commands.models import Create, Delete
from rpnb.serve.commands.questions import Budget, OpenQuestions
from rpnb.serve.commands.rows import Forget, LabelRows, Learn, Remember

__all__ = [
    "Budget",
    "Challenge",
    "Command",
    "Create",
    "Delete",
    "DropVersion",
    "Forget",
    "Group",
    "LabelRows",
    "Learn",
    "NameVersion",
    "OpenQuestions",
    "Promote",
    "Remember",
    "RollBack",
    "Withdraw",
    "no_model",
    "no_version",
    "not_learned",
]
