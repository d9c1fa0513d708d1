"""Audit installed packages for published vulnerabilities: `python .ci/audit.py REQUIREMENTS`.

REQUIREMENTS is the output of `pip freeze`. The exit code is 1 if a vulnerability is known. Without
advisories (no network, or an index that has none) the audit prints a warning and exits with 0: a build
must not depend on somebody else's service, but it must not claim an audit that did not happen.
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
        return warn(f"no advisories within {WITHIN} s")
    except (ValueError, KeyError):
        output = done.stderr.strip().splitlines() or ["no answer"]
        return warn(f"no advisories available: {output[-1][:300]}")
    vulnerable = [package for package in packages if package.get("vulns")]
    for package in vulnerable:
        for each in package["vulns"]:
            fixed = ", ".join(each["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {each['id']}, fixed in {fixed}")
    audited = [package for package in packages if "skip_reason" not in package]
    if vulnerable:
        return 1
    if len(audited) < len(packages):
        return warn(f"only {len(audited)} of {len(packages)} packages could be audited")
    print(f"{len(audited)} packages, no known vulnerability")
    return 0


def warn(text: str) -> int:
    print(f"WARNING, not audited: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
