"""One file per rating model; `racebot.ratings.registry` lists them by key."""
