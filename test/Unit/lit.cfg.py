# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every executable `bin/*Tests` of the build: what `remat_unittest` adds in unittests/."""
import os

import lit.formats

config.name = "remat-unit"
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.suffixes = []
config.test_source_root = config.test_exec_root = os.path.join(config.remat_build, "bin")
