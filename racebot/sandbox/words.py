"""Invented names for races, entrants and racers."""

# fmt: off
MOODS = (
    "amber", "brisk", "calm", "deft", "eager", "fond", "gentle", "hardy", "ideal", "jolly", "keen", "lucid",
    "merry", "nimble", "plain", "quiet",
)
THINGS = (
    "anvil", "basin", "cedar", "dune", "ember", "fjord", "grove", "harbor", "inlet", "jetty", "kiln", "ledge",
    "meadow", "orchard", "quarry", "reef",
)
ALIASES = (
    "Captain Teapot", "Sir Loin of Beef", "The Second Gardener", "Madam Upstairs", "Nobody, Esq.",
    "A Passing Owl", "Lady Thunderspoon", "Uncle Postbox", "The Late Mr. Early", "Doctor Marmalade",
    "Old Wellington", "Aunt Semaphore", "Brother Lantern", "Count Backwards", "The Quiet Tuba",
    "Major Detour",
)
"""Aliases for entrants in a race that hides its entrants."""

RACER_NAMES = (
    "Ann", "Bo", "quickthorn", "Мира Лесная", "The Honourable Mrs. Vane", "dr.dashwood", "雪の介", "Ólöf",
    "a_name_that_goes_on_for_so_long", "Jean-Loup d’Orée", "xX.Comet.Xx", "Ready @ Dawn", "σίγμα", "Zed",
    "Little Fern", "박하늘", "n0_spaces", "Mr. T. Potts", "¡Olé!", "ليلى", "K.",
    "Two Words", "Bjørnar", "seven77",
)
"""Names of simulated racers: long, short, with dots and spaces, in several scripts."""
# fmt: on
