"""`python -m gateway.cli`: the command line without its script."""

from gateway.cli import main

main(prog_name="adalog")
