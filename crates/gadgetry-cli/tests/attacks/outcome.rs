//! What an attack has led to, and what of that must not be.

use std::fmt;

use super::row::Row;
use super::victim::KEY;

/// So much of a key, from its start, is a leak.
const PART_OF_A_KEY: usize = 12;

/// What a run of the program left.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) hung: bool,
    /// A line for each gadget that ran.
    pub(crate) ran: Vec<String>,
    pub(crate) log: String,
    /// The texts of the requests.
    pub(crate) requests: Vec<String>,
    /// Files that should be as they were, and are not.
    pub(crate) changed: Vec<String>,
}

impl Outcome {
    /// Everything that the row does not allow.
    pub(crate) fn problems(&self, row: &Row) -> Vec<String> {
        let mut problems = Vec::new();
        if self.hung {
            problems.push("it hung".to_owned());
        }
        let mut ran = self.ran.clone();
        let mut runs = row.runs.clone();
        // Gadgets of one reply run at the same time.
        ran.sort();
        runs.sort();
        if ran != runs {
            problems.push(format!("executed {ran:?}, not {runs:?}"));
        }
        match (row.exit, self.code) {
            (Some(expected), code) if code != Some(expected) => {
                problems.push(format!("exit code {code:?}, not {expected}"));
            }
            (None, Some(0 | 1 | 3)) | (Some(_), _) => {}
            (None, code) => problems.push(format!("exit code {code:?}")),
        }
        // A program that refuses its arguments withstands everything, and shows nothing.
        if row.command.is_none() && row.exit != Some(2) && self.requests.is_empty() {
            problems.push("the server was never called".to_owned());
        }
        let places = self.places();
        for secret in row
            .hides
            .iter()
            .map(String::as_str)
            .chain([&KEY[..PART_OF_A_KEY]])
        {
            for (place, _) in places.iter().filter(|(_, text)| text.contains(secret)) {
                problems.push(format!("{place} holds {secret:?}"));
            }
        }
        let printed = format!("{}{}", self.stdout, self.stderr);
        for text in row.says.iter().filter(|text| !printed.contains(*text)) {
            problems.push(format!("prints no {text:?}"));
        }
        for text in &row.unsent {
            if self.requests.iter().any(|request| request.contains(text)) {
                problems.push(format!("a request holds {text:?}"));
            }
        }
        for text in &row.sends {
            if !self.requests.iter().any(|body| body.contains(text)) {
                problems.push(format!("no request holds {text:?}"));
            }
        }
        if printed.contains("panicked at") {
            problems.push("it panicked".to_owned());
        }
        if let Some(control) = self.stderr.chars().find(|c| is_dangerous(*c, row.terminal)) {
            problems.push(format!("stderr has {control:?}"));
        }
        if row.terminal
            && let Some(control) = self.stdout.chars().find(|c| is_dangerous(*c, true))
        {
            problems.push(format!("the terminal gets {control:?}"));
        }
        for name in &self.changed {
            problems.push(format!("{name} was changed"));
        }
        problems
    }

    fn places(&self) -> Vec<(String, &str)> {
        let mut places = vec![
            ("stdout".to_owned(), self.stdout.as_str()),
            ("stderr".to_owned(), &self.stderr),
            ("the log".to_owned(), &self.log),
        ];
        for (at, body) in self.requests.iter().enumerate() {
            places.push((format!("request {at}"), body));
        }
        places
    }
}

/// Whether a person who reads this may be deceived by it. A terminal gets the program's own line ends and spinner.
fn is_dangerous(c: char, terminal: bool) -> bool {
    match c {
        '\n' | '\t' => false,
        '\r' | '\u{1b}' => !terminal,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{feff}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| text.chars().take(1500).collect::<String>();
        writeln!(f, "  code: {:?}", self.code)?;
        writeln!(f, "  stdout: {:?}", short(&self.stdout))?;
        writeln!(f, "  stderr: {:?}", short(&self.stderr))?;
        writeln!(f, "  requests: {}", self.requests.len())
    }
}

/// A check that cannot fail would be none.
#[test]
fn each_problem_is_noticed() {
    let row: Row = serde_json::from_str(
        r#"{"name":"x","exit":1,"says":["@@"],"sends":["b"],"hides":["c"],"unsent":["e"],"untouched":["d"]}"#,
    )
    .expect("a row");
    let outcome = Outcome {
        code: Some(101),
        stdout: "c".to_owned(),
        stderr: format!("\u{202e}{KEY} panicked at"),
        hung: true,
        ran: vec!["Del {}".to_owned()],
        log: String::new(),
        requests: vec!["e".to_owned()],
        changed: vec!["d".to_owned()],
    };
    let problems = outcome.problems(&row);
    let expected = [
        "it hung",
        r#"executed ["Del {}"], not []"#,
        "exit code Some(101), not 1",
        r#"stdout holds "c""#,
        r#"stderr holds "c""#,
        r#"stderr holds "sk-SECRET012""#,
        r#"prints no "@@""#,
        r#"a request holds "e""#,
        r#"no request holds "b""#,
        "it panicked",
        r"stderr has '\u{202e}'",
        "d was changed",
    ];
    assert_eq!(problems, expected);
}
