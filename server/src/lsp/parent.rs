//! The client's process, as `initialize` names it: the server ends when it is gone.
//!
//! Never signals the process, and never waits for it as a child.

use std::time::Duration;

use adjutant_host::process::lives;
use tokio::sync::watch;

/// How often the process is checked where the system has no process descriptors.
const PERIOD: Duration = Duration::from_secs(3);

/// Receives the number of the process from `initialize`.
pub type ParentProcess = watch::Sender<Option<u32>>;

/// Returns when the process that `initialize` named is gone; never, if it named none.
pub async fn gone(mut named: watch::Receiver<Option<u32>>) {
    let number = match named.wait_for(Option::is_some).await {
        Ok(number) => *number,
        Err(_) => None,
    };
    let Some(number) = number.filter(|number| *number > 0) else { return std::future::pending().await };
    if !lives(number) {
        // The number may be of another namespace, as of an editor outside the container. If the process
        // is gone already, standard input ends too.
        tracing::warn!(pid = number, "the process of the client is not visible; it is not watched");
        return std::future::pending().await;
    }
    if !ended(number).await {
        while lives(number) {
            tokio::time::sleep(PERIOD).await;
        }
    }
    tracing::warn!(pid = number, "the process of the client is gone");
}

/// Waits for the end of a process by its descriptor; returns `false` if it cannot get one.
#[cfg(target_os = "linux")]
#[allow(
    deprecated,
    reason = "an `OwnedFd` stays what it is; what replaces the call is `unsafe` for the rest"
)]
async fn ended(number: u32) -> bool {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) else { return false };
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let Ok(descriptor) = AsyncFd::with_interest(descriptor, Interest::READABLE) else { return false };
    descriptor.readable().await.is_ok()
}

#[cfg(not(target_os = "linux"))]
async fn ended(_: u32) -> bool {
    false
}
