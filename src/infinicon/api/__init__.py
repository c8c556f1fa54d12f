"""The HTTP API: the only place that knows HTTP and the camelCase names of the wire."""
