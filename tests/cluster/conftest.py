# SPDX-License-Identifier: BSD-3-Clause
"""One cluster for all tests of a module that may share it."""

from collections.abc import Iterator

import pytest
from cluster import Cluster, ImpossibleError


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this folder."""
    for item in items:
        if "tests/cluster" in str(item.path):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    """A cluster of four nodes, which the tests of a module share."""
    try:
        made = Cluster.start()
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    yield made
    made.close()
