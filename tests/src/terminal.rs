//! A pseudo terminal: the program runs at one side, the test types and reads at the other.
//!
//! Never decides what is typed, or when; it only carries bytes.

mod drawn;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// The test's side of a terminal, with its output so far.
pub struct Screen {
    near: File,
    columns: usize,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: thread::JoinHandle<()>,
}

impl Screen {
    /// Opens a terminal with this many columns; the file is the program's side.
    pub fn open(columns: u16) -> (Screen, File) {
        let (near, far) = pair(columns);
        let shown: Arc<Mutex<Vec<u8>>> = Arc::default();
        let output = shown.clone();
        let mut reader = near.try_clone().unwrap_or_else(|error| panic!("read the pseudo terminal: {error}"));
        let reader_thread = thread::spawn(move || {
            let mut piece = [0; 4096];
            // The end is an error here: every handle of the program's side is closed.
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                output.lock().unwrap_or_else(PoisonError::into_inner).extend(&piece[..length]);
            }
        });
        (Screen { near, columns: columns.into(), shown, reader: reader_thread }, far)
    }

    /// Waits until everything is read that a program wrote which has ended; half a second at most, because a
    /// grandchild may keep the terminal open.
    pub fn ended(&self) {
        let until = Instant::now() + Duration::from_millis(500);
        while !self.reader.is_finished() && Instant::now() < until {
            thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Returns everything the screen showed, without colours.
    pub fn text(&self) -> String {
        plain(&self.raw())
    }

    /// Returns the lines as they stand, the scrollback included: what was erased is not there.
    pub fn drawn(&self) -> String {
        drawn::drawn(&self.raw(), self.columns)
    }

    /// Returns every byte that the program wrote, as text.
    pub fn raw(&self) -> String {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Whether the terminal gathers whole lines, as it does for a program that sets no modes.
    pub fn gathers_lines(&self) -> bool {
        let modes = tcgetattr(&self.near).unwrap_or_else(|error| panic!("ask the terminal: {error}"));
        modes.local_modes.contains(LocalModes::ICANON)
    }

    /// Whether the terminal echoes typed text.
    pub fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.near).unwrap_or_else(|error| panic!("ask the terminal: {error}"));
        modes.local_modes.contains(LocalModes::ECHO)
    }

    /// Types these bytes.
    pub fn types(&mut self, bytes: &[u8]) {
        self.near.write_all(bytes).unwrap_or_else(|error| panic!("type {bytes:?}: {error}"));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- the screen ---\n{}", self.drawn());
        }
    }
}

/// Opens a pseudo terminal with this many columns; returns the test's side and the program's side.
fn pair(columns: u16) -> (File, File) {
    let open = || -> rustix::io::Result<(File, std::ffi::CString)> {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&near)?;
        unlockpt(&near)?;
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let name = ptsname(&near, Vec::new())?;
        tcsetwinsize(&near, size)?;
        Ok((File::from(near), name))
    };
    let (near, name) = open().unwrap_or_else(|error| panic!("open a pseudo terminal: {error}"));
    let name = name.to_string_lossy().into_owned();
    let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
    let far = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&name);
    (near, far.unwrap_or_else(|error| panic!("open {name}: {error}")))
}

/// Removes colours and the carriage returns that a terminal adds.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    (plain + rest).replace('\r', "")
}
