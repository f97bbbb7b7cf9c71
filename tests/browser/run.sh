#!/bin/sh
# Tests of the report's page: run.sh page DOPP | run.sh template. Exits with 77, which CTest shows as
# skipped, where the browser or the packages are missing; tools/browser_test installs them.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
page="$here/../../tools/report-page"

skip() {
  echo "skipped: $*; tools/browser_test installs what is missing"
  exit 77
}

command -v node >/dev/null 2>&1 || skip "no node"
case "$1" in
  template)
    [ -d "$page/node_modules/esbuild" ] || skip "no esbuild"
    exec node "$page/build.mjs" --check
    ;;
  page)
    [ -d "$here/node_modules/playwright-core" ] || skip "no playwright-core"
    command -v chromium >/dev/null 2>&1 || skip "no chromium"
    exec node "$here/page_test.mjs" "$2"
    ;;
  *)
    echo "run.sh: error: unknown test '$1'" >&2
    exit 2
    ;;
esac
