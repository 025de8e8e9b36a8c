//! Tests of deny rules: what each denies, and what a rule that makes no sense denies.
//!
//! Never resolves a path on disk.

use super::*;
use crate::policy::saving::EditsSave;
use crate::record::EditsMode;

/// Returns whether one rule denies `tool` this subject.
fn denied(rule: &str, tool: &str, subject: &str) -> bool {
    let (rule, fault) = DenyRule::parse(rule, SettingOrigin::Default);
    assert!(fault.is_none(), "{}", fault.map(|fault| fault.message).unwrap_or_default());
    Denials { rules: vec![rule] }.denial(tool, Some(subject)).is_some()
}

#[test]
fn path_rules() {
    let yes = [
        ("edit_file", "a"),
        ("*", "a"),
        ("edit_file(**/*.lock)", "Cargo.lock"),
        ("edit_file(**/*.lock)", "a/b/Cargo.lock"),
        ("edit_file(*.lock)", "a/b/Cargo.LOCK"),
        ("edit_file(secrets)", "a/secrets/key"),
        ("edit_file(a/b)", "a/b/c/d"),
        ("edit_file(a/**)", "./a/b"),
        ("edit_file(a/**)", "a\\b"),
        ("edit_file(./a/*)", "a/b"),
        ("edit_file(secrets/)", "secrets/key"),
        ("edit_file(secrets/)", "a/secrets/key"),
        ("edit_file(a/b/)", "a/b/c/d"),
        ("edit_file(a\\b)", "a/b/c"),
    ];
    for (rule, path) in yes {
        assert!(denied(rule, "edit_file", path), "{rule} {path}");
    }
    let no = [
        ("edit_file(**/*.lock)", "lock"),
        ("edit_file(a/*)", "b/a/c"),
        ("edit_file(a)", "ab"),
        ("read_file", "a"),
    ];
    for (rule, path) in no {
        assert!(!denied(rule, "edit_file", path), "{rule} {path}");
    }
}

#[test]
fn finding_b2_a_rule_with_a_path_binds_the_file_for_every_tool_of_its_kind() {
    let folders = ["/w/one".to_owned(), "/w/two".to_owned()];
    let denied = |rule: &str, tool: &str, path: &str| {
        let rules = Denials::of_texts(&[rule.to_owned()]);
        rules.denial_of_file(tool, path, &folders).is_some()
    };
    let reading = ["list_files", "read_file", "find_files", "search_text"];
    for one in reading {
        for tool in reading.into_iter().chain(["edit_file"]) {
            assert!(denied(&format!("{one}(private/**)"), tool, "private/a"), "{one} {tool}");
        }
        assert!(!denied(&format!("{one}(private/**)"), "write_file", "private/a"), "{one}");
        // A rule that cannot be parsed may have meant any file.
        assert!(denied(&format!("{one}([z-a])"), "read_file", "a"), "{one}");
    }
    for (one, other) in [("edit_file", "write_file"), ("write_file", "edit_file")] {
        assert!(denied(&format!("{one}(**/*.lock)"), other, "Cargo.lock"), "{one}");
        assert!(!denied(&format!("{one}(**/*.lock)"), "read_file", "Cargo.lock"), "{one}");
        assert!(!denied(one, other, "Cargo.lock"), "without a path it names the tool");
    }
    // A relative rule counts in every workspace folder, and never matches the folders above them.
    for path in ["private/a", "/w/two/private/a", "/w/one/private/a"] {
        assert!(denied("read_file(private/**)", "search_text", path), "{path}");
    }
    assert!(
        !denied("read_file(w)", "read_file", "/w/two/a")
            && !denied("read_file(two/**)", "read_file", "/w/two/a")
    );
    assert!(
        denied("read_file(/w/two/**)", "read_file", "/w/two/a")
            && denied("read_file(/w/one/a)", "read_file", "a")
    );
    // A workspace folder inside another one: the user works in a part of a repository.
    let nested = ["/r/config".to_owned(), "/r".to_owned()];
    for rule in ["read_file(config/secrets/**)", "read_file(secrets/**)", "read_file(/r/config/secrets/**)"] {
        let rules = Denials::of_texts(&[rule.to_owned()]);
        for path in ["secrets/k", "/r/config/secrets/k"] {
            assert!(rules.denial_of_file("read_file", path, &nested).is_some(), "{rule} {path}");
        }
    }
    assert!(!denied("read_file(/w/two/**)", "read_file", "a"), "it is of the first folder");
    // All spellings of a name are the same.
    for (rule, path) in [
        ("caf\u{e9}", "cafe\u{301}"),
        ("cafe\u{301}", "CAF\u{c9}"),
        ("a\u{200d}b", "a\\u{200d}b"),
        ("ab", "a\\u{200b}b"),
        ("\u{301}ab", "\\u{301}ab"),
        ("a/\u{301}ab", "a/\u{301}ab"),
        ("a \u{301}b", "a \\u{301}b"),
    ] {
        assert!(denied(&format!("read_file({rule})"), "read_file", path), "{rule} {path}");
    }
    // A combining mark at the beginning is a part of the name, so the rule without it does not match.
    assert!(!denied("read_file(ab)", "read_file", "\\u{301}ab"));
    let rules = Denials::of_texts(&["search_text(x)".to_owned(), "find_files".to_owned()]);
    assert!(rules.denial_of_tool("search_text").is_none() && rules.denial_of_tool("find_files").is_some());
}

