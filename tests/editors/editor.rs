//! The actions of a user in any editor, and the content of its screen.
//!
//! Never speaks to the server except through an editor.

use crate::stage::{DEADLINE, READ, Stage, wait_or};

/// An editor with one open file and an attached server.
pub trait Editor {
    fn stage(&self) -> &Stage;
    /// Starts a task with the editor's command.
    fn command(&self, text: &str);
    /// Starts a task with a code action at the cursor; `title` has no `Adjutant: ` in front.
    fn action(&self, title: &str);
    /// Returns the progress that is or was on the screen.
    fn progress(&self) -> String;
    /// Returns the question on the screen, with its choices.
    fn asked(&self) -> Option<String>;
    /// Answers the question with the choice whose title begins with `title`.
    fn choose(&self, title: &str);
    /// Returns the text of the buffer.
    fn buffer(&self) -> String;
    fn go_to_line(&self, line: usize);
    /// Inserts a line above the first one, as the user does by typing.
    fn type_at_top(&self, text: &str);
    /// Answers and types before the editor can receive the effects of the answer.
    fn choose_and_type_at_top(&self, title: &str, text: &str);
    fn save(&self);
    fn undo(&self);
    /// Cancels the run with the editor's command.
    fn cancel(&self);
    /// Does what the user of this editor does before the server is killed, where the scene depends on it.
    fn before_kill(&self) {}
    /// Attaches a new server after the old one was killed.
    fn restart(&self);

    /// Whether the client saves an edit by itself if the user has no unsaved changes.
    fn saves_edits(&self) -> bool {
        false
    }

    /// Whether the server can ask the client to save.
    fn can_be_asked_to_save(&self) -> bool {
        false
    }

    /// Goes to a file where a task can be started, because an empty file has no line for it.
    fn leave_empty_file(&self) {}

    /// Returns to the empty file.
    fn return_to_file(&self) {}

    /// Returns the title of a task that `command` started.
    fn title_of<'a>(&self, task: &'a str) -> &'a str {
        task
    }

    /// Waits for a question that contains a text, and then until it counts as read.
    #[track_caller]
    fn wait_asked(&self, part: &str) -> String {
        let found = wait_or(|| self.asked().filter(|asked| asked.contains(part)));
        let found = found.unwrap_or_else(|| {
            let (asked, messages) = (self.asked(), self.stage().seen().shown());
            panic!(
                "waited {DEADLINE:?} for the question {part:?}; it is {asked:?}; the progress was\n{}\nthe messages were\n{messages}",
                self.progress()
            )
        });
        let since = std::time::Instant::now();
        wait_or(|| (since.elapsed() >= READ).then_some(()));
        found
    }

    /// Waits until the buffer has exactly this text.
    #[track_caller]
    fn wait_buffer(&self, text: &str) {
        let held = wait_or(|| (self.buffer() == text).then_some(()));
        held.unwrap_or_else(|| {
            let (buffer, messages) = (self.buffer(), self.stage().seen().shown());
            panic!(
                "waited {DEADLINE:?} for the buffer {text:?}; it is {buffer:?}; the messages were\n{messages}"
            )
        });
    }

    /// Waits until the progress shows this end of the run.
    #[track_caller]
    fn wait_end(&self, how: &str) {
        self.wait_progress(how);
    }

    /// Waits until the progress shows a text.
    #[track_caller]
    fn wait_progress(&self, part: &str) {
        let held = wait_or(|| self.progress().contains(part).then_some(()));
        held.unwrap_or_else(|| {
            let (shown, messages) = (self.progress(), self.stage().seen().shown());
            panic!(
                "waited {DEADLINE:?} for the progress {part:?}; it was\n{shown}\nthe messages were\n{messages}"
            )
        });
    }
}
