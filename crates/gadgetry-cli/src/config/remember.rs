//! Rules that the user wants to keep: written to the user's file, and to no other.

use std::path::Path;

use gadgetry::Subject;
use gadgetry::approval::Rule;
use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use super::end_of_file::EndOfFile;
use super::rewrite::rewrite;

/// A call that the user has approved for good.
pub(crate) struct Approved<'a> {
    pub(crate) gadget: &'a str,
    pub(crate) parameters: &'a Json,
    pub(crate) subject: Option<&'a Subject>,
    /// Rule that allows the call from now on.
    pub(crate) rule: &'a Rule,
}

/// Adds the rule to `[approvals]` of a file, which is created if it is not there: before the rule that decides about the
/// call now, or as the last one. Everything else in the file stays as it is.
///
/// `Err` is what is wrong, in one line.
pub(crate) fn remember(path: &Path, approved: &Approved<'_>) -> Result<(), String> {
    rewrite(path, |text| Ok((with_rule(text, approved)?, ())))
}

/// Sets the model of a file, which is created if it is not there.
///
/// `Err` is what is wrong, in one line.
pub(crate) fn keep_model(path: &Path, model: &str) -> Result<(), String> {
    rewrite(path, |text| {
        let document: Result<DocumentMut, toml_edit::TomlError> = text.parse();
        let mut document = document.map_err(|error| error.message().to_owned())?;
        document.insert("model", toml_edit::value(model));
        Ok((document.to_string(), ()))
    })
}

fn with_rule(text: &str, approved: &Approved<'_>) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mut end = EndOfFile::of(&document);
    let table = document.entry("approvals").or_insert_with(|| {
        let mut table = Table::new();
        end.append(&mut table);
        Item::Table(table)
    });
    let table = table.as_table_like_mut();
    let table = table.ok_or("approvals is not a table")?;
    let rules = table.entry("rules").or_insert_with(|| {
        let mut rules = Array::new();
        rules.set_trailing_comma(false);
        Item::Value(Value::Array(rules))
    });
    let rules = rules.as_array_mut();
    let rules = rules.ok_or("the rules of approvals are not a list")?;
    let index = rules.iter().position(|rule| decides(rule, approved));
    let mut rule = InlineTable::new();
    let permission = approved.rule.permission().as_str();
    rule.insert(permission, approved.rule.calls().into());
    rules.insert(index.unwrap_or(rules.len()), Value::InlineTable(rule));
    Ok(end.written(document))
}

/// Returns whether this rule of a file is about the call.
fn decides(rule: &Value, approved: &Approved<'_>) -> bool {
    let rule = rule.as_inline_table().and_then(|rule| {
        let (permission, calls) = rule.iter().next()?;
        Rule::new(permission.parse().ok()?, calls.as_str()?).ok()
    });
    let Approved {
        gadget,
        parameters,
        subject,
        ..
    } = approved;
    rule.is_some_and(|rule| rule.matches(gadget, parameters, *subject))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_is_added_where_it_decides() {
        let subject = Subject::Path("src/a.rs".to_owned());
        let rule: Rule = "allow WriteFile(src/**)".parse().unwrap();
        let check = |before: &str, expected: Result<&str, &str>| {
            let approved = Approved {
                gadget: "WriteFile",
                parameters: &json!({}),
                subject: Some(&subject),
                rule: &rule,
            };
            let changed = with_rule(before, &approved);
            let changed = changed.as_deref().map_err(String::as_str);
            assert_eq!(changed, expected, "{before}");
        };
        let only = "[approvals]\nrules = [{ allow = \"WriteFile(src/**)\" }]\n";
        check("", Ok(only));
        check(
            "# Mine.\nmodel = 'x' # fast\n",
            Ok(&format!("# Mine.\nmodel = 'x' # fast\n\n{only}")),
        );
        check(
            "[approvals]\nrules = [{ deny = 'Delete*' }, { ask = '*' }, { deny = 'X' }]\n",
            Ok(
                "[approvals]\nrules = [{ deny = 'Delete*' }, { allow = \"WriteFile(src/**)\" }, { ask = '*' }, { deny = 'X' }]\n",
            ),
        );
        // Comments stay where they are.
        for before in [
            "# model = 'x'\n",
            "model = 'x'\n\n# quiet = true\n",
            "[agent]\n# quiet = true\n",
        ] {
            check(before, Ok(&format!("{before}\n{only}")));
        }
        check(
            "[approvals]\n# Mine.\n",
            Ok("[approvals]\nrules = [{ allow = \"WriteFile(src/**)\" }]\n# Mine.\n"),
        );
        check("approvals = 1", Err("approvals is not a table"));
        check(
            "[approvals]\nrules = 1",
            Err("the rules of approvals are not a list"),
        );
        assert!(
            with_rule(
                "[",
                &Approved {
                    gadget: "",
                    parameters: &json!({}),
                    subject: None,
                    rule: &rule,
                }
            )
            .is_err()
        );
    }
}
