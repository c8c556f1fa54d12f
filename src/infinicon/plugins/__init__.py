"""The built-in plug-ins, the entry-point loader, and the guard at the boundary."""
