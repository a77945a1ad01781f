"""`python -m adalog.gateway.cli`: the command line without its script."""

from adalog.gateway.cli import main

main(prog_name="adalog")
