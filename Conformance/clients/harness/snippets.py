# SPDX-License-Identifier: Apache-2.0
"""What the documentation shows as Swift, taken out of it to be built."""

import re

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


def package(root, targets):
    """A manifest: the targets of Examples, and these: (kind, name, products)."""
    manifest = (root / "Examples" / "Package.swift").read_text(encoding="utf-8")
    lines = "".join(
        f'        .{kind}(name: "{name}", dependencies: ['
        + ", ".join(f'.product(name: "{product}", package: "larder")' for product in products)
        + "]),\n"
        for kind, name, products in targets
    )
    manifest = manifest.replace('path: ".."', f'path: "{root}"')
    return manifest.replace("    targets: [\n", "    targets: [\n" + lines, 1)
