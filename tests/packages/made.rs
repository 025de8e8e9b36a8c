//! The packages of this build, made once for all tests.
//!
//! Never skips one: a tool that is missing fails every test with what the command says.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The version of the program, which every package has in its name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder with the packages.
#[track_caller]
pub fn packages() -> &'static Path {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let root = repository();
        let output = Command::new("bash").arg(root.join("packages/build")).arg("--of-debug").output();
        let output = output.map_err(|error| format!("bash: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("packages-debug"))
    });
    match made {
        Ok(folder) => folder,
        Err(why) => panic!("packages/build --of-debug failed:\n{why}"),
    }
}

/// The folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder above").to_owned()
}

/// Runs a program, which must succeed, and returns what it printed.
#[track_caller]
pub fn said(command: &mut Command) -> String {
    let output = command.env("LC_ALL", "C").output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let all = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", all(&output.stdout), all(&output.stderr));
    all(&output.stdout)
}

/// Runs the program of a package.
#[track_caller]
pub fn adjutant(program: &Path, arguments: &[&str]) -> String {
    said(Command::new(program).args(arguments))
}
