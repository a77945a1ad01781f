"""The Python library behind `import adalog`: one set of calls for a folder, a server's log, memory, and HTTP."""

assert __name__ == "adalog.client", "import adalog"
