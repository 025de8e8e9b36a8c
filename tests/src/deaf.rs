//! A host that exists and never accepts a connection: a client that connects waits.
//!
//! Never answers; ends when it is dropped.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

/// The state of a pending connection in `/proc/net/tcp` (SYN_SENT).
const SYN_SENT: &str = "02";
/// More connections than the system queues for a backlog of zero.
const MOST_QUEUED: usize = 16;

/// A listener whose queue is full.
pub struct DeafHost {
    address: SocketAddrV4,
    _listener: OwnedFd,
    /// The connections that fill the queue.
    _queued: Vec<TcpStream>,
}

impl DeafHost {
    /// Listens on a free port of loopback, and fills the queue.
    pub fn start() -> DeafHost {
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket is made");
        bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
        listen(&listener, 0).expect("the socket listens");
        let address = getsockname(&listener).expect("a bound listener has an address");
        let address = SocketAddrV4::try_from(address).expect("the address is on loopback");
        let mut queued = Vec::new();
        while let Ok(connection) =
            TcpStream::connect_timeout(&SocketAddr::V4(address), Duration::from_millis(200))
        {
            queued.push(connection);
            assert!(
                queued.len() < MOST_QUEUED,
                "this system queues more connections than the backlog allows"
            );
        }
        DeafHost { address, _listener: listener, _queued: queued }
    }

    /// Returns the `base_url` to put into the settings.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns whether a process on this machine waits for a connection to this host.
    pub fn is_knocked_at(&self) -> bool {
        let table = fs::read_to_string("/proc/net/tcp").expect("the system lists its connections");
        let port = format!(":{:04X}", self.address.port());
        table.lines().any(|line| {
            let mut fields = line.split_whitespace().skip(2);
            let to = fields.next().is_some_and(|remote| remote.ends_with(&port));
            to && fields.next() == Some(SYN_SENT)
        })
    }
}
