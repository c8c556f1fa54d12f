"""The workbench: named figures with a bound and a verdict, each measured beside a baseline in the same run. See bench/README.md."""
