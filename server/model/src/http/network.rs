//! Describes a failed connection in one sentence that names the provider or proxy that failed.
//!
//! Never decides a retry, and never shows the login of a proxy.

use std::error::Error;
use std::io;

use adjutant_core::config::Proxy;
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use rustls::CertificateError;

use crate::failure::{failure, quote};
use crate::secret::Redactor;

/// The other side of a connection, for messages.
pub(super) struct Connection<'a> {
    pub provider: &'a str,
    /// Scheme, host and port of the provider.
    pub origin: String,
    pub proxy: Option<&'a Proxy>,
    pub ca_file: Option<&'a str>,
    pub redactor: &'a Redactor,
}

impl Connection<'_> {
    /// Returns the failure for an error of the connection.
    pub fn failure_of(&self, error: &reqwest::Error) -> CallFailure {
        let name = self.provider;
        let cause_text = quote(&innermost(error), self.redactor);
        if error.is_builder() {
            return failure(
                FailureClass::InvalidRequest,
                format!("could not make the request: {cause_text}"),
            );
        }
        if head_is_too_large(error) {
            // A retry would get the same headers.
            let message = format!(
                "the answer of provider \"{name}\" has more headers than the limit of 100 and of 400 KiB in all"
            );
            return failure(FailureClass::Total, message);
        }
        // An early end of the body is a broken stream. A reset is a failure of the network.
        if ends_early(error) {
            let message = format!("provider \"{name}\" ended its answer too early: {cause_text}");
            return failure(FailureClass::Broken, message);
        }
        let tunnel = error.is_connect().then(|| tunnel(error)).flatten();
        if let Some(certificate) = certificate_error(error) {
            return self.certificate_failure(certificate, tunnel.is_some());
        }
        if let (Some(proxy), true) = (self.proxy, error.is_connect()) {
            return self.proxy_failure(proxy, tunnel.as_deref(), &cause_text);
        }
        let what = if error.is_connect() { "could not connect to" } else { "lost the connection to" };
        failure(FailureClass::Network, format!("{what} provider \"{name}\" at {}: {cause_text}", self.origin))
    }

    fn proxy_failure(&self, proxy: &Proxy, tunnel: Option<&str>, cause_text: &str) -> CallFailure {
        let Proxy { address, login, named_by } = proxy;
        let shown = format!("the proxy {address} (set by {named_by})");
        let provider = format!("provider \"{}\" at {}", self.provider, self.origin);
        let lost = |message: String| failure(FailureClass::Network, message);
        match tunnel {
            Some("proxy authorization required") => {
                let what = match login {
                    None => {
                        "wants a login (407); put one into its address, \"http://USER:PASSWORD@HOST:PORT\""
                    }
                    Some(_) => "refused the login in its address (407); correct it and try again",
                };
                failure(FailureClass::Auth, format!("{shown} {what}"))
            }
            Some("failed to create underlying connection") => {
                lost(format!("could not connect to {shown} for {provider}: {cause_text}"))
            }
            Some(_) => lost(format!("{shown} did not connect to {provider}: {cause_text}")),
            // The tunnel was open, or the connection timed out.
            None => lost(format!("could not connect to {provider} through {shown}: {cause_text}")),
        }
    }

    fn certificate_failure(&self, error: &CertificateError, of_proxy: bool) -> CallFailure {
        let whose = match self.proxy {
            Some(proxy) if of_proxy => format!("the proxy {}", proxy.address),
            _ => format!("provider \"{}\" at {}", self.provider, self.origin),
        };
        let message = match (error, self.ca_file) {
            (CertificateError::UnknownIssuer, None) => format!(
                "the certificate of {whose} is from an authority that is not known here; \
                 set `http.ca_file` to a PEM file with the certificate of that authority"
            ),
            (CertificateError::UnknownIssuer, Some(path)) => format!(
                "the certificate of {whose} is from an authority that is neither known here nor in {path:?}; \
                 set `http.ca_file` to a PEM file with the certificate of that authority"
            ),
            (error, _) => format!("the certificate of {whose} is not valid: {error}"),
        };
        failure(FailureClass::InvalidRequest, message)
    }
}

/// Returns an error and its causes, the outermost first, including the inner error of an I/O error.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = match error.downcast_ref::<io::Error>() {
            // `io::Error::source` skips the inner error.
            Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => error.source(),
        };
        Some(error)
    })
}

/// Returns the text of the innermost cause, which is the most specific one.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// Returns why the tunnel through a proxy failed, if that is what failed.
///
/// The library gives the reason only as text. Tests over a real proxy check these texts.
fn tunnel(error: &reqwest::Error) -> Option<String> {
    causes(error).find_map(|cause| cause.to_string().strip_prefix("tunnel error: ").map(str::to_owned))
}

/// Whether a certificate was rejected.
pub(super) fn is_untrusted(error: &reqwest::Error) -> bool {
    certificate_error(error).is_some()
}

fn certificate_error(error: &reqwest::Error) -> Option<&CertificateError> {
    causes(error).find_map(|cause| match cause.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(error)) => Some(error),
        _ => None,
    })
}

/// Whether an answer has more headers than the HTTP/1.1 parser allows.
///
/// The library sets these limits and gives the reason only as text. A test over a real socket checks it.
fn head_is_too_large(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.to_string() == "message head is too large")
}

/// Whether the answer ended before it was complete. A reset does not count.
fn ends_early(error: &reqwest::Error) -> bool {
    !error.is_connect()
        && causes(error).any(|cause| {
            cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
        })
}
