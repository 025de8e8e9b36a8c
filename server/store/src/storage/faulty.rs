//! A disk in memory that fails on request and can lose power at any point.
//!
//! It keeps a journal of every change. The state after a power loss is computed from the journal, so
//! one recorded run gives all its crash points. A sync that fails loses the bytes that it should have
//! written, as kernels do. Never used outside tests.

mod file;
mod loss;
mod room;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Entry, EntryType, LockError, LockGuard, Open, Stat, Storage, StoredDir, StoredFile};
use file::SimulatedFile;
pub use loss::Loss;
use loss::lose;
use room::Room;

const ROOT: u64 = 0;

/// An operation that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Write to a file.
    Write,
    /// Sync a file.
    Sync,
    /// Sync a directory.
    SyncDir,
    /// Open a directory to sync it.
    Hold,
    /// Cut a file.
    Cut,
    /// Create a file or directory.
    Create,
    /// Rename a file or directory.
    Rename,
    /// Read from a file.
    Read,
}

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An input/output error; nothing happens.
    Broken,
    /// No space is left; nothing happens.
    Full,
    /// No descriptor is free; nothing happens.
    Scarce,
    /// This many bytes are written, and the call reports a short write.
    Short(usize),
    /// This many bytes are written, and the call fails.
    Partial(usize),
}

#[derive(Clone)]
enum Node {
    File(Vec<u8>),
    Dir(BTreeMap<String, u64>),
}

#[derive(Clone)]
enum DiskChange {
    Created(u64, bool),
    Names(u64, Vec<(String, Option<u64>)>),
    Write(u64, usize, Arc<[u8]>),
    Cut(u64, usize),
    Synced(u64),
    SyncLost(u64),
}

struct PlannedFault {
    op: Op,
    at: usize,
    lasting: bool,
    fault: Fault,
}

type Tree = BTreeMap<u64, Node>;

#[derive(Default)]
struct Sim {
    live: Tree,
    start: Tree,
    journal: Vec<DiskChange>,
    next: u64,
    counts: BTreeMap<u8, usize>,
    planned: Vec<PlannedFault>,
    room: Room,
    locks: BTreeSet<u64>,
    /// Whether syncs of files wait.
    held: bool,
    /// Whether syncs of files wait after the next one that fails.
    holds_after_failure: bool,
    /// How many syncs of files wait now.
    waiting: usize,
    /// Whether reads of files wait.
    holds_reads: bool,
    reads_waiting: usize,
    /// Directories in which locking and opening for reading wait.
    slow: BTreeSet<PathBuf>,
    /// How many callers wait for one of them.
    stuck: usize,
}

/// The disk; clones share it.
#[derive(Clone)]
pub struct FaultyDisk {
    sim: Arc<Mutex<Sim>>,
    /// Notified when syncs, reads or directories are released.
    freed: Arc<Condvar>,
}

impl Default for FaultyDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl FaultyDisk {
    /// Returns an empty disk.
    pub fn new() -> Self {
        Self::holding(BTreeMap::from([(ROOT, Node::Dir(BTreeMap::new()))]), ROOT + 1)
    }

    fn holding(tree: Tree, next: u64) -> Self {
        let sim = Sim { live: tree.clone(), start: tree, next, ..Sim::default() };
        Self { sim: Arc::new(Mutex::new(sim)), freed: Arc::default() }
    }

    fn sim(&self) -> MutexGuard<'_, Sim> {
        self.sim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes every sync of a file wait until `release_syncs`.
    pub fn hold_syncs(&self) {
        self.sim().held = true;
    }

    /// Makes every sync of a file wait after the next one that fails.
    pub fn hold_syncs_behind_failure(&self) {
        self.sim().holds_after_failure = true;
    }

    /// Returns how many syncs of files wait.
    pub fn waiting_syncs(&self) -> usize {
        self.sim().waiting
    }

    /// Lets the waiting syncs continue.
    pub fn release_syncs(&self) {
        self.sim().held = false;
        self.freed.notify_all();
    }

    /// Makes every read of a file wait until `release_reads`.
    pub fn hold_reads(&self) {
        self.sim().holds_reads = true;
    }

