# SPDX-License-Identifier: BSD-3-Clause
"""engine="tailrace" of xarray, which imports this at the first file that it opens by any engine.

So MPI, which a process starts by importing mpi4py, is imported only where the engine is used.
"""

from __future__ import annotations

import importlib
from typing import Any

from xarray.backends import BackendEntrypoint


class TailraceBackend(BackendEntrypoint):
    """engine="tailrace" of xarray.open_dataset: this rank's part with `comm`, else all of it."""

    description = "Read netCDF-4 and HDF5 files with the ranks of a job, checksums compared"
    open_dataset_parameters = (
        "filename_or_obj", "drop_variables", "mask_and_scale", "decode_times", "decode_coords",
        "decode_timedelta", "use_cftime", "concat_characters", "comm", "split",
    )  # fmt: skip

    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: Any = None, comm: Any = None,
        split: str | None = None, **decode: Any,
    ) -> Any:  # fmt: skip
        """Return the dataset, in memory."""
        face = importlib.import_module("tailrace.xarray")
        known = {key: value for key, value in decode.items() if value is not None}
        return face.open_dataset(
            filename_or_obj, face.MPI.COMM_SELF if comm is None else comm,
            split=split, drop_variables=drop_variables, **known,
        )  # fmt: skip

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Only when asked for."""
        return False
