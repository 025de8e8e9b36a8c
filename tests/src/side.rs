//! A listener of a double on its own runtime, independent of the runtime of the test.
//!
//! Never listens outside loopback. When it is dropped, it closes every connection it accepted.

use std::future::Future;
use std::net::SocketAddr;
use std::thread::JoinHandle;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// A running listener.
pub(crate) struct Side {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Side {
    /// Listens on a free port and calls `serve` with each connection and its number, from zero.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        serve: impl Fn(TcpStream, usize) -> F + Send + 'static,
    ) -> Side {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        listener.set_nonblocking(true).expect("a listener can be made not to wait");
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime starts");
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("the runtime takes a listener");
                let accepting = async {
                    for number in 0.. {
                        let Ok((socket, _)) = listener.accept().await else { continue };
                        let _ = socket.set_nodelay(true);
                        tokio::spawn(serve(socket, number));
                    }
                };
                tokio::select! {
                    () = accepting => {}
                    _ = stopped => {}
                }
            });
        });
        Side { address, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
