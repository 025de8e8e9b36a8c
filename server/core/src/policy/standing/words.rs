//! Parses a command line into simple commands of plain words.
//!
//! Supports quotes, the separators `; & && || |` and newline, and redirections to a file. Never accepts
//! anything else of the shell's language: such a line has no result.

/// One simple command: its words, quotes removed.
pub(super) type Words = Vec<String>;

/// Returns the simple commands of a line, or `None` if the line has anything that is not plain.
pub(super) fn commands(line: &str) -> Option<Vec<Words>> {
    let mut reader = Reader { rest: line.chars().collect(), at: 0 };
    let mut commands: Vec<Words> = vec![Vec::new()];
    while let Some(c) = reader.peek() {
        match c {
            ' ' | '\t' => reader.skip(),
            '&' if reader.after() == Some('>') => {
                reader.skip();
                reader.redirection()?;
            }
            '\n' | ';' | '|' | '&' => {
                reader.skip();
                commands.push(Vec::new());
            }
            '>' => reader.redirection()?,
            // Input from a file is plain; a here-document is not.
            '<' if !matches!(reader.after(), Some('<' | '(' | '>')) => reader.redirection()?,
            _ => {
                let word = reader.word()?;
                // `2>` and `2>&1`: the number is not a word of the command.
                let numbered = word.plain && word.text.bytes().all(|byte| byte.is_ascii_digit());
                if !(numbered && matches!(reader.peek(), Some('>' | '<'))) {
                    commands.last_mut()?.push(word.text);
                }
            }
        }
    }
    commands.retain(|words| !words.is_empty());
    Some(commands)
}

struct Word {
    text: String,
    /// Has no quotes and no backslash.
    plain: bool,
}

struct Reader {
    rest: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn after(&self) -> Option<char> {
        self.rest.get(self.at + 1).copied()
    }

    fn skip(&mut self) {
        self.at += 1;
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += 1;
        c
    }

    /// Skips a redirection to or from a file, or to another descriptor.
    fn redirection(&mut self) -> Option<()> {
        self.skip();
        if self.peek() == Some('>') {
            self.skip();
        }
        if self.peek() == Some('&') {
            self.skip();
        }
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.skip();
        }
        let target = self.word()?.text;
        // The shell itself connects to the network for these names.
        let connects = target.starts_with("/dev/tcp") || target.starts_with("/dev/udp");
        (!target.is_empty() && !connects).then_some(())
    }

    /// Returns the next word without its quotes, or `None` if the shell would expand it.
    fn word(&mut self) -> Option<Word> {
        let start = self.at;
        let mut word = Word { text: String::new(), plain: true };
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break,
                '\'' => {
                    self.skip();
                    word.plain = false;
                    self.quoted(&mut word.text)?;
                }
                '"' => {
                    self.skip();
                    word.plain = false;
                    self.double_quoted(&mut word.text)?;
                }
                '\\' => {
                    self.skip();
                    word.plain = false;
                    word.text.push(self.next().filter(|escaped| *escaped != '\n')?);
                }
                // The name of the test command is a word of its own.
                '[' if self.at == start && matches!(self.after(), Some(' ')) => {
                    self.skip();
                    word.text.push(c);
                }
                '$' | '`' | '*' | '?' | '[' | '{' | '}' | '(' | ')' | '!' => return None,
                // A home directory at the beginning, or after the `=` or `:` of a value.
                '~' if word.text.is_empty() || word.text.ends_with(['=', ':']) => return None,
                '#' if self.at == start => return None,
                _ if c.is_control() => return None,
                _ => {
                    self.skip();
                    word.text.push(c);
                }
            }
        }
        // No progress means that this character cannot begin a word.
        (self.at > start).then_some(word)
    }

    fn quoted(&mut self, text: &mut String) -> Option<()> {
        loop {
            match self.next()? {
                '\'' => return Some(()),
                c => text.push(c),
            }
        }
    }

    fn double_quoted(&mut self, text: &mut String) -> Option<()> {
        loop {
            match self.next()? {
                '"' => return Some(()),
                '$' | '`' => return None,
                '\\' => match self.next()? {
                    escaped @ ('"' | '\\' | '$' | '`') => text.push(escaped),
                    other => text.extend(['\\', other]),
                },
                c => text.push(c),
            }
        }
    }
}
