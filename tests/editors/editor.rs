//! What a user does in any editor, and what is seen there.
//!
//! Never speaks to the server but through an editor.

use crate::stage::{DEADLINE, READ, Stage, wait_or};

/// One editor with one file open and the server attached.
pub trait Editor {
    fn stage(&self) -> &Stage;
    /// Gives a task by the editor's command.
    fn command(&self, text: &str);
    /// Gives a task by a code action at the cursor, named without who offers it.
    fn action(&self, title: &str);
    /// Returns what is or was shown of the work in progress.
    fn progress(&self) -> String;
    /// Returns the question that is shown, with its choices.
    fn asked(&self) -> Option<String>;
    /// Answers it by a choice, named by the beginning of its title.
    fn choose(&self, title: &str);
    /// Returns the text of the buffer.
    fn buffer(&self) -> String;
    fn go_to_line(&self, line: usize);
    /// Puts a line above the first, as typing does.
    fn type_at_top(&self, text: &str);
    /// Answers and types before anything that follows from the answer can arrive.
    fn choose_and_type_at_top(&self, title: &str, text: &str);
    fn save(&self);
    fn undo(&self);
    /// Stops the work by the editor's command.
    fn cancel(&self);
    /// Attaches a new server in place of one that was killed.
    fn restart(&self);

    /// Whether the client saves an edit by itself, where nothing else was unsaved.
    fn saves_edits(&self) -> bool {
        false
    }

    /// Whether the server can ask the client to save.
    fn can_be_asked_to_save(&self) -> bool {
        false
    }

    /// Goes to where a task can be given, from a file without a line.
    fn leave_empty_file(&self) {}

    /// Comes back from there.
    fn return_to_file(&self) {}

    /// How the work is called that `command` gives.
    fn title_of<'a>(&self, task: &'a str) -> &'a str {
        task
    }

    /// Waits until a question is shown that contains a text, and has been there long enough to be read.
    #[track_caller]
    fn wait_asked(&self, part: &str) -> String {
        let found = wait_or(|| self.asked().filter(|asked| asked.contains(part)));
        let found = found.unwrap_or_else(|| {
            let (asked, messages) = (self.asked(), self.stage().seen().shown());
            panic!(
                "waited {DEADLINE:?} to be asked {part:?}; shown is {asked:?} in\n{}\nthe messages were\n{messages}",
                self.progress()
            )
        });
        let since = std::time::Instant::now();
        wait_or(|| (since.elapsed() >= READ).then_some(()));
        found
    }

    /// Waits until the buffer is exactly this.
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

    /// Waits until the progress says how the work ended.
    #[track_caller]
    fn wait_end(&self, how: &str) {
        self.wait_progress(how);
    }

    /// Waits until the progress of the work shows a text.
    #[track_caller]
    fn wait_progress(&self, part: &str) {
        let held = wait_or(|| self.progress().contains(part).then_some(()));
        held.unwrap_or_else(|| {
            let (shown, messages) = (self.progress(), self.stage().seen().shown());
            panic!(
                "waited {DEADLINE:?} for progress {part:?}; seen was\n{shown}\nthe messages were\n{messages}"
            )
        });
    }
}
