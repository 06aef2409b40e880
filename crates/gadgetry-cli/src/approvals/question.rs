//! A call that needs approval, and what the user may answer: the same on the screen of a conversation and in lines.

use std::fmt::Write as _;
use std::path::Path;

use gadgetry::Subject;
use gadgetry::approval::{Answer, ApprovalRequest, Rule};

use crate::config::{Approved, remember};
use crate::pages::{Row, diff_rows, rows};

/// A call that needs approval, as the user sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Approval {
    /// The gadget.
    pub(crate) gadget: String,
    /// A command line, a path, a URL, or the parameters.
    pub(crate) subject: String,
    /// Whether the subject is a path or a URL, and so one line.
    pub(crate) is_line: bool,
    /// Parameters that the subject does not show.
    pub(crate) further: Option<String>,
    /// The change of a file, as a unified diff.
    pub(crate) diff: Option<String>,
    /// Further notes for the user.
    pub(crate) notes: Vec<String>,
    /// Rules that would allow it, from the narrowest to the widest.
    pub(crate) rules: Vec<String>,
}

impl Approval {
    /// The call, and the rules that the user can choose from.
    pub(crate) fn of(request: &ApprovalRequest, rules: &[Rule]) -> Self {
        let preview = &request.preview;
        let subject = if let Some(subject) = &preview.subject {
            subject.text().to_owned()
        } else {
            let json = serde_json::to_string_pretty(&*request.parameters);
            json.unwrap_or_default()
        };
        let run = &request.run;
        let of_subagent = run.parent.as_ref().map(|_| match &run.agent {
            Some(name) => format!("a call of the subagent {name}"),
            None => "a call of a subagent".to_owned(),
        });
        let notes = of_subagent.into_iter().chain(preview.notes.iter().cloned());
        Self {
            gadget: request.gadget.clone(),
            is_line: !matches!(preview.subject, Some(Subject::Command(_)) | None),
            subject,
            further: preview.further_parameters(&request.parameters),
            diff: preview.diff.clone(),
            notes: notes.collect(),
            rules: rules.iter().map(|rule| named(rule, request)).collect(),
        }
    }

    /// All of it: first what the program says, then what is approved.
    pub(crate) fn rows(&self, with_subject: bool) -> Vec<Row> {
        let mut all: Vec<Row> = self.notes.iter().map(|note| Row::note(note)).collect();
        if with_subject {
            all.extend(rows(&self.subject));
        }
        all.extend(self.further.as_deref().into_iter().flat_map(rows));
        all.extend(diff_rows(self.diff.as_deref().unwrap_or_default()));
        all
    }

    /// The answers, for a user who types one as a line.
    pub(crate) fn answers(&self) -> String {
        let say = |choice: Choice| format!("{} {}", choice.key(), choice.words());
        let (session, always) = (Choice::Session, Choice::Always);
        let (once, no) = (say(Choice::Once), say(Choice::No));
        let mut line = format!("{once}, {no}, {} REASON", Choice::No.key());
        for (rule, number) in self.rules.iter().zip(1..) {
            // Writing to a string cannot fail.
            let _ = if number == 1 {
                write!(line, ", {} or {}: {rule}", say(session), say(always))
            } else {
                let (session, always) = (session.key(), always.key());
                write!(line, ", {session}{number} or {always}{number}: {rule}")
            };
        }
        line
    }
}

/// The calls of a rule. A command, which may be long and is shown above, is not repeated.
fn named(rule: &Rule, request: &ApprovalRequest) -> String {
    match &request.preview.subject {
        Some(Subject::Command(command)) if !has_wildcard(rule.calls()) => {
            let folder = command.absolute_folder();
            let folder = folder.as_ref().or(command.folder.as_ref());
            let folder = folder.map_or_else(String::new, |folder| format!(" in {folder}"));
            let sandbox = if command.is_sandboxed {
                " in the sandbox"
            } else {
                ""
            };
            format!("this command{folder}{sandbox}")
        }
        Some(_) | None => rule.calls().to_owned(),
    }
}

/// Returns whether a `*` has no backslash before it.
fn has_wildcard(rule: &str) -> bool {
    let mut characters = rule.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            '*' => return true,
            _ => {}
        }
    }
    false
}

/// Answers that the user may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Once,
    Session,
    Always,
    No,
}

impl Choice {
    const ALL: [Self; 4] = [Self::Once, Self::Session, Self::Always, Self::No];

    /// The choice of a key.
    pub(crate) fn of(key: char) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|it| it.key() == key.to_ascii_lowercase())
    }

    /// Returns the key of the choice.
    pub(crate) fn key(self) -> char {
        match self {
            Self::Once => 'y',
            Self::Session => 's',
            Self::Always => 'a',
            Self::No => 'n',
        }
    }

    /// Returns the meaning of the choice, for the user.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "this session",
            Self::Always => "always",
            Self::No => "no",
        }
    }
}

/// Decision of the user about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Runs the call.
    Once,
    /// Runs the call, and what the rule of this index allows until the program ends.
    Session(usize),
    /// The same, and the rule is kept for good.
    Always(usize),
    /// Denies the call; the model reads the reason.
    No(Option<String>),
}