#[test]
fn command_rules() {
    let rm = "run_command(rm *)";
    let yes = [
        (rm, "rm"),
        (rm, "rm -rf /"),
        (rm, "  rm\t-rf x"),
        (rm, "/bin/rm x"),
        (rm, "sudo env A=1 rm x"),
        (rm, "a && rm x"),
        (rm, "a;rm x"),
        (rm, "echo $(rm x)"),
        (rm, "`rm x`"),
        (rm, "r\"\"m x"),
        (rm, "\\rm x"),
        (rm, "ls\nrm x"),
        (rm, "a|xargs rm"),
        ("run_command(git push)", "git push origin"),
        ("run_command(git  push *)", "git push"),
        ("run_command(git 'push')", "git push"),
        ("run_command({rm,mv} *)", "mv a b"),
        (rm, "{ rm x; }"),
        ("run_command(* --force)", "git push --force"),
    ];
    for (rule, line) in yes {
        assert!(denied(rule, "run_command", line), "{rule} {line}");
    }
    let no = [
        (rm, "rmdir x"),
        (rm, "ls armor"),
        ("run_command(git push)", "git pushx"),
        ("run_command(git log)", "git logout"),
    ];
    for (rule, line) in no {
        assert!(!denied(rule, "run_command", line), "{rule} {line}");
    }
    // A line that is too long to compare is denied, and so is a call that names no subject.
    assert!(denied(rm, "run_command", &"ls ".repeat(10_000)));
    let rule = DenyRule::parse(rm, SettingOrigin::Default).0;
    assert!(Denials { rules: vec![rule] }.denial("run_command", None).is_some());
}

