# SPDX-License-Identifier: Apache-2.0
"""Reads Containerfile, strictly as far as this project uses its language.

    containerfile.py FILE KEYWORD    the instruction's words in the last stage, each ended by NUL; several
                                     instructions one after another
"""

import json
import re
import sys

KEYWORDS = {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "ENV", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK",
            "ENTRYPOINT", "CMD"}


def instructions(text):
    """Pairs of keyword and rest, with comments left out and continued lines joined."""
    lines = [line for line in text.split("\n") if not re.match(r"\s*#", line)]
    for line in re.sub(r"\\\n", "", "\n".join(lines)).split("\n"):
        if not line.strip():
            continue
        keyword, _, rest = line.strip().partition(" ")
        if keyword not in KEYWORDS or not rest:
            sys.exit(f"no instruction that is known here: {line}")
        yield keyword, rest.strip()


def words(keyword, rest):
    if keyword == "HEALTHCHECK":
        rest = re.sub(r"^(--[a-z-]+=\S+\s+)*CMD\s+", "", rest)
    if keyword in ("CMD", "ENTRYPOINT", "HEALTHCHECK"):
        return json.loads(rest)
    return [rest] if keyword == "RUN" else rest.split()


def main():
    found = list(instructions(open(sys.argv[1], encoding="utf-8").read()))
    if not found or found[0][0] != "FROM":
        sys.exit("the first instruction is not FROM")
    every = [(keyword, words(keyword, rest)) for keyword, rest in found]
    last = max(index for index, (keyword, _) in enumerate(every) if keyword == "FROM")
    for keyword, arguments in every[last:]:
        if keyword == sys.argv[2]:
            sys.stdout.write("".join(word + "\0" for word in arguments))


main()
