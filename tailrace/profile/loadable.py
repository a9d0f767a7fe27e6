# SPDX-License-Identifier: BSD-3-Clause
"""Paths of libraries that ld.so and PETSc understand.

LD_PRELOAD is cut at blanks and colons, and a ``$`` in it is replaced; PETSC_OPTIONS is cut at
blanks. There is no way to quote them, so a library in such a folder is named by a link to its
folder.
"""

import errno
import hashlib
import os
import re
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.tuning.memory import cache_folder

PLAIN = re.compile(r"[\w./+@,=~-]+")


def loadable(library: Path) -> Path:
    """Return an absolute path of `library` that may stand in LD_PRELOAD.

    The link that is made where it is needed lies in the cache folder, which is usually shared by
    the nodes of a job.
    """
    if PLAIN.fullmatch(str(library)):
        return library
    folder = library.parent
    cache = cache_folder().absolute()
    link = cache / f"lib-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    why = "its path also has a blank or a colon"
    if PLAIN.fullmatch(str(link)):
        try:
            _make_link(link, folder)
        except OSError as error:
            why = str(error.strerror)
        else:
            return link / library.name
    raise TailraceError(
        f"{library}: it cannot be preloaded, because its path has a blank, a colon or another "
        f"character that ld.so interprets, and no link to it can be made in {cache} ({why}); set "
        "TAILRACE_CACHE to another folder for the link"
    )


def _make_link(link: Path, folder: Path) -> None:
    """Make `link` lead to `folder`; several commands may do so at once."""
    if link.is_symlink() and link.readlink() == folder:
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.exists() and not link.is_symlink():
        raise FileExistsError(errno.EEXIST, f"{link} is not a link of Tailrace")
    made = link.with_name(f"{link.name}.{os.getpid()}")
    made.unlink(missing_ok=True)
    made.symlink_to(folder)
    made.replace(link)
