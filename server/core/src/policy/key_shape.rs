//! Decides whether a text looks like a secret key, by its shape alone.
//!
//! Never sees which variable or field the text came from: the caller judges names.

/// Prefixes of well-known keys, and the least number of characters after each prefix.
const BEGINNINGS: &[(&str, usize)] = &[
    ("sk-", 16),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("pk_live_", 8),
    ("whsec_", 8),
    ("gsk_", 16),
    ("xai-", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("gldt-", 16),
    ("xoxb-", 8),
    ("xoxp-", 8),
    ("xoxa-", 8),
    ("xoxs-", 8),
    ("xapp-", 8),
    ("AKIA", 16),
    ("ASIA", 16),
    ("npm_", 30),
    ("pypi-", 16),
    ("hf_", 16),
    ("SG.", 16),
    ("dop_v1_", 16),
    ("shpat_", 16),
    ("sntrys_", 16),
    ("sntryu_", 16),
    ("lin_api_", 16),
    ("figd_", 16),
    ("ATATT", 16),
    ("AGE-SECRET-KEY-", 8),
    ("tvly-", 16),
    ("pplx-", 16),
    ("r8_", 16),
    ("hvs.", 16),
    ("dckr_pat_", 8),
    ("nvapi-", 16),
    ("LTAI", 16),
];

/// Addresses that work as keys: anyone who knows one can use it.
const ADDRESSES: &[&str] = &[
    "hooks.slack.com/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/",
    "chat.googleapis.com/v1/spaces/",
    "api.telegram.org/bot",
];

/// Text that comes before a key in a longer text, in lower case.
const LABELS: &[&str] = &[
    "accountkey=",
    "sharedaccesskey=",
    "sharedaccesssignature=",
    "password=",
    "passwd=",
    "pwd=",
    "secret=",
    "access_token=",
    "api_key=",
    "apikey=",
    "_authtoken=",
    "--password ",
    "--passwd ",
    "--pass ",
    "--token ",
    "--api-key ",
    "--secret ",
    "client_secret=",
    "private_key\":",
    "bearer ",
    "basic ",
    "&sig=",
    "?sig=",
];

/// Whether a value has a key in it: a known kind of key, a private key, a signed token, an address with a login, or
/// a long random word. A digest that names content (`sha256:..`) is not a key.
pub fn holds_key(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.contains("-----BEGIN ")
        || value.contains("PuTTY-User-Key-File")
        || holds_login(value)
        || ADDRESSES.iter().any(|address| lower.contains(address))
        || LABELS.iter().any(|label| labelled(&lower, label))
        || value.split(|c: char| !is_key_char(c)).any(is_key)
        || holds_number(&lower)
}

/// Whether one word looks like a key.
pub fn is_key(word: &str) -> bool {
    let known = |(start, more): &(&str, usize)| {
        word.strip_prefix(start).is_some_and(|rest| rest.len() >= *more && rest.chars().all(is_key_char))
    };
    BEGINNINGS.iter().any(known) || is_signed_token(word) || is_noise(word)
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/' | '=')
}

/// Whether a word is a token of three parts. The first part begins with `eyJ`, which is `{"` in base64.
fn is_signed_token(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    parts.len() >= 3 && parts[0].starts_with("eyJ") && parts[0].len() >= 12 && parts[1].len() >= 8
}

/// Whether a word is long, mixes letters and digits, and has no separators of a path or a list.
fn is_noise(word: &str) -> bool {
    let word = word.trim_end_matches('=');
    let letters = |test: fn(&char) -> bool| word.chars().filter(test).count();
    let mixed = word.len() >= 40
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '_' | '-'))
        && letters(char::is_ascii_uppercase) >= 6
        && letters(char::is_ascii_lowercase) >= 6
        && letters(char::is_ascii_digit) >= 4;
    mixed || is_base64(word)
}

