//! Tests of settings that change how a model answers.
//!
//! Never calls a model.

use super::*;

#[test]
fn l11_a_temperature_is_a_setting_and_nothing_is_sent_without_one() {
    let provider = |lines: &str| {
        let text = format!("[providers.p]\nbase_url = \"https://p.example\"\n{lines}");
        let (settings, problems) = resolve(vec![user(&text)]);
        let said = problems.iter().map(ToString::to_string).collect::<String>();
        (settings.provider_for(Some("p/m")).unwrap().0.temperature.map(|number| number.to_string()), said)
    };
    assert_eq!(provider(""), (None, String::new()));
    assert_eq!(provider("temperature = 0.3"), (Some("0.3".to_owned()), String::new()));
    assert_eq!(provider("temperature = 2"), (Some("2".to_owned()), String::new()));
    for bad in ["-0.1", "2.5", "nan", "inf", "\"hot\"", "9223372036854775807"] {
        let (found, said) = provider(&format!("temperature = {bad}"));
        assert_eq!(found, None, "{bad}");
        assert!(said.contains("write a number from 0 to 2"), "{bad}: {said}");
    }
    // Some editors write every number with a fraction.
    for (sent, taken) in [(json!(0.5), "0.5"), (json!(1.0), "1.0"), (json!(1), "1")] {
        let editor = json!({"providers": {"p": {"base_url": "https://p.example", "temperature": sent}}});
        let (settings, problems) = resolve(vec![Layer::Editor(editor)]);
        let found = settings.provider_for(Some("p/m")).unwrap().0.temperature;
        assert_eq!(found.map(|number| number.to_string()).as_deref(), Some(taken), "{problems:?}");
    }
}

#[test]
fn s22_only_false_takes_the_tools_away() {
    let tools = |lines: &str| {
        let text = format!("[providers.p]\nbase_url = \"https://p.example\"\n{lines}");
        resolve(vec![user(&text)]).0.provider_for(Some("p/m")).unwrap().0.tools
    };
    assert!(tools("") && tools("tools = true") && tools("tools = \"no\""));
    assert!(!tools("tools = false"));
}
