"""`python -m adalog`: the command."""

from adalog.command import main

main()
