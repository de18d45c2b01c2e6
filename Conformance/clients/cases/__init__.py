# SPDX-License-Identifier: Apache-2.0
"""One module per kind of client or behaviour; every function marked with @case runs against a daemon of its own."""

MODULES = [
    "curl",
    "forms",
    "clients",
    "packages",
    "framing",
    "upgrade",
    "tls",
    "interception",
    "network",
    "page",
    "pages",
    "commands",
    "supervised",
    "configuration",
    "reload",
    "credentials",
    "examples",
    "large",
    "kill",
    "overload",
    "outage",
    "torture",
]
