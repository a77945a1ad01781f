"""The process: web application, configuration, limits, metrics, explorer and command line."""
