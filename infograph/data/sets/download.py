"""Fetching a data set's zip over the network."""

from __future__ import annotations

import http.client
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from infograph.data.progress import Progress
from infograph.errors import FileMissing

TIMEOUT = 30.0  # seconds without an answer
CHUNK = 1 << 18


class DownloadFailed(FileMissing):
    """An address that cannot be reached, or answers with something else than a complete zip."""


def fetch_zip(url: str, target: Path, progress: Progress | None = None) -> Path:
    """Download a zip to `target`; it appears whole or not at all.

    Args:
        url: its address.
        target: the file to make, in a folder that exists.
        progress: called with bytes done and bytes in all (0 if the server does not say).

    Raises:
        DownloadFailed: the message says why.
    """
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-", delete=False) as work:
        try:
            _copy(url, work, progress)
            work.close()
            if not zipfile.is_zipfile(work.name):
                raise DownloadFailed(f"{url} did not give a complete zip file")
            Path(work.name).replace(target)
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, DownloadFailed):
                raise
            raise DownloadFailed(f"{url} could not be downloaded ({error})") from error
        finally:
            work.close()
            Path(work.name).unlink(missing_ok=True)
    return target


def _copy(url: str, work: tempfile._TemporaryFileWrapper[bytes], progress: Progress | None) -> None:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        total, done = int(answer.headers.get("Content-Length") or 0), 0
        while chunk := answer.read(CHUNK):
            work.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)
