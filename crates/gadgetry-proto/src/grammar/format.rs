//! Strings of the formats that a check knows.

use super::rules::Rules;

const DATE: &str = "[12] [0-9]{3} \"-\" ((\"0\" [13578] | \"1\" [02]) \"-\" (\"0\" [1-9] | [12] [0-9] | \"3\" [01]) | \
                    (\"0\" [469] | \"11\") \"-\" (\"0\" [1-9] | [12] [0-9] | \"30\") | \"02-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8]))";
const HOUR: &str = "([01] [0-9] | \"2\" [0-3])";
const LABEL: &str = "[a-z0-9] (\"-\"? [a-z0-9]){0,30}";
const OCTET: &str = "(\"25\" [0-5] | \"2\" [0-4] [0-9] | \"1\" [0-9] [0-9] | [1-9]? [0-9])";

/// The rule of a format; none if it has no simple shape, so that any string is admitted.
pub(super) fn rule(rules: &mut Rules, format: &str) -> Option<String> {
    let name = match format {
        "date" => rules.named("date", DATE),
        "time" => {
            let body = format!(
                "{HOUR} \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{{1,6}})? (\"Z\" | [\\x2B\\x2D] {HOUR} \":\" [0-5] [0-9])"
            );
            rules.named("time", &body)
        }
        "date-time" => {
            let (date, time) = (rule(rules, "date")?, rule(rules, "time")?);
            rules.named("date-time", &format!("{date} \"T\" {time}"))
        }
        "uuid" => {
            let hex = "[0-9a-f]";
            let body = format!(
                "{hex}{{8}} \"-\" {hex}{{4}} \"-\" {hex}{{4}} \"-\" {hex}{{4}} \"-\" {hex}{{12}}"
            );
            rules.named("uuid", &body)
        }
        "hostname" => rules.named(
            "hostname",
            &format!("{LABEL} (\".\" {LABEL}){{0,4}} \".\" [a-z]{{2,12}}"),
        ),
        "email" => {
            let host = rule(rules, "hostname")?;
            let word = "[A-Za-z0-9_+]{1,20}";
            rules.named(
                "email",
                &format!("{word} ([.\\x2D] {word}){{0,2}} \"@\" {host}"),
            )
        }
        "ipv4" => rules.named("ipv4", &format!("{OCTET} (\".\" {OCTET}){{3}}")),
        "ipv6" => {
            let group = "[0-9a-f]{1,4}";
            rules.named("ipv6", &format!("{group} (\":\" {group}){{7}}"))
        }
        "uri" | "iri" => {
            let host = rule(rules, "hostname")?;
            let path = "(\"/\" [A-Za-z0-9_.~\\x2D]*)*";
            let body = format!(
                "\"http\" \"s\"? \"://\" {host} (\":\" [1-9] [0-9]{{1,3}})? {path} (\"?\" [A-Za-z0-9_=&.]*)?"
            );
            rules.named("uri", &body)
        }
        "duration" => rules.named(
            "duration",
            "\"P\" ([0-9]{1,4} [YMWD] | \"T\" [0-9]{1,4} [HMS])",
        ),
        _ => return None,
    };
    Some(name)
}

/// Whether texts of a string go over several lines by what its schema says.
pub(super) fn is_multiline(node: &serde_json::Map<String, serde_json::Value>) -> bool {
    let word = |key: &str| {
        node.get(key)
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default()
    };
    let formats = ["multiline", "textarea", "markdown", "text", "code", "html"];
    formats.contains(&word("format"))
        || word("contentMediaType").starts_with("text/")
        || node.get("x-multiline") == Some(&serde_json::Value::Bool(true))
}
