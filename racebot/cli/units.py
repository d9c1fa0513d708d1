"""The text of a systemd unit for one folder of racebot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CREDENTIAL = "client_secret"
"""Name of the systemd credential with the secret; `racebot.settings.sources` reads it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a bot lives on this machine.

    Attributes:
        folder: the folder with `.env`, where the bot runs; an absolute path.
        program: the command that starts racebot, with an absolute path as its first word.
        writable: the folders that the bot writes into.
        account: the user account of a system service; empty for a user service.
        secret: the file with the client secret, or None if it is elsewhere in the settings.
        homes: whether the folder or the program is in a home directory.
    """

    folder: Path
    program: tuple[str, ...]
    writable: tuple[Path, ...]
    account: str = ""
    secret: Path | None = None
    homes: bool = False


def unit(place: Place) -> str:
    """Return the text of a systemd unit: of a system service if it has an account, else of a user service."""
    system = bool(place.account)
    lines = [
        "# Written by `racebot service install`. Changes to this file are lost when it is run again.",
        "",
        "[Unit]",
        "Description=racebot, ratings for a racetime.gg category",
        *(["Wants=network-online.target", "After=network-online.target"] if system else []),
        "",
        "[Service]",
        "Type=exec",
        *([f"User={place.account}"] if system else []),
        f"WorkingDirectory={_escaped(str(place.folder))}",
        f"ExecStart={' '.join(_word(each) for each in (*place.program, 'run'))}",
        "Environment=PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1",
        *([f"LoadCredential={CREDENTIAL}:{_escaped(str(place.secret))}"] if place.secret else []),
        "",
        "Restart=on-failure",
        "RestartSec=10s",
        "# Exit code 2: the settings are wrong, and another start would not help.",
        "RestartPreventExitStatus=2",
        "# racebot stops within 10 seconds of SIGTERM.",
        "TimeoutStopSec=20s",
        "",
        *(_system_hardening(place) if system else []),
        *_HARDENING,
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if system else 'default.target'}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _system_hardening(place: Place) -> list[str]:
    """Return the lines that need a system service: user services cannot mount."""
    return [
        "# It needs the network and its own folders to write in, and nothing else.",
        *(f"ReadWritePaths={_word(str(path))}" for path in place.writable),
        "ProtectSystem=strict",
        f"ProtectHome={'read-only' if place.homes else 'yes'}",
        "PrivateTmp=yes",
        "PrivateDevices=yes",
        "PrivateIPC=yes",
        "PrivateMounts=yes",
        "PrivateUsers=yes",
        "CapabilityBoundingSet=",
        "AmbientCapabilities=",
        "ProtectKernelTunables=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelLogs=yes",
        "ProtectControlGroups=yes",
        "ProtectClock=yes",
        "ProtectHostname=yes",
        "ProtectProc=invisible",
        "ProcSubset=pid",
        "RemoveIPC=yes",
    ]


_HARDENING = (
    "NoNewPrivileges=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "MemoryDenyWriteExecute=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged @resources",
    "SystemCallErrorNumber=EPERM",
    "UMask=0077",
)


def _escaped(text: str) -> str:
    """Escape systemd's specifiers. https://www.freedesktop.org/software/systemd/man/systemd.unit.html."""
    return text.replace("%", "%%")


def _word(text: str) -> str:
    """Quote a word of a list, such as a command line."""
    text = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"' if any(sign in text for sign in " \t\"'\\$;") else text
