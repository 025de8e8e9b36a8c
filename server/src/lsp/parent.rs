//! The process that started us, as `initialize` names it: the server ends when
//! that one is gone.
//!
//! Only looks at it; never signals or waits for it as a child.

use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use tokio::sync::watch;

/// How often a system without process descriptors is asked.
const PERIOD: Duration = Duration::from_secs(3);

/// The place where `initialize` leaves the number of the process.
pub type ParentProcess = watch::Sender<Option<u32>>;

/// Comes when the process that `initialize` named is gone; never where it named none.
pub async fn gone(mut named: watch::Receiver<Option<u32>>) {
    let number = match named.wait_for(Option::is_some).await {
        Ok(number) => *number,
        Err(_) => None,
    };
    let pid = number.and_then(|number| i32::try_from(number).ok()).and_then(Pid::from_raw);
    let Some(pid) = pid else { return std::future::pending().await };
    if !lives(pid) {
        // It may count in another namespace, as an editor outside our container does. Should it be
        // gone already, the end of standard input tells as much.
        tracing::warn!(pid = number, "the process of the client is not to be seen; it is not watched");
        return std::future::pending().await;
    }
    if !ended(pid).await {
        while lives(pid) {
            tokio::time::sleep(PERIOD).await;
        }
    }
    tracing::warn!(pid = number, "the process of the client is gone");
}

/// A process that may not be signalled is one all the same.
fn lives(pid: Pid) -> bool {
    test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// Waits for the end of a process by its descriptor; `false` where there is none to be had.
#[cfg(target_os = "linux")]
#[allow(
    deprecated,
    reason = "an `OwnedFd` stays what it is; what replaces the call is `unsafe` for the rest"
)]
async fn ended(pid: Pid) -> bool {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let Ok(descriptor) = AsyncFd::with_interest(descriptor, Interest::READABLE) else { return false };
    descriptor.readable().await.is_ok()
}

#[cfg(not(target_os = "linux"))]
async fn ended(_: Pid) -> bool {
    false
}
