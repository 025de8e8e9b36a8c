//! Words what the user attached to a prompt or mentioned in it: parts of files, whole files, texts and lists.
//!
//! Quotes only the text that it gets, bounds every quote, and never reads a file.

use ropey::Rope;

use super::{NAME_CHARS, excerpt};
use crate::session::maker::ATTACHED;
use crate::text::display::one_line;
use crate::text::position::{Encoding, Range, offsets_of};

/// Resources of one prompt.
pub const MAX_ATTACHMENTS: usize = 10;
/// What the mentions of one prompt name.
pub const MAX_MENTIONED: usize = 20;
/// What begins the name of each; a quoted line begins with its number.
const HEAD: &str = "- ";

/// A resource that the user attached.
#[derive(Clone, Debug)]
pub struct Attachment<'a> {
    /// The path as tools accept it, or the name of a text that is no file.
    pub name: &'a str,
    /// `None` for a file that is not quoted because it may contain secrets or is no text; the model must ask to read it.
    pub text: Option<&'a Rope>,
    /// `None` means the whole.
    pub range: Option<Range>,
    pub encoding: Encoding,
    pub kind: AttachmentKind,
}

/// How an attachment is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachmentKind {
    /// With numbers; the model can read more of it with its tools.
    File,
    /// With numbers; the model gets no more than this.
    Text,
    /// Without numbers, each line after a tab: names, places, a diff.
    List,
}

impl Attachment<'_> {
    fn short_name(&self) -> String {
        let name = one_line(self.name, NAME_CHARS);
        match (self.range, self.text) {
            (Some(range), Some(text)) => format!("{name}, {}", excerpt::selected(text, range, self.encoding)),
            (Some(range), None) => format!("{name}, {}", excerpt::lines_named(&excerpt::lines_of(range))),
            (None, _) => name,
        }
    }
}

/// Returns the text for the model, which comes after the prompt; empty if nothing is attached. An error names the attachment
/// whose range its text does not have.
pub fn attached(attachments: &[Attachment<'_>]) -> Result<String, String> {
    let mut out = String::new();
    for attachment in attachments {
        out.push_str(if out.is_empty() { ATTACHED } else { "" });
        let range = attachment.range;
        if let (Some(text), Some(range)) = (attachment.text, range)
            && (range.start.line as usize >= text.len_lines()
                || offsets_of(text, range, attachment.encoding).is_err())
        {
            let lines = excerpt::lines_named(&excerpt::lines_of(range));
            let name = one_line(attachment.name, NAME_CHARS);
            return Err(format!(
                "\"{name}\" has no {lines} any more; take them out of the prompt and select them again"
            ));
        }
        let name = attachment.short_name();
        let Some(text) = attachment.text else {
            out.push_str(&format!("{HEAD}{name}\n"));
            continue;
        };
        let lines = range.map_or(0..=usize::MAX - 1, excerpt::lines_of);
        let quote = match attachment.kind {
            AttachmentKind::File => excerpt::exactly(text, &lines, "; read the file"),
            AttachmentKind::Text => excerpt::exactly(text, &lines, " are left out"),
            AttachmentKind::List => excerpt::listed(text, " are left out"),
        };
        out.push_str(&format!("{HEAD}{name}:\n{quote}"));
    }
    Ok(out)
}

/// Returns the short names of what is attached, by what was added to the words of a prompt.
pub fn attached_names(added: &str) -> Vec<String> {
    let Some((_, attached)) = added.rsplit_once(ATTACHED) else { return Vec::new() };
    let heads = attached.lines().filter_map(|line| line.strip_prefix(HEAD));
    heads.map(|head| head.strip_suffix(':').unwrap_or(head).to_owned()).collect()
}
