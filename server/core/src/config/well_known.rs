//! The table of providers that environment variables alone can define.
//!
//! Never reads the environment: `layers.rs` decides when a row counts.

use super::Wire;

/// A provider with widely used environment variables.
pub(super) struct WellKnown {
    pub provider: &'static str,
    /// The wire format at the provider's own address.
    pub wire: Wire,
    /// The wire format of servers that imitate the provider.
    pub wire_elsewhere: Wire,
    /// The variable that holds the key.
    pub key: &'static str,
    /// The variable that may contain another address.
    pub address: &'static str,
    /// The provider's own address.
    pub home: &'static str,
    /// The end of an address that the variable may leave out, because other programs add it.
    pub version: &'static str,
}

pub(super) const WELL_KNOWN: [WellKnown; 2] = [
    WellKnown {
        provider: "openai",
        // Only this wire returns the models' own reasoning to them. Imitating servers use the older wire.
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

    /// Returns the wire format at an address.
    pub fn wire_at(&self, address: &str) -> Wire {
        if address.trim_end_matches('/') == self.home { self.wire } else { self.wire_elsewhere }
    }

    /// Returns the address with its version.
    pub fn whole_address(&self, address: &str) -> String {
        let bare = address.trim_end_matches('/');
        if self.version.is_empty() || bare.ends_with(self.version) {
            address.to_owned()
        } else {
            format!("{bare}{}", self.version)
        }
    }

    /// Returns the names of the key variables, as a phrase for a message.
    pub fn keys() -> String {
        WELL_KNOWN.map(|known| known.key).join(" or ")
    }
}
