"""What answers clients reads the database as its viewer sees it, and so never takes a snapshot from it directly."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A raw snapshot here tells how far the database is, what its instants are, or what a viewer is shown of it.
ALLOWED = {
    "schema/arguments/basis.py": "opens moments as `$` is seen",
    "schema/arguments/speculation.py": "asks when the schema last changed",
    "schema/arguments/values.py": "asks for the newest instant",
    "schema/fields/why_visible.py": "is for admins alone",
    "schema/live/stream.py": "asks for the newest transaction",
    "schema/request/context.py": "gives what `see` shows",
    "schema/request/transaction_wait.py": "asks for the newest transaction",
    "schema/request/visible_database.py": "shows what is visible",
    "schema/typed/following.py": "makes the surfaces that viewers see",
    "schema/typed/mutating/input_forms.py": "reads within a transaction",
    "schema/typed/mutating/mutations.py": "reads within a transaction",
    "schema/typed/mutating/payloads.py": "finds the entities of a transaction again",
    "schema/writing/code_texts.py": "asks for the newest codes",
}
RAW = re.compile(r"(database|raw|state)\.(snapshot\(\)|at\()|\b(services|pool)\.database\.(snapshot|at)\b")


def test_no_field_reads_past_its_viewer() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "schema").rglob("*.py")
        if RAW.search(path.read_text(encoding="utf-8"))
    }
    assert found <= ALLOWED.keys(), "read through `Context.visible`, or say here why not"
    assert ALLOWED.keys() <= found, "these read nothing raw any more"
