use std::collections::HashMap;

/// How often each word was seen.
#[derive(Default)]
pub struct Words {
    counts: HashMap<String, usize>,
    longest: String,
}

impl Words {
    /// Counts the words of a text. Upper and lower case are the same word; everything but letters separates words.
    pub fn add(&mut self, text: &str) {
        for word in text.split(|c: char| !c.is_alphabetic()) {
            let word = word.to_lowercase();
            *self.counts.entry(word).or_insert(0) += 1;
            if word.len() > self.longest.len() {
                self.longest = word;
            }
        }
    }

    /// Returns the longest word, counted in characters; of several, the one that was added first.
    pub fn longest(&self) -> &str {
        self.longest
    }

    /// Returns the most frequent words with their counts, at most `limit`; equal counts in the order of the alphabet.
    pub fn top(&self, limit: usize) -> Vec<(&str, usize)> {
        let mut all = Vec::new();
        for (word, count) in self.counts {
            all.push((word.as_str(), count));
        }
        all.sort_by_key(|(word, count)| (count, word));
        all.truncate(limit);
        all
    }
}
