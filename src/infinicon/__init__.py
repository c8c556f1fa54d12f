"""Infinicon: a self-hosted memory runtime for AI agents."""

from importlib.metadata import version

__version__ = version("infinicon")
