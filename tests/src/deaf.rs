//! A host that is there and takes no connection: who knocks waits.
//!
//! Answers nobody, ever; ends when it is dropped.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

/// How `/proc/net/tcp` writes a connection that is asked for and not there.
const ASKED_FOR: &str = "02";
/// More than a queue of nothing can ever hold.
const MOST_QUEUED: usize = 16;

/// A listener whose queue is full.
pub struct DeafHost {
    address: SocketAddrV4,
    _listener: OwnedFd,
    /// What fills the queue.
    _queued: Vec<TcpStream>,
}

impl DeafHost {
    /// Listens on a free port of loopback, and fills the queue.
    pub fn start() -> DeafHost {
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket is made");
        bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
        listen(&listener, 0).expect("it listens");
        let address = getsockname(&listener).expect("a bound listener has an address");
        let address = SocketAddrV4::try_from(address).expect("it is one of loopback");
        let mut queued = Vec::new();
        while let Ok(connection) =
            TcpStream::connect_timeout(&SocketAddr::V4(address), Duration::from_millis(200))
        {
            queued.push(connection);
            assert!(queued.len() < MOST_QUEUED, "this system takes connections that nobody accepts");
        }
        DeafHost { address, _listener: listener, _queued: queued }
    }

    /// Returns the `base_url` to put into the settings.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns whether somebody on this machine waits to be let in.
    pub fn is_knocked_at(&self) -> bool {
        let table = fs::read_to_string("/proc/net/tcp").expect("the system tells its connections");
        let port = format!(":{:04X}", self.address.port());
        table.lines().any(|line| {
            let mut fields = line.split_whitespace().skip(2);
            let to = fields.next().is_some_and(|remote| remote.ends_with(&port));
            to && fields.next() == Some(ASKED_FOR)
        })
    }
}
