# SPDX-License-Identifier: BSD-3-Clause
"""engine="tailrace" of xarray, which imports this at the first file that it opens by any engine.

So MPI, which a process starts by importing mpi4py, is imported only where the engine is used.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import xarray
from xarray.backends import BackendEntrypoint

from tailrace.errors import TailraceError

SERIES = "fields.h5"  # which shows all steps of a run


def _is_folder(path: Any) -> bool:
    return isinstance(path, (str, os.PathLike)) and Path(path).is_dir()


class TailraceBackend(BackendEntrypoint):
    """engine="tailrace" of xarray.open_dataset: this rank's part with `comm`, otherwise all."""

    description = "Open the folder of a run; read files with the ranks of a job; compare checksums"
    open_dataset_parameters = (
        "filename_or_obj", "drop_variables", "mask_and_scale", "decode_times", "decode_coords",
        "decode_timedelta", "use_cftime", "concat_characters", "comm", "split",
    )  # fmt: skip

    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: Any = None, comm: Any = None,
        split: str | None = None, **decode: Any,
    ) -> Any:  # fmt: skip
        """Return the dataset, in memory. A run's folder stands for all its steps, not read yet."""
        if _is_folder(filename_or_obj):
            path = Path(filename_or_obj) / SERIES
            if not path.is_file():
                raise TailraceError(
                    f"{filename_or_obj} is a folder without {SERIES}; give a file, or the folder "
                    "of a run"
                )
            if comm is None:
                given = {key: value for key, value in decode.items() if value is not None}
                return xarray.open_dataset(path, drop_variables=drop_variables, **given)
            filename_or_obj = path
        face = importlib.import_module("tailrace.xarray")
        known = {key: value for key, value in decode.items() if value is not None}
        return face.open_dataset(
            filename_or_obj, face.MPI.COMM_SELF if comm is None else comm,
            split=split, drop_variables=drop_variables, **known,
        )  # fmt: skip

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Tell whether it is the folder of a run; files only when asked for."""
        return _is_folder(filename_or_obj) and (Path(filename_or_obj) / SERIES).is_file()
