# SPDX-License-Identifier: BSD-3-Clause
"""The interface of mpi4py-fft on Tailrace: programs run with the import changed.

    from tailrace.mpi4py_fft import PFFT, newDistArray

Transforms are Tailrace's own (`tailrace.fft.ArrayTransform`), those of functions of other libraries
use these and `tailrace.Exchange`. docs/bindings.md says what differs.
"""

from tailrace.mpi4py_fft import fftw
from tailrace.mpi4py_fft.distarray import DistArray, Function, newDistArray
from tailrace.mpi4py_fft.files import FileBase, HDF5File
from tailrace.mpi4py_fft.mpifft import PFFT
from tailrace.mpi4py_fft.ncfile import NCFile
from tailrace.mpi4py_fft.xdmf import generate_xdmf

__all__ = [
    "PFFT",
    "DistArray",
    "FileBase",
    "Function",
    "HDF5File",
    "NCFile",
    "fftw",
    "generate_xdmf",
    "newDistArray",
]