/// Whether a word is at least 30 bytes in base64. Base64 has `/` as paths have. But it changes between lower case,
/// upper case and digits more often than names do.
fn is_base64(word: &str) -> bool {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let bytes = word.as_bytes();
    let changes = bytes.windows(2).filter(|two| kind(two[0]) != kind(two[1])).count();
    let has = |wanted: u8| bytes.iter().any(|byte| kind(*byte) == wanted);
    (40..=512).contains(&bytes.len())
        && bytes.iter().all(|byte| kind(*byte) < 3 || matches!(byte, b'+' | b'/'))
        && has(0)
        && has(1)
        && 100 * changes >= 45 * (bytes.len() - 1)
}

/// Whether a value in lower case has 32 bytes or more in hexadecimal that are not a digest.
fn holds_number(lower: &str) -> bool {
    let digest = |before: &str| {
        ["sha256", "sha384", "sha512", "sha3", "blake2b", "blake3"].iter().any(|kind| {
            before.trim_end_matches([':', '-', '=', '/']).ends_with(kind) && !before.ends_with(kind)
        })
    };
    let mut at = 0;
    for word in lower.split(|c: char| !c.is_ascii_alphanumeric()) {
        let before = lower.get(..at).unwrap_or_default();
        at += word.len() + 1;
        if word.len() >= 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && !digest(before) {
            return true;
        }
    }
    false
}

/// Whether at least six characters without a space follow the label.
fn labelled(lower: &str, label: &str) -> bool {
    let rest = lower.split(label).skip(1);
    rest.into_iter().any(|rest| rest.trim_start().chars().take_while(|c| !c.is_whitespace()).count() >= 6)
}

/// Whether a value has an address with a login: `scheme://name:password@host`, a web address with a token before
/// `@`, `name:password@host`, or `name:password@tcp(host)`.
fn holds_login(value: &str) -> bool {
    let address = value.split("://").zip(value.split("://").skip(1)).any(|(before, rest)| {
        let rest = rest.split([' ', '\n', '\t', '"', '\'']).next().unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let web = before.ends_with("http") || before.ends_with("https");
        let login = authority.rsplit_once('@').map(|(login, _)| login);
        // A password may have the characters that end the host of an address.
        let odd = rest.rsplit_once('@').filter(|_| login.is_none()).is_some_and(|(login, _)| {
            let password = authority.split_once(':').map(|(_, password)| password);
            login.len() > authority.len()
                && password.is_some_and(|one| one.contains(|c: char| !c.is_ascii_digit()))
        });
        odd || login.is_some_and(|login| login.contains(':') || (web && !login.is_empty()))
    });
    address || value.split([' ', '\n', '\t', '"', '\'', ',', ';']).any(is_login)
}

/// Whether a word is `name:password@host`. The address of a driver or a database may follow.
fn is_login(word: &str) -> bool {
    let word =
        word.rsplit_once('=').map_or(word, |(name, value)| if name.contains('@') { word } else { value });
    let Some((login, host)) = word.rsplit_once('@') else { return false };
    let Some((name, password)) = login.split_once(':') else { return false };
    let plain = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-%+".contains(c))
    };
    let host = host.split(['(', '/', ':', '?']).next().unwrap_or_default();
    // Container images, packages and version control addresses have the same form.
    let is_other = ["sha256", "sha512"].contains(&host)
        || ["npm", "jsr", "pkg", "workspace", "patch", "file", "link"].contains(&name)
        || password.starts_with("//");
    plain(name) && !password.is_empty() && plain(host) && !is_other
}

#[cfg(test)]
mod tests {
    use super::{holds_key, is_key};

