//! What the program needs of the machine it runs on, and the checksums of the packages.

use std::process::Command;

use crate::made::{packages, said};

/// The oldest C library that the program runs with: of Debian 10, Ubuntu 20.04 and RHEL 8.
const FLOOR: (u32, u32) = (2, 28);

/// Parts of that C library; every system has them.
const PARTS: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "ld-linux-x86-64.so.2",
];

/// Reads `GLIBC_2.17` and `GLIBC_2.2.5`.
fn version(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[test]
fn n27_the_program_runs_with_the_c_library_of_2018() {
    let said = said(Command::new("readelf").args(["-W", "-V"]).arg(packages().join("adjutant")));
    let names = said.split_whitespace().filter(|word| word.starts_with("GLIBC"));
    let needs: Vec<(u32, u32)> = names
        .map(|name| version(name.trim_end_matches(')')).unwrap_or_else(|| panic!("what is {name}?")))
        .collect();
    let newest = needs.iter().max().expect("the program uses the C library");
    assert!(*newest <= FLOOR, "the program needs glibc {}.{}, newer than 2.28:\n{said}", newest.0, newest.1);
}

#[test]
fn n27_the_program_needs_no_library_but_the_c_library() {
    let said = said(Command::new("readelf").args(["-W", "-d"]).arg(packages().join("adjutant")));
    let needs = said.lines().filter(|line| line.contains("(NEEDED)"));
    let needs: Vec<&str> = needs.filter_map(|line| line.split(['[', ']']).nth(1)).collect();
    assert!(needs.contains(&"libc.so.6"), "{said}");
    let others: Vec<&&str> = needs.iter().filter(|name| !PARTS.contains(name)).collect();
    assert!(others.is_empty(), "the package for Debian does not name these: {others:?}");
}

#[test]
fn n27_the_checksums_are_those_of_every_package() {
    let said =
        said(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(packages()));
    assert_eq!(said.lines().filter(|line| line.ends_with(": OK")).count(), 4, "{said}");
}
