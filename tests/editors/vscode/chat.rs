//! Scenes of the chat: a conversation that is drawn from the server alone.
//!
//! Never waits for a time, only for what the page shows.

use std::fs;

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Code;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

const FILES: &str = "//- /greet.py\nprint(1)\n";

impl Code<'_> {
    pub fn chat(&self) -> Value {
        self.do_("chatShows", json!([]))
    }

    /// Waits until the items of the chat are these.
    #[track_caller]
    pub fn wait_chat(&self, items: &[&str]) -> Value {
        let mut last = Value::Null;
        let wanted = json!(items);
        let shows = || {
            last = self.chat();
            (last["items"] == wanted).then(|| last.clone())
        };
        crate::stage::wait_or(shows).unwrap_or_else(|| panic!("the chat shows {last:#}\nnot {wanted:#}"))
    }

    pub fn say_in_chat(&self, text: &str) {
        self.do_("chatType", json!([text]));
        self.do_("chatKey", json!(["Enter"]));
    }
}

/// Pages and live updates come in any order, and each of them in the numbers of its session.
#[test]
fn finding_d9_s105_the_chat_draws_the_same_in_whatever_order_it_is_told() {
    super::node_finds_nothing("chat.mjs", "editors/vscode/src/chat/conversation.ts");
}

/// However many parts of a reply come, the page gets at most 25 messages a second, and the first at once.
#[test]
fn finding_d9_s105_what_streams_reaches_the_page_in_few_messages() {
    super::node_finds_nothing("pace.mjs", "editors/vscode/src/chat/pace.ts");
}

/// The chat has the room; the lists below it are a press away.
#[test]
fn finding_d9_s105_the_chat_begins_with_all_the_room() {
    let stage = Stage::new(FILES, []);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    let views = wait_for("three views", || {
        Some(code.do_("views", json!([]))).filter(|views| views.as_array().is_some_and(|all| all.len() == 3))
    });
    assert_eq!(views, json!(["Chat: open", "Changes: closed", "Conversations: closed"]));
}

