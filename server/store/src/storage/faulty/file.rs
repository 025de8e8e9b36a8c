//! An open file of the disk in memory. Never keeps content of its own.

use std::io;
use std::sync::PoisonError;

use super::{DiskChange, Fault, FaultyDisk, Node, Op, not_found};
use crate::storage::{Stat, StoredFile};

/// The file; its faults are those of its disk.
pub(super) struct SimulatedFile {
    pub disk: FaultyDisk,
    pub ino: u64,
}

impl StoredFile for SimulatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut sim = self.disk.sim();
        sim.reads_waiting += 1;
        let sim = self.disk.freed.wait_while(sim, |sim| sim.holds_reads);
        let mut sim = sim.unwrap_or_else(PoisonError::into_inner);
        sim.reads_waiting -= 1;
        sim.check(Op::Read)?;
        let Some(Node::File(bytes)) = sim.live.get(&self.ino) else {
            return Err(not_found());
        };
        let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
        let read = rest.len().min(buf.len());
        buf[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut sim = self.disk.sim();
        let (written, failed) = match sim.try_op(Op::Write) {
            None => (bytes.len(), None),
            Some(Fault::Short(len)) => (len.min(bytes.len()), None),
            Some(Fault::Partial(len)) => (len.min(bytes.len()), Some(Fault::Broken)),
            Some(fault) => return Err(fault.error()),
        };
        sim.write(self.ino, &bytes[..written])?;
        failed.map_or(Ok(written), |fault| Err(fault.error()))
    }

    fn reserve(&self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        let mut sim = self.disk.sim();
        let end = sim.end(self.ino)?;
        sim.room.take(self.ino, end, len)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut sim = self.disk.sim();
        sim.check(Op::Cut)?;
        let len = usize::try_from(len).map_err(io::Error::other)?;
        sim.change(DiskChange::Cut(self.ino, len));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut sim = self.disk.sim();
        sim.waiting += 1;
        let sim = self.disk.freed.wait_while(sim, |sim| sim.held);
        let mut sim = sim.unwrap_or_else(PoisonError::into_inner);
        sim.waiting -= 1;
        let synced = sim.sync(self.ino, Op::Sync);
        sim.held |= synced.is_err() && std::mem::take(&mut sim.holds_after_failure);
        synced
    }

    fn stat(&self) -> io::Result<Stat> {
        self.disk.sim().stat(self.ino)
    }
}
