# Part of install.sh, which sources it: the clients that are not editors. Each
# version is pinned: a newer one is a change of this file.
#
# kak-lsp is not in Debian, so it is compiled. That begins first and ends last, in
# parallel with all downloads.

kak_lsp=22.0.0
jsonrpc=(vscode-languageserver-protocol@3.18.5 vscode-languageserver-textdocument@1.0.16)

# was_done NAME WHAT: whether the stamp of NAME is WHAT.
was_done() {
  [ "$(cat "$cache/$1.stamp" 2>/dev/null)" = "$2" ]
}

done_now() {
  echo "$2" >"$cache/$1.stamp"
  echo "install.sh: $1: $2"
}

# Compiles in the background, as a debug build without debug information. That takes
# a third of the time, and the speed of kak-lsp does not matter here.
build_kak_lsp() {
  local work=$cache/.kak-lsp said=$cache/kak-lsp.said
  was_done kak-lsp "$kak_lsp" && return 0
  command -v cargo >/dev/null || fail "kak-lsp is compiled; install Rust from https://rustup.rs"
  (
    cd "$cache"
    CARGO_TARGET_DIR=$work CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 \
      cargo install kak-lsp --version "$kak_lsp" --locked --debug --force --root "$cache/kak-lsp" \
      >"$said" 2>&1 </dev/null
  ) || { tail -n 20 "$said" >&2; fail "kak-lsp could not be compiled"; }
  rm -rf "$work"
  done_now kak-lsp "$kak_lsp"
}

# scripts NAME SUITE PACKAGE..: unpacks packages without programs from a newer
# suite, without their dependencies.
scripts() {
  local name=$1 suite=$2 target=$cache/$1 fresh=$cache/.$1 work=$cache/.$1-apt archive
  shift 2
  was_done "$name" "$suite $*" && return 0
  need_apt "$name"
  rm -rf "$target" "$fresh"
  private_apt "$work" "$suite" "$work/none"
  with_apt "$work" update
  mkdir -p "$fresh" "$work/here"
  (cd "$work/here" && with_apt "$work" download "$@")
  for archive in "$work"/here/*.deb; do
    dpkg-deb -x "$archive" "$fresh" || fail "unpack $archive"
  done
  mv "$fresh" "$target"
  rm -rf "$work"
  done_now "$name" "$suite $*"
}

# Compiles the parts of lsp-mode that the tests load: their sources take many seconds to load.
compile_lsp_mode() {
  local sources=$cache/lsp-mode/usr/share/emacs/site-lisp/elpa-src folder paths=() what
  what=$(cat "$cache/lsp-mode.stamp")
  was_done lsp-mode-compiled "$what" && return 0
  for folder in "$sources"/*; do
    paths+=(-L "$folder")
  done
  (
    cd "$sources"
    emacs --batch -Q "${paths[@]}" -f batch-byte-compile dash-*/dash.el s-*/s.el f-*/f.el ht-*/ht.el lv-*/lv.el \
      spinner-*/spinner.el lsp-mode-*/lsp-{protocol,mode,lens,modeline,headerline,icons,diagnostics}.el
  ) >"$cache/lsp-mode.said" 2>&1 || { tail -n 20 "$cache/lsp-mode.said" >&2; fail "lsp-mode could not be compiled"; }
  done_now lsp-mode-compiled "$what"
}

# Creates a separate Python environment with pinned packages.
python_client() {
  local target=$cache/pytest-lsp wanted=$here/pytest_lsp/requirements.txt what
  what=$(cut -d ' ' -f 1 <(sha256sum "$wanted"))
  was_done pytest-lsp "$what" && return 0
  python3 -c 'import ensurepip, venv' 2>/dev/null || from_here python3 python3-venv
  rm -rf "$target"
  python3 -m venv "$target"
  "$target/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$wanted" \
    >"$cache/pip.said" 2>&1 </dev/null || { tail -n 20 "$cache/pip.said" >&2; fail "pytest-lsp could not be installed"; }
  done_now pytest-lsp "$what"
}

node_client() {
  local target=$cache/jsonrpc
  was_done jsonrpc "${jsonrpc[*]}" && return 0
  command -v npm >/dev/null || fail "Node.js with npm is needed"
  rm -rf "$target"
  mkdir -p "$target"
  (
    cd "$target"
    echo '{"private":true}' >package.json
    npm install --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error "${jsonrpc[@]}" >/dev/null
  ) || fail "the packages of $target could not be installed"
  done_now jsonrpc "${jsonrpc[*]}"
}
