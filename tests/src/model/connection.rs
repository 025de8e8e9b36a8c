//! The HTTP/1.1 of the model double. Each connection has a reading and a writing thread, so that
//! the double sees a close also while an answer holds.
//!
//! Never meant for a real network: it serves only a well-behaved client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use super::dialect::Dialect;
use super::reply::{Act, Reply};
use super::{Request, Shared};

/// Accepts connections until the server stops.
pub(super) fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        let Ok(socket) = socket else { continue };
        let _ = socket.set_nodelay(true);
        let (Ok(reading), Ok(kept)) = (socket.try_clone(), socket.try_clone()) else { continue };
        let number = shared.change(|state| {
            let number = state.sockets.len();
            (!state.stopping).then(|| state.sockets.push(kept)).map(|()| number)
        });
        let Some(number) = number else { return };
        let (sender, receiver) = channel();
        let threads = [
            std::thread::spawn({
                let shared = Arc::clone(shared);
                move || {
                    let _ = read_requests(reading, number, &shared, &sender);
                    let at = Instant::now();
                    shared.change(|state| state.closed.push((number, at)));
                }
            }),
            std::thread::spawn({
                let shared = Arc::clone(shared);
                move || {
                    let _ = write_answers(&socket, number, &shared, &receiver);
                    let _ = socket.shutdown(Shutdown::Both);
                }
            }),
        ];
        shared.change(|state| state.threads.extend(threads));
    }
}

fn read_requests(
    socket: TcpStream,
    connection: usize,
    shared: &Shared,
    sender: &Sender<Request>,
) -> io::Result<()> {
    let mut input = BufReader::new(socket);
    loop {
        let mut line = String::new();
        if input.fill_buf()?.is_empty() {
            return Ok(());
        }
        let arrived = Instant::now();
        input.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: read_headers(&mut input)?,
            body: Vec::new(),
            size: 0,
            connection,
            arrived,
        };
        let length = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        request.body = vec![0; length];
        request.size = length;
        input.read_exact(&mut request.body)?;
        shared.change(|state| {
            let body = std::mem::take(&mut request.body);
            let mut kept = request.clone();
            if !state.forget_bodies {
                kept.body.clone_from(&body);
            }
            request.body = body;
            state.requests.push(kept);
        });
        if sender.send(request).is_err() {
            return Ok(());
        }
    }
}

fn read_headers(input: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => return Ok(headers),
        }
    }
}

fn write_answers(
    socket: &TcpStream,
    connection: usize,
    shared: &Shared,
    requests: &Receiver<Request>,
) -> io::Result<()> {
    let mut output = socket;
    while let Ok(request) = requests.recv() {
        let reply = shared.next_reply(&request);
        let dialect = Dialect::of_path(&request.path);
        match reply.silence() {
            Some(Act::Hold) => return hold(shared, connection),
            Some(_) => return Ok(()),
            None => {}
        }
        if let Some((once, again)) = reply.flood(dialect) {
            return flood(socket, shared, (&reply, dialect), (&once, &again));
        }
        if reply.is_at_once() {
            let mut bytes = head(&reply, dialect);
            for piece in reply.acts(dialect) {
                if let Act::Send(piece) = piece {
                    push_piece(&mut bytes, &reply, &piece);
                }
            }
            if reply.is_stream() {
                bytes.extend_from_slice(b"0\r\n\r\n");
            }
            let at = Instant::now();
            output.write_all(&bytes)?;
            shared.change(|state| {
                state.begun.push(at);
                state.answered.push(at);
            });
            continue;
        }
        let acts = reply.acts(dialect);
        let began = Instant::now();
        let mut at = began;
        shared.change(|state| state.begun.push(began));
        output.write_all(&head(&reply, dialect))?;
        for (number, act) in (0_u32..).zip(acts) {
            if let Some(pause) = reply.pace() {
                if !shared.wait_until(began + pause * (number + 1)) {
                    return Ok(());
                }
                shared.change(|state| state.paced.push(Instant::now()));
            }
            at = Instant::now();
            match act {
                Act::Send(bytes) => {
                    let mut piece = Vec::new();
                    push_piece(&mut piece, &reply, &bytes);
                    output.write_all(&piece)?;
                }
                Act::Hold => hold(shared, connection)?,
                Act::Cut => return Ok(()),
            }
        }
        if reply.is_stream() {
            at = Instant::now();
            output.write_all(b"0\r\n\r\n")?;
        }
        shared.change(|state| state.answered.push(at));
    }
    Ok(())
}

/// The most bytes of one flood: a client that accepts so many will not hang up.
const MOST_FLOOD: u64 = 4 << 30;
/// The approximate bytes of one write of a flood.
const FLOOD_WRITE: usize = 64 << 10;

/// Sends an endless answer until the client hangs up, and counts the bytes.
fn flood(
    mut socket: &TcpStream,
    shared: &Shared,
    (reply, dialect): (&Reply, Dialect),
    (once, again): (&[u8], &[u8]),
) -> io::Result<()> {
    let mut head = head(reply, dialect);
    let mut write = Vec::new();
    let many = again.repeat((FLOOD_WRITE / again.len().max(1)).max(1));
    if reply.floods_head() {
        // Remove the blank line that ends the head.
        head.truncate(head.len() - 2);
        write = many;
    } else {
        push_piece(&mut head, reply, once);
        push_piece(&mut write, reply, &many);
    }
    shared.change(|state| state.begun.push(Instant::now()));
    socket.write_all(&head)?;
    let mut sent = 0;
    while sent < MOST_FLOOD {
        // Counted before the write, so the count is at most one write too high.
        sent += write.len() as u64;
        shared.change(|state| state.flooded += write.len() as u64);
        socket.write_all(&write)?;
    }
    Ok(())
}

/// Adds one piece of a body in its wire form; in a stream it is its own chunk.
fn push_piece(bytes: &mut Vec<u8>, reply: &Reply, piece: &[u8]) {
    if !reply.is_stream() {
        bytes.extend_from_slice(piece);
    } else if !piece.is_empty() {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
}

fn head(reply: &Reply, dialect: Dialect) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} {}\r\n", reply.status, reason(reply.status));
    let has = |name: &str| reply.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !has("content-type") {
        let kind = if reply.is_stream() { "text/event-stream" } else { "application/json" };
        head.push_str(&format!("content-type: {kind}\r\n"));
    }
    if reply.is_stream() {
        head.push_str("transfer-encoding: chunked\r\n");
    } else {
        head.push_str(&format!("content-length: {}\r\n", reply.bytes_in(dialect).len()));
    }
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400..=499 => "Refused",
        _ => "Answer",
    }
}

/// Waits for a release; returns an error if the connection or the server ended first.
fn hold(shared: &Shared, number: usize) -> io::Result<()> {
    shared.change(|state| state.holding += 1);
    let released = shared.wait(|state| {
        if state.released > 0 {
            state.released -= 1;
            return Some(true);
        }
        (state.stopping || state.closed.iter().any(|(closed, _)| *closed == number)).then_some(false)
    });
    shared.change(|state| state.holding -= 1);
    if released { Ok(()) } else { Err(io::ErrorKind::ConnectionAborted.into()) }
}
