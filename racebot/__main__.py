"""The command `racebot`, or `python -m racebot`.

The processes of an export import the main module again, so it imports the program only to run it.
"""


def main() -> None:
    """Run the command."""
    from racebot.cli import main as run  # noqa: PLC0415 - slow to import

    run()


if __name__ == "__main__":
    main()
