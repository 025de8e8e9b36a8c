//! The environment of approved commands (E1): the user's, without secrets and
//! without what makes programs run something else.
//!
//! Never reads the environment itself: it is handed in.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Words of a name that mark its value as a secret.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASS",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "AUTH",
    "COOKIE",
    "PAT",
];
/// Parts of a name that mark it even in the middle of a word.
const SECRET_PARTS: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "APIKEY", "PASSPHRASE", "CREDENTIAL"];
/// Names that look like secrets and are places.
const PLACES: &[&str] = &["SSH_AUTH_SOCK", "XAUTHORITY"];
/// Variables that decide what other programs run or load.
const STEERING: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "PAGER",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "NODE_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_XTRACEFD",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "PWD",
    "OLDPWD",
    "_",
];
const STEERING_STARTS: &[&str] = &["LD_", "DYLD_", "GIT_", "PYTHON", "BASH_FUNC_", "ADJUTANT_"];

/// Makes the environment of a command from ours; `own_keys` are the names under
/// which our own keys are kept.
pub fn child_environment(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    own_keys: &[String],
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<(OsString, OsString)> = ours
        .into_iter()
        .filter(|(name, value)| passes(name, own_keys) && !holds_login(value))
        .map(|(name, value)| match name == "PATH" {
            true => (name, absolute_only(&value)),
            false => (name, value),
        })
        .filter(|(name, _)| !FIXED.iter().any(|(fixed, _)| name == fixed))
        .collect();
    if !kept.iter().any(|(name, _)| name == "PATH") {
        kept.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
    }
    kept.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
    kept
}

/// Nothing pages, paints or waits for an answer; and git takes no folder of the workspace that looks like
/// the inside of `.git` for a repository, whose settings would name programs for it to run.
const FIXED: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
    ("TERM", "dumb"),
];

fn passes(name: &OsStr, own_keys: &[String]) -> bool {
    let name = name.to_string_lossy();
    if own_keys.iter().any(|own| *own == name) {
        return false;
    }
    let upper = name.to_uppercase();
    let steering =
        STEERING.contains(&upper.as_str()) || STEERING_STARTS.iter().any(|start| upper.starts_with(start));
    !steering && (PLACES.contains(&upper.as_str()) || !is_secret(&upper))
}

fn is_secret(upper: &str) -> bool {
    upper.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| SECRET_WORDS.contains(&word))
        || SECRET_PARTS.iter().any(|part| upper.contains(part))
}

/// Whether a value is an address with a password in it: `scheme://name:password@host`.
fn holds_login(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(login, _)| login.contains(':'))
    })
}

/// A relative entry would run whatever the present directory holds.
fn absolute_only(path: &OsStr) -> OsString {
    let entries = path.as_bytes().split(|byte| *byte == b':').filter(|entry| entry.starts_with(b"/"));
    OsString::from_vec(entries.collect::<Vec<_>>().join(&b':'))
}
