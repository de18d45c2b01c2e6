# SPDX-License-Identifier: Apache-2.0
"""apt with every directory, list and option of its own, so that nothing of this machine's apt is read or changed."""


class Apt:
    """One apt from empty lists and an empty cache, with one line of sources."""

    def __init__(self, context, name, source, *more, proxy="DIRECT", **options):
        self.context = context
        self.program = context.command("apt-get")
        root = context.directory / name
        for part in ("lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d", "got"):
            (root / part).mkdir(parents=True)
        (root / "sources.list").write_text(f"{source}\n")
        (root / "status").touch()
        (root / "apt.conf").touch()
        settings = {
            "Dir::State": root, "Dir::State::lists": root / "lists", "Dir::State::status": root / "status",
            "Dir::Cache": root / "cache", "Dir::Etc": root / "etc", "Dir::Etc::SourceList": root / "sources.list",
            "Dir::Etc::SourceParts": "-", "Dir::Etc::Parts": root / "etc/apt.conf.d", "Dir::Log": root,
            "APT::Sandbox::User": "root", "APT::Update::Error-Mode": "any", "Acquire::http::Proxy": proxy,
            "Acquire::Languages": "none", "Acquire::Retries": "0",
            **options,
        }
        self.flags = [f"-o{name}={value}" for name, value in settings.items()] + list(more)
        self.environment = context.environment(APT_CONFIG=root / "apt.conf")
        self.target = root / "got"

    def update(self, check=True, timeout=120):
        command = [self.program, *self.flags, "update"]
        return self.context.run(command, environment=self.environment, check=check, timeout=timeout)

    def download(self, package, timeout=120):
        """The downloaded packages, by file name."""
        self.context.run(
            ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.target, self.program, *self.flags, "download",
             package],
            environment=self.environment, timeout=timeout,
        )
        return {file.name: file.read_bytes() for file in self.target.glob("*.deb")}
