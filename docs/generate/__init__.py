"""Pages of docs/ that the code writes itself: `make docs` makes them, and tests/architecture/test_generated_docs.py compares.

settings.py, embedded/processes.py ─► configuration.py ─► configuration.md
the OpenAPI document, errors.py    ─► http_api.py      ─► openapi.json, api-reference.md
the command line, cli/exits.py     ─► command_line.py  ─► cli.md
commands in the pages themselves   ─► transcripts.py   ─► their outputs (`make docs-outputs`)
"""
