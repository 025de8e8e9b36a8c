//! Finds the text of what the user attached to a prompt: files of the workspace and texts of the client.
//!
//! Never words it (core's `attached` does), and never quotes a file that the user would have to allow first.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::text::document::Snapshot;
use adjutant_core::wire::start::{Attachment, MAX_ATTACHMENTS, attached};
use adjutant_protocol::origin::Range;
use adjutant_protocol::session::ContentBlock;

use super::{World, quotable};
use crate::documents::{Documents, Text};

/// How long the files of a prompt are read for. The session does nothing else meanwhile, so that nothing overtakes the prompt.
const LONGEST_READ: Duration = Duration::from_secs(10);

/// What a prompt has attached, with the texts that the editor had when the prompt arrived.
#[derive(Default)]
pub struct AttachedBlocks {
    blocks: Vec<AttachedBlock>,
    /// The workspace folders at that time.
    folders: Vec<PathBuf>,
}

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

impl AttachedBlocks {
    /// Takes what is attached from the blocks of a prompt. An error is one sentence for the user.
    pub fn of(blocks: &[ContentBlock], documents: &Documents, folders: Vec<PathBuf>) -> Result<Self, String> {
        let attached: Vec<AttachedBlock> = blocks
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ResourceLink { uri, range } => {
                    Some(AttachedBlock::Link { uri: uri.clone(), range: *range, open: documents.under(uri) })
                }
                ContentBlock::Resource { uri, text } => {
                    Some(AttachedBlock::Text { name: uri.clone(), text: text.clone() })
                }
                ContentBlock::Text { .. } | ContentBlock::Image { .. } => None,
            })
            .collect();
        if attached.len() > MAX_ATTACHMENTS {
            return Err(format!(
                "a prompt has at most {MAX_ATTACHMENTS} files and texts and this one has {}; send the others with the next prompt",
                attached.len()
            ));
        }
        Ok(Self { blocks: attached, folders })
    }

    /// Returns the text for the model; empty without an attachment, and then without a wait. An error is one sentence for the user.
    pub async fn worded(self, world: &Arc<World>) -> Result<String, String> {
        if self.blocks.is_empty() {
            return Ok(String::new());
        }
        let (reading, encoding) = (world.clone(), world.documents.encoding());
        let read = tokio::task::spawn_blocking(move || self.read(&reading));
        let found = match tokio::time::timeout(LONGEST_READ, read).await {
            Ok(Ok(found)) => found?,
            Ok(Err(error)) => return Err(format!("the attached files could not be read: {error}")),
            Err(_) => {
                return Err(format!(
                    "the attached files could not be read within {} seconds; send the prompt without them, or try again",
                    LONGEST_READ.as_secs()
                ));
            }
        };
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

    /// Reads the files that are not open. Blocks.
    fn read(self, world: &World) -> Result<Vec<Resource>, String> {
        let Self { blocks, folders } = self;
        let each = blocks.into_iter().map(|block| match block {
            AttachedBlock::Link { uri, range, open } => {
                let found = quotable::find(&folders, world, &uri, open)?;
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
    }
}
