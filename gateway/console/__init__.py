"""The console at `/`: the page that is built from clients/console."""