/// A model writes HTML, links, pictures and commands: nothing of it becomes more than text.
#[test]
fn finding_d9_s105_a_conversation_goes_on_in_the_chat_and_nothing_in_it_is_more_than_text() {
    let nasty = "# Seen\n\nIt is **one** line: `print(1)`.\n\n<img src=x onerror=\"alert(1)\"> [run](command:adjutant.task.cancel) \
                 ![p](https://x.invalid/p.png) <https://x.invalid>\n\n```python\nprint(1)\n```";
    let stage = Stage::new(FILES, [Reply::text(nasty), Reply::text("One line, as I said.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    let empty = code.chat();
    assert_eq!((&empty["send"], &empty["cut"]), (&json!("Send"), &json!(0)), "{empty:#}");
    code.say_in_chat("What is in this file?");
    let answer = "reply: Seen It is one line: print(1). <img src=x onerror=\"alert(1)\"> [run](command:adjutant.task.cancel) \
                  ![p](https://x.invalid/p.png) <https://x.invalid> print(1) Copy Insert";
    let shows = code.wait_chat(&["prompt: What is in this file? Sent with it", answer, "end: Done"]);
    assert_eq!(
        (&shows["links"], &shows["pictures"], &shows["cut"], &shows["draft"]),
        (&json!(0), &json!(0), &json!(0), &json!(""))
    );
    code.say_in_chat("How many lines?");
    let again = ["prompt: How many lines?", "reply: One line, as I said.", "end: Done"];
    code.wait_chat(
        &[&["prompt: What is in this file? Sent with it", answer, "end: Done"], again.as_slice()].concat(),
    );
    let request = stage.model.wait_for_requests(2)[1].json().to_string();
    assert!(request.contains("What is in this file?"), "it is the same conversation: {request}");
    assert!(!code.all_text().contains("One line"), "the answer is not opened beside the file, too");
    code.picture("chat");
}

#[test]
fn finding_d9_s105_the_chat_steers_and_stops_the_task_that_is_at_work() {
    let plan = json!({"plan": [{"step": "look", "status": "completed"}, {"step": "say it", "status": "in_progress"}]});
    let turns = [
        Reply::text("I look.").and_call("update_plan", plan),
        Reply::text("So I say it.").hold_after(4),
        Reply::text("Never said.").hold_after(5),
    ];
    let stage = Stage::new(FILES, turns);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Look at it");
    stage.model.wait_for_holding(1);
    wait_for("the box to say more", || {
        (code.do_("chatPlaceholder", json!([])) == "Say more while it works").then_some(())
    });
    wait_for("the plan", || (code.chat()["plan"] == "Plan 1/2 ☑ look ◐ say it").then_some(()));
    code.say_in_chat("In one word");
    code.picture("chat-at-work");
    stage.model.release();
    let request = stage.model.wait_for_requests(3)[2].json().to_string();
    assert!(request.contains("In one word"), "{request}");
    stage.model.wait_for_holding(1);
    code.do_("chatPress", json!(["Stop"]));
    wait_for("the end", || {
        let items = code.chat()["items"].to_string();
        items.contains("end: Cancelled").then_some(())
    });
    wait_for("the box of a new task", || {
        (code.do_("chatPlaceholder", json!([])) == "What is to be done?").then_some(())
    });
}

#[test]
fn finding_d9_s105_the_chat_is_drawn_anew_from_the_server_and_keeps_the_draft() {
    let stage = Stage::new(FILES, ["Seen.", "Other.", "Third."].map(Reply::text));
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Look at it");
    let first = ["prompt: Look at it Sent with it", "reply: Seen.", "end: Done"];
    code.wait_chat(&first);
    code.do_("chatType", json!(["and then"]));
    // Another view in its place, then the window itself.
    code.do_("palette", json!(["View: Show Explorer"]));
    code.do_("chatOpen", json!([]));
    assert_eq!(code.wait_chat(&first)["draft"], "and then");
    code.do_("reload", json!(["greet.py"]));
    code.do_("chatOpen", json!([]));
    assert_eq!(code.wait_chat(&first)["draft"], "and then");
    // What is typed for one conversation is not taken to another, also not when a task begins by another door.
    code.command("Look elsewhere");
    let requests = stage.model.wait_for_requests(2);
    assert!(requests[1].json().to_string().contains("Look elsewhere"));
    code.wait_end("done");
    assert_eq!(code.wait_chat(&first)["draft"], "and then");
    code.do_("palette", json!(["Adjutant: New Conversation"]));
    let is_empty =
        || code.chat()["items"][0].as_str().is_some_and(|one| one.starts_with("empty:")).then_some(());
    wait_for("an empty chat", is_empty);
    assert_eq!(code.chat()["draft"], "");
    // With nothing typed it is followed; the others are in the list, each with its draft.
    code.command("Look again");
    code.wait_chat(&["prompt: Look again Sent with it", "reply: Third.", "end: Done"]);
    code.do_("palette", json!(["Adjutant: Conversations…"]));
    code.do_("pick", json!(["Look elsewhere"]));
    let second = ["prompt: Look elsewhere Sent with it", "reply: Other.", "end: Done"];
    assert_eq!(code.wait_chat(&second)["draft"], "");
    code.do_("palette", json!(["Adjutant: Conversations…"]));
    code.do_("pick", json!(["Look at it"]));
    assert_eq!(code.wait_chat(&first)["draft"], "and then");
}

#[test]
fn finding_d9_s105_a_question_stands_in_the_chat_and_a_refused_prompt_stays_in_its_box() {
    let run = Reply::call("run_command", json!({ "command": "echo one" }));
    let stage = Stage::new(FILES, [run, Reply::text("Done so.")]);
    let sent = stage.record_input();
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Try it");
    code.wait_chat(&["prompt: Try it Sent with it"]);
    code.wait_asked("echo one");
    assert_eq!(code.do_("popups", json!([])), json!([]), "the chat shows it");
    code.picture("chat-question");
    code.choose("Reject");
    let items = wait_for("the end", || {
        let items = code.chat()["items"].to_string();
        items.contains("end: Done").then_some(items)
    });
    assert!(items.contains("Run echo one · rejected · you: Reject"), "{items}");
    // Without a model nothing can be started.
    stage.workspace.config("");
    code.do_("palette", json!(["Adjutant: Restart the Server"]));
    wait_for("another server", || (stage.seen().servers().len() > 1).then_some(()));
    wait_for("the conversation of before", || {
        code.chat()["items"].to_string().contains("end: Done").then_some(())
    });
    code.say_in_chat("Go on");
    let problem = wait_for("why not", || {
        let shows = code.chat();
        let problem = shows["problem"].as_str().unwrap_or_default().to_owned();
        (!problem.is_empty()).then_some((problem, shows["draft"].clone()))
    });
    assert_eq!(problem.1, "Go on", "{}", problem.0);
    assert_eq!(problem.0, "No model is set up yet.Add a Provider…", "the way to a cure");
    // The same text again is the same prompt, which no server takes twice.
    let keys = || -> Vec<String> {
        let all = fs::read_to_string(&sent).unwrap_or_default();
        let starts = all.split("\"adjutant.start\"").skip(1);
        starts
            .filter_map(|start| Some(start.split("\"key\":\"").nth(1)?.split('"').next()?.to_owned()))
            .collect()
    };
    code.do_("chatKey", json!(["Enter"]));
    let keys = wait_for("the second try", || Some(keys()).filter(|keys| keys.len() == 2));
    assert_eq!(keys[0], keys[1]);
    code.do_("resize", json!([400, 700]));
    code.picture("chat-refused-narrow");
}

#[test]
fn p01_a_change_is_undone_and_a_run_is_reviewed_in_the_chat() {
    let edit = |old: &str, new: &str| {
        Reply::text("So.")
            .and_call("edit_file", json!({"path": "greet.py", "old_text": old, "new_text": new}))
    };
    let file = "//- /greet.py\nprint(1)\n\n\n\n\n\nprint(2)\n";
    let turns = [edit("print(1)", "print(3)"), edit("print(2)", "print(4)"), Reply::text("Done.")];
    let stage = Stage::new(file, turns).without_edits_mode();
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Change it");
    code.wait_buffer("print(3)\n\n\n\n\n\nprint(4)\n");
    wait_for("the end", || code.chat()["items"].to_string().contains("end: Done").then_some(()));
    // The lines of the second change, which stand in the text at their place.
    code.do_("chatFold", json!(["greet.py", 1]));
    let lines = wait_for("the lines of the change", || {
        let lines = code.do_("chatLines", json!([]));
        lines.to_string().contains("print(4)").then_some(lines)
    });
    let drawn = lines[0].as_array().unwrap();
    assert!(drawn.contains(&json!("-print(2)")) && drawn.contains(&json!("+print(4)")), "{lines}");
    assert!(!lines.to_string().contains("+print(3)") && lines.as_array().unwrap().len() == 1, "{lines}");
    code.picture("chat-changes");
    code.do_("chatPress", json!(["Undo"]));
    code.wait_buffer("print(1)\n\n\n\n\n\nprint(4)\n");
    wait_for("what became of it", || {
        code.chat()["items"].to_string().contains("greet.py +1 −1 undone").then_some(())
    });
    code.do_("chatPress", json!(["Keep"]));
    wait_for("what became of the other", || {
        code.chat()["items"].to_string().contains("greet.py +1 −1 kept").then_some(())
    });
    assert!(
        !code.chat()["items"].to_string().contains("Undo "),
        "nothing is left to decide: {}",
        code.chat()["items"]
    );
    // The button is gone, and another press of the key does nothing else.
    code.do_("pageKey", json!(["Enter"]));
    assert!(
        code.do_("chatLines", json!([])).to_string().contains("+print(4)"),
        "what is unfolded stays so, whatever becomes of the change: {}",
        code.chat()["items"]
    );
    code.do_("chatFold", json!(["greet.py", 1]));
    assert_eq!(code.do_("chatLines", json!([])), json!([]));
    code.do_("chatPress", json!(["greet.py +1 −1"]));
    wait_for("the place of the change in its file", || {
        (code.do_("cursorLine", json!([])) == json!(7)).then_some(())
    });
}

/// What the chat shows of a change that is unfolded is the diff, cut only where it says so.
#[test]
fn p01_the_lines_of_a_change_are_its_parts_in_the_order_of_the_file() {
    super::node_finds_nothing("lines.mjs", "editors/vscode/src/chat/lines.ts");
}

/// A step unfolds to what it gave: live while a command prints, from the server once it is over.
#[test]
fn finding_d9_s105_a_step_unfolds_to_what_it_gave() {
    let command = "i=0; while [ ! -f go ]; do sleep 0.05; i=$((i+1)); echo at work $i; done; echo all done";
    let stage = Stage::new(
        FILES,
        [Reply::call("run_command", json!({ "command": command })), Reply::text("It ran.")],
    );
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Run it");
    code.wait_asked("echo all done");
    code.do_("cardRead", json!([]));
    code.do_("cardPress", json!(["Yes, once"]));
    let steps = || code.do_("chatSteps", json!([])).to_string();
    wait_for("a step", || steps().contains("Run i=0").then_some(()));
    code.do_("chatStep", json!(["Run i=0"]));
    wait_for("what it prints", || steps().contains("at work 3").then_some(()));
    stage.workspace.write("go", "");
    wait_for("the whole result", || {
        let shown = steps();
        (shown.contains("exit code 0") && shown.contains("at work 1\\n") && shown.contains("all done"))
            .then_some(())
    });
    code.picture("chat-step");
    // Folded and unfolded again, after a reload too, it is what the log has.
    code.do_("reload", json!([scenes::FILE]));
    code.do_("chatOpen", json!([]));
    wait_for("the step", || steps().contains("Run i=0").then_some(()));
    assert!(!steps().contains("all done\\n"), "it is folded: {}", steps());
    code.do_("chatStep", json!(["Run i=0"]));
    wait_for("its result", || steps().contains("all done").then_some(()));
}

/// Waits until nothing is wrong with how the chat is drawn; a page gets the colours of the window a moment later.
#[track_caller]
pub fn wait_usable(code: &Code<'_>, what: &str) {
    let mut last = Value::Null;
    let none = crate::stage::wait_or(|| {
        last = json!([code.do_("chatFlaws", json!([])), code.do_("chatFaint", json!([]))]);
        (last == json!([[], []])).then_some(())
    });
    code.picture(&format!("chat-{what}"));
    assert!(none.is_some(), "{what}: {last:#}");
}

const THEMES: [(&str, &str, &str); 4] = [
    ("Dark Modern", "vs-dark", "dark"),
    ("Light High Contrast", "hc-light", "high-contrast-light"),
    ("Dark High Contrast", "hc-black", "high-contrast"),
    ("Light Modern", "vs", "light"),
];

/// Every kind of item, in every theme and in a narrow window: nothing is faint, cut or without a name, and all is reached by Tab.
#[test]
fn finding_d9_s105_everyone_can_use_the_chat_in_every_theme() {
    let plan = json!({"plan": [{"step": "look", "status": "completed"}, {"step": "change it", "status": "in_progress"}]});
    let reply = "שתיים טוב יותר. 二のほうが**いい**です。\n\n## Two\n\n```python\nprint(2)  # a line of code that is wider than the view of the chat is\n```\n\n\
                 | a | b |\n|---|---|\n| `1` | 2 |\n\n> quoted\n\n1. one\n2. two";
    let edit = json!({"path": "greet.py", "old_text": "print(1)", "new_text": "print(2)"});
    let asked =
        json!({"question": "Which of them is right?", "options": ["the first one", "the second one"]});
    let turns = [
        Reply::text(reply).and_call("update_plan", plan).and_call("read_file", json!({"path": "greet.py"})),
        Reply::text("So.").and_call("edit_file", edit),
        Reply::call("run_command", json!({ "command": "python3 greet.py" })),
        Reply::call("ask_user", asked),
        Reply::text("It prints 2."),
    ];
    let stage = Stage::new(FILES, turns).without_edits_mode();
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("اجعلها اثنين، 二にしてください");
    code.wait_asked("python3 greet.py");
    code.do_("chatStep", json!(["Read greet.py"]));
    code.do_("chatFold", json!(["greet.py", 0]));
    wait_for("the lines of the change", || {
        code.do_("chatLines", json!([])).to_string().contains("print(2)").then_some(())
    });
    for (theme, class, name) in THEMES {
        code.do_("theme", json!([theme]));
        code.do_("themed", json!([class]));
        wait_usable(&code, name);
    }
    code.do_("resize", json!([400, 700]));
    code.do_("cardRead", json!([]));
    wait_usable(&code, "narrow");
    assert_eq!(code.do_("chatTabs", json!([])), json!([]));
    code.do_("cardPress", json!(["Yes, once"]));
    code.wait_asked("Which of them is right?");
    wait_usable(&code, "narrow-words");
    code.do_("cardPress", json!(["the first one"]));
    wait_for("the end", || code.chat()["items"].to_string().contains("end: Done").then_some(()));
    code.do_("resize", json!([1100, 700]));
    // All windows have the same theme.
    wait_usable(&code, "over");
    assert_eq!(code.do_("chatTabs", json!([])), json!([]));
}

/// What was typed is not lost on the way through the prompts of before, and comes back.
#[test]
fn p27_the_prompts_of_before_come_back_into_the_box() {
    let stage = Stage::new(FILES, ["One.", "Two."].map(Reply::text));
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    for (prompt, requests) in [("The first", 1), ("The second", 2)] {
        code.say_in_chat(prompt);
        stage.model.wait_for_requests(requests);
        wait_for("an empty box", || (code.chat()["draft"] == "").then_some(()));
    }
    code.do_("chatType", json!(["and then"]));
    let press = |key: &str, wanted: &str| {
        code.do_("chatKey", json!([key]));
        wait_for(&format!("{wanted:?} after {key}"), || (code.chat()["draft"] == wanted).then_some(()));
    };
    press("ArrowUp", "The second");
    press("ArrowUp", "The first");
    press("ArrowUp", "The first");
    press("ArrowDown", "The second");
    press("ArrowDown", "and then");
}

#[test]
fn p26_what_is_chosen_for_a_conversation_stands_below_the_box() {
    let stage = Stage::new(FILES, ["Seen.", "Again."].map(Reply::text));
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.do_("chatPress", json!(["Model…"]));
    wait_for("what there is to choose", || {
        code.do_("picks", json!([])).to_string().contains("Mode").then_some(())
    });
    code.do_("pick", json!(["Mode"]));
    wait_for("the modes", || code.do_("picks", json!([])).to_string().contains("chosen").then_some(()));
    code.picture("chat-modes");
    code.do_("pick", json!(["Reads and answers; changes nothing"]));
    let shown = || code.chat()["options"].clone();
    let options = wait_for("the mode, and the model", || Some(shown()).filter(|all| all[0] == "Ask"));
    code.say_in_chat("Look at it");
    code.wait_chat(&["prompt: Look at it Sent with it", "reply: Seen.", "end: Done"]);
    assert_eq!(shown(), options, "the mode stays");
    let request = stage.model.requests()[0].json().to_string();
    assert!(!request.contains("\"edit_file\""), "nothing is edited in this mode: {request}");
    code.picture("chat-options");
}

#[test]
fn p18_a_model_is_chosen_for_one_conversation_and_then_for_new_ones_too() {
    let stage = Stage::new(FILES, []);
    let address = stage.model.base_url();
    stage.workspace.config(&format!(
        "model = \"here/gpt-5-mini\"\nfallback_models = [\"here/gpt-5-nano\"]\n[providers.here]\nbase_url = \"{address}\"\n"
    ));
    let settings = || std::fs::read_to_string(stage.workspace.config_file()).expect("there are settings");
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    let choices = |part: &str| {
        code.do_("palette", json!(["Adjutant: Choose Model, Mode or Effort…"]));
        wait_for("the options", || code.do_("picks", json!([])).to_string().contains("Effort").then_some(()));
        code.do_("pick", json!(["Model"]));
        wait_for(&format!("{part:?}"), || {
            code.do_("picks", json!([])).to_string().contains(part).then_some(())
        });
    };
    choices("gpt-5-nano");
    assert!(!code.do_("picks", json!([])).to_string().contains("For new"), "it is that of new conversations");
    code.do_("pick", json!(["here/gpt-5-nano"]));
    wait_for("the choice", || code.chat()["options"].to_string().contains("gpt-5-nano").then_some(()));
    assert!(settings().starts_with("model = \"here/gpt-5-mini\""), "it is of this conversation alone");
    choices("For new conversations too");
    code.picture("chat-models");
    code.do_("pick", json!(["For new conversations too"]));
    wait_for("the settings", || settings().starts_with("model = \"here/gpt-5-nano\"").then_some(()));
    wait_for("what was written", || {
        code.do_("popups", json!([]))
            .to_string()
            .contains("new conversations have model here/gpt-5-nano")
            .then_some(())
    });
}
