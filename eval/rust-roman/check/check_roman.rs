mod roman;

use roman::from_roman;

fn to_roman(mut number: u16) -> String {
    let parts = [
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
        (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ];
    let mut text = String::new();
    for (value, letters) in parts {
        while number >= value {
            text.push_str(letters);
            number -= value;
        }
    }
    text
}

#[test]
fn every_number_is_read() {
    for number in 1..=3999 {
        assert_eq!(from_roman(&to_roman(number)), Some(number), "{}", to_roman(number));
    }
}

#[test]
fn other_forms_are_refused() {
    for text in ["", "VIIII", "IC", "IIX", "VX", "MMMM", "iv", "XLX", "IXI", " X", "X ", "A", "VV", "CMC", "DD"] {
        assert_eq!(from_roman(text), None, "{text:?}");
    }
}

#[test]
fn a_long_text_is_refused() {
    assert_eq!(from_roman(&"M".repeat(100_000)), None);
}
