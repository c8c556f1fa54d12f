"""`infinicon doctor`: is everything there, and does the work move?"""

from __future__ import annotations

from infinicon.cli.app import app
from infinicon.cli.options import DataDirOption, JsonOption, UrlOption


@app.command(epilog="Example: infinicon doctor --data-dir .demo")
def doctor(json: JsonOption = False, url: UrlOption = None, data_dir: DataDirOption = None) -> None:
    """Check server, key, database, broker, workers, encoder, disk and pending work; name what is wrong, and the remedy.

    Exit code 0 where nothing is wrong, 1 where something is, 3 where no server answers.
    """
    from infinicon.cli import diagnosis
    from infinicon.cli.connection import find

    diagnosis.run(find(url, data_dir), as_json=json)
