//! Where each client is installed.
//!
//! Never looks at a disk: only the environment counts.

use std::path::{Component, Path};

use super::folder::InstallFolder;
use crate::settings::Sources;

/// Returns the folder of the plugin for Neovim: a package, which Neovim loads without a line of settings.
pub fn neovim(sources: &Sources) -> anyhow::Result<InstallFolder> {
    // Neovim reads its settings and packages below this name.
    let name = sources.environment.get("NVIM_APPNAME").filter(|name| !name.is_empty());
    let name = name.map_or("nvim", String::as_str);
    if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        anyhow::bail!("use the name {name:?} of NVIM_APPNAME, which Neovim does not take either; unset it");
    }
    let package = sources.data_home()?.join(name).join("site/pack/adjutant");
    Ok(InstallFolder { editor: "nvim", path: package.join("start/adjutant"), workshop: package })
}

/// Returns the folder of a client that the editor does not find by itself.
pub fn own(sources: &Sources, editor: &'static str) -> anyhow::Result<InstallFolder> {
    let clients = sources.data_home()?.join("adjutant/editors");
    Ok(InstallFolder { editor, path: clients.join(editor), workshop: clients })
}