    /// Returns how many reads of files wait.
    pub fn waiting_reads(&self) -> usize {
        self.sim().reads_waiting
    }

    /// Lets the waiting reads continue.
    pub fn release_reads(&self) {
        self.sim().holds_reads = false;
        self.freed.notify_all();
    }

    /// Makes locking and opening for reading in this directory wait until `release`.
    pub fn hold(&self, dir: &Path) {
        self.sim().slow.insert(dir.to_owned());
    }

    /// Lets the callers that wait for a directory continue.
    pub fn release(&self) {
        self.sim().slow.clear();
        self.freed.notify_all();
    }

    /// Returns how many callers wait for a held directory.
    pub fn stuck(&self) -> usize {
        self.sim().stuck
    }

    /// Waits until the directory of this file is not held; returns the state of the disk.
    fn free_for(&self, path: &Path) -> MutexGuard<'_, Sim> {
        let mut sim = self.sim();
        sim.stuck += 1;
        let is_slow = |sim: &mut Sim| path.parent().is_some_and(|dir| sim.slow.contains(dir));
        let mut sim = self.freed.wait_while(sim, is_slow).unwrap_or_else(PoisonError::into_inner);
        sim.stuck -= 1;
        sim
    }

    /// Makes the `nth` operation of a kind fail once, counted from now.
    pub fn fail(&self, op: Op, nth: usize, fault: Fault) {
        self.plan(op, nth, fault, false);
    }

    /// Makes the `nth` operation of a kind and all later ones fail, counted from now.
    pub fn fail_from(&self, op: Op, nth: usize, fault: Fault) {
        self.plan(op, nth, fault, true);
    }

    fn plan(&self, op: Op, nth: usize, fault: Fault, lasting: bool) {
        let mut sim = self.sim();
        let at = sim.counts.get(&(op as u8)).copied().unwrap_or(0) + nth;
        sim.planned.push(PlannedFault { op, at, lasting, fault });
    }

    /// Makes the disk full after this many bytes more. Only the content of files takes room, and none is given back.
    pub fn leave_room(&self, bytes: usize) {
        self.sim().room.left = Some(bytes);
    }

    /// Removes all planned faults, and the limit of the room.
    pub fn heal(&self) {
        let mut sim = self.sim();
        sim.planned.clear();
        sim.room.left = None;
    }

    /// Returns how often an operation was tried.
    pub fn count(&self, op: Op) -> usize {
        self.sim().counts.get(&(op as u8)).copied().unwrap_or(0)
    }

    /// Returns the number of changes so far; each number up to it is a crash point.
    pub fn crash_points(&self) -> usize {
        self.sim().journal.len()
    }

    /// Returns the disk as the next start finds it if power is lost after the first `point` changes.
    pub fn after_power_loss(&self, point: usize, loss: Loss) -> FaultyDisk {
        let sim = self.sim();
        let mut tree = sim.start.clone();
        let mut pending: Vec<DiskChange> = Vec::new();
        for change in sim.journal.iter().take(point) {
            match change {
                DiskChange::Created(..) => apply(&mut tree, change),
                DiskChange::Synced(ino) => pending.retain(|waiting| {
                    let synced = waiting.node() == *ino;
                    if synced {
                        apply(&mut tree, waiting);
                    }
                    !synced
                }),
                DiskChange::SyncLost(ino) => pending.retain(|waiting| waiting.node() != *ino),
                _ => pending.push(change.clone()),
            }
        }
        lose(&mut tree, &pending, loss);
        FaultyDisk::holding(tree, sim.next)
    }

    /// Adds a file and its directories as if they had always existed.
    pub fn plant(&self, path: &Path, bytes: &[u8]) {
        let mut sim = self.sim();
        let names = names_of(path);
        let Some((last, dirs)) = names.split_last() else {
            return;
        };
        let mut dir = ROOT;
        for name in dirs {
            dir = sim.planted(dir, name, Node::Dir(BTreeMap::new()));
        }
        let ino = sim.planted(dir, last, Node::File(Vec::new()));
        for tree in sim.trees() {
            tree.insert(ino, Node::File(bytes.to_vec()));
        }
    }

    /// Returns the content of a file as a program sees it now.
    pub fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        let sim = self.sim();
        match sim.live.get(&sim.find(path)?) {
            Some(Node::File(bytes)) => Ok(bytes.clone()),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }
}

