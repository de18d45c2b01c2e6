# SPDX-License-Identifier: Apache-2.0
"""Cases that need a network or disks of their own: their function `inside` runs as another process, in namespaces
where it may have addresses, mounts and a name server without anybody noticing. Run as a program, this is that process:
`namespace.py MODULE PROGRAM DIRECTORY`."""

import importlib
import pathlib
import sys

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.case import Context, Failed, Skipped  # noqa: E402


def run_inside(context, module, kinds, prepare="", timeout=180):
    """Runs `inside(context)` of a case's module in new namespaces of `kinds` ("n": network, "m": mounts), after the
    commands of `prepare`."""
    unshare = [context.command("unshare"), f"-r{kinds}"]
    if "n" in kinds:
        context.command("ip")
        prepare = f"ip link set lo up; {prepare}"
    # What a machine forbids shows as early as here.
    trial = "mount -t tmpfs none /mnt" if "m" in kinds else "true"
    if context.run([*unshare, "sh", "-c", trial], check=False).returncode != 0:
        raise Skipped("no namespaces for this user")
    done = context.run(
        [*unshare, "sh", "-ec", f'{prepare} exec "$@"', "sh", sys.executable, "-B", __file__, module,
         context.program, context.directory],
        check=False, timeout=timeout,
    )
    if done.returncode != 0:
        raise Failed((done.stderr or done.stdout).decode(errors="replace").strip())


def main(module, program, directory):
    context = Context(pathlib.Path(program), pathlib.Path(directory), full=False)
    try:
        try:
            importlib.import_module(module).inside(context)
        finally:
            # A daemon that is gone says more than what its clients noticed of it.
            context.close()
    except Failed as failure:
        sys.exit(str(failure))
    except Exception as failure:  # noqa: BLE001 — whatever it is, the case outside reports it.
        sys.exit(f"{type(failure).__name__}: {failure}")


if __name__ == "__main__":
    main(*sys.argv[1:])
