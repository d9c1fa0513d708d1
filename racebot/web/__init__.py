"""Pages and data for everybody to read, served or written as files by the same code. An extra of the package.

What there is has one path, such as `races/smr/curious-midfast-0534.html`: `addresses` makes and reads
them, `site` renders what belongs to one, `server` serves it and `export` writes all of them down.
"""