impl Verdict {
    /// Parses an answer to a question with this number of rules; `None` if the line is not an answer.
    pub(crate) fn read(line: &str, rules: usize) -> Option<Self> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let word = match word.to_ascii_lowercase().as_str() {
            "yes" => "y".to_owned(),
            "no" => "n".to_owned(),
            word => word.to_owned(),
        };
        let mut chars = word.chars();
        let choice = Choice::of(chars.next()?)?;
        let number = chars.as_str();
        let rule = || {
            let number = if number.is_empty() {
                1
            } else {
                number.parse::<usize>().ok()?
            };
            let index = number.checked_sub(1)?;
            (rest.is_empty() && index < rules).then_some(index)
        };
        match choice {
            Choice::Once => (number.is_empty() && rest.is_empty()).then_some(Self::Once),
            Choice::Session => rule().map(Self::Session),
            Choice::Always => rule().map(Self::Always),
            Choice::No if number.is_empty() => {
                let reason = rest.trim();
                Some(Self::No((!reason.is_empty()).then(|| reason.to_owned())))
            }
            Choice::No => None,
        }
    }

    /// The answer, and what is wrong if a rule cannot be kept; then it holds until the program ends.
    pub(crate) fn carry_out(
        self,
        request: &ApprovalRequest,
        rules: &[Rule],
        user_file: Option<&Path>,
    ) -> (Answer, Option<String>) {
        let rule = |index: usize| rules.get(index).cloned();
        match self {
            Self::Once => (Answer::Once, None),
            Self::Session(index) => (rule(index).map_or(Answer::Once, Answer::Session), None),
            Self::Always(index) => match rule(index) {
                Some(rule) => {
                    let problem = keep(user_file, request, &rule).err();
                    (Answer::Session(rule), problem)
                }
                None => (Answer::Once, None),
            },
            Self::No(reason) => (Answer::No(reason), None),
        }
    }
}

/// Writes a rule about a call to the user's file. `Err` is what is wrong, in one line.
fn keep(user_file: Option<&Path>, request: &ApprovalRequest, rule: &Rule) -> Result<(), String> {
    let file = user_file.ok_or("no rule can be kept, because configuration files are not read")?;
    let approved = Approved {
        gadget: &request.gadget,
        parameters: &request.parameters,
        subject: request.preview.subject.as_ref(),
        rule,
    };
    remember(file, &approved)
}

#[cfg(test)]
mod tests {
    use gadgetry::control::RunInfo;
    use gadgetry::{CallPreview, CommandLine};

    use super::*;

    #[test]
    fn lines_are_answers() {
        let check = |line: &str, expected: Option<Verdict>| {
            assert_eq!(Verdict::read(line, 2), expected, "{line:?}");
        };
        check("y", Some(Verdict::Once));
        check(" Yes ", Some(Verdict::Once));
        check("n", Some(Verdict::No(None)));
        let reason = Some("not in src".to_owned());
        check("no  not in src", Some(Verdict::No(reason)));
        check("s", Some(Verdict::Session(0)));
        check("S2", Some(Verdict::Session(1)));
        check("a", Some(Verdict::Always(0)));
        check("a2", Some(Verdict::Always(1)));
        for other in [
            "", "1", "s3", "s0", "s-1", "y please", "s 2", "maybe", "ye", "a3", "aa1", "n1",
        ] {
            check(other, None);
        }
        assert_eq!(Verdict::read("s", 0), None);
    }

    #[test]
    fn a_command_is_not_repeated() {
        let check = |command: &str, expected: &[&str]| {
            let preview = CallPreview::of(Subject::command(command));
            let request =
                ApprovalRequest::new(RunInfo::new("order-7", "haiku"), "RunCommand", preview);
            let rules = Approval::of(&request, &request.suggestions()).rules;
            assert_eq!(rules, expected, "{command}");
        };
        check("cargo test | tail", &["this command"]);
        check("ls src", &["this command", "RunCommand(ls *)"]);
        // These are not wildcards.
        check(r"ls * \*", &["this command", "RunCommand(ls *)"]);
        let check = |workspace: Option<&str>, is_sandboxed, expected: &str| {
            let preview = CallPreview::of(Subject::Command(CommandLine {
                line: "make".to_owned(),
                folder: Some("sub".to_owned()),
                workspace: workspace.map(str::to_owned),
                is_sandboxed,
                ..CommandLine::default()
            }));
            let run = RunInfo::new("order-7", "haiku");
            let request = ApprovalRequest::new(run, "RunCommand", preview);
            let rules = Approval::of(&request, &request.suggestions()).rules;
            assert_eq!(rules, [expected]);
        };
        check(None, false, "this command in sub");
        check(Some("/shop"), false, "this command in /shop/sub");
        let confined = "this command in /shop/sub in the sandbox";
        check(Some("/shop"), true, confined);
    }

    #[test]
    fn the_answers_are_listed() {
        let check = |rules: &[&str], expected: &str| {
            let approval = Approval {
                rules: rules.iter().map(|it| (*it).to_owned()).collect(),
                ..Approval::default()
            };
            assert_eq!(approval.answers(), expected);
        };
        check(&[], "y once, n no, n REASON");
        check(
            &["A(x)", "A"],
            "y once, n no, n REASON, s this session or a always: A(x), s2 or a2: A",
        );
    }
}
