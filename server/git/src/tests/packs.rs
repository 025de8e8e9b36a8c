//! Packs that git would not make: chains of differences that are wrong, endless, absurd.
//!
//! Never compresses: stored blocks are valid too.

use adjutant_testkit::campaign::{self, Dice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::*;
use crate::discovery;
use crate::objects::Objects;

/// What an object in a pack is made from.
#[derive(Debug, Clone)]
enum Body {
    /// Its content.
    Blob(Vec<u8>),
    /// Differences from the object with this name.
    FromId(ObjectId, Vec<u8>),
    /// Differences from the object so many bytes before it.
    FromOffset(u64, Vec<u8>),
    /// A blob that says that it has this many bytes.
    Absurd(u64),
}

fn hash(kind: Kind, bytes: &[u8]) -> ObjectId {
    gix_object::compute_hash(gix_hash::Kind::Sha1, kind, bytes).unwrap()
}

/// Returns a name that no content has.
fn name(number: usize) -> ObjectId {
    ObjectId::try_from(&[number as u8 ^ 0x5a; 20][..]).unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(0xffff).peekable();
    if bytes.is_empty() {
        out.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        let length = u16::try_from(block.len()).unwrap();
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    out.extend((high << 16 | low).to_be_bytes());
    out
}

/// Returns differences that copy `base` bytes, then add a text.
fn delta(base: usize, result: usize, text: &[u8]) -> Vec<u8> {
    let number = |mut number: usize| {
        let mut out = Vec::new();
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
        out
    };
    let mut out = [number(base), number(result)].concat();
    if base > 0 {
        out.extend([0x80 | 0x10 | 0x20 | 0x40, base as u8, (base >> 8) as u8, (base >> 16) as u8]);
    }
    if !text.is_empty() {
        out.push(u8::try_from(text.len()).unwrap());
        out.extend(text);
    }
    out
}

fn head(kind: u8, mut size: u64) -> Vec<u8> {
    let mut out = vec![kind << 4 | (size & 0xf) as u8];
    size >>= 4;
    while size > 0 {
        *out.last_mut().unwrap() |= 0x80;
        out.push((size & 0x7f) as u8);
        size >>= 7;
    }
    out
}

fn distance(mut number: u64) -> Vec<u8> {
    let mut out = vec![(number & 0x7f) as u8];
    while number >= 0x80 {
        number = (number >> 7) - 1;
        out.push(0x80 | (number & 0x7f) as u8);
    }
    out.reverse();
    out
}

fn entry(body: &Body) -> Vec<u8> {
    match body {
        Body::Blob(bytes) => [head(3, bytes.len() as u64), zlib(bytes)].concat(),
        Body::FromId(id, bytes) => {
            [head(7, bytes.len() as u64), id.as_slice().to_vec(), zlib(bytes)].concat()
        }
        Body::FromOffset(back, bytes) => [head(6, bytes.len() as u64), distance(*back), zlib(bytes)].concat(),
        Body::Absurd(size) => [head(3, *size), zlib(b"small")].concat(),
    }
}

/// Writes a pack with these objects and its index. Returns the offset of each.
fn pack(git: &Workshop, number: usize, objects: &[(ObjectId, Body)]) -> Vec<u64> {
    let mut bytes =
        [&b"PACK"[..], &2_u32.to_be_bytes(), &u32::try_from(objects.len()).unwrap().to_be_bytes()].concat();
    let mut places = Vec::new();
    for (id, body) in objects {
        places.push((*id, bytes.len() as u64));
        bytes.extend(entry(body));
    }
    let offsets = places.iter().map(|(_, offset)| *offset).collect();
    bytes.extend(hash(Kind::Blob, &bytes).as_slice());
    places.sort();
    places.dedup_by_key(|(id, _)| *id);
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255_u8 {
        let count = places.iter().filter(|(id, _)| id.as_slice()[0] <= first).count();
        index.extend(u32::try_from(count).unwrap().to_be_bytes());
    }
    places.iter().for_each(|(id, _)| index.extend(id.as_slice()));
    places.iter().for_each(|_| index.extend([0; 4]));
    places.iter().for_each(|(_, offset)| index.extend(u32::try_from(*offset).unwrap().to_be_bytes()));
    index.extend([0; 40]);
    git.write_git(&format!("objects/pack/pack-{number}.pack"), bytes);
    git.write_git(&format!("objects/pack/pack-{number}.idx"), index);
    offsets
}

fn read(git: &Workshop, id: ObjectId) -> Result<Vec<u8>, Unknown> {
    Objects::open(&discovery::find(&git.root).unwrap().unwrap()).unwrap().read(id, Kind::Blob)
}

#[test]
fn differences_are_applied() {
    let git = Workshop::new();
    let (base, text) = (b"hello, ".to_vec(), b"hello, world".to_vec());
    let first = entry(&Body::Blob(base.clone())).len() as u64;
    let by_offset = Body::FromOffset(first, delta(7, 12, b"world"));
    pack(
        &git,
        1,
        &[(hash(Kind::Blob, &base), Body::Blob(base.clone())), (hash(Kind::Blob, &text), by_offset)],
    );
    assert_eq!(read(&git, hash(Kind::Blob, &base)), Ok(base.clone()));
    assert_eq!(read(&git, hash(Kind::Blob, &text)), Ok(text));
    let longer = b"hello, you".to_vec();
    let by_name = Body::FromId(hash(Kind::Blob, &base), delta(7, 10, b"you"));
    pack(&git, 2, &[(hash(Kind::Blob, &longer), by_name)]);
    assert_eq!(read(&git, hash(Kind::Blob, &longer)), Ok(longer), "its base is in another pack");
    assert!(reason(read(&git, name(0))).contains("missing"));
}

#[test]
fn an_object_under_the_name_of_another_is_damaged() {
    let git = Workshop::new();
    pack(&git, 1, &[(name(0), Body::Blob(b"text".to_vec()))]);
    assert!(reason(read(&git, name(0))).contains("damaged"));
}

#[test]
fn endless_chains_end() {
    let git = Workshop::new();
    let from = |number: usize| Body::FromId(name(number), delta(1, 1, b""));
    pack(&git, 1, &[(name(0), from(0))]);
    pack(&git, 2, &[(name(1), from(2)), (name(2), from(1))]);
    pack(&git, 3, &[(name(3), from(4))]);
    pack(&git, 4, &[(name(4), from(3))]);
    pack(&git, 5, &[(name(5), from(6))]);
    for number in 0..6 {
        assert!(reason(read(&git, name(number))).contains("damaged"), "{number}");
    }
    let mut objects = vec![(name(7), Body::Blob(b"a".to_vec()))];
    let mut back = entry(&objects[0].1).len() as u64;
    for number in 0..100_000 {
        let body = Body::FromOffset(back, delta(1, 1, b""));
        back = entry(&body).len() as u64;
        objects.push((name(if number == 99_999 { 8 } else { 9 }), body));
    }
    pack(&git, 6, &objects);
    assert!(reason(read(&git, name(8))).contains("too many differences"));
}

#[test]
fn absurd_sizes_allocate_nothing() {
    let git = Workshop::new();
    for size in [6, 17 << 20, 1 << 40, u64::MAX >> 4] {
        pack(&git, 1, &[(name(0), Body::Absurd(size))]);
        assert!(read(&git, name(0)).is_err(), "{size}");
    }
    let base = (name(0), Body::Blob(b"a".to_vec()));
    let back = entry(&base.1).len() as u64;
    for (from, to) in [(1, 1 << 24), (1, 1 << 40), (1 << 40, 1), (usize::MAX, usize::MAX), (2, 2)] {
        pack(&git, 1, &[base.clone(), (name(1), Body::FromOffset(back, delta(from, to, b"")))]);
        assert!(read(&git, name(1)).is_err(), "{from} {to}");
    }
    // Loose: a header of a terabyte, and more content than the header says.
    for (content, at) in [
        (&b"blob 1099511627776\0a"[..], 2),
        (b"blob 1\0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 3),
    ] {
        let hex = name(at).to_string();
        git.write_git(&format!("objects/{}/{}", &hex[..2], &hex[2..]), zlib(content));
        assert!(read(&git, name(at)).is_err());
    }
}

/// Makes packs at random whose objects refer to one another in every wrong way.
fn tangle(dice: &mut Dice) -> Vec<Vec<(ObjectId, Body)>> {
    let names = 12;
    let mut packs = Vec::new();
    for _ in 0..=dice.roll(4) {
        let mut objects = Vec::new();
        for _ in 0..=dice.roll(6) {
            let bytes = match dice.roll(5) {
                0 => delta(1, 2, b"b"),
                1 => delta(dice.roll(4), dice.roll(6), &vec![b'c'; dice.roll(5)]),
                2 => (0..dice.roll(12)).map(|_| dice.roll(256) as u8).collect(),
                _ => delta(1, 1, b""),
            };
            let body = match dice.roll(6) {
                0 => Body::Blob(vec![b'a'; dice.roll(3)]),
                1 => Body::Absurd(dice.roll(1 << 40) as u64),
                2 => Body::FromOffset(dice.roll(60) as u64, bytes),
                _ => Body::FromId(name(dice.roll(names)), bytes),
            };
            objects.push((name(dice.roll(names)), body));
        }
        packs.push(objects);
    }
    packs
}

#[test]
fn p03_tangled_packs_never_panic() {
    let git = Workshop::new();
    for seed in 0..campaign::size("ADJUTANT_GIT_PACKS", 50_000, 500) as u64 {
        _ = fs::remove_dir_all(git.root.join(".git/objects/pack"));
        let packs = tangle(&mut campaign::dice(seed));
        for (number, objects) in packs.iter().enumerate() {
            pack(&git, number, objects);
        }
        for number in 0..12 {
            assert!(read(&git, name(number)).is_err(), "seed {seed}: no content has this name: {packs:?}");
        }
    }
}
