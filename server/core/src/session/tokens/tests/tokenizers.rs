//! Estimates against two real tokenizers, on six kinds of text (S72).
//!
//! Never asks a provider: the vocabularies are part of a library of the tests.

use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use super::*;

/// Turns of a conversation. From the sixth on, the estimate has to be near.
const TURNS: usize = 9;
/// Bytes that a turn adds at most.
const ADDED: usize = 6_000;
/// What the provider adds to the conversation: the system prompt and the tools, and the marks of each message.
const BEGINNING_COUNTED: usize = 1_900;
const PER_MESSAGE_COUNTED: usize = 5;

const CODE: &str = concat!(
    include_str!("../../fold.rs"),
    include_str!("../../../machine/accept/answer.rs"),
    include_str!("../../../config/layers.rs"),
);
const PROSE: &str = concat!(
    include_str!("../../../../../../docs/security.md"),
    include_str!("../../../../../../docs/prompts.md"),
    include_str!("../../../../../../docs/context.md"),
);
const JSON: &str = include_str!("../../../../../../docs/protocol/schema.json");

const CHINESE: &str = "编辑器里的代码助手应该只做用户要求的事情。它先阅读文件,再提出修改,最后说明做了什么。如果测试失败两次,它会停下来询问。\
    缓存可以节省费用,因为前面的内容没有变化。配置文件写在用户的目录里,项目只能让规则更严格。函数返回一个列表,其中每个元素都有名称和路径。\
    服务器在本机运行,没有网络也能工作。请检查第三章的数字,并把结果写进表格。\n";
const JAPANESE: &str = "このプログラムはエディタの中で動き、変更する前に必ず確認します。ファイルを読み、テストを実行し、結果を短く報告してください。\
    設定はユーザーのフォルダにあります。会話が長くなると、古い部分は要約に置き換えられますが、全文は記録に残ります。\
    関数の名前を変えるときは、呼び出し側も直してください。\n";
const KOREAN: &str = "이 도구는 편집기에서 작업을 시작하고, 실행하기 전에 사용자에게 묻습니다. 대화가 길어지면 오래된 부분은 요약으로 바뀝니다. \
    설정 파일을 확인하고 테스트를 다시 실행해 주세요. 결과는 표에 정리되어 있습니다.\n";

/// Returns the part of a text for a turn, at most [`ADDED`] bytes of whole lines. Texts that are too short begin again.
fn part(text: &str, turn: usize) -> String {
    let mut part = String::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let begin = lines.len() * turn / TURNS;
    for line in lines.iter().cycle().skip(begin).take(10_000) {
        if part.len() + line.len() > ADDED {
            break;
        }
        part.push_str(line);
    }
    part
}

/// Returns base64 of bytes without a pattern, in lines as mail has them.
fn base64(turn: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(turn as u64 + 1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(DIGITS[(state >> 32) as usize % 64])
    };
    let line = |_| (0..76).map(|_| next()).collect::<String>() + "\n";
    (0..ADDED / 77).map(line).collect()
}

/// Returns a diff as a tool shows it: some lines of each hunk are new, some are gone.
fn diff(turn: usize) -> String {
    let code = part(CODE, turn);
    let mut diff = String::from("--- a/server/core/src/fold.rs\n+++ b/server/core/src/fold.rs\n");
    for (number, line) in code.split_inclusive('\n').enumerate() {
        if number % 12 == 0 {
            diff.push_str(&format!("@@ -{0},9 +{0},10 @@\n", number * 17 + 3));
        }
        diff.push_str(["  ", " ", "-", "+", "+", " "][number % 6]);
        diff.push_str(line);
    }
    diff
}

type Kind = (&'static str, fn(usize) -> String);

const KINDS: [Kind; 6] = [
    ("code", |turn| part(CODE, turn)),
    ("prose", |turn| part(PROSE, turn)),
    ("CJK", |turn| part(&[CHINESE, JAPANESE, KOREAN].concat(), turn)),
    ("JSON", |turn| part(JSON, turn)),
    ("diffs", diff),
    ("base64", base64),
];

fn count(tokenizer: &CoreBPE, history: &[ModelMessage]) -> u64 {
    let of = |message: &ModelMessage| {
        let text = match message {
            ModelMessage::User { text, .. } => text.to_string(),
            ModelMessage::Assistant { reply } => reply.text.clone(),
            ModelMessage::Tool { output, .. } => output.to_string(),
        };
        tokenizer.encode_ordinary(&text).len() + PER_MESSAGE_COUNTED
    };
    (BEGINNING_COUNTED + history.iter().map(of).sum::<usize>()) as u64
}

/// Plays a conversation whose turns add these texts; returns the greatest error of an estimate of a whole request from the sixth
/// turn on, and of what was added to it.
fn errors(tokenizer: &CoreBPE, text: impl Fn(usize) -> String) -> (f64, f64) {
    let (mut tokens, mut history) = (TokenCount::default(), vec![said("Look at these.")]);
    let (mut whole, mut tail) = (0.0_f64, 0.0_f64);
    let mut before = 0;
    for turn in 0..TURNS {
        let real = count(tokenizer, &history);
        if turn > 5 {
            let estimate = tokens.fill(&history) as f64;
            whole = whole.max((estimate / real as f64 - 1.0).abs());
            let (estimated, added) = (estimate - before as f64, (real - before) as f64);
            tail = tail.max((estimated / added - 1.0).abs());
        }
        tokens.counted(Usage { input_tokens: real, ..Usage::default() }, &history);
        before = real;
        let reply = Reply { text: "I look at the next part.".to_owned(), ..Reply::default() };
        history.push(ModelMessage::Assistant { reply: reply.into() });
        history.push(ModelMessage::Tool { call_id: "c".into(), output: text(turn).into() });
    }
    (whole, tail)
}

#[test]
fn s72_after_five_turns_the_estimate_of_a_request_is_less_than_a_tenth_off_by_two_real_tokenizers() {
    let mixed = |turn: usize| KINDS[(turn * 5 + 2) % KINDS.len()].1(turn);
    let mut lines = Vec::new();
    for (name, tokenizer) in [("o200k", o200k_base_singleton()), ("cl100k", cl100k_base_singleton())] {
        for (kind, text) in KINDS {
            lines.push((format!("{name} {kind}"), errors(tokenizer, text)));
        }
        lines.push((format!("{name} mixed"), errors(tokenizer, mixed)));
    }
    let shown: Vec<String> = lines
        .iter()
        .map(|(name, (whole, tail))| {
            format!("{name}: {:.1} % of a request, {:.1} % of what was added", whole * 100.0, tail * 100.0)
        })
        .collect();
    // A text of another kind than those before it is the hard case: one factor serves all kinds.
    let near = |(_, (whole, tail)): &(String, (f64, f64))| *whole < 0.1 && *tail < 0.25;
    assert!(lines.iter().all(near), "{}", shown.join("\n"));
}

#[test]
fn s72_before_it_has_learned_an_estimate_is_less_than_a_third_off() {
    for tokenizer in [o200k_base_singleton(), cl100k_base_singleton()] {
        for (kind, text) in KINDS {
            let text = text(0);
            let (estimate, real) = (estimate::of_text(&text), tokenizer.encode_ordinary(&text).len() as f64);
            assert!((estimate / real - 1.0).abs() < 0.34, "{kind}: {estimate} of {real}");
        }
    }
}
