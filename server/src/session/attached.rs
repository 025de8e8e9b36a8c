//! Finds the text of what the user attached to a prompt or mentioned in it: files of the workspace, texts of the client, and the
//! slash command that it begins with.
//!
//! Never words it (core's `attached` does), and never quotes a file that the user would have to allow first.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::text::document::Snapshot;
use adjutant_core::wire::slash::{COMPACT, Invocation};
use adjutant_core::wire::start::{Attachment, AttachmentKind, MAX_ATTACHMENTS, MAX_MENTIONED, attached};
use adjutant_protocol::origin::Range;
use adjutant_protocol::session::ContentBlock;

use super::images::NewImage;
use super::mentions::{ClientContext, FoundMentions, PromptMentions, Resource};
use super::{SessionWorld, quotable, slash_files};
use crate::documents::{Documents, Text};

/// How long the files of a prompt are read for. The session does nothing else meanwhile, so that nothing overtakes the prompt.
const LONGEST_READ: Duration = Duration::from_secs(10);

/// What a prompt has attached, with the texts that the editor had when the prompt arrived.
#[derive(Default)]
pub struct AttachedBlocks {
    blocks: Vec<AttachedBlock>,
    mentions: PromptMentions,
    /// The command that the words begin with.
    command: Option<Invocation>,
    /// The workspace folders at that time.
    folders: Vec<PathBuf>,
}

enum AttachedBlock {
    Link { uri: String, range: Option<Range>, open: Text },
    Text { name: String, text: String },
}

/// What a prompt has beside the user's words.
#[derive(Default)]
pub struct AttachedParts {
    /// The text for the model.
    pub text: String,
    /// The images among the files.
    pub images: Vec<NewImage>,
}

impl AttachedBlocks {
    /// Takes what is attached from the blocks of a prompt, and what its words mention. An error is one sentence for the user.
    pub fn of(
        blocks: &[ContentBlock],
        words: &str,
        context: ClientContext,
        documents: &Documents,
        folders: Vec<PathBuf>,
    ) -> Result<Self, String> {
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
        let command = Invocation::of(words).filter(|_| context.begins_prompt);
        let mentions = PromptMentions::of(words, context, documents, &folders);
        Ok(Self { blocks: attached, mentions, command, folders })
    }

    /// Whether the words are the command that compacts the conversation. An error is one sentence for the user.
    pub fn wants_compaction(&self) -> Result<bool, String> {
        let Some(command) = self.command.as_ref().filter(|command| command.name == COMPACT) else {
            return Ok(false);
        };
        if !command.arguments.is_empty() || !self.blocks.is_empty() {
            return Err(format!("/{COMPACT} stands alone: send what you want to say as the next prompt"));
        }
        Ok(true)
    }

    /// Returns the text for the model and the images; empty without an attachment, and then without a wait. An error is one
    /// sentence for the user.
    pub async fn worded(self, place: &Arc<SessionWorld>) -> Result<AttachedParts, String> {
        if self.blocks.is_empty() && self.mentions.is_empty() && self.command.is_none() {
            return Ok(AttachedParts::default());
        }
        let (reading, encoding) = (place.clone(), place.world.documents.encoding());
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
        let (command, FoundMentions { resources, images }) = found;
        let attachments: Vec<Attachment<'_>> = resources
            .iter()
            .map(|one| Attachment {
                name: &one.name,
                text: one.text.as_ref().map(|snapshot| &snapshot.text),
                range: one.range.map(Into::into),
                encoding,
                kind: one.kind,
            })
            .collect();
        Ok(AttachedParts { text: command + &attached(&attachments)?, images })
    }

    /// Reads the files that are not open, and the text of the command. Blocks.
    fn read(self, place: &SessionWorld) -> Result<(String, FoundMentions), String> {
        let Self { blocks, mentions, command, folders } = self;
        let command = match command {
            Some(invocation) => {
                let all = slash_files::commands(&place.world, &place.roots);
                invocation.find(&all)?.worded(&invocation.arguments)
            }
            None => String::new(),
        };
        let each = blocks.into_iter().map(|block| match block {
            AttachedBlock::Link { uri, range, open } => {
                let found = quotable::find(&folders, &place.world, &uri, open)?;
                Ok(Resource { name: found.display, text: found.text, range, kind: AttachmentKind::File })
            }
            AttachedBlock::Text { name, text } => Ok(Resource {
                text: Some(Snapshot::of_file(&name, &text)),
                name,
                range: None,
                kind: AttachmentKind::Text,
            }),
        });
        let mut resources: Vec<Resource> = each.collect::<Result<_, String>>()?;
        let FoundMentions { resources: mentioned, images } = mentions.read(place, &folders)?;
        if mentioned.len() > MAX_MENTIONED {
            return Err(format!(
                "a prompt mentions at most {MAX_MENTIONED} files, folders and lists and this one has {}; mention the others in the \
                 next prompt",
                mentioned.len()
            ));
        }
        resources.extend(mentioned);
        Ok((command, FoundMentions { resources, images }))
    }
}
