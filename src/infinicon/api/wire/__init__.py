"""The shapes of Memory API v0: parsing into the domain, and the domain into JSON values. camelCase lives here only."""
