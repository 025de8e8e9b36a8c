//! Tests of the limits of the user's own programs, with real programs.

use super::*;

async fn shell(script: &str, time: Duration) -> Result<Output, String> {
    run_within(["sh", "-c", script].map(str::to_owned).to_vec(), time).await
}

/// Whether a process exists and is not a zombie.
fn lives(number: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[tokio::test]
async fn s1_a_program_that_does_not_end_is_ended_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    // A child in a session of its own is found too.
    let script =
        format!("setsid sleep 600 & sleep 600 & echo $$ $! > {}; trap '' TERM; wait", mark.display());
    let ended = shell(&script, Duration::from_millis(800)).await;
    assert_eq!(ended.unwrap_err(), "did not end within 0.8 s");
    let numbers = std::fs::read_to_string(&mark).unwrap();
    assert_eq!(numbers.split_whitespace().count(), 2);
    assert!(!numbers.split_whitespace().any(lives), "{numbers}");
}

#[tokio::test]
async fn s1_a_program_may_complain_at_length_and_print_little() {
    let long = Duration::from_secs(10);
    let output = shell("head -c 1000000 /dev/zero >&2; echo key; exit 3", long).await.unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.len()), (&b"key\n"[..], 8192));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(shell("yes", long).await.unwrap_err(), "printed more than 8 KiB");
    assert_eq!(run_within(Vec::new(), long).await.unwrap_err(), "names no program");
}

#[tokio::test]
async fn s1_a_program_that_closes_its_output_is_still_waited_for() {
    let output = shell("echo key; exec >&- 2>&-; sleep 0.2; exit 4", Duration::from_secs(10)).await.unwrap();
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"key\n"[..], Some(4)));
}
