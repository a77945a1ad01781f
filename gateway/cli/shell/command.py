"""The commands `adalog repl` and `adalog completion`."""

from __future__ import annotations

import sys

import click

from adalog.gateway.cli import options
from adalog.gateway.cli.exits import told
from adalog.gateway.cli.output.console import out
from adalog.gateway.cli.printing import say
from adalog.gateway.cli.target import Target, where_options


@click.command()
@where_options
@options.timeout_option
def repl(where: Target, timeout: int | None) -> None:
    """A shell for queries, transactions and commands, on a folder or a server; :help lists its commands.

    Statements in a pipe are run one after the other, until one is refused.

    \b
        adalog repl --data family
        adalog repl --url :8080
        adalog repl --data family < changes.edn
    """
    with told(), where.backend(reads=False) as backend:
        from adalog.gateway.cli.shell.session import Leave, Reading, RefusedStatement, ShellSession

        session = ShellSession(backend, Reading(timeout=timeout))
        if not sys.stdin.isatty():
            try:
                session.run(sys.stdin.buffer.read().decode("utf-8-sig", "surrogateescape"))
            except Leave:
                return
            except RefusedStatement as refused:
                sys.exit(refused.exit_code)
            return
        from adalog.gateway.cli.shell.prompt import converse, page_by_page

        if out.is_terminal:
            session.show = page_by_page
        say(":help lists the commands, Ctrl-D leaves")
        converse(session, backend.name)


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print the completion script of adalog's commands and options for a SHELL.

    \b
        adalog completion bash > ~/.local/share/bash-completion/completions/adalog
        adalog completion zsh > ~/.zfunc/_adalog
        adalog completion fish > ~/.config/fish/completions/adalog.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, "click has one for each"
    command = click.get_current_context().find_root().command
    out.out(made(command, {}, "adalog", "_ADALOG_COMPLETE").source(), highlight=False)