    #[test]
    #[rustfmt::skip]
    fn finding_b9_a_value_that_is_a_key_is_known_by_its_shape() {
        let keys = [
            "sk-proj-abcdefghijklmnop1234", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "github_pat_11ABCDEFG0abcdefghij",
            "glpat-abcdefghijklmnop1234", "AKIAIOSFODNN7EXAMPLE", "xoxb-123456789012-abc", "hf_abcdefghijklmnopqrst",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
            "postgres://a:b@h/d", "https://ghtoken@github.com/a/b", "root:pw@tcp(db:3306)/x", "amqp://u:p@h",
            "https://hooks.slack.com/services/T0/B0/x", "https://discord.com/api/webhooks/1/x",
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abcdefgh==;EndpointSuffix=x",
            "Server=db;User Id=sa;Password=hunter2x;", "Authorization: Bearer abcdefghij", "https://h/x?sv=1&sig=abcdefghij",
            "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY9871", "prefix ghp_abcdefghijklmnopqrstuvwxyz0123456789 suffix",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "hex=0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF",
            "user:hunter2@db.example.com", "user:hunter2@localhost:5432/app", "DB=root:p%40ss@h/d", "a:b@10.0.0.1",
            "postgres://u:p/w@h/d", "postgres://u:p#w@h/d", "redis://:pass@h", "x mysql://u:p@h y", "mycli --password hunter22 x",
            "{\"type\": \"service_account\", \"private_key\": \"abcdefgh\"}", "https://k@o1.ingest.sentry.io/1",
        ];
        let missed: Vec<_> = keys.iter().filter(|value| !holds_key(value)).collect();
        assert!(missed.is_empty(), "{missed:?}");
        let plain = [
            "", "1", "en_US.UTF-8", "/usr/local/bin:/usr/bin", "http://proxy:8080", "https://github.com/a/b",
            "ssh://git@github.com/a/b", "git@github.com:a/b.git", "unix:path=/run/user/1000/bus,guid=0123456789abcdef0123456789abcdef",
            "0123456789abcdef0123456789abcdef01234567", "x86_64-unknown-linux-gnu", "-C target-cpu=native", "sk-", "a-b-c-d",
            "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33", "/home/User1/Projects/Some_Long_Name_2024/AnotherLongName_V2/target1234",
            "http://h:8080/a@b", "https://h/@scope/pkg", "registry/image:1.2@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "sha256-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "npm:left-pad@1.0.0", "me@host:dir", "a@b.c",
            "/Users/Someone/Library/Developer/Xcode/DerivedData/Build/Products", "Users/someone/SomeProject/SomeFolder/SourceFiles",
            "/nix/store/0c6hkzbrphx7iz2x2kd3w3cvfw5sc5zs-gcc", "--max-old-space-size=4096", "com.example.some.very.long.java.package.name.of.a.class", "basic", "bearer",
        ];
        let wrong: Vec<_> = plain.iter().filter(|value| holds_key(value)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        // 32 bytes each, without the padding.
        let numbers = [
            "7zOvwo4ggfCzckUI7HYihYLk7Y5BUTPYF8ROHTFaGtU", "zhKEh1lvcx4Wofy6B/6nvz31u0BQG5LeAqX+JHT0ph4",
            "+XG3PCxJ+HjpvY9RsnnzacJYfBVJbHSIHQQBBKR56UU", "9fbciZPQD3gszm15wc2GrALd+BmrOlE65yznWq3fpWE",
            "4buK+Nf+UFEsTDy8r0cSH6kKP9/8sBgKsdG2/6vC0kI", "yrSKGIqfYtNrY6j8q5gJwQEalcflq85b6MH07Wy7YyI",
            "HF1wAGn6OTKj/apATlnR2AFMDAesCQ8HUz1W2oYGypM", "A301lsK3/ZyavWvtyg0/kZB5dYkRBrWbu+aAe6qZGVI",
            "gBMWnCJY14CdC83QuHojdeAn4/84YB6Ttq+k8C3lUV8", "xw6DCgfw/odhl0u2t1a60bLVyw6pYJU+mLzDAOpJMfk",
            "PyYw0j1sFffyR9vauNc+/reL5DH/Pfl1kkkQmS7lxMo", "QdvZ3fyWzX2Qif0Os0mFIOcRwMZX0fJpzh70Kvtf73o",
        ];
        let missed: Vec<_> = numbers.iter().filter(|value| !is_key(value) || !holds_key(value)).collect();
        assert!(missed.is_empty(), "{missed:?}");
        assert!(!is_key("eyJ.a.b") && !is_key("sk-live"));
    }
}
