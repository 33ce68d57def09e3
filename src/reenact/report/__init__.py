"""What people and machines read: text and JSON of what was found."""
