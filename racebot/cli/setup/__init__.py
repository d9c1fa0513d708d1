"""`racebot setup`: from an empty folder to a bot that is ready to run, question by question.

`command` is the command itself, `questions` asks in a terminal, `site` checks answers against the site,
`changes` writes them, and `past` rates the past races and compares models.
"""
