"""`python -m racebot` is the command `racebot`."""

from racebot.cli import main

if __name__ == "__main__":
    main()
