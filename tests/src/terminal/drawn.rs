//! What a terminal shows after a program has moved its cursor and erased.
//!
//! Knows the sequences that Adjutant and its line editor write, and fails on any other.

/// The lines of a terminal that never scrolls anything away.
struct Grid {
    columns: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

/// Returns the lines of a terminal with this many columns, without blanks at their ends.
pub(super) fn drawn(written: &str, columns: usize) -> String {
    let mut grid = Grid { columns, lines: vec![Vec::new()], row: 0, column: 0 };
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        match character {
            '\r' => grid.column = 0,
            '\n' => grid.down(1),
            '\u{8}' => grid.column = grid.column.saturating_sub(1),
            '\u{7}' => {}
            '\u{1b}' => {
                if rest.next() != Some('[') {
                    continue;
                }
                let mut number = String::new();
                // The last piece may be a half.
                if let Some(last) = rest.by_ref().find(|c| {
                    let is_end = ('@'..='~').contains(c);
                    if !is_end {
                        number.push(*c);
                    }
                    is_end
                }) {
                    grid.sequence(&number, last);
                }
            }
            character => grid.put(character),
        }
    }
    let lines: Vec<String> =
        grid.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect();
    lines.join("\n")
}

impl Grid {
    fn down(&mut self, by: usize) {
        self.row += by;
        while self.lines.len() <= self.row {
            self.lines.push(Vec::new());
        }
    }

    fn put(&mut self, character: char) {
        if self.column == self.columns {
            self.column = 0;
            self.down(1);
        }
        let line = &mut self.lines[self.row];
        if line.len() <= self.column {
            line.resize(self.column + 1, ' ');
        }
        line[self.column] = character;
        self.column += 1;
    }

    fn sequence(&mut self, number: &str, last: char) {
        let by = number.parse().unwrap_or(1);
        match last {
            'm' | 'h' | 'l' => {}
            'A' => self.row = self.row.saturating_sub(by),
            'B' => self.down(by),
            'C' => self.column = (self.column + by).min(self.columns - 1),
            'D' => self.column = self.column.saturating_sub(by),
            'G' => self.column = by.saturating_sub(1),
            'K' => self.lines[self.row].truncate(self.column),
            'J' => {
                self.lines[self.row].truncate(self.column);
                self.lines.truncate(self.row + 1);
            }
            other => panic!("an unknown sequence: ESC [ {number} {other}"),
        }
    }
}
