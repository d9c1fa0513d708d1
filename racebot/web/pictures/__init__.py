"""Pictures: graphs, cards for link previews, and the fonts on them."""
