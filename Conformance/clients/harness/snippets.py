# SPDX-License-Identifier: Apache-2.0
"""The Swift of Examples and of the documentation, as targets that are built beside those of the package."""

import json
import re
import subprocess

# A fence of Swift, the mark above it if there is one, and a fence of text right below it if there is one.
FENCE = re.compile(
    r"(?:<!-- (?P<mark>\w+) -->\n)?^```swift\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.M | re.S
)


def snippets(page):
    """The mark ('' without one), the code, and what it prints (None where the page does not say) of each snippet."""
    text = page.read_text(encoding="utf-8")
    return [(found["mark"] or "", found["code"], found["output"]) for found in FENCE.finditer(text)]


def fragment(number, code):
    """A function around code that stands in one."""
    body = "".join(f"    {line}\n" if line else "\n" for line in code.splitlines())
    return f"func fragment{number}(service: Service, resource: Resource) async throws {{\n{body}}}\n"


def write(path, text):
    """Writes what is not there already, so that nothing is built twice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def documented(root, pages, folder):
    """The targets, as (kind, name, folder, what they depend on), and the pages' programs, as {name: (page, output)}."""
    targets, programs, fragments = [], {}, []

    def add(kind, name, depends, text):
        write(folder / name / ("main.swift" if kind == "executable" and "@main" not in text else "Code.swift"), text)
        targets.append((kind, name, (folder / name).relative_to(root), depends))

    for page in pages:
        for mark, code, output in snippets(page):
            name = f"{page.stem.capitalize()}{len(targets) + len(fragments)}"
            if mark == "fragment":
                fragments.append(fragment(len(fragments), code))
            elif mark == "declarations":
                add("library", name, ["Larder"], "import Larder\n\n" + code)
            elif mark == "testing":
                add("library", name, ["Larder", "LarderTesting"], code)
            elif "@main" in code:
                add("executable", name, ["LarderDaemon"], code)
            else:
                add("executable", name, ["Larder"], code)
                programs[name] = (page.name, output)
    for listing in sorted((root / "Sources" / "Larder" / "Larder.docc" / "Resources").glob("*.swift")):
        add("executable", "Tutorial" + listing.stem.title().replace("-", ""), ["Larder"], listing.read_text("utf-8"))
    add("library", "Fragments", ["Larder"], "import Larder\n\n" + "\n".join(fragments))
    return targets, programs


def examples(root):
    """The targets that the manifest of Examples has."""
    command = ["swift", "package", "--package-path", root / "Examples", "dump-package"]
    manifest = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    targets = []
    for target in manifest["targets"]:
        kind = {"executable": "executable", "test": "test"}.get(target["type"], "library")
        depends = [next(iter(found.values()))[0] for found in target["dependencies"]]
        place = "Tests" if kind == "test" else "Sources"
        targets.append((kind, target["name"], f"Examples/{place}/{target['name']}", depends))
    return targets