impl DiskChange {
    fn node(&self) -> u64 {
        match self {
            DiskChange::Created(ino, _)
            | DiskChange::Names(ino, _)
            | DiskChange::Write(ino, ..)
            | DiskChange::Cut(ino, _)
            | DiskChange::Synced(ino)
            | DiskChange::SyncLost(ino) => *ino,
        }
    }
}

fn apply(tree: &mut Tree, change: &DiskChange) {
    match (change, tree.get_mut(&change.node())) {
        (DiskChange::Created(ino, dir), _) => {
            let node = if *dir { Node::Dir(BTreeMap::new()) } else { Node::File(Vec::new()) };
            tree.insert(*ino, node);
        }
        (DiskChange::Names(_, changes), Some(Node::Dir(names))) => {
            for (name, target) in changes {
                match target {
                    Some(ino) => names.insert(name.clone(), *ino),
                    None => names.remove(name),
                };
            }
        }
        (DiskChange::Write(_, at, bytes), Some(Node::File(content))) => {
            let end = at + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*at..end].copy_from_slice(bytes);
        }
        (DiskChange::Cut(_, len), Some(Node::File(content))) => content.resize(*len, 0),
        _ => {}
    }
}

fn names_of(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect()
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Sim {
    fn trees(&mut self) -> [&mut Tree; 2] {
        [&mut self.live, &mut self.start]
    }

    fn planted(&mut self, dir: u64, name: &str, node: Node) -> u64 {
        if let Some(Node::Dir(names)) = self.live.get(&dir)
            && let Some(ino) = names.get(name)
        {
            return *ino;
        }
        let ino = self.next;
        self.next += 1;
        for tree in self.trees() {
            tree.insert(ino, node.clone());
            if let Some(Node::Dir(names)) = tree.get_mut(&dir) {
                names.insert(name.to_owned(), ino);
            }
        }
        ino
    }

    fn find(&self, path: &Path) -> io::Result<u64> {
        names_of(path).iter().try_fold(ROOT, |dir, name| match self.live.get(&dir) {
            Some(Node::Dir(names)) => names.get(name).copied().ok_or_else(not_found),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        })
    }

    fn parent(&self, path: &Path) -> io::Result<(u64, String)> {
        let name = names_of(path).pop().ok_or_else(not_found)?;
        Ok((self.find(path.parent().unwrap_or(Path::new("/")))?, name))
    }

    fn change(&mut self, change: DiskChange) {
        apply(&mut self.live, &change);
        self.journal.push(change);
    }

    fn try_op(&mut self, op: Op) -> Option<Fault> {
        let count = self.counts.entry(op as u8).or_insert(0);
        *count += 1;
        let now = *count;
        let due = |plan: &&PlannedFault| plan.op == op && (plan.at == now || plan.lasting && now >= plan.at);
        self.planned.iter().find(due).map(|plan| plan.fault)
    }

    fn check(&mut self, op: Op) -> io::Result<()> {
        self.try_op(op).map_or(Ok(()), |fault| Err(fault.error()))
    }

    fn create(&mut self, path: &Path, dir: bool) -> io::Result<u64> {
        self.check(Op::Create)?;
        let (parent, name) = self.parent(path)?;
        let ino = self.next;
        self.next += 1;
        self.change(DiskChange::Created(ino, dir));
        self.change(DiskChange::Names(parent, vec![(name, Some(ino))]));
        Ok(ino)
    }

    fn stat(&self, ino: u64) -> io::Result<Stat> {
        let (len, kind) = match self.live.get(&ino).ok_or_else(not_found)? {
            Node::File(bytes) => (bytes.len() as u64, EntryType::File),
            Node::Dir(_) => (0, EntryType::Dir),
        };
        // The disk has no clock: the time never changes.
        Ok(Stat { id: (1, ino), len, written: 0, kind })
    }
}

impl Fault {
    fn error(self) -> io::Error {
        let errno = match self {
            Fault::Full => rustix::io::Errno::NOSPC,
            Fault::Scarce => rustix::io::Errno::MFILE,
            _ => rustix::io::Errno::IO,
        };
        errno.into()
    }
}

impl Storage for FaultyDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut sim = self.sim();
        let mut so_far = PathBuf::from("/");
        for name in names_of(path) {
            so_far.push(name);
            match sim.find(&so_far).map(|ino| sim.stat(ino)) {
                Ok(Ok(Stat { kind: EntryType::Dir, .. })) => {}
                Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                Err(_) => _ = sim.create(&so_far, true)?,
            }
        }
        Ok(())
    }

    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn StoredFile>> {
        let mut sim = if let Open::Read = how { self.free_for(path) } else { self.sim() };
        let ino = match (sim.find(path), how) {
            (Ok(_), Open::New) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Err(_), Open::New) => sim.create(path, false)?,
            (found, _) => found?,
        };
        if sim.stat(ino)?.kind != EntryType::File {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(Arc::new(SimulatedFile { disk: self.clone(), ino }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let sim = self.sim();
        sim.stat(sim.find(path)?)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let sim = self.sim();
        let Some(Node::Dir(names)) = sim.live.get(&sim.find(dir)?) else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        let entry =
            |(name, ino): (&String, &u64)| Ok(Entry { name: name.clone(), kind: sim.stat(*ino)?.kind });
        names.iter().map(entry).collect()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut sim = self.sim();
        sim.check(Op::Rename)?;
        let ino = sim.find(from)?;
        let (dir, old) = sim.parent(from)?;
        let (target, new) = sim.parent(to)?;
        if dir != target {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        sim.change(DiskChange::Names(dir, vec![(old, None), (new, Some(ino))]));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut sim = self.sim();
        sim.find(path)?;
        let (dir, name) = sim.parent(path)?;
        sim.change(DiskChange::Names(dir, vec![(name, None)]));
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        if !self.list(path)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.remove(path)
    }

    fn hold_dir(&self, dir: &Path) -> io::Result<Arc<dyn StoredDir>> {
        let mut sim = self.sim();
        sim.check(Op::Hold)?;
        let ino = sim.find(dir)?;
        Ok(Arc::new(OpenDir { disk: self.clone(), ino }))
    }

    fn lock(&self, path: &Path) -> Result<LockGuard, LockError> {
        let mut sim = self.free_for(path);
        let ino = match sim.find(path) {
            Ok(ino) => ino,
            Err(_) => sim.create(path, false)?,
        };
        if !sim.locks.insert(ino) {
            return Err(LockError::Held { pid: None });
        }
        Ok(Box::new(HeldLock { disk: self.clone(), ino }))
    }

    fn holder(&self, _path: &Path) -> Option<u32> {
        // One process has the whole disk.
        None
    }
}

impl Sim {
    fn sync(&mut self, ino: u64, op: Op) -> io::Result<()> {
        if let Some(fault) = self.try_op(op) {
            self.change(DiskChange::SyncLost(ino));
            return Err(fault.error());
        }
        self.change(DiskChange::Synced(ino));
        Ok(())
    }

    fn end(&self, ino: u64) -> io::Result<usize> {
        usize::try_from(self.stat(ino)?.len).map_err(io::Error::other)
    }

    fn write(&mut self, ino: u64, bytes: &[u8]) -> io::Result<()> {
        let at = self.end(ino)?;
        self.room.take(ino, at, bytes.len())?;
        self.change(DiskChange::Write(ino, at, bytes.into()));
        Ok(())
    }
}

struct HeldLock {
    disk: FaultyDisk,
    ino: u64,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        self.disk.sim().locks.remove(&self.ino);
    }
}

struct OpenDir {
    disk: FaultyDisk,
    ino: u64,
}

impl StoredDir for OpenDir {
    fn sync(&self) -> io::Result<()> {
        self.disk.sim().sync(self.ino, Op::SyncDir)
    }
}
