//! Settings as text: what `adjutant config` prints, and the configuration page.
//!
//! Never shows a header's value or the credentials in a URL.

use std::fmt::Write;

use super::cells::{Value, provider_names};
use super::keys::{KEYS, Key, Kind};
use super::{Origin, Settings, toml_key, values};

/// Returns every key with its value and where it came from, in aligned columns.
pub fn explain(settings: &Settings) -> String {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for key in KEYS.iter().filter(|key| !key.name.contains("NAME")) {
        row(settings, key, key.name, key.name.to_owned(), &mut rows);
    }
    for name in provider_names(&settings.cells) {
        for key in KEYS.iter().filter(|key| key.name.contains("NAME")) {
            let full = key.name.replace("NAME", name);
            if settings.cells.contains_key(&full) {
                row(settings, key, &full, key.name.replace("NAME", &toml_key(name)), &mut rows);
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

fn row(settings: &Settings, key: &Key, full: &str, shown: String, rows: &mut Vec<[String; 3]>) {
    let Some(cell) = settings.cells.get(full) else {
        let unset = if key.name == "permissions.deny" { "[]" } else { "(not set)" };
        rows.push([shown, unset.to_owned(), Origin::Default.to_string()]);
        return;
    };
    let value = match &cell.value {
        Value::Text(text) if matches!(key.kind, Kind::Url | Kind::Proxy) => {
            format!("{:?}", values::redact_url(text))
        }
        // An argument may be a secret.
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
            super::Literal::None => "what the layers below say".to_owned(),
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

Generated from the table of keys in `server/core/src/config/keys.rs`; a test keeps the two in step.
`adjutant config` prints every key with its value and where the value came from.

## Layers

Later layers win:

1. the defaults below;
2. your own file: `$XDG_CONFIG_HOME/adjutant/config.toml` (`~/.config/adjutant/config.toml` when that is not set), or the file
   named by `ADJUTANT_CONFIG`;
3. the project's file, `.adjutant/config.toml` in a workspace folder. It may only tighten: a key that could loosen anything,
   name a model or an address, or make something run is ignored and reported. What it tightened stays tight. Links are not
   followed;
4. the editor: its settings section `adjutant`, or `initializationOptions` where it has none; the same keys as JSON. The section
   is asked for where the editor answers `workspace/configuration`, and counts from the next run whenever it changes;
5. the environment: `ADJUTANT_MODEL` sets `model`. Where no layer says where the provider `openai` is, `OPENAI_API_KEY` and
   `OPENAI_BASE_URL` define it, with the `wire` `openai_responses` at OpenAI's own address and `openai_chat` at every other;
   `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL` define the provider `anthropic`, whose `wire` is then `anthropic_messages`. A
   `wire` that is set counts before all of this. A `.env` file of a workspace is never read;
6. flags: `--model PROVIDER/MODEL`.

A file larger than 1 MiB, or one that is no regular file, is not read. A file that cannot be read or parsed never stops
Adjutant: it is reported, nothing is done unattended, and only what makes Adjutant stricter is taken from it. The same holds for
your own file if another user owns it, or can write it or its folder. An unknown key is reported with the key that was probably
meant.

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

A rule is `tool` or `tool(pattern)`, `*` alone denies every tool. The tools are `list_files`, `read_file`, `find_files`,
`search_text`, `edit_file`, `write_file` and `run_command`.

- For files the pattern is a glob over the path inside each workspace folder, or over the whole path if it begins with a slash:
  `*` stays within a folder, `**` crosses folders. A pattern without a slash, or with one at its end alone, means that name in any
  folder; a folder that matches takes all below it along. `~` stands for no folder.
- A rule with a path binds the file, whichever tool touches it. A rule for `list_files`, `read_file`, `find_files` or `search_text`
  keeps the file from all four. It also keeps it from `edit_file`, because an edit shows what the file holds. A rule for `edit_file`
  or `write_file` keeps the file from both. Lists and searches leave such files out and say how many. A rule without a path denies
  that one tool.
- Letters match in either case and in either Unicode form. Links are followed first. A file with several names (hard links) is kept
  if a rule keeps one of them.
- Rules for files bind tools. A command that you allow can read and write what you can.
- For `run_command` the pattern is the beginning of a command in whole words: `run_command(git push)` denies `git push origin`
  but not `git pushx`; `*` stands for any text. It is looked for at every word of the line, with quotes dropped, so that
  `sudo rm x` and `a && rm x` are denied by `run_command(rm *)`. So is `echo rm x`: a denial errs on the strict side.
- A pattern that makes no sense denies its whole tool, and every tool of the same kind, until it is corrected; a rule that names no tool at all denies every tool.
";
