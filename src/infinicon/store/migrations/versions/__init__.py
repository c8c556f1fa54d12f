"""One file a migration; the number is its order."""
