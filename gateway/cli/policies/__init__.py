"""The command `policies`: which there are, and what a change of them would do."""
