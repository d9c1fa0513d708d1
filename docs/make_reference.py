"""Write docs/commands.md, docs/settings.md and examples/texts.en.toml from the program and .env.example.

python docs/make_reference.py          # write the files
python docs/make_reference.py --check  # fail if a file differs from what the code says today
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import typer
from annotated_types import Ge, Le

from racebot.cli.commands import COMMANDS, load_command
from racebot.scoring.rules import NAMED, rules_of
from racebot.settings.model import PREFIX, Settings
from racebot.settings.texts import Texts, fields_of

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / ".env.example"
LINE_WIDTH = 90
"""Columns of a help text, so that its defaults do not depend on the terminal."""

COMMANDS_INTRO = """\
# Commands

`racebot COMMAND --help` prints the same. The [operator's guide](operating.md) shows the commands at work.

The exit code is 0 for success, 1 if a check found a problem (`verify`, `health`), 2 if a person must change
something (a setting, a name, a file, the database), and 75 if the failure may pass: the site or the database
cannot be reached at the moment, or the disk is full.

`python docs/make_reference.py` writes this page from the program. All commands that use the database take
`--database`. "See above" below means these arguments and options, which are the same in each command:
"""
DATABASE = "--database <path>"
SETTINGS_INTRO = """\
# Settings

Settings are environment variables, or lines in a file `.env` in the folder where racebot runs. Environment
variables take precedence over `.env`, and `.env` over [racebot.toml](reference.md#settings), where the names
are in lower case and without `RACEBOT_`. A misspelled name is an error that suggests the right one.

After a change, check the settings with `racebot doctor`, and restart the bot.

`python docs/make_reference.py` writes this page from [.env.example](../.env.example) and the program.

## Everyday settings
"""


def commands_page() -> str:
    """Return docs/commands.md."""
    records = {name: _records(name) for name in COMMANDS}
    often = Counter(record for each in records.values() for record in each)
    shared = [record for record, commands in often.items() if commands > 2]
    parts = [COMMANDS_INTRO, *map(_line, shared), ""]
    for name, own in records.items():
        paragraphs = [" ".join(part.split()) for part in (load_command(name).help or "").split("\n\n")]
        parts += [f"## {name}", ""]
        for text in paragraphs:
            example = text.removeprefix("Example: ")
            parts += [f"Example: `{example}`" if example != text else text, ""]
        lines = [_line(record) for record in own if record not in shared]
        elsewhere = [left.split()[0] for left, _ in own if (left, _) in shared and left != DATABASE]
        names = ", ".join(f"`{name}`" for name in elsewhere)
        lines += [f"- {names}: see above."] if names else []
        parts += [*lines, ""] if lines else []
    return "\n".join(parts)


def _records(name: str) -> list[tuple[str, str]]:
    """Return a command's arguments and options, each with its help."""
    command = load_command(name)
    context = typer.Context(
        command, info_name=f"racebot {name}", max_content_width=LINE_WIDTH, terminal_width=LINE_WIDTH
    )
    found = (parameter.get_help_record(context) for parameter in command.get_params(context))
    return [(left, " ".join(right.split())) for left, right in filter(None, found) if "--help" not in left]


def _line(record: tuple[str, str]) -> str:
    name, text = record
    return f"- `{name}`: {text}".replace("*", r"\*")


def settings_page() -> str:
    """Return docs/settings.md."""
    return f"{SETTINGS_INTRO}\n" + "\n".join(_settings())


def _settings() -> Iterator[str]:
    blocks = EXAMPLE.read_text(encoding="utf-8").strip().split("\n\n")
    for block in blocks[1:]:  # the first one explains the file
        lines = block.splitlines()
        names = [found[1] for line in lines if (found := re.match(rf"(?:# )?({PREFIX}\w+)=", line))]
        text = [line.removeprefix("# ") for line in lines if not re.match(rf"(?:# )?{PREFIX}\w+=", line)]
        prose = re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", "\n".join(text))
        prose = re.sub(rf"(?<!`)({PREFIX}[A-Z_]+)", r"`\1`", prose).replace("*", r"\*")
        if not names:
            yield f"## {prose.rstrip('.')}\n"
        elif block.splitlines()[-1].startswith("#"):
            yield f"### {', '.join(names)}\n\n{prose}\n\n{_defaults(names)}\n"
        else:  # without a default
            yield f"### {', '.join(names)}\n\n{prose}\n"


def _defaults(names: list[str]) -> str:
    if len(names) == 1:
        return f"Default: {_default(names[0])}."
    return "\n".join(f"- `{name}`: {_default(name)} by default" for name in names)


def _default(name: str) -> str:
    field = Settings.model_fields[name.removeprefix(PREFIX).lower()]
    (default,) = re.findall(rf"^(?:# )?{name}=(.*)$", EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE)
    least = [bound.ge for bound in field.metadata if isinstance(bound, Ge)]
    most = [bound.le for bound in field.metadata if isinstance(bound, Le)]
    bounds = f" ({least[0]} to {most[0]})" if least and most else f" ({least[0]} or more)" if least else ""
    return (f"`{default}`" if default else "empty") + bounds


def texts() -> str:
    """Return examples/texts.en.toml."""
    lines = [
        "# The texts of chat. Copy what you want to change into racebot.toml, below a line [texts].",
        "# After a number, {races:race|races} chooses the word for one, or for any other number.",
        "",
    ]
    lines.append("[texts]")
    for name, field in Texts.model_fields.items():
        fields = " ".join(f"{{{each}}}" for each in fields_of(name))
        lines.append(f"# {field.description}{f'; fields: {fields}' if fields else ''}")
        text = json.dumps(field.default, ensure_ascii=False).replace("\N{NO-BREAK SPACE}", r"\u00a0")
        lines.append(f"{name} = {text}")
    return "\n".join(lines) + "\n"


def with_address(name: str) -> str:
    """Return a page with the repository's address from pyproject.toml in its command to clone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"(git clone|PROGRAM:) https://\S+", rf"\1 {project['urls']['Repository']}", page)


def leagues_page() -> str:
    """Return docs/leagues.md with what each named set of rules holds."""
    rows = "".join(f"| `{name}` | {rules_of(name).words}. |\n" for name in NAMED)
    before, begin, rest = with_address("docs/leagues.md").partition(RULES_BEGIN)
    _, end, after = rest.partition(RULES_END)
    return f"{before}{begin}| Set | Rules |\n| --- | --- |\n{rows}{end}{after}"


RULES_BEGIN, RULES_END = "<!-- rules, by docs/make_reference.py -->\n", "<!-- end of rules -->"
FILES: dict[str, Callable[[], str]] = {
    "docs/commands.md": commands_page,
    "docs/settings.md": settings_page,
    "examples/texts.en.toml": texts,
    "README.md": partial(with_address, "README.md"),
    "docs/operating.md": partial(with_address, "docs/operating.md"),
    "docs/leagues.md": leagues_page,
    "deploy/league.yml": partial(with_address, "deploy/league.yml"),
}


def main() -> None:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if a file is not current")
    check = parser.parse_args().check
    for name, content in FILES.items():
        path = ROOT / name
        text = content()
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or text != path.read_text(encoding="utf-8"):
            sys.exit(f"{name} is not current: run python docs/make_reference.py")
    for path in sorted((ROOT / "examples").glob("texts.*.toml")):
        translated = tomllib.loads(path.read_text(encoding="utf-8"))["texts"]
        if missing := [name for name in Texts.model_fields if name not in translated]:
            print(f"{path.name} leaves these texts in English: {', '.join(missing)}")


if __name__ == "__main__":
    main()
