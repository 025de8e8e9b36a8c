//! The whole outputs of the commands of a session: the model may read them again without a question, because it got them.
//!
//! Never holds for another session, and never for a file that a link in the folder leads to.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use adjutant_core::policy::observation::ObservedPath;
use adjutant_core::tool::OUTPUT_OF;

use crate::session::SessionWorld;
use crate::tools::paths::ResolvedPath;

/// Returns the folder of a session that has them, one file for each command.
pub fn folder(place: &SessionWorld) -> PathBuf {
    place.dir.join("outputs")
}

/// The files in that folder.
pub struct SavedOutputs {
    folder: PathBuf,
}

impl SavedOutputs {
    pub fn of(place: &SessionWorld) -> Self {
        Self { folder: folder(place) }
    }

    /// Returns the path that the model means: that of a file here if it names the output of a call.
    pub fn path_of<'a>(&self, given: &'a str) -> Cow<'a, str> {
        let is_plain =
            |id: &&str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        match given.strip_prefix(OUTPUT_OF).filter(is_plain) {
            Some(id) => self.folder.join(format!("{id}.txt")).to_string_lossy().into_owned().into(),
            None => given.into(),
        }
    }

    /// Whether a resolved file is one of them. Blocks.
    pub fn holds(&self, at: &ResolvedPath) -> bool {
        let folder = self.folder.canonicalize().ok();
        folder.is_some() && at.absolute.parent() == folder.as_deref()
    }

    /// Returns the observation of one of them: the model has seen it, as it has seen a file of the workspace.
    pub fn seen(&self, at: &ResolvedPath) -> ObservedPath {
        let name = at.absolute.file_stem().and_then(|name| Path::new(name).to_str()).unwrap_or_default();
        ObservedPath::inside(format!("{OUTPUT_OF}{name}"))
    }
}
