//! Settings as text, for `adjutant config` and for the configuration page.
//!
//! Never shows the value of a header or the credentials in a URL.

use std::fmt::Write;

use super::cells::{Value, names_in};
use super::keys::{KEYS, Key, ValueType};
use super::{SettingOrigin, Settings, toml_key, values};

/// Returns every key with its value and origin, in aligned columns.
pub fn explain(settings: &Settings) -> String {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for key in KEYS.iter().filter(|key| !key.name.contains("NAME")) {
        row(settings, key, key.name, key.name.to_owned(), &mut rows);
    }
    for group in ["providers", "prices"] {
        for name in names_in(group, &settings.cells) {
            for key in KEYS.iter().filter(|key| key.name.contains("NAME") && key.name.starts_with(group)) {
                let full = key.name.replace("NAME", name);
                if settings.cells.contains_key(&full) {
                    row(settings, key, &full, key.name.replace("NAME", &toml_key(name)), &mut rows);
                }
            }
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1).min(60));
    let mut text = String::new();
    for [key, value, origin] in &rows {
        let _ = writeln!(text, "{key:first$}  {value:second$}  {origin}");
    }
    text
}

/// Adds the row of one key; several rows for a list of rules.
fn row(settings: &Settings, key: &Key, full: &str, shown: String, rows: &mut Vec<[String; 3]>) {
    let Some(cell) = settings.cells.get(full) else {
        let unset = if key.name == "permissions.deny" { "[]" } else { "(not set)" };
        rows.push([shown, unset.to_owned(), SettingOrigin::Default.to_string()]);
        return;
    };
    let value = match &cell.value {
        Value::Text(text) if matches!(key.kind, ValueType::Url | ValueType::Proxy) => {
            format!("{:?}", values::redact_url(text))
        }
        // Only the program: an argument may be a secret.
        Value::Words(words) => {
            let program = words.first().map_or("", String::as_str);
            if words.len() > 1 { format!("[{program:?}, …]") } else { format!("[{program:?}]") }
        }
        Value::Text(text) => format!("{text:?}"),
        Value::Whole(number) => number.to_string(),
        Value::Truth(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Refused => "(not usable)".to_owned(),
        Value::Models(models) => format!("{models:?}"),
        Value::Headers(headers) => {
            let shown: Vec<String> = headers.keys().map(|name| format!("{name:?} = …")).collect();
            format!("{{ {} }}", shown.join(", "))
        }
        Value::Rules(rules) if !rules.is_empty() => {
            for (at, rule) in rules.iter().enumerate() {
                let name = if at == 0 { shown.clone() } else { String::new() };
                rows.push([name, format!("{:?}", values::shorten(&rule.text)), rule.origin.to_string()]);
            }
            return;
        }
        Value::Rules(_) => "[]".to_owned(),
    };
    rows.push([shown, value, cell.origin.to_string()]);
}

/// Returns `docs/configuration.md`, generated from the table of keys.
pub fn configuration_markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str("\n| key | value | default | a project file may set it | a bad value becomes |\n|---|---|---|---|---|\n");
    for key in KEYS {
        let strict = match key.strict {
            super::Literal::None => "the value of the earlier layers".to_owned(),
            strict => strict.to_string(),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {strict} |",
            key.name, key.kind, key.default, key.project
        );
    }
    page.push_str("\n## What each key means\n\n");
    for key in KEYS {
        let _ = writeln!(page, "- `{}`: {}", key.name, key.meaning);
    }
    page.push_str(RULES);
    page
}

const INTRODUCTION: &str = "\
# Configuration

Write your settings into `~/.config/adjutant/config.toml`; `adjutant setup` does that for you, and so do
*Adjutant: Add a Provider…* in VS Code and `:Adjutant setup` in Neovim. `adjutant config` prints every key, its
value and where the value came from. `adjutant doctor` says what is wrong.

This page is generated from `server/core/src/config/keys.rs`, and a test compares the two.

## Layers

Settings come from six places. A later one wins over an earlier one:

