#!/usr/bin/env bash
# Installs the real editors for the tests of `tests/editors`: Neovim from Debian
# trixie and from unstable, Helix, Kakoune, Vim, Emacs, VS Code, the clients that
# some of them need, a terminal to run them in, and ssh for a remote host.
#
#   tests/editors/install.sh
#
# They go into target/editors, or into $ADJUTANT_EDITORS. Packages of this Debian
# go into the system, which needs root. Installed editors stay as they are, so a
# second run takes less than a second. The mirror comes from the machine's own apt
# sources; the script adds no source to the system.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${ADJUTANT_EDITORS:-$here/../../target/editors}

[ $# -eq 0 ] || { echo "install.sh: there are no arguments" >&2; exit 2; }

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# Increase this number when an install below changes its result.
recipe=1

# Prints the version of a program; Kakoune and sshd have different options for it.
version_of() {
  "$1" --version 2>/dev/null || "$1" -version 2>/dev/null || "$1" -V 2>&1
}

# Whether the stamp is of this recipe and the program still starts.
is_there() {
  [ "$(cat "$cache/$1.stamp" 2>/dev/null)" = "$recipe" ] && version_of "$2" >/dev/null 2>&1
}

stamp() {
  echo "$recipe" >"$cache/$1.stamp"
  echo "install.sh: $1: $2"
}

need_apt() {
  command -v apt-get >/dev/null || fail "$1 is missing, and there is no apt-get to install it with"
  [ "$(id -u)" -eq 0 ] || fail "$1 is missing; installing it needs root: run this script as root once"
}

# Prints the address of Debian's main archive in this machine's apt sources.
mirror() {
  local found
  found=$(apt-get indextargets --format '$(ORIGIN)/$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian/Debian" { print $2; exit }')
  if [ -z "$found" ]; then
    # Without lists, apt does not know the origin of an archive.
    apt-get -qq update >/dev/null || fail "apt-get update failed"
    found=$(apt-get indextargets --format '$(ORIGIN)/$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
      awk '$1 == "Debian/Debian" { print $2; exit }')
  fi
  [ -n "$found" ] || fail "the apt sources of this machine have no archive of Debian"
  echo "$found"
}

# private_apt FOLDER SUITE STATUS: configures an apt with its own lists, sources and
# cache, independent of the system's sources and of another running apt.
private_apt() {
  local folder=$1 suite=$2 status=$3 uri
  uri=$(mirror)
  rm -rf "$folder"
  mkdir -p "$folder"/{lists/partial,cache/archives/partial,sources,preferences}
  : >"$folder/none"
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
    "$uri" "$suite" "$keyring" >"$folder/sources/editors.sources"
  cat >"$folder/apt.conf" <<CONF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$folder/sources";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "$folder/preferences";
Dir::State::lists "$folder/lists";
Dir::State::status "$status";
Dir::Cache "$folder/cache";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
DPkg::Lock::Timeout "600";
CONF
}

# with_apt FOLDER ARGUMENTS..: runs that apt quietly; prints its last output if it fails.
with_apt() {
  local folder=$1
  shift
  APT_CONFIG=$folder/apt.conf DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" \
    >"$folder/said" 2>&1 </dev/null && return 0
  tail -n 20 "$folder/said" >&2
  fail "apt-get $* failed"
}

# Installs packages of this Debian from the machine's own sources.
from_here() {
  local package
  need_apt "$*"
  for package in "$@"; do
    apt-cache show "$package" >/dev/null 2>&1 && continue
    apt-get -qq update >/dev/null || fail "apt-get update failed"
    break
  done
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "$@" \
    >"$cache/apt.said" 2>&1 </dev/null || { tail -n 20 "$cache/apt.said" >&2; fail "apt-get install $* failed"; }
}

# unpacked NAME SUITE PACKAGE BINARY [FOLDER]: unpacks a package of another suite and
# all its dependencies, also the C library, into its own folder. Only the header of the
# editor's binary (in usr/bin, or FOLDER) points to those libraries, and no variable
# does. So the programs that the editor starts use the libraries of the system.
unpacked() {
  local name=$1 suite=$2 package=$3 binary=$4 bin=${5:-usr/bin} target=$cache/$1 fresh=$cache/.$1 work=$cache/.$1-apt
  local archive real loader arch
  is_there "$name" "$target/$bin/$binary" && return 0
  need_apt "$name"
  rm -rf "$target" "$fresh"
  # With an empty status, apt resolves and verifies all dependencies.
  private_apt "$work" "$suite" "$work/none"
  with_apt "$work" update
  with_apt "$work" install -y --download-only "$package"
  mkdir -p "$fresh"
  for archive in "$work"/cache/archives/*.deb; do
    dpkg-deb -x "$archive" "$fresh" || fail "unpack $archive"
  done
  # Links inside the packages may be absolute, so look their targets up below the folder.
  real=$fresh/$bin/$binary
  while [ -L "$real" ]; do
    case $(readlink "$real") in
      /*) real=$fresh$(readlink "$real") ;;
      *) real=$(dirname "$real")/$(readlink "$real") ;;
    esac
  done
  [ -f "$real" ] || fail "the package $package of $suite has no $binary"
  mv "$fresh" "$target"
  real=$target${real#"$fresh"}
  [ "$real" = "$target/$bin/$binary" ] || ln -sf "$real" "$target/$bin/$binary"
  # Editors may put this folder into the PATH of their children, and other programs of it find no libraries.
  find "$target/$bin" -mindepth 1 ! -name "$binary" ! -name "$(basename "$real")" -delete
  arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
  loader=$(find "$target" -name 'ld-linux-*.so.*' | head -n 1)
  [ -n "$loader" ] || fail "the packages of $suite have no loader"
  patchelf --set-interpreter "$loader" --force-rpath \
    --set-rpath "$target/usr/lib/$arch:$target/lib/$arch" "$real"
  version_of "$target/$bin/$binary" >/dev/null || fail "$name was unpacked and does not start"
  rm -rf "$work"
  stamp "$name" "$(version_of "$target/$bin/$binary" | head -n 1)"
}

# Emacs 30 contains eglot; an older Debian has it in its backports.
emacs_30() {
  local version=0 codename work=$cache/.emacs-apt
  is_there emacs emacs && return 0
  ! command -v emacs >/dev/null || version=$(emacs --version | awk 'NR == 1 { print int($3) }')
  if [ "$version" -lt 30 ]; then
    need_apt "Emacs 30"
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    if [ "$codename" = bookworm ]; then
      private_apt "$work" "bookworm bookworm-updates bookworm-backports" /var/lib/dpkg/status
      with_apt "$work" update
      with_apt "$work" install -y -t bookworm-backports emacs-nox
      rm -rf "$work"
    else
      from_here emacs-nox
    fi
  fi
  version=$(emacs --version | awk 'NR == 1 { print int($3) }')
  [ "$version" -ge 30 ] || fail "Emacs 30 or newer is needed; this is $version"
  stamp emacs "$(emacs --version | head -n 1)"
}

# shellcheck source=install_clients.sh
. "$here/install_clients.sh"
build_kak_lsp &
building=$!

command -v tmux >/dev/null || from_here tmux
command -v patchelf >/dev/null || from_here patchelf
unpacked nvim-0.10 trixie neovim nvim
unpacked nvim-0.12 sid neovim nvim
unpacked helix-25.01 trixie hx hx
unpacked kakoune-2024.05 trixie kakoune kak
# Unpacked, because the package would begin to serve this machine, with keys and an account of its own.
unpacked sshd bookworm openssh-server sshd usr/sbin
command -v ssh >/dev/null || from_here openssh-client
emacs_30
command -v vim >/dev/null || from_here vim
scripts lsp-mode trixie elpa-lsp-mode elpa-dash elpa-f elpa-ht elpa-lv elpa-markdown-mode elpa-s elpa-spinner
compile_lsp_mode
scripts vim-ale trixie vim-ale
python_client
node_client

# VS Code is large and has its own script.
if [ -f "$here/install_vscode.sh" ]; then
  bash "$here/install_vscode.sh" || fail "VS Code could not be installed"
fi

wait "$building" || fail "kak-lsp could not be installed"
