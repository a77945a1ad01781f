"""The process: ASGI app, settings, authentication, guards, metrics, the explorer and the command line."""

assert __name__ == "adalog.gateway", "import adalog.gateway"
