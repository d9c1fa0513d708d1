"""What the system tells of a running process, for benchmarks. Linux only."""

from __future__ import annotations

import os
from pathlib import Path


def resident_mib(pid: int) -> float:
    """Memory that a process holds now."""
    return _status(pid, "VmRSS")


def peak_mib(pid: int) -> float:
    """The most memory that a process has held; 0 for one that has ended."""
    return _status(pid, "VmHWM")


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _status(pid: int, name: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")), 0.0)
