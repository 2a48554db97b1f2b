"""Sets the version in the package and gives the changelog its section: python scripts/_version.py VERSION."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNRELEASED = "## Unreleased\n"


def main(version: str) -> None:
    package, changelog = ROOT / "src" / "holdfast" / "__init__.py", ROOT / "CHANGELOG.md"
    text = package.read_text(encoding="utf-8")
    package.write_text(
        re.sub(r'(?m)^__version__ = ".*"$', f'__version__ = "{version}"', text), encoding="utf-8"
    )
    said = changelog.read_text(encoding="utf-8")
    head, _, rest = said.partition(UNRELEASED)
    if not rest.lstrip().startswith("###"):
        sys.exit("holdfast: CHANGELOG.md says nothing under Unreleased; there is nothing to release.")
    today = datetime.now(UTC).date().isoformat()
    changelog.write_text(f"{head}{UNRELEASED}\n## {version} - {today}\n{rest}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
