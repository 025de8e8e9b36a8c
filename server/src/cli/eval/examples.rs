//! The tasks that the program carries: the folder `eval/` of the sources.
//!
//! Never overwrites a task that is there already.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Each file of the tasks with its path.
macro_rules! carried {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../../eval/", $path)))),+]
    };
}

const FILES: &[(&str, &[u8])] = carried![
    "c-parse-size/check/check_size.c",
    "c-parse-size/files/size.c",
    "c-parse-size/files/size.h",
    "c-parse-size/task.toml",
    "c-ring-buffer/check/check_ring.c",
    "c-ring-buffer/files/ring.c",
    "c-ring-buffer/files/ring.h",
    "c-ring-buffer/task.toml",
    "python-expiring-cache/check/check_cache.py",
    "python-expiring-cache/files/README.md",
    "python-expiring-cache/task.toml",
    "python-merge-intervals/check/check_intervals.py",
    "python-merge-intervals/check/test_intervals.py",
    "python-merge-intervals/files/intervals.py",
    "python-merge-intervals/files/test_intervals.py",
    "python-merge-intervals/task.toml",
    "python-rename/check/check_rename.py",
    "python-rename/files/app/__init__.py",
    "python-rename/files/app/config.py",
    "python-rename/files/app/report.py",
    "python-rename/files/app/server.py",
    "python-rename/task.toml",
    "rust-backoff/check/check_retry.rs",
    "rust-backoff/files/attempts.rs",
    "rust-backoff/files/delay.rs",
    "rust-backoff/files/retry.md",
    "rust-backoff/task.toml",
    "rust-roman/check/check_roman.rs",
    "rust-roman/files/roman.rs",
    "rust-roman/task.toml",
    "rust-word-count/check/check_words.rs",
    "rust-word-count/files/words.rs",
    "rust-word-count/task.toml",
    "shell-log-summary/check/check_summary.sh",
    "shell-log-summary/files/sample.log",
    "shell-log-summary/task.toml",
    "shell-odd-names/check/check_backup.sh",
    "shell-odd-names/files/backup.sh",
    "shell-odd-names/task.toml",
];

/// Writes the tasks into a folder, which may be there already.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    let context = || format!("write the tasks into \"{}\"", folder.display());
    for (path, _) in FILES {
        let task = path.split('/').next().unwrap_or(path);
        if folder.join(task).symlink_metadata().is_ok() {
            anyhow::bail!("{}: it has \"{task}\" already; name another folder", context());
        }
    }
    for (path, bytes) in FILES {
        let target = folder.join(path);
        let parent = target.parent().unwrap_or(folder);
        fs::create_dir_all(parent).and_then(|()| fs::write(&target, bytes)).with_context(context)?;
    }
    Ok(())
}
