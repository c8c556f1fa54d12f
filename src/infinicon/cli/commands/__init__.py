"""The commands, one module for each group. Everything heavy is imported inside the command that needs it: `--help` is instant.

Importing this package registers them, in the order in which `infinicon --help` shows them.
"""

from __future__ import annotations

from infinicon.cli.commands import processes as processes  # isort: skip
from infinicon.cli.commands import secrets as secrets  # isort: skip
from infinicon.cli.commands import ingest as ingest  # isort: skip
from infinicon.cli.commands import read as read  # isort: skip
from infinicon.cli.commands import context as context  # isort: skip
from infinicon.cli.commands import memory as memory  # isort: skip
from infinicon.cli.commands import jobs as jobs  # isort: skip
from infinicon.cli.commands import events as events  # isort: skip
from infinicon.cli.commands import consolidation as consolidation  # isort: skip
from infinicon.cli.commands import deletion as deletion  # isort: skip
from infinicon.cli.commands import corrections as corrections  # isort: skip
from infinicon.cli.commands import keys as keys  # isort: skip
from infinicon.cli.commands import reindex as reindex  # isort: skip
from infinicon.cli.commands import doctor as doctor  # isort: skip
