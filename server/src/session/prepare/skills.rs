//! The skills of a run: the model reads their texts as they were when the run began, without a question (S47).
//!
//! Never reads a file, so neither a changed file nor one beside it is ever read by the name of a skill.

use std::sync::Arc;

use adjutant_core::policy::observation::ObservedPath;
use adjutant_core::record::{ContextKind, ContextText};
use adjutant_core::session::{Call, Session};
use adjutant_core::tool::{Arguments, SKILL_OF};

use crate::tools::ToolOutput;
use crate::tools::read_file::read_text;

/// The texts of the prompt of a run, some of which are skills.
#[derive(Clone, Default)]
pub struct RunSkills(Arc<[ContextText]>);

/// A skill that a call reads.
pub struct SkillRead<'a>(&'a ContextText);

impl RunSkills {
    pub fn of(session: &Session) -> Self {
        Self(session.texts.clone())
    }

    /// Returns the skill that a call reads, if it names one by [`SKILL_OF`].
    pub fn read_by(&self, call: &Call, given: &Arguments) -> Option<SkillRead<'_>> {
        let name = given.optional("path").filter(|_| call.tool == "read_file")?.strip_prefix(SKILL_OF)?;
        let mut skills = self.0.iter().filter(|text| text.kind == ContextKind::Skill);
        skills.find(|skill| skill.name == name).map(SkillRead)
    }
}

impl SkillRead<'_> {
    /// Returns the observation: the model has been told of it, as of a file of the workspace. A deny rule for its file holds.
    pub fn seen(&self) -> ObservedPath {
        ObservedPath { other_names: vec![self.0.source.clone()], ..ObservedPath::inside(self.path()) }
    }

    /// Returns the lines that the call asks for.
    pub fn output(&self, given: &Arguments) -> ToolOutput {
        let Self(ContextText { source, text, left_out, .. }) = self;
        let mut output = read_text(&self.path(), text, given);
        if !output.failed {
            let more =
                if *left_out > 0 { format!("; {left_out} bytes more in the file") } else { String::new() };
            output.text.push_str(&format!("[as {source} was when the run began{more}]\n"));
        }
        output
    }

    fn path(&self) -> String {
        format!("{SKILL_OF}{}", self.0.name)
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::config::Denials;
    use adjutant_core::policy::permission::{Act, forbidden_by};

    use super::*;

    #[test]
    fn s47_a_deny_rule_for_the_file_of_a_skill_also_holds_when_it_comes_later() {
        let skill = ContextText {
            kind: ContextKind::Skill,
            source: "/home/ada/skills/letters/SKILL.md".to_owned(),
            text: "Dear Sir,".into(),
            name: "letters".to_owned(),
            summary: "How letters are written".to_owned(),
            left_out: 0,
        };
        let seen = SkillRead(&skill).seen();
        for (rule, holds) in [
            ("read_file(/home/ada/skills/**)", true),
            ("read_file", true),
            ("read_file(/home/ada/other/**)", false),
            ("write_file(/home/ada/skills/**)", false),
        ] {
            let denials = Denials::of_texts(&[rule.to_owned()]);
            let denied = forbidden_by(&denials, &[], "read_file", Act::Read(&seen)).is_some();
            assert_eq!(denied, holds, "{rule}");
        }
    }
}
