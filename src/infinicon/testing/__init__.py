"""Conformance suites for plug-in authors: subclass one in a test module, give it your plug-in as a fixture, and run pytest."""
