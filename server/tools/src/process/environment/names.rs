//! Names of variables that no command gets: secrets, and variables that steer other programs.
//!
//! Never reads a value: only the lists of names, and the rules to compare a name, which is in upper case.

/// Words of a name that mark its value as a secret.
#[rustfmt::skip]
const SECRET_WORDS: &[&str] = &[
    "KEY", "KEYS", "APIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD",
    "PASS", "PASSPHRASE", "PASSCODE", "PASSFILE", "CREDENTIAL", "CREDENTIALS", "CREDS", "CRED", "AUTH", "PASSWRD",
    "PSWD", "PSW", "PWORD", "TKN", "AUTHTKN",
    "AUTHORIZATION", "OAUTH", "OAUTH2", "BEARER", "COOKIE", "COOKIES", "PAT", "PWD", "DSN", "JWT", "JWK",
    "JWKS", "PEM", "PFX", "P12", "PKCS12", "JKS", "KEYSTORE", "KEYTAB", "SESSION", "SESSIONS", "SESSIONID",
    "SESSID", "SID", "WEBHOOK", "WEBHOOKS", "SAS", "SIGNATURE", "HMAC", "OTP", "TOTP", "MFA", "PIN", "MNEMONIC",
    "CONNSTR", "CONNSTRING", "CSRF", "XSRF", "LOGIN", "PRIVATE", "LICENSE",
];
/// Parts of a name that mark its value as a secret, even in the middle of a word.
#[rustfmt::skip]
const SECRET_PARTS: &[&str] = &[
    "TOKEN", "SECRET", "PASSW", "PASWORD", "PASSWD", "APIKEY", "PASSPHRASE", "CREDS", "CREDSTORE", "CREDHELPER", "PASSCOMMAND", "PASSFILE", "CREDENTIAL", "PRIVKEY",
    "PRIVATEKEY", "ACCESSKEY", "AUTHKEY", "SSHKEY", "SIGNKEY", "SIGNINGKEY", "MASTERKEY", "DEPLOYKEY",
    "ENCRYPTIONKEY", "PASSKEY", "SSHPASS", "CONNECTION_STRING", "CONNECTIONSTRING", "CONN_STR", "SESSID",
    "WEBHOOK",
];
/// Names that look like secrets but are paths, or describe the desktop session.
#[rustfmt::skip]
pub(super) const PLACES: &[&str] = &[
    "SSH_AUTH_SOCK", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION", "XDG_SESSION_TYPE",
    "XDG_SESSION_ID", "XDG_SESSION_CLASS", "XDG_SESSION_DESKTOP", "XDG_SESSION_PATH", "SESSIONNAME",
];

