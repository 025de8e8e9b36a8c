//! A pseudo terminal: the program's side to start it at, the person's side to type at and look at.
//!
//! Only carries bytes; what is typed, and when, is for the tests.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// The person's side of a terminal, and everything it has shown.
pub struct Screen {
    near: File,
    shown: Arc<Mutex<String>>,
}

impl Screen {
    /// Opens a terminal so many columns wide; the file is the side a program is started at.
    pub fn open(columns: u16) -> (Screen, File) {
        let (near, far) = pair(columns);
        let shown: Arc<Mutex<String>> = Arc::default();
        let kept = shown.clone();
        let mut reader = near.try_clone().unwrap_or_else(|error| panic!("read the pseudo terminal: {error}"));
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // The end is an error here: nobody holds the other side any more.
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..length]).into_owned();
                kept.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
            }
        });
        (Screen { near, shown }, far)
    }

    /// Everything the screen showed, without colours.
    pub fn text(&self) -> String {
        plain(&self.shown.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the terminal shows what is typed.
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
            eprintln!("--- the screen ---\n{}", self.text());
        }
    }
}

/// A pseudo terminal so many columns wide: the person's side and the program's.
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

/// Takes out colours, and the carriage returns a terminal adds.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    (plain + rest).replace('\r', "")
}
