#!/bin/sh
# Makes sure that the packages of tools/packages.txt are there: tools/setup.sh SECTION…
# Where all is present it does nothing and needs no network. On Debian and its kin it installs what
# is missing; elsewhere it lists it and stops. The section `browser` has npm packages too, as the lock
# files next to the report page's sources and its tests name them.
set -eu

here="$(dirname "$0")"
list="$here/packages.txt"

fail() {
  echo "setup: error: $*" >&2
  exit 1
}

present() {
  case "$1" in
    command:*) command -v "${1#command:}" >/dev/null 2>&1 ;;
    header:*)
      command -v g++ >/dev/null 2>&1 &&
        printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "${1#header:}" |
        g++ -E -x c++ - >/dev/null 2>&1
      ;;
    torch:*) /usr/bin/python3 -c "import ${1#torch:}" >/dev/null 2>&1 ;;
    fuzzer:*)
      command -v "${1#fuzzer:}" >/dev/null 2>&1 &&
        echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
        "${1#fuzzer:}" -fsanitize=fuzzer,address,undefined -x c++ - -o /dev/null >/dev/null 2>&1
      ;;
    *) fail "$list: unknown probe '$1'" ;;
  esac
}

# A copy of the lock file in node_modules says that npm got to its end, so that an installation that was
# broken off, or one of other versions, is made anew.
install_npm_packages() {
  for folder in "$here/report-page" "$here/../tests/browser"; do
    mark="$folder/node_modules/.installed-lock.json"
    cmp -s "$folder/package-lock.json" "$mark" && continue
    echo "setup: installing the npm packages of ${folder#"$here/../"}"
    log="$(cd "$folder" && npm ci --no-audit --no-fund --loglevel=error 2>&1)" ||
      fail "npm ci failed in $folder: $log"
    cp "$folder/package-lock.json" "$mark"
  done
}

# The packages of the given sections whose probe fails.
missing() {
  for section in "$@"; do
    sed -n "/^\[$section\]\$/,/^\[/{/^\[/d;/^#/d;/^ *\$/d;p;}" "$list" |
      while read -r package probe; do
        present "$probe" || echo "$package"
      done
  done
}

[ $# -gt 0 ] || fail "which section of $list? (build, test, browser, parsers, rivals, fuzz, models)"
for section in "$@"; do
  grep -q "^\[$section\]\$" "$list" || fail "$list: no section '$section'"
done

install_packages() {
  packages="$(missing "$@" | tr '\n' ' ')"
  packages="${packages% }"
  [ -n "$packages" ] || return 0

  command -v apt-get >/dev/null 2>&1 ||
    fail "this is not a Debian or Ubuntu system; please install (Debian names): $packages"
  if [ "$(id -u)" -eq 0 ]; then
    as_root=""
  elif command -v sudo >/dev/null 2>&1; then
    as_root="sudo"
  else
    fail "not root and no sudo; as root, run: apt-get install $packages"
  fi

  echo "setup: installing $packages"
  export DEBIAN_FRONTEND=noninteractive
  # An old package list may name versions that are gone, so that a first failure asks for a fresh one.
  # shellcheck disable=SC2086  # the words are package names
  $as_root apt-get install -y --no-install-recommends $packages >/dev/null 2>&1 || {
    $as_root apt-get update -qq || fail "apt-get update failed; is there a network?"
    $as_root apt-get install -y --no-install-recommends $packages ||
      fail "apt-get could not install: $packages"
  }
  left="$(missing "$@" | tr '\n' ' ')"
  [ -z "$left" ] || fail "installed, but still not found: $left"
}

install_packages "$@"
for section in "$@"; do
  [ "$section" != browser ] || install_npm_packages
done
