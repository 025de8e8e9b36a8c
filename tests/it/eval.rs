//! `adjutant eval` through the real binary: tasks, results on disk, a stop in the middle, shards.
//!
//! Never reaches a network: a script plays every model. The checks of the ten tasks need python3, cc and rustc.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::{is_running, wait_until};
use serde_json::Value;

use crate::tidy::source::{read, root};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// Solves each of the ten tasks.
const SOLVED: &str = include_str!("eval/solved.toml");
/// Solves none.
const IDLE: &str = "[[turn]]\ntext = \"I would rather not.\"\nusage = { input = 900, output = 12 }\n";
/// The models of one provider all play its script.
const MODEL: &str = "play/any";

/// A task whose check wants the file `made.txt`.
fn task(name: &str, more: &str) -> String {
    format!(
        "//- /tasks/{name}/task.toml\nprompt = \"Make {name}.\"\n{more}\n\
         //- /tasks/{name}/files/given.txt\nof {name}\n"
    )
}

const CHECK: &str = "check = \"grep -qx made made.txt\"";

/// Turns that make the file.
const MAKES: &str = "
[[turn]]
usage = { input = 100, output = 10 }
[[turn.call]]
tool = \"write_file\"
arguments = { path = \"made.txt\", content = \"made\\n\" }
[[turn]]
text = \"Done.\"
usage = { input = 120, output = 5, cache_read = 90 }
";

fn workspace(tasks: &[String], script: &str) -> Workspace {
    let workspace = Workspace::new(&tasks.concat());
    workspace.script(script);
    workspace
}

/// Returns `adjutant eval ..`, with the folder of temporary files beside the workspace.
fn line(workspace: &Workspace, arguments: &[&str]) -> Line {
    let line = Line::new(BINARY, workspace, &[&["eval"], arguments].concat());
    line.env("TMPDIR", scratch(workspace)).env("PATH", path())
}

fn eval(workspace: &Workspace, arguments: &[&str]) -> Ran {
    line(workspace, arguments).run()
}

fn scratch(workspace: &Workspace) -> PathBuf {
    let scratch = workspace.state_dir().with_file_name("scratch");
    fs::create_dir_all(&scratch).unwrap();
    scratch
}

/// Returns the search path with the real programs first: a shim finds them only by the user's home.
fn path() -> OsString {
    let said = |program: &str, arguments: &[&str]| {
        let ran = Command::new(program).args(arguments).output();
        let ran = ran.unwrap_or_else(|error| panic!("{program} is needed: {error}"));
        PathBuf::from(String::from_utf8(ran.stdout).unwrap().trim())
    };
    let rust = said("rustc", &["--print", "sysroot"]).join("bin");
    let python = said("python3", &["-c", "import sys; print(sys.executable)"]);
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        [rust, python.parent().unwrap().to_owned()].into_iter().chain(std::env::split_paths(&inherited));
    std::env::join_paths(folders).unwrap()
}

fn figures(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// Returns the outcome of each attempt in words, by task, model and number.
fn outcomes(figures: &Value) -> BTreeMap<String, String> {
    let attempts = figures["attempts"].as_array().unwrap();
    let one = |attempt: &Value| {
        let text = |key: &str| attempt[key].as_str().unwrap_or_default();
        let name = format!("{} {} {}", text("task"), text("model"), attempt["attempt"]);
        (name, format!("{} {}", text("outcome"), text("reason")).trim().to_owned())
    };
    attempts.iter().map(one).collect()
}

/// Returns what of each attempt does not depend on the moment.
fn lasting(figures: &Value) -> Vec<Value> {
    let mut attempts = figures["attempts"].as_array().unwrap().clone();
    for attempt in &mut attempts {
        for key in ["time_ms", "check_ms", "ended_at", "session"] {
            assert!(attempt.as_object_mut().unwrap().remove(key).is_some(), "{key}");
        }
    }
    attempts
}

fn lines(workspace: &Workspace, out: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace.path().join(out).join("results.jsonl")).unwrap_or_default();
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn left(workspace: &Workspace) -> Vec<PathBuf> {
    fs::read_dir(scratch(workspace)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Returns the paths and contents of all files below a folder.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn n25_the_ten_tasks_that_come_with_it_are_solved_by_a_script_that_solves_them() {
    let workspace = workspace(&[], SOLVED);
    eval(&workspace, &["--examples", "tasks"]).expect(0);
    let carried = tree(&workspace.path().join("tasks"));
    assert_eq!(carried, tree(&root().join("eval")), "the list in eval/examples.rs is not the folder `eval`");
    let again = eval(&workspace, &["--examples", "tasks"]);
    assert!(again.expect(1).stderr.contains("already; name another folder"), "{again}");
    let ran = eval(&workspace, &["tasks", "--jobs", "2", "--json"]);
    let figures = figures(ran.expect(0));
    let outcomes = outcomes(&figures);
    assert!(outcomes.len() == 10 && outcomes.values().all(|how| how == "passed"), "{outcomes:#?}\n{ran}");
    let all = &figures["models"][0];
    assert_eq!((&all["passed"], &all["turns"], &all["cost"]), (&10.into(), &20.into(), &Value::Null));
    let tokens = serde_json::json!({ "input": 27000, "output": 900, "cache_read": 16000, "cache_write": 0 });
    assert_eq!(all["tokens"], tokens);
    assert_eq!(carried, tree(&workspace.path().join("tasks")), "an attempt changed a task");
    assert_eq!((left(&workspace), ran.left()), (vec![], vec![]));
}

#[test]
fn n25_a_model_that_does_nothing_passes_none_of_the_ten_tasks_and_the_page_shows_the_table() {
    let workspace = workspace(&[], SOLVED);
    workspace.write_beside("idle.toml", IDLE);
    workspace.add_config("[providers.idle]\nwire = \"scripted\"\nscript = \"idle.toml\"\n");
    let tasks = root().join("eval");
    let set = [tasks.to_str().unwrap(), "--model", MODEL, "--model", "idle/any"];
    let ran = eval(&workspace, &[&set[..], &["--jobs", "2", "--json"]].concat());
    let outcomes = outcomes(&figures(ran.expect(0)));
    let count = |model: &str, how: &str| {
        outcomes.iter().filter(|(name, found)| name.contains(model) && found.starts_with(how)).count()
    };
    let counts = (count(MODEL, "passed"), count("idle/any", "failed the check exited with "));
    assert_eq!(counts, (10, 10), "{outcomes:#?}");
    let table = eval(&workspace, &set);
    let printed = format!("{}\n", table.expect(0).stdout.trim_end());
    let page = read("docs/eval.md");
    let (before, rest) = page.split_once("```text\n").expect("the page has a table");
    let (shown, after) = rest.split_once("```").expect("the table has an end");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join("docs/eval.md"), format!("{before}```text\n{printed}```{after}")).unwrap();
    } else {
        assert_eq!(without_times(shown), without_times(&printed), "UPDATE_DOCS=1 writes it again");
    }
}

/// Returns the words of each line, without the times, which differ from run to run.
fn without_times(table: &str) -> Vec<Vec<&str>> {
    fn words(line: &str) -> Vec<&str> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_time = |at: usize| words.get(at + 1) == Some(&"s");
        words.iter().enumerate().filter(|(at, _)| !is_time(*at)).map(|(_, word)| *word).collect()
    }
    table.lines().map(words).collect()
}

#[test]
fn n25_two_models_stand_beside_each_other_in_one_table() {
    let workspace = workspace(&[task("one", CHECK), task("two", CHECK)], MAKES);
    workspace.write_beside("idle.toml", IDLE);
    workspace.add_config("[providers.idle]\nwire = \"scripted\"\nscript = \"idle.toml\"\n");
    let ran = eval(&workspace, &["tasks", "--model", MODEL, "--model", "idle/any", "--repeat", "2"]);
    let table: Vec<Vec<&str>> =
        ran.expect(0).stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(table[0], ["play/any", "idle/any"]);
    assert_eq!(table[1][..4], ["TASK", "PASSED", "TURNS", "TOKENS"], "{ran}");
    for (row, passed, failed) in [("one", "2/2", "0/2"), ("two", "2/2", "0/2"), ("all", "4/4", "0/4")] {
        let found = table.iter().find(|cells| cells.first() == Some(&row)).unwrap();
        assert_eq!((found[1], found[2], found[3], found[4]), (passed, "2.0", "235", "-"), "{ran}");
        assert_eq!((found[7], found[8]), (failed, "1.0"), "{ran}");
    }
    let sums = "play/any: 4 passed, 0 failed, 0 not finished; in all 8 turns, 880 tokens in, 60 out, 360 read from a cache";
    assert!(ran.stdout.contains(sums), "{ran}");
}

#[test]
fn n25_an_eval_that_was_killed_is_continued_by_the_same_command() {
    let slow =
        "[[turn]]\nwhen = \"Make c.\"\npace_ms = 50\ntext = \"".to_owned() + &"word ".repeat(2000) + "\"\n";
    let workspace = workspace(&["a", "b", "c", "d"].map(|name| task(name, CHECK)), &(slow + MAKES));
    let mut running = line(&workspace, &["tasks"]).start();
    wait_until("two results, and a third attempt", || {
        lines(&workspace, "eval-results").len() == 2 && left(&workspace).len() == 1
    });
    running.kill();
    assert!(running.wait().was_killed());
    assert_eq!(left(&workspace).len(), 1, "the killed attempt left its copy");
    // As if the kill had cut the last line short.
    let results = workspace.path().join("eval-results/results.jsonl");
    let before = lines(&workspace, "eval-results");
    fs::write(&results, before.concat().trim_end_matches("}\n")).unwrap();
    workspace.write_beside("script.toml", MAKES);
    let ran = eval(&workspace, &["tasks", "--json"]);
    assert!(ran.expect(0).stderr.contains("was cut short and is removed"), "{ran}");
    assert!(ran.stderr.contains("1 of 4 attempts have a result already"), "{ran}");
    assert_eq!(outcomes(&figures(&ran)).values().filter(|how| *how == "passed").count(), 4, "{ran}");
    let after = lines(&workspace, "eval-results");
    assert_eq!((after.len(), &after[0]), (4, &before[0]));
    assert_eq!(left(&workspace), Vec::<PathBuf>::new());
    let again = eval(&workspace, &["tasks", "--json"]);
    assert!(again.expect(0).stderr.contains("4 of 4 attempts have a result already"), "{again}");
    assert_eq!((again.stdout, lines(&workspace, "eval-results")), (ran.stdout, after));
}

#[test]
fn n25_an_interrupt_stops_it_and_leaves_nothing_running() {
    let slow = "[[turn]]\npace_ms = 50\ntext = \"".to_owned() + &"word ".repeat(2000) + "\"\n";
    let workspace = workspace(&[task("a", CHECK)], &slow);
    let running = line(&workspace, &["tasks"]).start();
    wait_until("an attempt", || !left(&workspace).is_empty());
    let pid = rustix::process::Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ran = running.wait();
    assert!(ran.expect(130).stderr.contains("stopped; the same command again continues"), "{ran}");
    assert_eq!((left(&workspace), ran.left().len(), lines(&workspace, "eval-results").len()), (vec![], 0, 0));
}

#[test]
fn n25_shards_together_are_the_whole_run_and_merge_says_what_is_missing() {
    let workspace = workspace(&["a", "b", "c"].map(|name| task(name, CHECK)), MAKES);
    let set = ["tasks", "--model", "play/x", "--model", "play/y", "--repeat", "2", "--json"];
    let whole = figures(eval(&workspace, &set).expect(0));
    for shard in ["1/3", "2/3", "3/3"] {
        let out = format!("out-{}", &shard[..1]);
        let ran = eval(&workspace, &[&set[..], &["--shard", shard, "--out", &out]].concat());
        assert_eq!(outcomes(&figures(ran.expect(0))).len(), 4, "{ran}");
        assert!(workspace.exists(&format!("{out}/state")));
    }
    let merged = eval(&workspace, &["merge", "out-3", "out-1", "out-2", "--json"]);
    assert_eq!(lasting(&figures(merged.expect(0))), lasting(&whole));
    let part = eval(&workspace, &["merge", "out-1", "out-2"]);
    assert_eq!(part.expect(1).stdout.matches("\nmissing: ").count(), 4, "{part}");
    assert!(part.stdout.contains("missing: b, play/x, attempt 1"), "{part}");
    // The whole run made each attempt as well, at another time.
    let doubled = eval(&workspace, &["merge", "out-1", "eval-results"]);
    assert!(doubled.expect(1).stderr.contains("with different results; merge only one of them"), "{doubled}");
}

#[test]
fn n25_a_changed_task_is_run_again_and_the_others_are_not() {
    let workspace = workspace(&[task("a", CHECK), task("b", CHECK)], MAKES);
    eval(&workspace, &["tasks"]).expect(0);
    workspace.write("tasks/b/files/given.txt", "changed\n");
    let ran = eval(&workspace, &["tasks", "--json"]);
    assert!(ran.expect(0).stderr.contains("1 of 2 attempts have a result already"), "{ran}");
    assert_eq!((outcomes(&figures(&ran)).len(), lines(&workspace, "eval-results").len()), (2, 3));
}

#[test]
fn n25_a_missing_program_is_never_a_result() {
    let needs = "check = \"true\"\nneeds = [\"no-such-program\"]";
    let needing = workspace(&[task("a", CHECK), task("b", needs)], MAKES);
    let ran = eval(&needing, &["tasks"]);
    let why = "nothing was run, because programs are missing here: b needs `no-such-program`; install them";
    assert!(ran.expect(2).stderr.contains(why), "{ran}");
    assert!(!needing.exists("eval-results"));
    // A check that names no needs says so by its exit code.
    let unnamed = workspace(&[task("a", "check = \"no-such-program --check\"")], MAKES);
    for _ in 0..2 {
        let ran = eval(&unnamed, &["tasks", "--json"]);
        let outcomes = outcomes(&figures(ran.expect(1)));
        let how = "not_finished the check could not run (exit code 127); is a program missing?";
        assert_eq!(outcomes.values().collect::<Vec<_>>(), [how], "{ran}");
    }
    assert_eq!(lines(&unnamed, "eval-results").len(), 2, "it is made again");
}

#[test]
fn n25_commands_of_the_model_run_only_with_their_flag_and_the_check_always() {
    let script = "[[turn]]\n[[turn.call]]\ntool = \"run_command\"\narguments = { command = \"echo made > made.txt\" }\n\
                  [[turn]]\ntext = \"Done.\"\n";
    let workspace = workspace(&[task("a", CHECK)], script);
    workspace.add_config("[unattended]\ncommand = true\n");
    let ran = eval(&workspace, &["tasks", "--json"]);
    let found = figures(ran.expect(0));
    assert_eq!(outcomes(&found).values().collect::<Vec<_>>(), ["failed the check exited with 2"], "{ran}");
    assert_eq!(found["attempts"][0]["denied"].as_array().map(Vec::len), Some(1), "{ran}");
    let allowed = eval(&workspace, &["tasks", "--json", "--allow-commands"]);
    assert_eq!(outcomes(&figures(allowed.expect(0))).values().collect::<Vec<_>>(), ["passed"], "{allowed}");
    assert_eq!(lines(&workspace, "eval-results").len(), 2, "they are two attempts");
}

#[test]
fn n25_the_model_sees_no_file_of_the_check_and_its_keys_reach_no_check() {
    let look = "[[turn]]\n[[turn.call]]\ntool = \"find_files\"\narguments = { pattern = \"*\" }\n\
                [[turn]]\ntext = \"I see: {{last_output}}\"\n[[turn.call]]\ntool = \"write_file\"\n\
                arguments = { path = \"check.sh\", content = \"exit 0\\n\" }\n[[turn]]\ntext = \"Done.\"\n";
    let check = "check = [\"sh\", \"check.sh\"]\n//- /tasks/a/check/check.sh\necho \"key: $ADJUTANT_TEST_KEY\"; ls; exit 4";
    let workspace = workspace(&[task("a", check)], look);
    workspace.add_config("[providers.far]\nwire = \"openai_chat\"\nbase_url = \"http://localhost:1\"\napi_key_env = \"ADJUTANT_TEST_KEY\"\n");
    let ran = line(&workspace, &["tasks", "--json"]).env("ADJUTANT_TEST_KEY", "not for the check").run();
    let found = figures(ran.expect(0));
    let attempt = &found["attempts"][0];
    assert_eq!(attempt["reason"], "the check exited with 4", "{ran}");
    assert_eq!(attempt["check_output"], "key: \ncheck.sh\ngiven.txt", "{ran}");
    let state = workspace.path().join("eval-results/state").join(attempt["state"].as_str().unwrap());
    let session = attempt["session"].as_str().unwrap();
    let shown =
        Line::new(BINARY, &workspace, &["sessions", "show", session]).env("ADJUTANT_STATE_DIR", state).run();
    assert!(shown.expect(0).stdout.contains("I see: given.txt\n"), "{shown}");
}

#[test]
fn n25_a_run_beyond_its_time_and_a_provider_that_fails_are_not_finished() {
    let limit = format!("{CHECK}\ntime_limit_s = 1");
    let slow = "[[turn]]\nwhen = \"Make slow.\"\npace_ms = 50\ntext = \"".to_owned()
        + &"word ".repeat(2000)
        + "\"\n";
    let refused = "[[turn]]\nwhen = \"Make refused.\"\n[[turn.fail]]\nclass = \"auth\"\nmessage = \"the key is wrong\"\n";
    let workspace = workspace(&[task("refused", CHECK), task("slow", &limit)], &(slow + refused + MAKES));
    let ran = eval(&workspace, &["tasks", "--json"]);
    let found = outcomes(&figures(ran.expect(1)));
    let how: Vec<&str> = found.values().map(String::as_str).collect();
    let late = "not_finished the run did not end within 1 s";
    assert!(how[0].starts_with("not_finished ") && how[0].contains("the key is wrong"), "{ran}");
    assert_eq!(how[1], late, "{ran}");
    // What is wrong with the set-up is tried again; what a model was too slow for is its result.
    workspace.write_beside("script.toml", MAKES);
    let ran = eval(&workspace, &["tasks", "--json"]);
    let found = outcomes(&figures(ran.expect(0)));
    assert_eq!(found.values().collect::<Vec<_>>(), ["passed", late], "{ran}");
}

#[test]
fn n25_what_makes_no_sense_is_refused_before_anything_runs() {
    let workspace = workspace(&[task("a", CHECK), task("b", "check = 1")], MAKES);
    let cases: [(&[&str], &str); 6] = [
        (&["tasks"], "tasks/b/task.toml\": line 2"),
        (&["none"], "read the tasks of \"none\""),
        (&["tasks/a/files"], "no folder in it has a task.toml"),
        (&["tasks", "--model", "none/such"], "no provider \"none\" is configured"),
        (&["tasks", "--model", MODEL, "--model", MODEL], "is given twice"),
        (&["tasks", "--shard", "3/2"], "write K/N"),
    ];
    for (arguments, why) in cases {
        let ran = eval(&workspace, arguments);
        assert!(ran.expect(2).stderr.contains(why), "{why:?} is missing in {ran}");
    }
    let ran = eval(&workspace, &["merge", "tasks"]);
    assert!(ran.expect(1).stderr.contains("is it the --out of an `adjutant eval`?"), "{ran}");
    assert!(!workspace.exists("eval-results"));
}

#[test]
fn n25_no_fallback_model_continues_an_attempt() {
    let overloaded =
        "[[turn]]\n[[turn.fail]]\nclass = \"overloaded\"\nretry_after_ms = 600000\nmessage = \"too busy\"\n";
    let workspace = workspace(&[task("a", CHECK)], overloaded);
    workspace.write_beside("makes.toml", MAKES);
    let settings = fs::read_to_string(workspace.config_file()).unwrap();
    let more = "[providers.second]\nwire = \"scripted\"\nscript = \"makes.toml\"\n";
    workspace.config(&format!("fallback_models = [\"second/any\"]\n{settings}\n{more}"));
    // The settings are such that a run goes on with the other model.
    Line::new(BINARY, &workspace, &["run", "-y", "Make a."]).run().expect(0);
    assert_eq!(workspace.read("made.txt"), "made\n");
    let ran = eval(&workspace, &["tasks", "--json"]);
    let outcomes = outcomes(&figures(ran.expect(1)));
    let how: Vec<&String> = outcomes.values().collect();
    assert!(how.len() == 1 && how[0].starts_with("not_finished ") && how[0].contains("too busy"), "{ran}");
}

#[test]
fn n25_what_a_killed_attempt_left_running_is_ended_by_the_next_start() {
    let sleeps = "[[turn]]\n[[turn.call]]\ntool = \"run_command\"\narguments = { command = \"echo $$ > pid; sleep 300\" }\n";
    let workspace = workspace(&[task("a", CHECK)], sleeps);
    let mut running = line(&workspace, &["tasks", "--allow-commands"]).start();
    let pid = || {
        let pid = fs::read_to_string(left(&workspace).first()?.join("workspace/pid")).ok()?;
        pid.trim().parse::<u32>().ok()
    };
    wait_until("the command of the model", || pid().is_some());
    let command = pid().unwrap();
    running.kill();
    assert!(running.wait().was_killed() && is_running(command));
    workspace.write_beside("script.toml", MAKES);
    eval(&workspace, &["tasks", "--allow-commands"]).expect(0);
    assert!(!is_running(command));
    // The same for a check, which waits as long as there is no such file.
    let flag = workspace.path().join("flag");
    let check = format!("check = \"echo $$ > pid; [ -e {} ] || sleep 300\"", flag.display());
    workspace.write("tasks/a/task.toml", &format!("prompt = \"Make a.\"\n{check}\n"));
    let mut running = line(&workspace, &["tasks"]).start();
    wait_until("the check", || pid().is_some());
    let check = pid().unwrap();
    running.kill();
    assert!(running.wait().was_killed() && is_running(check));
    workspace.write("flag", "");
    eval(&workspace, &["tasks"]).expect(0);
    assert!(!is_running(check));
}
