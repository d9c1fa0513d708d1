"""Resource usage of a running process, for benchmarks. Linux only."""

from __future__ import annotations

import os
from pathlib import Path


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    return _status(pid, "VmRSS")


def peak_mib(pid: int) -> float:
    """Return the peak resident memory of a process, in MiB, or 0 if it has ended."""
    return _status(pid, "VmHWM")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, in seconds over all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _status(pid: int, name: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")), 0.0)
