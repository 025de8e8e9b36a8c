//! Finds the lines that look like the definition of a name, by their text, in many languages.
//!
//! Never asks a language server and never parses a file: a line that only looks like one may be among them.

use super::Stop;
use super::exclusions::Exclusions;
use super::paths::Roots;
use super::search_text::{literal, matching_lines};
use super::walk::on_one_line;
use crate::documents::Buffers;

/// The longest name that is looked for, in bytes.
const MAX_NAME: usize = 200;

/// Words that name what follows them.
const KEYWORDS: &str = "fn|func|function|def|defp|defmacro|defmodule|class|struct|enum|trait|interface|type|typedef|union|mod|\
                        module|namespace|package|object|record|protocol|extension|macro_rules!|macro|const|static|let|var|val|\
                        sub|proc|procedure|#define";
/// Words that begin a statement, not a definition.
const STATEMENTS: &[&str] =
    &["if", "else", "while", "for", "return", "switch", "match", "await", "case", "throw", "new", "}"];

/// The lines that look like definitions of a name.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Each as `path:line:text`, ordered by path.
    pub lines: Vec<String>,
    /// Whether there may be more.
    pub is_partial: bool,
}

/// Returns the lines of the workspace that look like definitions of a name; of `Type::name` and `object.name`, of the last part.
pub fn definitions(
    name: &str,
    roots: &Roots,
    buffers: &Buffers,
    exclusions: &Exclusions,
    stop: &Stop,
) -> Definitions {
    let last = name.trim_end_matches("()").rsplit([':', '.', '#', '/']).next().unwrap_or_default();
    if last.is_empty() || last.len() > MAX_NAME {
        return Definitions::default();
    }
    let (lines, is_partial) = matching_lines(&pattern(last), roots, buffers, exclusions, stop);
    let is_statement = |text: &str| {
        let text = text.trim_start();
        STATEMENTS.iter().any(|word| {
            text.strip_prefix(word)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    let lines = lines.into_iter().filter(|(_, _, text)| !is_statement(text));
    let lines = lines.map(|(path, line, text)| format!("{}:{line}:{text}", on_one_line(path.as_os_str())));
    Definitions { lines: lines.collect(), is_partial }
}

/// Returns the expression for a line that looks like the definition of a name.
fn pattern(name: &str) -> String {
    let name = literal(name);
    let after_keyword = format!(
        r"(^|[^\w.])({KEYWORDS})\s+(\([^)]*\)\s*|(mut|ref|async|unsafe|fn|struct|class|enum|default|inline|extern)\s+|\*\s*|[\w.]+[.:])*{name}($|[^\w])"
    );
    let c_like = format!(r"^[A-Za-z_][\w\s:*&<>,\[\]]*[\s*&:]{name}\s*\([^;]*$");
    let with_body = format!(r"^\s+([\w:*&<>,\[\]@]+\s+)*[*&]*{name}\s*\([^;]*\{{\s*$");
    let assigned = format!(
        r"(^|[\s.]){name}\s*[:=]\s*(async\s+)?(function|class|lambda)\b|(^|[\s.]){name}\s*[:=]\s*(async\s*)?(\([^)]*\)|\w+)\s*(:[^=]*)?=>"
    );
    let constant = format!(r"^{name}\s*(:[^=]+)?=[^=]");
    [after_keyword, c_like, with_body, assigned, constant].map(|one| format!("({one})")).join("|")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn found(name: &str, text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), text).expect("a file");
        let (roots, _) = Roots::open(&[folder.path().to_owned()]);
        let (exclusions, stop) = (
            Exclusions::new(&roots, Default::default(), Default::default()),
            Stop::after(Duration::from_secs(60)),
        );
        definitions(name, &roots, &Buffers::default(), &exclusions, &stop).lines
    }

    #[test]
    fn n08_a_definition_is_found_in_many_languages() {
        for line in [
            "pub async fn parse(text: &str) -> Ast {",
            "    def parse(self):",
            "func (p *Parser) parse() error {",
            "function parse(a) {",
            "export default class parse extends Base {",
            "const parse = (a) => {",
            "  parse: function () {",
            "  async parse(text) {",
            "static int parse(const char *text)",
            "    public List<String> parse(String text) {",
            "#define parse(x) (x)",
            "macro_rules! parse {",
            "M.parse = function(text)",
            "function M.parse(text)",
            "parse = re.compile('x')",
            "type parse = string",
            "void Parser::parse(int a)",
        ] {
            assert_eq!(found("parse", line), [format!("a:1:{line}")], "{line}");
        }
    }

    #[test]
    fn n08_a_use_is_no_definition() {
        for line in [
            "let x = parse(text);",
            "    parse(text);",
            "    return parse(text)",
            "    if parse(text) {",
            "    } else if parse(text) {",
            "fn reparse() {",
            "fn parse_all() {",
            "// we parse it",
            "import parse from 'parse'",
            "x == parse",
        ] {
            assert!(found("parse", line).is_empty(), "{line}");
        }
    }

    #[test]
    fn n08_of_a_path_of_names_the_last_counts_and_no_name_is_an_expression() {
        assert_eq!(found("Parser::parse()", "fn parse() {\n").len(), 1);
        assert_eq!(found("p.*", "fn parse() {\n").len(), 0);
        assert_eq!(found("::", "fn parse() {\n").len(), 0);
    }
}
