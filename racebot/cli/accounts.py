"""Accounts of this system, and their access to files. POSIX only."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

from racebot.errors import SettingsError

SERVICE_ACCOUNT = "racebot"


def me() -> str:
    """Return the name of the account that runs this process."""
    import pwd  # noqa: PLC0415 - not on Windows

    return pwd.getpwuid(os.geteuid()).pw_name


def exists(account: str) -> bool:
    """Return whether there is such an account."""
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        pwd.getpwnam(account)
    except KeyError:
        return False
    return True


def owner_for_service(folder: Path) -> str:
    """Return the account for a service in a folder: its owner, unless that is root."""
    owner = folder.owner()
    return SERVICE_ACCOUNT if owner == "root" else owner


def create_account(account: str, home: Path) -> None:
    """Create a system account that nobody can log in to.

    Raises:
        SettingsError: the account cannot be created.
    """
    command = ["useradd", "--system", "--home-dir", str(home), "--no-create-home"]
    command += ["--shell", "/usr/sbin/nologin", account]
    if subprocess.run(command, check=False).returncode:  # noqa: S603 - no shell, and no text from users
        raise SettingsError(f"cannot create the account {account}: name an existing one with --account")


def give(folder: Path, account: str, *, public: bool = False) -> None:
    """Create a folder, and give it and all files in it to an account; an empty name changes no owner.

    A new folder is private, unless it is public: then a web server can read it.
    """
    folder.mkdir(mode=0o755 if public else 0o700, parents=True, exist_ok=True)
    if account:
        import pwd  # noqa: PLC0415 - not on Windows

        entry = pwd.getpwnam(account)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, entry.pw_uid, entry.pw_gid, follow_symlinks=False)


def let_read(path: Path, account: str) -> None:
    """Let an account read a file through its group, unless it is the owner. Others cannot read the file."""
    if path.owner() == account:
        return
    import pwd  # noqa: PLC0415 - not on Windows

    shutil.chown(path, group=pwd.getpwnam(account).pw_gid)
    path.chmod((stat.S_IMODE(path.stat().st_mode) | 0o040) & ~0o007)


def check_reachable(program: Path, account: str) -> None:
    """Check that an account can reach a program.

    Raises:
        SettingsError: a folder above it is closed to the account.
    """
    import pwd  # noqa: PLC0415 - not on Windows

    if not exists(account):
        return
    entry = pwd.getpwnam(account)
    groups = {entry.pw_gid, *os.getgrouplist(account, entry.pw_gid)}
    for path in {*program.parents, program, *program.resolve().parents, program.resolve()}:
        status = path.stat()
        bit = 0o100 if status.st_uid == entry.pw_uid else 0o010 if status.st_gid in groups else 0o001
        if entry.pw_uid and not status.st_mode & bit:
            raise SettingsError(
                f"{account} cannot run {program}, because {path} is closed to it: install racebot outside of "
                "home directories, such as with `pipx install --global`, or name another --account"
            )
