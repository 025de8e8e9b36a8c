//! The tags of a help page, as Neovim's `:helptags` writes them.
//!
//! Never starts Neovim: a page of help finds its tags by their form alone.

/// Returns the file `tags` for one page. A line of it has the tag, the file and a search for the tag.
pub fn tags_of(file: &str, page: &str) -> String {
    let mut lines: Vec<String> = page
        .lines()
        .flat_map(tags_in)
        .map(|tag| format!("{tag}\t{file}\t/*{}*\n", tag.replace('\\', "\\\\").replace('/', "\\/")))
        .collect();
    // In the order of bytes, because Neovim searches the file by halves.
    lines.sort_unstable();
    lines.dedup();
    lines.concat()
}

/// Returns the tags of one line: words between two asterisks, with white space on both sides.
fn tags_in(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '\t']).filter_map(|word| {
        let tag = word.strip_prefix('*')?.strip_suffix('*')?;
        let is_tag = !tag.is_empty() && !tag.contains(['*', '|']);
        is_tag.then_some(tag)
    })
}

#[cfg(test)]
mod tests {
    use super::tags_of;

    #[test]
    fn n27_a_tag_stands_alone_between_asterisks() {
        let page = "*b.txt* Text *of\nit*\n*a/b\\c* *2*3* **\n\t*<Plug>(x)* x*y* *p|q*\n*b.txt*\n";
        let expected =
            "<Plug>(x)\tp.txt\t/*<Plug>(x)*\na/b\\c\tp.txt\t/*a\\/b\\\\c*\nb.txt\tp.txt\t/*b.txt*\n";
        assert_eq!(tags_of("p.txt", page), expected);
    }
}
