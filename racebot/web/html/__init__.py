"""The HTML pages, a module for each kind, with their templates."""