/// Variables that decide what other programs run or load.
#[rustfmt::skip]
const STEERING: &[&str] = &[
    // Shells.
    "BASH_ENV", "ENV", "ZDOTDIR", "FPATH", "KSH_ENV", "PROMPT_COMMAND", "PS0", "PS4", "SHELLOPTS", "BASHOPTS",
    "BASH_XTRACEFD", "BASH_LOADABLES_PATH", "EXECIGNORE", "IFS", "CDPATH", "GLOBIGNORE", "FIGNORE", "FCEDIT",
    "INPUTRC", "PWD", "OLDPWD", "_", "HISTFILE", "SCREENRC", "CONFIG_SITE", "CONFIG_SHELL",
    // Editors and pagers: a command has no terminal and would wait for them forever.
    "EDITOR", "VISUAL", "PAGER", "LESS", "LESSOPEN", "LESSCLOSE", "LESSKEY", "LESSKEYIN", "LESSKEY_CONTENT", "LESSEDIT", "MORE",
    "MANOPT", "MANROFFOPT", "VIMINIT", "GVIMINIT", "EXINIT", "NEXINIT", "VIM", "VIMRUNTIME", "MYVIMRC",
    "MYVIMDIR", "NVIM_APPNAME", "EMACSLOADPATH", "EMACSDATA", "ALTERNATE_EDITOR", "BROWSER",
    // Build tools.
    "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "MAKEOVERRIDES", "MAKESHELL", "RUSTC", "RUSTDOC",
    "RUSTFMT", "CARGO", "CARGO_BUILD_RUSTC", "CARGO_BUILD_RUSTDOC", "GOFLAGS", "GOENV", "GOTOOLDIR", "GOROOT",
    "GCC_EXEC_PREFIX", "COMPILER_PATH", "CCACHE_PREFIX", "CCACHE_COMPILER", "CMAKE_TOOLCHAIN_FILE",
    "CMAKE_PROJECT_INCLUDE", "PKG_CONFIG", "M4PATH", "CLASSPATH", "ANT_ARGS", "MAVEN_ARGS", "TF_CLI_CONFIG_FILE",
    // Languages.
    "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "ELECTRON_RUN_AS_NODE", "BUN_OPTIONS",
    "NPM_CONFIG_SCRIPT_SHELL", "NPM_CONFIG_SHELL", "NPM_CONFIG_NODE_OPTIONS", "NPM_CONFIG_GIT",
    "NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG", "NPM_CONFIG_PREFIX", "GEM_HOME", "GEM_PATH", "GEM_SPEC_CACHE",
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JDK_JAVAC_OPTIONS", "PHPRC", "PHP_INI_SCAN_DIR",
    "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYLINTRC", "MYPYPATH", "IPYTHONDIR", "PIP_CONFIG_FILE",
    "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "R_LIBS", "R_LIBS_USER", "JULIA_LOAD_PATH",
    "JULIA_DEPOT_PATH", "ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ERL_LIBS", "ELIXIR_ERL_OPTIONS", "GUILE_LOAD_PATH",
    "GUILE_LOAD_COMPILED_PATH", "GHCRTS", "GHC_PACKAGE_PATH", "OCAMLRUNPARAM", "TCLLIBPATH", "TCL_LIBRARY",
    "AWKPATH", "AWKLIBPATH", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "DOTNET_SHARED_STORE",
    "SPARK_SUBMIT_OPTS", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES",
    // Tools that start others.
    "RIPGREP_CONFIG_PATH", "BAT_CONFIG_PATH", "FD_CONFIG_PATH", "GREP_OPTIONS", "TAR_OPTIONS", "TAPE", "RSH",
    "RSYNC_RSH", "RSYNC_CONNECT_PROG", "CVS_RSH", "SVN_SSH", "HGRCPATH", "HGMERGE", "SSH_ASKPASS",
    "SUDO_ASKPASS", "ANSIBLE_CONFIG", "ANSIBLE_LIBRARY", "HELM_PLUGINS", "AWS_CONFIG_FILE", "WGETRC", "CURL_HOME",
    // Libraries that load the files named here.
    "GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "GTK_MODULES", "GTK_PATH", "GTK_IM_MODULE_FILE",
    "GIO_EXTRA_MODULES", "GIO_MODULE_DIR", "GST_PLUGIN_PATH", "QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH",
    "QML2_IMPORT_PATH", "MAGICK_CONFIGURE_PATH", "TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH",
];
#[rustfmt::skip]
const STEERING_STARTS: &[&str] = &[
    "LD_", "DYLD_", "GIT_", "PYTHON", "BASH_FUNC_", "ADJUTANT_", "PERL", "RUBY", "BUNDLE_", "LUA_INIT", "LUA_PATH",
    "LUA_CPATH", "FZF_", "DIRENV_", "CORECLR_", "COR_PROFILER", "COR_ENABLE", "COMPLUS_", "TF_CLI_ARGS",
    "CARGO_ALIAS_", "MSBUILD", "DENO_", "TS_NODE_", "DEBUGINFOD_",
];
/// Ends of names whose value is a program, whichever tool reads them: `KUBE_EDITOR`, `SYSTEMD_PAGER`,
/// `RUSTC_WRAPPER`, `CMAKE_C_COMPILER_LAUNCHER`, `CARGO_TARGET_.._LINKER`.
#[rustfmt::skip]
const STEERING_ENDS: &[&str] = &[
    "PAGER", "_EDITOR", "_ASKPASS", "_WRAPPER", "_LAUNCHER", "_LINKER", "_RUNNER", "_PRELOAD", "_RSH",
    "_JAVA_OPTS", "_JVM_OPTS", "GRADLE_OPTS", "MAVEN_OPTS", "SBT_OPTS", "ANT_OPTS", "JAVA_OPTS", "_STARTUP",
];

/// Variables that select the programs of a build. They are passed on, so that a build is the same as in the user's
/// shell, unless the value leads into the workspace.
#[rustfmt::skip]
const BUILD_PROGRAMS: &[&str] = &[
    "CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "FC", "F77", "OBJC", "RANLIB", "STRIP", "OBJCOPY", "OBJDUMP",
    "HOSTCC", "HOSTCXX", "CLANG_FORMAT", "MAKE", "CMAKE", "NINJA", "YACC", "LEX", "NVCC", "CUDAHOSTCXX", "SHELL",
    "JAVACMD", "PROTOC",
];

/// Whether this variable selects a program of a build, also for one target: `CC_x86_64_unknown_linux_gnu`.
pub(super) fn is_build_program(upper: &str) -> bool {
    let first = upper.split('_').next().unwrap_or_default();
    BUILD_PROGRAMS.contains(&upper) || ["CC", "CXX", "AR", "LD"].contains(&first)
}

/// Whether this variable decides what another program runs or loads.
pub(super) fn steers(upper: &str) -> bool {
    STEERING.contains(&upper)
        || STEERING_STARTS.iter().any(|start| upper.starts_with(start))
        || STEERING_ENDS.iter().any(|end| upper.ends_with(end))
}

/// Whether the name shows that the value is a secret.
pub(super) fn is_secret(upper: &str) -> bool {
    let mut words = upper.split(|sign: char| !sign.is_ascii_alphanumeric());
    let ends = |word: &str| {
        let end = ["PWD", "PW", "PASS"].iter().any(|end| word.ends_with(end));
        end && !["BYPASS", "COMPASS", "OVERPASS", "UNDERPASS", "TRESPASS"].contains(&word)
    };
    words.any(|word| SECRET_WORDS.contains(&word) || ends(word))
        || SECRET_PARTS.iter().any(|part| upper.contains(part))
}
