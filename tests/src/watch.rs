//! Watches folders by the kernel's own interface, as watchexec and chokidar do.
//!
//! Never decides how long a watcher waits for more; it says what happened, in order.

use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

/// Watched folders.
pub struct FolderWatch {
    events: OwnedFd,
}

/// Something that happened to a file.
#[derive(Clone, Debug)]
pub struct FileEvent {
    pub name: String,
    /// Whether it got or lost this name by a rename.
    pub is_rename: bool,
    /// Whether it was removed.
    pub is_removal: bool,
    /// When it was read here.
    pub at: Instant,
}

impl FileEvent {
    /// Whether programs that watch files ignore the name: chokidar, and so vite and vitest, by `\..*\.(sw[px])$`, watchexec by
    /// `.*.sw?`.
    pub fn is_ignored(&self) -> bool {
        self.name.starts_with('.') && [".swp", ".swx"].iter().any(|end| self.name.ends_with(end))
    }
}

impl FolderWatch {
    /// Watches folders, but not the folders in them.
    pub fn start<'a>(folders: impl IntoIterator<Item = &'a Path>) -> FolderWatch {
        let events =
            inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("files can be watched");
        let wanted = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVE
            | WatchFlags::DELETE;
        for folder in folders {
            inotify::add_watch(&events, folder, wanted).expect("the folder can be watched");
        }
        FolderWatch { events }
    }

    /// Returns what happened since the last call, oldest first.
    pub fn events(&self) -> Vec<FileEvent> {
        let mut buffer = [const { MaybeUninit::<u8>::uninit() }; 8192];
        let mut reader = Reader::new(&self.events, &mut buffer);
        let mut all = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    assert!(!event.events().contains(ReadFlags::QUEUE_OVERFLOW), "events are lost");
                    let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                    let is_rename = event.events().intersects(ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO);
                    let is_removal = event.events().contains(ReadFlags::DELETE);
                    let at = Instant::now();
                    all.extend(name.map(|name| FileEvent { name, is_rename, is_removal, at }));
                }
                Err(error) if std::io::Error::from(error).kind() == ErrorKind::WouldBlock => return all,
                Err(error) => panic!("read what happened: {error}"),
            }
        }
    }

    /// Waits until something happens, at most `time`.
    pub fn wait(&self, time: Duration) {
        let time = Timespec::try_from(time).expect("a short time");
        let _ = poll(&mut [PollFd::new(&self.events, PollFlags::IN)], Some(&time));
    }
}
