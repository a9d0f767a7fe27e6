# SPDX-License-Identifier: BSD-3-Clause
"""Matrix products by our methods, where these are faster for their shape (plugins/blas)."""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation


def propose(situation: Situation) -> list[Setting]:
    """Propose our library before the BLAS that the program loads."""
    if not situation.loaded(r"libc?blas\.so|lib\w*openblas|libblis|libmkl_rt"):
        raise DoesNotApplyError("the program loads no BLAS")
    if not situation.products:
        raise DoesNotApplyError("the Tailrace library was not found")
    return [Setting("ours", {"LD_PRELOAD": situation.preloaded(situation.products)})]
