#!/bin/sh
# Installs a build into a temporary prefix and builds and runs a separate project against it.
# Usage: run.sh BUILD_DIR CMAKE
set -eu
build="$1"
cmake="$2"
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
"$cmake" -S "$here" -B "$work/user" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/user"
"$work/user/one_module"
"$work/user/embed"
"$work/user/tensor_program"
"$work/user/engine"
"$work/user/train" "$work/trained"
"$work/prefix/bin/dopp" --version
# The installed headers must be those that were used, and no header may be left behind.
(cd "$here/../.." && find doppler -name '*.h' | sort) >"$work/expected"
(cd "$work/prefix/include" && find doppler -name '*.h' | sort) >"$work/installed"
diff "$work/expected" "$work/installed"
