"""All commands of `farthing`."""

from __future__ import annotations

from typing import Annotated

import typer

from farthing.cli import asking, keeping, running, showing, starting
from farthing.cli.failures import EXIT_CODES, Commands

app = typer.Typer(
    cls=Commands,
    help="Minimize expensive objectives when you may choose what each evaluation costs.",
    epilog="\b\nExit codes:\n" + "\n".join(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items()),
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(starting.init)
app.command()(running.run)
app.command()(asking.ask)
app.command(context_settings={"ignore_unknown_options": True})(asking.tell)  # a value may be negative
app.command()(showing.show)
app.command()(showing.log)
app.command("list")(showing.list_studies)
app.command()(keeping.export)
app.command()(keeping.plot)
app.command()(keeping.delete)


def _print_version(wanted: bool) -> None:
    if wanted:
        from farthing import __version__

        typer.echo(f"farthing {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="FARTHING_DEBUG", help="Show the traceback of an error.")] = False,
) -> None:
    """Options of every command; `farthing.cli.failures` reads --debug."""
