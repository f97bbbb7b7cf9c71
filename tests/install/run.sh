#!/bin/sh
# Installs a build into a temporary prefix and builds and runs a separate project against it: the
# examples, and every C++ block of README.md word for word. Usage: run.sh BUILD_DIR CMAKE
set -eu
build="$1"
cmake="$2"
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }

mkdir "$work/readme"
awk -v folder="$work/readme" '
  /^```cpp$/ { file = folder "/readme" ++count ".cc"; next }
  /^```$/ { file = "" }
  file != "" { print > file }
' "$here/../../README.md"
[ -f "$work/readme/readme1.cc" ] || { echo "README.md: there is no \`\`\`cpp block"; exit 1; }
for program in "$work"/readme/*.cc; do
  grep -q 'main(' "$program" || {
    echo "README.md: this block is not a whole program that can be compiled: it has no main("
    cat "$program"
    exit 1
  }
done

"$cmake" -S "$here" -B "$work/user" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/prefix" -DREADME_PROGRAMS="$work/readme"
"$cmake" --build "$work/user"
"$work/user/one_module"
"$work/user/embed"
"$work/user/tensor_program"
"$work/user/engine"
for program in "$work"/readme/*.cc; do
  "$work/user/$(basename "$program" .cc)"
done
"$work/user/train" "$work/trained"
"$work/prefix/bin/dopp" --version
# The installed headers must be those that were used, and no header may be left behind.
(cd "$here/../.." && find doppler -name '*.h' | sort) >"$work/expected"
(cd "$work/prefix/include" && find doppler -name '*.h' | sort) >"$work/installed"
diff "$work/expected" "$work/installed"
