//! Simulates a power loss: decides which unsynced changes survive. The same seed always gives the same
//! loss. Never changes synced content.

use super::{DiskChange, Tree, apply};

/// The unit in which a write is torn, in bytes.
const SECTOR: usize = 512;

/// What a power loss does to changes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All changes survive.
    Nothing,
    /// No change survives.
    Unsynced,
    /// The first changes survive; one write is torn at a sector.
    Torn(u64),
    /// Each sector and each name survives or not, independently.
    Shuffled(u64),
}

/// Applies the surviving part of the pending changes to a tree.
pub(super) fn lose(tree: &mut Tree, pending: &[DiskChange], loss: Loss) {
    match loss {
        Loss::Unsynced => {}
        Loss::Nothing => pending.iter().for_each(|change| apply(tree, change)),
        Loss::Torn(seed) => {
            let mut coin = Coin(seed);
            let surviving = coin.below(pending.len() + 1);
            pending[..surviving].iter().for_each(|change| apply(tree, change));
            if let Some(DiskChange::Write(ino, at, bytes)) = pending.get(surviving) {
                let sectors = coin.below((at + bytes.len()) / SECTOR + 1);
                let end = (sectors * SECTOR).clamp(*at, at + bytes.len());
                apply(tree, &DiskChange::Write(*ino, *at, bytes[..end - at].into()));
            }
        }
        Loss::Shuffled(seed) => {
            let mut coin = Coin(seed);
            for change in pending {
                let DiskChange::Write(ino, at, bytes) = change else {
                    if coin.below(2) == 0 {
                        apply(tree, change);
                    }
                    continue;
                };
                let mut from = 0;
                while from < bytes.len() {
                    let to = ((at + from) / SECTOR * SECTOR + SECTOR - at).min(bytes.len());
                    if coin.below(2) == 0 {
                        apply(tree, &DiskChange::Write(*ino, at + from, bytes[from..to].into()));
                    }
                    from = to;
                }
            }
        }
    }
}

/// A small generator of numbers; equal seeds give equal numbers (splitmix64).
struct Coin(u64);

impl Coin {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}
