//! Tests of which proxy a request uses, by settings and environment.
//!
//! Never opens a connection; the tests of `adjutant-model` do.

use super::*;

/// Returns the proxy for https to `place` with its login, or the error.
fn way(reach: &Reach, variables: &[(&str, &str)], place: &str) -> String {
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => (host, port.parse().unwrap()),
        _ => (place, 443),
    };
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    match reach.proxy_for(host, port, &variable) {
        Ok(None) => "direct".to_owned(),
        Ok(Some(Proxy { address, login: None, named_by })) => format!("{address} by {named_by}"),
        Ok(Some(Proxy { address, login: Some((user, password)), named_by })) => {
            format!("{address} by {named_by} as {user}/{password}")
        }
        Err(why) => why,
    }
}

fn setting(proxy: &str) -> Reach {
    Reach { proxy: Some(proxy.to_owned()), ..Reach::default() }
}

#[test]
fn the_setting_wins_over_the_environment_and_https_over_all() {
    let unset = Reach::default();
    let check = |reach: &Reach, variables: &[(&str, &str)], expected: &str| {
        assert_eq!(way(reach, variables, "api.example"), expected, "{variables:?}");
    };
    check(&unset, &[], "direct");
    check(&unset, &[("HTTPS_PROXY", "http://p:1")], "http://p:1 by HTTPS_PROXY");
    check(&unset, &[("https_proxy", "p:1"), ("HTTPS_PROXY", "q:1")], "http://p:1 by https_proxy");
    check(&unset, &[("ALL_PROXY", "https://p:1/")], "https://p:1 by ALL_PROXY");
    check(&unset, &[("ALL_PROXY", "p:1"), ("HTTPS_PROXY", "q:1")], "http://q:1 by HTTPS_PROXY");
    check(&unset, &[("HTTP_PROXY", "http://p:1"), ("HTTPS_PROXY", " ")], "direct");
    check(&setting("http://s:1"), &[("HTTPS_PROXY", "http://p:1")], "http://s:1 by http.proxy");
    check(&setting("none"), &[("HTTPS_PROXY", "http://p:1")], "direct");
}

#[test]
fn this_machine_is_never_reached_through_a_proxy() {
    for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "a.localhost"] {
        assert_eq!(way(&setting("http://s:1"), &[], host), "direct", "{host}");
    }
    assert_eq!(way(&setting("http://s:1"), &[], "localhost.example"), "http://s:1 by http.proxy");
}

#[test]
fn a_list_of_hosts_is_reached_without_a_proxy() {
    let check = |list: &str, place: &str, direct: bool| {
        let variables = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", list)];
        let expected = if direct { "direct" } else { "http://p:1 by HTTPS_PROXY" };
        assert_eq!(way(&Reach::default(), &variables, place), expected, "{list} {place}");
    };
    check("*", "api.example", true);
    check("other, api.example", "API.example", true);
    check(".example", "api.example", true);
    check("*.example", "api.example", true);
    check("example", "api.example", true);
    check("example", "api.example.", true);
    check("ample", "api.example", false);
    check(".", "api.example", false);
    check(",,", "api.example", false);
    check("api.example:443", "api.example", true);
    check("api.example:8443", "api.example", false);
    check("10.0.0.7", "10.0.0.7", true);
    check("0.0.7", "10.0.0.7", false);
    check("10.0.0.0/8", "10.200.0.7", true);
    check("10.0.0.0/8", "11.0.0.7", false);
    check("0.0.0.0/0", "11.0.0.7", true);
    check("10.0.0.0/33", "10.0.0.0", false);
    check("10.0.0.0/x", "10.0.0.0", false);
    check("fd00::/8", "[fd12::1]", true);
    check("fd00::/8", "10.0.0.7", false);
    check("fd12::1", "[fd12::1]", true);
    check("[fd12::1]:443", "[fd12::1]", true);
    check("[fd12::1]:1", "[fd12::1]", false);
}

#[test]
fn a_list_of_the_settings_wins_over_that_of_the_environment() {
    let reach = Reach { no_proxy: Some("a.example".to_owned()), ..setting("http://s:1") };
    let variables = [("NO_PROXY", "b.example")];
    assert_eq!(way(&reach, &variables, "a.example"), "direct");
    assert_eq!(way(&reach, &variables, "b.example"), "http://s:1 by http.proxy");
    assert_eq!(way(&setting("http://s:1"), &variables, "b.example"), "direct");
}

#[test]
fn a_login_is_taken_out_of_the_address() {
    let check = |given: &str, expected: &str| assert_eq!(way(&setting(given), &[], "api.example"), expected);
    check("http://ada:pass@s:1", "http://s:1 by http.proxy as ada/pass");
    check("ada:p%40s%3as@s:1", "http://s:1 by http.proxy as ada/p@s:s");
    check("http://ada:p@ss:w/rd@s:1", "http://s:1 by http.proxy as ada/p@ss:w/rd");
    check("http://ada:100%@s:1", "http://s:1 by http.proxy as ada/100%");
    check("http://ada@s:1", "http://s:1 by http.proxy as ada/");
    check("http://[fd12::1]:3128", "http://[fd12::1]:3128 by http.proxy");
}

#[test]
fn an_address_that_is_none_is_told_without_its_password() {
    for given in [
        "http://ada:hunter2@",
        "http://ada:hunter2@s:99999",
        "ftp://ada:hunter2@s:1",
        "socks5://ada:hunter2@s:1",
        "http://ada:hunter2%00@s:1",
        "http://ada:hunter2@s:1/path",
        "://hunter2",
    ] {
        let said = way(&setting(given), &[], "api.example");
        assert!(said.starts_with("http.proxy ") && said.contains("write it as"), "{given}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    assert!(way(&setting("socks5h://s:1"), &[], "api.example").contains("SOCKS"));
}

#[test]
fn nothing_secret_is_in_a_debug_text() {
    let reach = setting("http://ada:hunter2@s:1");
    let proxy = reach.proxy_for("api.example", 443, &|_| None).unwrap();
    let key = KeySource::Command(vec!["echo".to_owned(), "hunter2".to_owned()]);
    let text = format!("{reach:?} {proxy:?} {key:?}");
    assert!(!text.contains("hunter2") && text.contains("s:1") && text.contains("echo"), "{text}");
}