1. the defaults below;
2. your own file: `$XDG_CONFIG_HOME/adjutant/config.toml`, or `~/.config/adjutant/config.toml` if that variable is not set, or the
   file that `ADJUTANT_CONFIG` names. A change counts from the next run on, also while an editor runs;
3. the project's file, `.adjutant/config.toml` in a workspace folder. It can only make Adjutant stricter, and no later layer can undo
   that. Every other key in it is ignored and reported. A link in place of this file is not followed;
4. the editor: the same keys as JSON, in its settings section `adjutant`, or in `initializationOptions` if it has no such section. A
   change counts from the next run on;
5. the environment: `ADJUTANT_MODEL` sets `model`. `OPENAI_API_KEY` and `OPENAI_BASE_URL` define the provider `openai`, unless its
   address is set elsewhere. `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL` define the provider `anthropic` in the same way. Their `wire` is
   then `openai_responses` for OpenAI's own address, `openai_chat` for any other, and `anthropic_messages` for Anthropic, unless you set
   one. A `.env` file of a workspace is never read;
6. flags: `--model PROVIDER/MODEL`.

A mistake in a file never stops Adjutant. It names the file, the line and what to correct. If a file is not valid TOML or cannot be
read, Adjutant uses only those of its values that make it stricter, and does nothing unattended until you correct the file. The same
holds for your own file if another user owns it, or can write to it or to its folder. A file over 1 MiB, and one that is not a regular
file, is not read.

With `OPENAI_API_KEY` in the environment, the first line alone is enough for OpenAI:

```toml
model = \"openai/MODEL\"

[providers.openai]
base_url = \"https://api.openai.com/v1\"
api_key_env = \"OPENAI_API_KEY\"

[providers.anthropic]
wire = \"anthropic_messages\"
base_url = \"https://api.anthropic.com/v1\"
api_key_env = \"ANTHROPIC_API_KEY\"

[providers.local]
base_url = \"http://127.0.0.1:11434/v1\"
context_window = 32768

[providers.work]
base_url = \"https://models.example/v1\"
api_key_command = [\"pass\", \"show\", \"work/models\"]

[http]
proxy = \"http://proxy.example:3128\"
ca_file = \"work-ca.pem\"

[permissions]
deny = [\"edit_file(**/*.lock)\", \"run_command(rm *)\"]
```

## Keys
";

const RULES: &str = "
## Rules that deny

A rule is `tool` or `tool(pattern)`. `*` alone denies every tool. The tools are `list_files`, `read_file`, `find_files`,
`search_text`, `edit_file`, `write_file`, `move_file`, `delete_file`, `apply_patch` and `run_command`.

- For files, the pattern is a path inside a workspace folder, or a whole path if it begins with a slash. `*` matches within one
  folder, `**` also matches across folders. A pattern without a slash, or with a slash only at its end, matches that name in every
  folder. If a folder matches, everything in it matches too. `~` does not mean your home folder.
- A rule with a path is about the file, not only about the named tool. A rule for `list_files`, `read_file`, `find_files` or `search_text`
  keeps the file from all four. It also keeps it from `edit_file` and `delete_file`, because they show what the file holds, and from
  `move_file`. A rule for `edit_file`, `write_file`, `move_file` or `delete_file` keeps the file from all four; a move is denied if
  one of its two names is. Lists and searches leave such files out and say how many. A rule without a path denies only that tool.
- `apply_patch` does what those four do, by a patch. A rule for one of them also denies the patches that do the same, whole.
- Upper and lower case are the same, and so are the Unicode forms of a letter. Links are followed before the rule is checked. If a
  file has several names (hard links), a rule for one of them is enough.
- Rules for files do not bind commands. A command that you allow can read and write all that you can.
- For `run_command`, the pattern is the beginning of a command in whole words. `run_command(git push)` denies `git push origin` but
  not `git pushx`. `*` matches any text. Every word of the line may begin the command, so `run_command(rm *)` denies `sudo rm x` and
  `a && rm x`. It also denies `echo rm x`: a rule denies too much rather than too little.
- A pattern that cannot be read denies its whole tool, and every tool of the same kind, until you correct it. A rule that names no
  tool denies every tool.
";
