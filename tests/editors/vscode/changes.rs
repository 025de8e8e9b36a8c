//! Scenes in VS Code about changes that Adjutant made without a question: drawn in the text, kept, undone, listed.
//!
//! Never looks into the server: it checks the screen, the bytes on disk and the requests to the model.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Code;
use super::answers::notified;
use crate::editor::Editor;
use crate::scenes::{self, DRAWN, Reviewer, answers_in_a_terminal};
use crate::stage::{Stage, wait_for, wait_or};

const FILE: &str = "shop.py";
const BEFORE: &str = "\
def total(prices):
    result = 0
    for price in prices:
        result = result + price
    return result


def receipt(prices):
    \"\"\"Prints what a customer pays.\"\"\"
    print(\"Total:\")
    print(total(prices))


def farewell(name):
    print(\"Thank you.\")
    print(\"-----\")
    print(name)
";
const OLD_SUM: &str =
    "    result = 0\n    for price in prices:\n        result = result + price\n    return result\n";
const OLD_BYE: &str = "    print(\"Thank you.\")\n    print(\"-----\")\n    print(name)\n";
pub const SUM: &str = "    return sum(prices)";
pub const BYE: &str = "    print(f\"Thank you, {name}.\")";

fn after() -> String {
    BEFORE.replace(OLD_SUM, &format!("{SUM}\n")).replace(OLD_BYE, &format!("{BYE}\n"))
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

/// Returns a stage whose model edits one file with a question, and then two without.
pub fn stage() -> Stage {
    Stage::new(
        &format!("//- /{FILE}\n{BEFORE}//- /other.py\nprint(1)\n//- /first.txt\n0\n"),
        [
            Reply::call("edit_file", edit("first.txt", "0\n", "1\n")),
            Reply::call("edit_file", edit(FILE, OLD_SUM, &format!("{SUM}\n")))
                .and_call("edit_file", edit(FILE, OLD_BYE, &format!("{BYE}\n")))
                .and_call("edit_file", edit("other.py", "print(1)\n", "print(2)\n")),
            Reply::text("Done."),
            Reply::text("Seen."),
        ],
    )
}

/// Opens the file and lets the task change it.
pub fn changed(stage: &Stage) -> Code<'_> {
    let code = Code::open(stage, FILE);
    code.command("Use what Python has");
    wait_for("the question", || code.asked());
    answers_in_a_terminal(stage, "allow_always");
    code.wait_buffer(&after());
    code.do_("palette", json!(["Notifications: Clear All Notifications"]));
    wait_coloured(&code, &[SUM, BYE]);
    code
}

pub fn wait_coloured(code: &Code<'_>, lines: &[&str]) {
    let wanted = json!(lines);
    if wait_or(|| (code.do_("coloured", json!([])) == wanted).then_some(())).is_none() {
        panic!("coloured are {}, not {wanted}\n{}", code.do_("coloured", json!([])), code.buffer());
    }
}

/// Waits until the rows of lenses are these, each with the line below it.
pub fn wait_lenses(code: &Code<'_>, rows: &[(&str, &str)]) {
    let mut wanted: Vec<Value> =
        rows.iter().map(|(labels, line)| json!({"labels": labels, "line": line})).collect();
    wanted.sort_by_key(|row| row["line"].to_string());
    if wait_or(|| (code.do_("lenses", json!([])) == json!(wanted)).then_some(())).is_none() {
        panic!("the lenses are {}, not {}", code.do_("lenses", json!([])), json!(wanted));
    }
}

pub fn palette(code: &Code<'_>, command: &str) {
    code.do_("palette", json!([format!("Adjutant: {command}")]));
}

pub const SUM_LENS: (&str, &str) = ("Keep | Undo | Show +1 −4 | Comment", SUM);
pub const BYE_LENS: (&str, &str) = ("Keep | Undo | Show +1 −3 | Comment", BYE);

#[test]
fn n03_applied_changes_have_lenses_that_follow_the_text_and_are_kept_or_undone_there() {
    let stage = stage();
    let code = changed(&stage);
    wait_lenses(&code, &[SUM_LENS, BYE_LENS]);
    code.picture("changes-drawn");
    let toggle = json!(["Preferences: Toggle between Light/Dark Themes"]);
    code.do_("palette", toggle.clone());
    code.do_("themed", json!(["vs-dark"]));
    code.picture("changes-drawn-dark");
    code.do_("palette", toggle);
    code.do_("themed", json!(["vs"]));
    code.type_at_top("import sys");
    wait_coloured(&code, &[SUM, BYE]);
    wait_lenses(&code, &[SUM_LENS, BYE_LENS]);
    code.do_("pressLens", json!(["Keep", BYE]));
    wait_coloured(&code, &[SUM]);
    wait_lenses(&code, &[SUM_LENS]);
    code.do_("pressLens", json!(["Undo", SUM]));
    let undone = format!("import sys\n{}", BEFORE.replace(OLD_BYE, &format!("{BYE}\n")));
    code.wait_buffer(&undone);
    wait_coloured(&code, &[]);
    wait_lenses(&code, &[]);
    // The editor's own undo brings the change back, to be decided again.
    code.undo();
    wait_coloured(&code, &[SUM]);
    wait_lenses(&code, &[SUM_LENS]);
}

#[test]
fn p02_commands_and_keys_go_to_a_change_and_decide_about_it() {
    let stage = stage();
    let code = changed(&stage);
    let line = || code.do_("cursorLine", json!([])).as_u64();
    code.go_to_line(5);
    code.do_("key", json!(["Alt+F5"]));
    wait_for("the second change", || (line() == Some(12)).then_some(()));
    palette(&code, "Next Change");
    wait_for("the first change, around the end", || (line() == Some(2)).then_some(()));
    code.do_("key", json!(["Shift+Alt+F5"]));
    wait_for("the second change again", || (line() == Some(12)).then_some(()));
    code.do_("key", json!(["Control+Alt+n"]));
    let one = BEFORE.replace(OLD_SUM, &format!("{SUM}\n"));
    code.wait_buffer(&one);
    wait_coloured(&code, &[SUM]);
    palette(&code, "Restore Change");
    code.wait_buffer(&after());
    wait_coloured(&code, &[SUM, BYE]);
    code.go_to_line(2);
    code.do_("key", json!(["Control+Alt+y"]));
    wait_coloured(&code, &[BYE]);
    code.go_to_line(12);
    palette(&code, "Undo Change");
    code.wait_buffer(&one);
    wait_coloured(&code, &[]);
    palette(&code, "Undo Change");
    notified(&code, "there is no change at the cursor");
}

/// What the user wrote into a change goes only if the button said so.
#[test]
fn p02_a_change_that_the_user_changed_says_so_before_it_is_undone() {
    let stage = stage();
    let code = changed(&stage);
    code.go_to_line(2);
    code.do_("key", json!(["End"]));
    code.do_("type", json!([" + 1"]));
    let mine = "    return sum(prices) + 1";
    wait_coloured(&code, &[mine, BYE]);
    let amended = ("Keep | Undo (with your 1 line) | Show +1 −4 | Comment", mine);
    wait_lenses(&code, &[amended, BYE_LENS]);
    code.picture("changes-amended");
    // Three texts: the agent's next to the one before it, and the one of now next to the agent's.
    code.do_("pressLens", json!(["Show", mine]));
    // What no text changes is folded, from the fourth line after a change.
    let near = |text: &str| text.split_inclusive("def receipt(prices):").next().map(str::to_owned);
    let (agents, now) = (near(&after()), near(&after().replace(SUM, mine)));
    let three = json!([near(BEFORE), agents, agents, now]);
    let sides = || code.do_("sides", json!([]));
    if wait_or(|| (sides() == three).then_some(())).is_none() {
        panic!("the diffs are {}, not {three}", sides());
    }
    code.picture("changes-three");
    code.do_("closeTab", json!(["before →"]));
    code.go_to_line(1);
    code.do_("pressTitle", json!(["Undo All"]));
    notified(&code, "you wrote into some of these changes");
    code.choose("Undo the Others");
    let kept = after().replace(SUM, mine).replace(&format!("{BYE}\n"), OLD_BYE);
    code.wait_buffer(&kept);
    code.do_("pressLens", json!(["Undo", mine]));
    code.wait_buffer(BEFORE);
    wait_coloured(&code, &[]);
    code.undo();
    code.wait_buffer(&kept);
}

#[test]
fn n03_what_was_there_before_is_shown_in_a_hover_and_a_diff() {
    let stage = stage();
    let code = changed(&stage);
    code.go_to_line(2);
    let parts = ["-    result = 0", "-    return result", "Use what Python has", "all edits in this session"];
    // The editor draws the text first, and its lines and colours a moment later.
    wait_for("the hover with its lines", || {
        let hover = code.do_("hover", json!(["all edits in this session"]));
        let text = hover["text"].as_str().unwrap_or_default();
        parts.iter().all(|part| text.contains(part)).then_some(())
    });
    code.picture("changes-hover");
    code.do_("key", json!(["Escape"]));
    code.do_("pressLens", json!(["Show", SUM]));
    let left = after().replace(&format!("{SUM}\n"), OLD_SUM);
    let both = json!([left, after()]);
    if wait_or(|| (code.do_("sides", json!([])) == both).then_some(())).is_none() {
        panic!("the diff is {}, not {both}", code.do_("sides", json!([])));
    }
    code.picture("changes-diff");
}

#[test]
fn n03_all_changes_are_listed_and_decided_there() {
    let stage = stage();
    let code = changed(&stage);
    let list = || code.do_("list", json!([]));
    let wait_list = |badge: &str, rows: Value| {
        let wanted = json!({"rows": rows, "badge": badge});
        if wait_or(|| (list() == wanted).then_some(())).is_none() {
            panic!("the list is {}, not {wanted}", list());
        }
    };
    palette(&code, "Review Changes");
    let shop = ["shop.py+2 −7 · 2 changes", "return sum(prices)+1 −4", "print(f\"Thank you, {name}.\")+1 −3"];
    wait_list("3", json!(["other.py+1 −1 · 1 change", "print(2)+1 −1", shop[0], shop[1], shop[2]]));
    code.picture("changes-list");
    code.do_("pressRow", json!(["print(2)", "Undo"]));
    wait_list("2", json!(shop));
    wait_for("the file on disk", || (stage.workspace.read("other.py") == "print(1)\n").then_some(()));
    code.do_("pressRow", json!(["return sum", "Keep"]));
    wait_list("1", json!(["shop.py+1 −3 · 1 change", shop[2]]));
    wait_coloured(&code, &[BYE]);
}

/// After a reload, what nobody has looked at is drawn again.
#[test]
fn n03_changes_are_still_there_after_a_reload() {
    let stage = stage();
    let code = changed(&stage);
    code.wait_end("done");
    code.do_("reload", json!([FILE]));
    stage.seen().wait("in", "initialized", 2);
    wait_coloured(&code, &[SUM, BYE]);
    wait_lenses(&code, &[SUM_LENS, BYE_LENS]);
    code.do_("pressLens", json!(["Undo", SUM]));
    code.wait_buffer(&after().replace(&format!("{SUM}\n"), OLD_SUM));
}

/// The words of a change are the same without VS Code, where every case can be tried.
#[test]
fn n03_what_a_change_looks_like() {
    super::node_finds_nothing("change.mjs", "editors/vscode/src/change.ts");
}

#[test]
fn edits_are_in_the_text_at_once_in_a_trusted_workspace_and_reviewed_there() {
    let replies = [Reply::call("edit_file", edit(FILE, OLD_SUM, &format!("{SUM}\n"))), Reply::text("Done.")];
    let stage = Stage::new(&format!("//- /{FILE}\n{BEFORE}"), replies).without_edits_mode();
    let code = Code::open(&stage, FILE);
    code.command("Use what Python has");
    code.wait_buffer(&BEFORE.replace(OLD_SUM, &format!("{SUM}\n")));
    wait_coloured(&code, &[SUM]);
    assert_eq!(code.asked(), None, "nothing was asked");
}

impl Code<'_> {
    /// Presses a lens above the change that begins at a line, from one.
    fn press_lens(&self, title: &str, line: usize) {
        let text = self.buffer().lines().nth(line - 1).expect("the line").to_owned();
        self.do_("pressLens", json!([title, text]));
    }
}

impl Reviewer for Code<'_> {
    const MARKS: &'static str = DRAWN;

    fn open(&self, file: &str) {
        self.do_("openFile", json!([file]));
    }

    fn insert_above(&self, line: usize, text: &str) {
        self.go_to_line(line);
        self.do_("type", json!([format!("{text}\n")]));
    }

    fn hover(&self) -> String {
        unreachable!("VS Code draws what was there before")
    }

    fn undo_change(&self, line: usize) {
        self.press_lens("Undo", line);
    }

    fn keep_change(&self, line: usize, _with: &str) {
        self.press_lens("Keep", line);
    }
}

#[test]
fn n01_n03_a_review_goes_on_after_its_server_was_killed() {
    let stage = scenes::three_changes();
    scenes::reviews_over_a_kill(&Code::open(&stage, scenes::FILE));
}
