"""Postgres, Valkey and our own processes as children of one supervisor: what `infinicon up` is made of."""
