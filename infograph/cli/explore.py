"""`infograph explore`: an index as a map in the browser."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli.output import say, show
from infograph.cli.progress import Stages


def explore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that infograph index made.")],
    port: Annotated[int, typer.Option(help="The port; 0 takes any that is free.")] = 8765,
    host: Annotated[
        str, typer.Option(help="The address to listen on; other machines reach any but 127.0.0.1.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(help="What visitors must know.", show_default="made up where others can come in"),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    colour: Annotated[
        str | None,
        typer.Option("--colour", "--color", metavar="COLUMN", help="The column that colours the map first."),
    ] = None,
    method: Annotated[
        Literal["umap", "tsne", "pca"] | None,
        typer.Option(help="How the map is made.", show_default="umap where it is installed"),
    ] = None,
) -> None:
    """Look at all graphs of an index on a map: search, compare, choose regions, place new graphs.

    The map is made once and kept in the folder. The server stops with Ctrl-C. Its address answers programs,
    too: /docs says how. For a map as one file see infograph map.

    Example: [bold]infograph explore index --colour y[/bold]
    """
    from infograph.explore import make_atlas, serve
    from infograph.explore.serving import check_server, is_loopback, open_socket
    from infograph.index import GraphIndex

    check_server()
    index = GraphIndex.open(folder)
    open_socket(host, port).close()  # before the work
    with Stages() as watch:
        atlas = make_atlas(index, folder, colour=colour, method=method, watch=watch)
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(16)
        say(f"Others can reach {host}: they need the token in the address.")

    def tell(address: str) -> None:
        show(f"{address} (Ctrl-C stops)")

    serve(index, atlas, host=host, port=port, token=token, browser=browser, tell=tell)
