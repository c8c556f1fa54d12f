"""`python -m infinicon.cli`: the command line without the script, for processes that start it as a child."""

from infinicon.cli.main import main

main()
