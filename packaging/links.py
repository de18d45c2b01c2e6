#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handles links between the pages of the documentation where not all files of the project are.

    links.py check FOLDER    prints the links of pages in FOLDER that lead to no file in it
    links.py cut FOLDER      replaces them by their texts
"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|!?\[[^\[\]]*\](?:\([^()]*\))?)*)\]\(([^()\s]+)\)")


def leads_nowhere(page, target, folder):
    """Tells if a relative target is no file or folder below `folder`."""
    path = target.split("#")[0]
    if not path or re.match(r"[a-z][a-z0-9+.-]*:", path, re.I):
        return False
    place = (page.parent / path).resolve()
    return not (place.exists() and place.is_relative_to(folder))


def main(verb, root):
    folder = Path(root).resolve()
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text(encoding="utf-8")

        def shown(match):
            if not leads_nowhere(page, match[2], folder):
                return match[0]
            if verb == "check":
                print(f"{page.relative_to(folder)}: {match[2]}")
            return match[1]

        # Code is no link.
        parts = re.split(r"(^```.*?^```|`[^`\n]*`(?!\]))", text, flags=re.M | re.S)
        cut = "".join(part if number % 2 else LINK.sub(shown, part) for number, part in enumerate(parts))
        if verb == "cut" and cut != text:
            page.write_text(cut, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "cut"):
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
