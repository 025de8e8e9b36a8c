//! Settings: any text in any layer gives settings and problems, and a project file never loosens a rule.

use std::collections::BTreeMap;

use adjutant_core::config::{Content, File, Layer, Problem, Settings, explain, resolve};
use adjutant_core::record::{EditsMode, Mode, Policy};

use super::{parts, text};

pub fn check(input: &[u8]) {
    let [user, project, editor, environment] = parts(input);
    let user = file("/home/u/.config/adjutant/config.toml", user);
    let project = file("/ws/.adjutant/config.toml", project);
    let mut own = vec![Layer::UserFile(user)];
    own.extend(serde_json::from_slice(editor).ok().map(Layer::Editor));
    if !environment.is_empty() {
        own.push(Layer::Environment(variables(&text(environment))));
    }
    let (alone, _) = resolve(own.clone());
    let (with, problems) = resolve([own, vec![Layer::ProjectFile(project)]].concat());
    problems.iter().for_each(is_readable);
    assert!(problems.len() <= 101, "{} problems", problems.len());
    is_no_looser(&with, &alone);
    for unattended in [false, true] {
        let (with, alone) = (
            with.policy(Mode::Code, EditsMode::Ask, unattended),
            alone.policy(Mode::Code, EditsMode::Ask, unattended),
        );
        allows_no_more(&with, &alone);
    }
    drop(explain(&with));
    for model in with.model.iter().chain(&with.fallback_models) {
        drop((with.provider_for(Some(model)).map_err(|error| error.to_string()), with.facts(model)));
    }
}

fn file(path: &str, content: &[u8]) -> File {
    File { path: path.to_owned(), content: Content::Text(text(content).into_owned()) }
}

fn variables(lines: &str) -> BTreeMap<String, String> {
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn is_readable(problem: &Problem) {
    let shown = problem.to_string();
    assert!(!problem.message.is_empty() && !problem.what_to_do.is_empty(), "{shown}");
    assert!(shown.len() <= 4096, "{} bytes: {shown}", shown.len());
    assert!(!shown.contains(['\n', '\r', '\u{1b}']), "{shown:?}");
}

/// Asserts that a project file loosens nothing apart from the policy, which `allows_no_more` checks.
fn is_no_looser(with: &Settings, alone: &Settings) {
    assert_eq!((&with.model, &with.fallback_models), (&alone.model, &alone.fallback_models));
    assert_eq!(with.generation_settings, alone.generation_settings);
    assert_eq!(with.providers, alone.providers);
    assert!(with.edits_save <= alone.edits_save);
    assert!(with.edits_mode == alone.edits_mode || with.edits_mode == Some(EditsMode::Ask));
    let (limits, own) = (&with.limits, &alone.limits);
    assert!(limits.model.total_ms <= own.model.total_ms);
    let rest = |limits: &adjutant_core::config::Limits| {
        let model = &limits.model;
        (model.first_byte_ms, model.idle_ms, model.silence_ms, limits.editor_ms)
    };
    assert_eq!(rest(limits), rest(own));
}

fn allows_no_more(with: &Policy, alone: &Policy) {
    assert!(
        alone.deny.iter().all(|rule| with.deny.contains(rule)),
        "{:?} lost some of {:?}",
        with.deny,
        alone.deny
    );
    if let (Some(with), Some(alone)) = (with.unattended, alone.unattended) {
        assert!(with.edit <= alone.edit && with.command <= alone.command, "{with:?} {alone:?}");
        assert!(with.max_requests <= alone.max_requests, "{with:?} {alone:?}");
    }
    // No limit allows the most.
    let most = |requests: Option<u32>| requests.unwrap_or(u32::MAX);
    assert!(most(with.max_requests) <= most(alone.max_requests), "{with:?} {alone:?}");
    assert!(with.mistakes <= alone.mistakes && with.retry.max_attempts <= alone.retry.max_attempts);
    assert_eq!(with.command_output_ms, alone.command_output_ms);
    assert_eq!(with.followup_default_ms, alone.followup_default_ms);
    assert_eq!((with.retry.base_ms, with.retry.cap_ms), (alone.retry.base_ms, alone.retry.cap_ms));
    assert_eq!(with.fallback_models, alone.fallback_models);
}
