//! What a failed connection means: one sentence that names who could not be reached.
//!
//! Decides no retry, and shows no login of a proxy.

use std::error::Error;
use std::io;

use adjutant_core::config::Proxy;
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use rustls::CertificateError;

use crate::failure::{failure, quote};
use crate::secret::Redactor;

/// Who was being spoken to, and how.
pub(super) struct Connection<'a> {
    pub provider: &'a str,
    /// Scheme, host and port of the provider.
    pub place: String,
    pub proxy: Option<&'a Proxy>,
    pub ca_file: Option<&'a str>,
    pub redactor: &'a Redactor,
}

impl Connection<'_> {
    /// Says what a failure of the connection means.
    pub fn broke(&self, error: &reqwest::Error) -> CallFailure {
        let name = self.provider;
        let said = quote(&innermost(error), self.redactor);
        if error.is_builder() {
            return failure(FailureClass::InvalidRequest, format!("could not make the request: {said}"));
        }
        if head_is_too_large(error) {
            // The same request would only bring the same flood again.
            let message = format!(
                "the answer of provider \"{name}\" has more headers than the limit of 100 and of 400 KiB in all"
            );
            return failure(FailureClass::Total, message);
        }
        // An end in the middle of the body is a broken stream; a reset is the network's.
        if ends_early(error) {
            let message = format!("provider \"{name}\" ended its answer too early: {said}");
            return failure(FailureClass::Broken, message);
        }
        let tunnel = error.is_connect().then(|| tunnel(error)).flatten();
        if let Some(certificate) = certificate_error(error) {
            return self.untrusted(certificate, tunnel.is_some());
        }
        if let (Some(proxy), true) = (self.proxy, error.is_connect()) {
            return self.not_through(proxy, tunnel.as_deref(), &said);
        }
        let what = if error.is_connect() { "could not connect to" } else { "lost the connection to" };
        failure(FailureClass::Network, format!("{what} provider \"{name}\" at {}: {said}", self.place))
    }

    fn not_through(&self, proxy: &Proxy, tunnel: Option<&str>, said: &str) -> CallFailure {
        let Proxy { address, login, named_by } = proxy;
        let shown = format!("the proxy {address} (set by {named_by})");
        let provider = format!("provider \"{}\" at {}", self.provider, self.place);
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
                lost(format!("could not connect to {shown} for {provider}: {said}"))
            }
            Some(_) => lost(format!("{shown} did not lead to {provider}: {said}")),
            // The way through the proxy was open, or nobody answered in time.
            None => lost(format!("could not connect to {provider} through {shown}: {said}")),
        }
    }

    fn untrusted(&self, error: &CertificateError, of_proxy: bool) -> CallFailure {
        let whose = match self.proxy {
            Some(proxy) if of_proxy => format!("the proxy {}", proxy.address),
            _ => format!("provider \"{}\" at {}", self.provider, self.place),
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

/// Returns the causes of an error, the outermost first, also what an I/O error wraps.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = match error.downcast_ref::<io::Error>() {
            // Its own `source` leaves out the one it holds.
            Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => error.source(),
        };
        Some(error)
    })
}

/// Returns the text of the first cause, which is the one that says something.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// Returns how far the way through a proxy came, if that is where it ended.
///
/// The library tells it by its text alone; tests over a real proxy watch over the words.
fn tunnel(error: &reqwest::Error) -> Option<String> {
    causes(error).find_map(|cause| cause.to_string().strip_prefix("tunnel error: ").map(str::to_owned))
}

/// Tells whether a client did not know the authority of a certificate.
pub(super) fn is_untrusted(error: &reqwest::Error) -> bool {
    certificate_error(error).is_some()
}

fn certificate_error(error: &reqwest::Error) -> Option<&CertificateError> {
    causes(error).find_map(|cause| match cause.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(error)) => Some(error),
        _ => None,
    })
}

/// Tells whether an answer has more headers than HTTP/1.1 is read with here.
///
/// The library keeps the limits and tells it by its text alone; a test over a real socket watches over
/// the words.
fn head_is_too_large(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.to_string() == "message head is too large")
}

/// Tells whether the answer ended before it was whole, as opposed to a reset.
fn ends_early(error: &reqwest::Error) -> bool {
    !error.is_connect()
        && causes(error).any(|cause| {
            cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
        })
}
