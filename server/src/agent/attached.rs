//! Finds the text of what the user attached to a prompt: files of the workspace and texts of the client.
//!
//! Never words it (core's `attached` does), and never quotes a file that the user would have to allow first.

use super::Agent;
use super::start::resolve_place;
use crate::documents::Text;
use adjutant_core::text::document::Snapshot;
use adjutant_core::wire::start::{Attachment, MAX_ATTACHMENTS, attached};
use adjutant_protocol::origin::Range;
use adjutant_protocol::session::ContentBlock;

/// A resource of a prompt with the text that the editor had when the prompt arrived.
enum AttachedBlock {
    Link { uri: String, range: Option<Range>, open: Text },
    Text { name: String, text: String },
}

/// A resource whose text is known.
struct Resource {
    name: String,
    text: Option<Snapshot>,
    range: Option<Range>,
    is_file: bool,
}

impl Agent {
    /// Returns the text for the model about the resources among the blocks; empty without one, and then without a wait. An error is
    /// one sentence for the user.
    pub(super) async fn attached(&self, blocks: &[ContentBlock]) -> Result<String, String> {
        let world = self.sessions.world().clone();
        // Read before the first wait, so that text typed later does not count.
        let given: Vec<AttachedBlock> = blocks
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ResourceLink { uri, range } => Some(AttachedBlock::Link {
                    uri: uri.clone(),
                    range: *range,
                    open: world.documents.under(uri),
                }),
                ContentBlock::Resource { uri, text } => {
                    Some(AttachedBlock::Text { name: uri.clone(), text: text.clone() })
                }
                ContentBlock::Text { .. } | ContentBlock::Image { .. } => None,
            })
            .collect();
        if given.is_empty() {
            return Ok(String::new());
        }
        if given.len() > MAX_ATTACHMENTS {
            return Err(format!(
                "a prompt has at most {MAX_ATTACHMENTS} files and texts and this one has {}; send the others with the next prompt",
                given.len()
            ));
        }
        let folders = self.configured.folders();
        let encoding = world.documents.encoding();
        let read = move || -> Result<Vec<Resource>, String> {
            let each = given.into_iter().map(|one| match one {
                AttachedBlock::Link { uri, range, open } => {
                    let found = resolve_place(folders.clone(), &world, &uri, open)?;
                    Ok(Resource { name: found.display, text: found.text, range, is_file: true })
                }
                AttachedBlock::Text { name, text } => Ok(Resource {
                    text: Some(Snapshot::of_file(&name, &text)),
                    name,
                    range: None,
                    is_file: false,
                }),
            });
            each.collect()
        };
        let found = tokio::task::spawn_blocking(read).await;
        let found = found.unwrap_or_else(|error| Err(format!("the files could not be read: {error}")))?;
        let attachments: Vec<Attachment<'_>> = found
            .iter()
            .map(|one| Attachment {
                name: &one.name,
                text: one.text.as_ref().map(|snapshot| &snapshot.text),
                range: one.range.map(Into::into),
                encoding,
                is_file: one.is_file,
            })
            .collect();
        attached(&attachments)
    }
}
