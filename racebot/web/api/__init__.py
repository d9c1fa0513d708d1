"""What programs read: JSON with its description, CSV files and Atom feeds."""
