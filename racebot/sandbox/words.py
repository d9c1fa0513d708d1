"""Words to make names from; all of them invented."""

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
"""Names that stand for entrants while a race hides who they are."""
# fmt: on