#[test]
fn a_rule_that_makes_no_sense_blocks_what_it_may_have_meant() {
    for (rule, blocked, free) in [
        ("edit_file(**", "edit_file", Some("read_file")),
        ("edit_file([z-a])", "edit_file", Some("read_file")),
        ("edit_file()", "edit_file", Some("read_file")),
        ("edit_file(./)", "edit_file", Some("read_file")),
        ("edit_file(.)", "edit_file", Some("read_file")),
        ("edit_file(/)", "edit_file", Some("read_file")),
        ("edit_file(~/notes/**)", "edit_file", Some("read_file")),
        ("run_command(\"\")", "run_command", Some("read_file")),
        ("run_command('' *)", "run_command", Some("read_file")),
        ("run_comand(rm *)", "run_command", None),
        ("run_command(curl * | sh)", "run_command", Some("read_file")),
        ("re:(unclosed", "read_file", None),
        ("", "read_file", None),
        ("*(x)", "read_file", None),
        ("edit_file(\u{0})", "read_file", None),
    ] {
        let (parsed, fault) = DenyRule::parse(rule, SettingOrigin::Default);
        assert!(fault.is_some(), "{rule}");
        let read_back = Denials::of_texts(std::slice::from_ref(&parsed.text));
        assert!(read_back.denial(blocked, Some("rm x")).is_some(), "{rule} read back");
        let denials = Denials { rules: vec![parsed] };
        assert!(denials.denial(blocked, Some("rm x")).is_some(), "{rule}");
        assert!(free.is_none_or(|free| denials.denial(free, Some("x")).is_none()), "{rule}");
    }
    // So many classes need more memory than a glob may have.
    let huge = format!("edit_file({})", "[!a]".repeat(250));
    let (rule, _) = DenyRule::parse(&huge, SettingOrigin::Default);
    assert!(rule.denies("edit_file", None));
}

#[test]
fn a_workspace_can_only_make_edits_ask() {
    let modes = |layers: Vec<Layer>, problems: Expect| check_problems(layers, problems).edits_mode;
    assert_eq!(modes(vec![project("[edits]\nmode = \"ask\"")], expect![""]), Some(EditsMode::Ask));
    let loosened = expect![[
        r#".adjutant/config.toml:2: edits.mode: this is less strict than the value it would replace, so it is ignored; a project file may set it only to "ask""#
    ]];
    assert_eq!(modes(vec![project("[edits]\nmode = \"review\"")], loosened), None);
    let loosened = expect![[
        r#".adjutant/config.toml:2: edits.mode: this is less strict than the value it would replace, so it is ignored; a project file may set it only to "ask""#
    ]];
    let layers = vec![user("[edits]\nmode = \"review\""), project("[edits]\nmode = \"auto\"")];
    assert_eq!(modes(layers, loosened), Some(EditsMode::Review));
    // A bad value is the strictest.
    let bad =
        expect![[r#"~/config.toml:2: edits.mode: "always" is no mode; write "ask", "review" or "auto""#]];
    assert_eq!(modes(vec![user("[edits]\nmode = \"always\"")], bad), Some(EditsMode::Ask));
}

#[test]
fn a_workspace_can_only_make_less_be_saved() {
    let saves = |layers: Vec<Layer>, problems: Expect| check_problems(layers, problems).edits_save;
    assert_eq!(saves(Vec::new(), expect![""]), EditsSave::AsLeft);
    assert_eq!(saves(vec![user("[edits]\nsave = \"always\"")], expect![""]), EditsSave::Always);
    assert_eq!(saves(vec![project("[edits]\nsave = \"never\"")], expect![""]), EditsSave::Never);
    let layers = vec![user("[edits]\nsave = \"always\""), project("[edits]\nsave = \"as-left\"")];
    assert_eq!(saves(layers, expect![""]), EditsSave::AsLeft);
    assert_eq!(
        saves(
            vec![project("[edits]\nsave = \"always\"")],
            expect![
                ".adjutant/config.toml:2: edits.save: this is less strict than the value it would replace, so it is ignored; a project file may set it only to save less"
            ]
        ),
        EditsSave::AsLeft
    );
    let layers = vec![user("[edits]\nsave = \"never\""), project("[edits]\nsave = \"as-left\"")];
    assert_eq!(
        saves(
            layers,
            expect![
                ".adjutant/config.toml:2: edits.save: this is less strict than the value it would replace, so it is ignored; a project file may set it only to save less"
            ]
        ),
        EditsSave::Never
    );
    // A bad value is the strictest.
    assert_eq!(
        saves(
            vec![user("[edits]\nsave = \"yes\"")],
            expect![[
                r#"~/config.toml:2: edits.save: "yes" is no choice; write "never", "as-left" or "always""#
            ]]
        ),
        EditsSave::Never
    );
}
