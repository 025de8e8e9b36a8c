//! How Adjutant reaches a provider: key source, proxy and certificate authorities.
//!
//! Only this file decides which proxy a request uses. Never reads the environment
//! itself, and never shows a login.

use std::fmt;
use std::net::IpAddr;

use super::values::{self, is_loopback};

/// The source of a provider's key. A provider has at most one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// The name of an environment variable.
    Variable(String),
    /// A program and its arguments. It runs without a shell and prints the key.
    Command(Vec<String>),
    /// The absolute path of a file that only its owner can read.
    File(String),
}

impl KeySource {
    /// Returns the name of the setting for this kind of source.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::Variable(_) => "api_key_env",
            Self::Command(_) => "api_key_command",
            Self::File(_) => "api_key_file",
        }
    }
}

impl fmt::Debug for KeySource {
    /// Leaves out the arguments of a command, because one may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Command(words) => write!(f, "command {:?}", words.first()),
            Self::File(path) => write!(f, "file {path:?}"),
        }
    }
}

/// The network settings for all providers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// The address of a proxy, or `none`. When not set, the environment decides.
    pub proxy: Option<String>,
    /// Hosts that are called without a proxy. When not set, the environment decides.
    pub no_proxy: Option<String>,
    /// Absolute path of certificates that are trusted in addition to those of the system.
    pub ca_file: Option<String>,
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach")
            .field("proxy", &self.proxy.as_deref().map(values::redact_url))
            .field("no_proxy", &self.no_proxy)
            .field("ca_file", &self.ca_file)
            .finish()
    }
}

/// A proxy that a request goes through.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its address, without a login.
    pub address: String,
    /// User and password, after decoding the escapes of the address.
    pub login: Option<(String, String)>,
    /// The setting or environment variable that names it.
    pub named_by: String,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "proxy {} by {}", self.address, self.named_by)
    }
}

/// The value of `http.proxy` that switches the proxies of the environment off.
pub(super) const NO_PROXY_AT_ALL: &str = "none";

impl Reach {
    /// Returns the proxy for https to `host` and `port`, if there is one. An error is a sentence that
    /// says what to correct.
    ///
    /// `variable` looks up an environment variable. A loopback host never has a proxy.
    pub fn proxy_for(
        &self,
        host: &str,
        port: u16,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Proxy>, String> {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| {
                let value = variable(name).map(|value| value.trim().to_owned())?;
                (!value.is_empty()).then(|| ((*name).to_owned(), value))
            })
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let named = match self.proxy.as_deref() {
            Some(NO_PROXY_AT_ALL) => None,
            Some(address) => Some(("http.proxy".to_owned(), address.to_owned())),
            None => first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
        };
        let Some((named_by, address)) = named.filter(|_| !is_loopback(host)) else { return Ok(None) };
        let exceptions = self.no_proxy.clone().or_else(|| Some(first(&["no_proxy", "NO_PROXY"])?.1));
        if exceptions.is_some_and(|list| is_listed(&list, host, port)) {
            return Ok(None);
        }
        match parse(&address) {
            Ok((address, login)) => Ok(Some(Proxy { address, login, named_by })),
            Err(why) if self.proxy.is_some() => Err(format!("{named_by} {why}")),
            Err(why) => Err(format!("{named_by} {why}, or set `http.proxy`, to \"none\" for no proxy")),
        }
    }
}

/// Parses the address of a proxy. An error is a fragment that fits after the name of the setting.
/// It never quotes the address.
pub(super) fn parse(given: &str) -> Result<(String, Option<(String, String)>), String> {
    const WRITE: &str = "write it as \"http://HOST:PORT\" or \"http://USER:PASSWORD@HOST:PORT\"";
    let bad = |why: &str| Err(format!("{why}; {WRITE}"));
    let (scheme, rest) = given.split_once("://").unwrap_or(("http", given));
    let scheme = scheme.to_ascii_lowercase();
    match scheme.as_str() {
        "http" | "https" => {}
        "socks4" | "socks4a" | "socks5" | "socks5h" => {
            return bad("names a SOCKS proxy, which is not supported");
        }
        _ => return bad("is not the address of an http proxy"),
    }
    // The login ends at the last "@", because a password may contain any character.
    let (login, rest) = match rest.rsplit_once('@') {
        Some((login, rest)) => (Some(login), rest),
        None => (None, rest),
    };
    let authority = rest.trim_end_matches('/');
    if authority.contains(['/', '?', '#']) || values::host_of(authority).is_none() {
        return bad("is not the address of an http proxy");
    }
    let login = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
        None => None,
        Some((user, password)) => match (decoded(user), decoded(password)) {
            (Some(user), Some(password)) => Some((user, password)),
            _ => return bad("has a login that is not text"),
        },
    };
    Ok((format!("{scheme}://{authority}"), login))
}

/// Decodes the escapes of an address. A `%` without two hex digits stays. Returns `None` for control characters
/// and for bytes that are not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: u8| (byte as char).to_digit(16);
                digit(*high).zip(digit(*low)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = rest.get(if escaped.is_some() { 3 } else { 1 }..).unwrap_or_default();
    }
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}

/// Returns whether a list of hosts contains this one. An entry is a name (with all names below it), an
/// address, a range of addresses, or `*` for all. A name or an address may have a port.
fn is_listed(list: &str, host: &str, port: u16) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let address = host.parse::<IpAddr>().ok();
    list.split([',', ' ', '\t']).map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let entry = entry.to_ascii_lowercase();
        if entry == "*" {
            return true;
        }
        if let Some((network, bits)) = entry.split_once('/') {
            return address.is_some_and(|address| is_within(address, network, bits));
        }
        let (entry, only) = split_port(&entry);
        if only.is_some_and(|only| only != port) {
            return false;
        }
        match (address, entry.parse::<IpAddr>()) {
            (Some(address), Ok(entry)) => address == entry,
            (Some(_), Err(_)) => false,
            (None, _) => {
                let name = entry.trim_start_matches("*.").trim_matches('.');
                !name.is_empty()
                    && host
                        .strip_suffix(name)
                        .is_some_and(|before| before.is_empty() || before.ends_with('.'))
            }
        }
    })
}

/// Splits `host:port`, `[v6]:port` or a host alone.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some((host, after)) = entry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, after.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match entry.rsplit_once(':') {
        // More than one colon: an IPv6 address without a port.
        Some((host, port)) if !host.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

/// Returns whether an address is in the range `network/bits`.
fn is_within(address: IpAddr, network: &str, bits: &str) -> bool {
    let as_bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    let ((address, width), (network, network_width)) = (as_bits(address), as_bits(network));
    let differing = address ^ network;
    width == network_width && bits <= width && (bits == 0 || differing >> (128 - bits) == 0)
}

#[cfg(test)]
mod tests;
