# SPDX-License-Identifier: BSD-3-Clause
"""Studies that compare Tailrace with other libraries, a module each (see `tailrace.benchmarks`).

To add one, write the module, a subcommand in `commands` or `solver_commands`, and its name in
`tailrace.benchmarks.clone.STUDIES`.
"""
