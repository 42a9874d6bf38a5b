"""Commands that create and delete models."""

import json
import time
from dataclasses import dataclass
from typing import Any, ClassVar, final

from rpnb.serve.commands.command import Command, digest_of
from rpnb.serve.commands.group import Group
from rpnb.serve.limits import ApiError, beyond
from rpnb.serve.log import OWNED, checksum_of
from rpnb.serve.scores import Scores
from rpnb.serve.served_model import SavedState, ServedModel
from rpnb.serve.snapshots import insert_snapshot
from rpnb.serve.specs import Learner, ModelSpec


@final
@dataclass(slots=True, kw_only=True)
class Create(Command):
    """Create a model."""

    spec: ModelSpec
    learner: Learner
    file: bytes | None = None
    """its first state, if it was uploaded"""
    given: bytes = b""
    """body of the request"""

    CLIENT: ClassVar[int] = 0

    @property
    def digest(self) -> bytes:
        """Digest of the request."""
        rule = self.spec.new_classes
        rules = () if rule == "accept" else (rule,)
        return digest_of("create", self.name, self.given, *rules)

    def namespace(self, group: Group) -> int:
        """Return 0: the model does not exist yet."""
        return self.CLIENT

    def write(self, group: Group) -> dict[str, Any]:
        """Insert the model, and its first state."""
        taken = self.name in group.models and self.name not in group.deleted
        # A damaged model that could not be restored still has its name.
        taken = taken or (self.name not in group.deleted and self._is_stored(group))
        if taken or self.name in group.created:
            raise ApiError(409, "name_taken", "there is a model of this name already")
        number = len(group.models) + len(group.created) - len(group.deleted)
        if number >= group.limits.max_models:
            raise beyond("max_models", group.limits.max_models, "too many models")
        now = time.time()
        cursor = group.connection.execute(
            "INSERT INTO models(name, spec, created) VALUES(?,?,?)",
            (self.name, self.spec.to_json(), now),
        )
        key = int(cursor.lastrowid or 0)
        group.connection.execute(
            "UPDATE models SET checksum=? WHERE id=?",
            (checksum_of(key, self.name, self.spec.to_json(), now), key),
        )
        model = ServedModel(key, self.name, self.spec, self.learner, now)
        if self.file is not None:
            first = SavedState(0, self.file, json.dumps(Scores().to_json()))
            insert_snapshot(group.connection, key, first, True)
        group.created[self.name] = model
        group.deleted.discard(self.name)
        return model.describe()

    def _is_stored(self, group: Group) -> bool:
        found = group.connection.execute(
            "SELECT 1 FROM models WHERE name=?", (self.name,)
        )
        return found.fetchone() is not None


@final
@dataclass(slots=True, kw_only=True)
class Delete(Command):
    """Delete a model and all its rows."""

    @property
    def digest(self) -> bytes:
        """Digest of the name."""
        return digest_of("delete", self.name)

    def write(self, group: Group) -> dict[str, Any]:
        """Delete the model from all tables."""
        model = group.model(self.name, self.number, changing=False)
        group.flush()
        group.connection.execute(
            f"DELETE FROM snapshots WHERE {OWNED}",  # noqa: S608 - our own words
            (model.id, model.id),
        )
        for table in (
            "events",
            "aside",
            "rows",
            "keys",
            "observed",
            "asking",
            "categories",
            "mixes",
        ):
            group.connection.execute(
                f"DELETE FROM {table} WHERE model=?",  # noqa: S608 - our own words
                (model.id,),
            )
        group.connection.execute("DELETE FROM models WHERE id=?", (model.id,))
        group.asking.pop(model.id, None)
        group.created.pop(self.name, None)
        group.deleted.add(self.name)
        return {"deleted": True}
