#!/usr/bin/env bash
# Builds the extension with AddressSanitizer and UndefinedBehaviorSanitizer into out/ and runs the
# tests of kernels, of programs and of measuring: every seventh case of each, a prime, so that no
# parameter keeps one value. Usage: tools/test_sanitized.sh [pytest arguments, such as --every 1]
set -euo pipefail
cd "$(dirname "$0")/.."

.venv/bin/pip install --quiet --no-deps --upgrade --target out/sanitized \
  -C build-dir=out/sanitize-build -C cmake.define.FORGE_SANITIZE=ON \
  -C cmake.build-type=RelWithDebInfo -C install.strip=false .

# The editable install of .venv comes before PYTHONPATH, so the interpreter below it is used: that
# one sees the packages of .venv but not the hooks of its .pth files.
python=$(.venv/bin/python -c 'import sys; print(sys._base_executable)')
packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
export PYTHONPATH="$PWD/out/sanitized:$packages"
# Python leaks by design; torch defines some symbols twice.
export ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)" \
  "$python" -m pytest -n 2 --every 7 tests/native tests/backends/cpu tests/profiling "$@"
