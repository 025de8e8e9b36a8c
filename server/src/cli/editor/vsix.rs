//! The package for VS Code: a zip archive with the extension, and two files that describe it.
//!
//! Never changes the extension: all values come from its own `package.json`.

use anyhow::Context;
use serde::Deserialize;

use super::archive::zip;
use super::carried::{ClientFile, extension};

/// The name of the package.
pub const VSIX: &str = "adjutant.vsix";

/// What the description of a package repeats of `package.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtensionPackage {
    name: String,
    publisher: String,
    version: String,
    display_name: String,
    description: String,
    categories: Vec<String>,
    extension_kind: Vec<String>,
    engines: Engines,
}

#[derive(Deserialize)]
struct Engines {
    vscode: String,
}

/// The type of each file in the package, by its ending.
const TYPES: [(&str, &str); 6] = [
    ("css", "text/css"),
    ("js", "application/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("txt", "text/plain"),
    ("vsixmanifest", "text/xml"),
];

/// Returns the package of the extension.
pub fn package() -> anyhow::Result<ClientFile> {
    let files = extension();
    let package = files.iter().find(|file| file.path == "package.json").context("find package.json")?;
    let package: ExtensionPackage = serde_json::from_slice(&package.bytes).context("read package.json")?;
    let (description, types) = (description(&package), types());
    let names: Vec<String> = files.iter().map(|file| format!("extension/{}", file.path)).collect();
    let mut entries: Vec<(&str, &[u8])> =
        vec![("extension.vsixmanifest", description.as_bytes()), ("[Content_Types].xml", types.as_bytes())];
    entries.extend(names.iter().map(String::as_str).zip(files.iter().map(|file| &*file.bytes)));
    Ok(ClientFile { path: VSIX, bytes: zip(&entries)?.into() })
}

/// Returns `extension.vsixmanifest`.
fn description(package: &ExtensionPackage) -> String {
    let id = [("Id", &package.name), ("Version", &package.version), ("Publisher", &package.publisher)];
    let id: String = id.iter().map(|(name, value)| format!(" {name}=\"{}\"", escaped(value))).collect();
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US"{id}/>
    <DisplayName>{name}</DisplayName>
    <Description xml:space="preserve">{text}</Description>
    <Categories>{categories}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="{engine}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="{kind}"/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
"#,
        name = escaped(&package.display_name),
        text = escaped(&package.description),
        categories = escaped(&package.categories.join(",")),
        engine = escaped(&package.engines.vscode),
        kind = escaped(&package.extension_kind.join(",")),
    )
}

/// Returns `[Content_Types].xml`.
fn types() -> String {
    let line = |(ending, kind): &(&str, &str)| {
        format!("  <Default Extension=\".{ending}\" ContentType=\"{kind}\"/>\n")
    };
    let lines: String = TYPES.iter().map(line).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\n{lines}</Types>\n"
    )
}

/// Returns a text as XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
