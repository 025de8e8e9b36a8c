//! The providers that variables of the environment define by themselves.
//!
//! A table. Never looks at the environment: `layers.rs` says when a row counts.

use super::Wire;

/// A provider whose variables many people have set.
pub(super) struct WellKnown {
    pub provider: &'static str,
    /// How it is spoken to at its own address.
    pub wire: Wire,
    /// How servers that imitate it are spoken to.
    pub wire_elsewhere: Wire,
    /// The variable that holds the key.
    pub key: &'static str,
    /// The variable that may hold another address.
    pub address: &'static str,
    /// Its own address.
    pub home: &'static str,
    /// What stands at the end of an address and is left out in the variable as other programs read it.
    pub version: &'static str,
}

pub(super) const WELL_KNOWN: [WellKnown; 2] = [
    WellKnown {
        provider: "openai",
        // Only this wire gives its models their own reasoning back; what imitates it speaks the older one.
        wire: Wire::OpenaiResponses,
        wire_elsewhere: Wire::OpenaiChat,
        key: "OPENAI_API_KEY",
        address: "OPENAI_BASE_URL",
        home: "https://api.openai.com/v1",
        version: "",
    },
    WellKnown {
        provider: "anthropic",
        wire: Wire::AnthropicMessages,
        wire_elsewhere: Wire::AnthropicMessages,
        key: "ANTHROPIC_API_KEY",
        address: "ANTHROPIC_BASE_URL",
        home: "https://api.anthropic.com/v1",
        version: "/v1",
    },
];

impl WellKnown {
    pub fn of(provider: &str) -> Option<&'static WellKnown> {
        WELL_KNOWN.iter().find(|known| known.provider == provider)
    }

    /// Returns the wire that is spoken at an address.
    pub fn wire_at(&self, address: &str) -> Wire {
        if address.trim_end_matches('/') == self.home { self.wire } else { self.wire_elsewhere }
    }

    /// Returns the address with its version.
    pub fn whole_address(&self, address: &str) -> String {
        let bare = address.trim_end_matches('/');
        match self.version.is_empty() || bare.ends_with(self.version) {
            true => address.to_owned(),
            false => format!("{bare}{}", self.version),
        }
    }

    /// The variables that hold keys, as a person reads them.
    pub fn keys() -> String {
        WELL_KNOWN.map(|known| known.key).join(" or ")
    }
}
