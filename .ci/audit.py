"""Audit the installed packages for published vulnerabilities: `python .ci/audit.py REQUIREMENTS`.

REQUIREMENTS is what `pip freeze` printed. The exit code is 1 where a vulnerability is known. Where advisories
cannot be had, for want of a network or because the index in use has none, it says so and is 0: a build
must not hang on somebody else's service, and what was not looked at must not pass for sound.
"""

from __future__ import annotations

import json
import subprocess
import sys

WITHIN = 120


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--requirement", sys.argv[1], "--no-deps", "--disable-pip"]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "10"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN)
        packages = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return warn(f"the advisories did not come within {WITHIN} s")
    except (ValueError, KeyError):
        told = done.stderr.strip().splitlines() or ["no answer"]
        return warn(f"the advisories cannot be had: {told[-1][:300]}")
    vulnerable = [package for package in packages if package.get("vulns")]
    for package in vulnerable:
        for each in package["vulns"]:
            fixed = ", ".join(each["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {each['id']}, mended in {fixed}")
    audited = [package for package in packages if "skip_reason" not in package]
    if vulnerable:
        return 1
    if len(audited) < len(packages):
        return warn(f"only {len(audited)} of {len(packages)} packages have advisories to look through")
    print(f"{len(audited)} packages, no known vulnerability")
    return 0


def warn(text: str) -> int:
    print(f"WARNING, not audited: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
