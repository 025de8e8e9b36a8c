#!/usr/bin/env bash
# Puts VS Code 1.100 (as code-server), a browser driver and our extension where
# the tests of real editors find them. What is there already is used again.
#
#   tests/editors/install_vscode.sh
#
# ADJUTANT_EDITORS names the cache folder; else it is target/editors.
# It never writes outside that folder, but for Debian packages when it runs as root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${ADJUTANT_EDITORS:-$root/target/editors}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

code_server=4.100.3
playwright=1.54.1
export npm_config_cache=${npm_config_cache:-$cache/npm-cache}

fail() { echo "install_vscode.sh: $*" >&2; exit 1; }
quiet_npm() { npm "$@" --no-audit --no-fund --no-update-notifier --loglevel=error; }

# Debian packages: the browser, the search program VS Code starts, and what its
# native modules are built with.
packages() {
  local missing=() pair
  for pair in chromium:chromium rg:ripgrep g++:g++ make:make python3:python3; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    fail "missing: ${missing[*]}; install them, for example with \`apt-get install ${missing[*]}\`"
  fi
  echo "+ apt-get install ${missing[*]}"
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
}

node_is_right() {
  command -v node >/dev/null && command -v npm >/dev/null ||
    fail "Node.js 20 with npm is needed; VS Code 1.100 runs on it"
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -eq 20 ] || fail "Node.js 20 is needed, this is $(node --version); VS Code 1.100 loads no modules built for another"
}

# The published package builds modules it does not need and downloads others, so
# its own script is not run: only what the workbench loads is built here, and each
# module must load.
build_code_server() {
  local dir=$1 prefix vs module
  prefix=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  # The headers that stand beside Node spare their download.
  [ ! -d "$prefix/include/node" ] || export npm_config_nodedir=$prefix
  mkdir -p "$dir"
  cd "$dir"
  echo '{"private":true}' >package.json
  quiet_npm install --ignore-scripts "code-server@$code_server"
  quiet_npm rebuild --build-from-source argon2 >build.log 2>&1 || true
  vs=$dir/node_modules/code-server/lib/vscode
  cd "$vs"
  quiet_npm install --omit=dev --ignore-scripts
  for module in @vscode/spdlog native-watchdog node-pty @parcel/watcher; do
    [ -d "node_modules/$module" ] || continue
    # The last script of node-pty may fail after a good build; what counts is that it loads.
    quiet_npm rebuild "$module" >>"$dir/build.log" 2>&1 || true
    node -e "require('$vs/node_modules/$module')" 2>>"$dir/build.log" ||
      fail "the module $module of VS Code does not load; see $dir/build.log"
  done
  mkdir -p node_modules/@vscode/ripgrep/bin
  ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
  [ -e node_modules.asar ] || ln -s node_modules node_modules.asar
  cat >"$dir/code-server" <<WRAPPER
#!/bin/sh
exec "$(command -v node)" "$dir/node_modules/code-server/out/node/entry.js" "\$@"
WRAPPER
  chmod +x "$dir/code-server"
  mkdir -p "$dir/home"
  HOME=$dir/home XDG_CONFIG_HOME=$dir/home XDG_DATA_HOME=$dir/home "$dir/code-server" --version
}

# once NAME STAMP COMMAND...: runs a command in a fresh folder, unless the stamp says it was done.
once() {
  local dir=$cache/$1 stamp=$2
  shift 2
  if [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  echo "+ installing ${dir##*/} ($stamp)"
  rm -rf "$dir"
  (set -e; "$@" "$dir")
  echo "$stamp" >"$dir/stamp"
}

install_driver() {
  mkdir -p "$1"
  cd "$1"
  echo '{"private":true}' >package.json
  quiet_npm install --ignore-scripts "playwright-core@$playwright"
}

packages
node_is_right
once vscode "code-server $code_server, node $(node --version)" build_code_server
once vscode-driver "playwright-core $playwright" install_driver
