//! Which calls run: rules of the command line, and the user at the terminal.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Approver, Rule, Rules};
use gadgetry::control::BeforeGadget;
use gadgetry::proto::run::Start;
use gadgetry::{AgentBuilder, DynGadget, Permission, Subject, Toolbox};

use crate::args::ApprovalOptions;
use crate::config::{Approved, remember};
use crate::error::Error;
use crate::lines::{one_line, short};
use crate::printer::{Prompter, Shade};

/// What decides about the calls of an agent.
pub(crate) enum Approving {
    /// Every call runs: no gadget needs approval, and there are no rules.
    Free,
    ByRules(Approvals),
    /// No call runs.
    DryRun(Approvals, Arc<Toolbox>),
}

impl Approving {
    /// Decides as the options say. `approver` is the user, if there may be one.
    pub(crate) fn new(
        options: &ApprovalOptions,
        gadgets: &[Arc<dyn DynGadget>],
        approver: Option<Arc<TerminalApprover>>,
    ) -> Result<Self, Error> {
        let rules = rules(options)?;
        if options.dry_run {
            let mut toolbox = Toolbox::default();
            for gadget in gadgets {
                // A mistake in it is reported when the agent is built.
                let _ = toolbox.add(Arc::clone(gadget));
            }
            let approvals = Approvals::new(rules).unattended("this is a dry run");
            return Ok(Self::DryRun(approvals, Arc::new(toolbox)));
        }
        let is_free = |gadget: &Arc<dyn DynGadget>| gadget.permission() == Permission::Allow;
        if rules.iter().next().is_none() && gadgets.iter().all(is_free) {
            return Ok(Self::Free);
        }
        let approvals = Approvals::new(rules).unattended(
            "no user is at a terminal; run it in a terminal, or add --approval 'allow …'",
        );
        let at_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Ok(Self::ByRules(match approver.filter(|_| at_terminal) {
            Some(approver) => approvals.approver(ByTerminal(approver)),
            None => approvals,
        }))
    }

    pub(crate) fn add_to(self, agent: AgentBuilder) -> AgentBuilder {
        match self {
            Self::Free => agent,
            Self::ByRules(approvals) => agent.approvals(approvals),
            Self::DryRun(approvals, toolbox) => agent.before_gadget(move |start| {
                let (approvals, toolbox) = (approvals.clone(), Arc::clone(&toolbox));
                async move { dry_run(&approvals, &toolbox, &start).await }
            }),
        }
    }
}

/// The rules that the options mean.
pub(crate) fn rules(options: &ApprovalOptions) -> Result<Rules, Error> {
    let given = options.approval.iter().chain(&options.configured_approval);
    let mut rules: Rules = given.cloned().collect();
    if options.yes && !options.dry_run {
        rules.push(Rule::new(Permission::Allow, "*").map_err(Error::input)?);
    }
    Ok(rules)
}

/// Answers a call that would run, so that its dependents are listed as well, and denies any other.
async fn dry_run(approvals: &Approvals, toolbox: &Toolbox, start: &Start) -> BeforeGadget {
    match approvals.decide(toolbox, start).await {
        BeforeGadget::Proceed | BeforeGadget::Parameters(_) | BeforeGadget::Result(_) => {
            BeforeGadget::Result("Dry run: it would run, and was not executed".to_owned())
        }
        BeforeGadget::Deny(reason) => BeforeGadget::Deny(format!("Dry run: {reason}")),
    }
}

/// The user at the terminal.
pub(crate) struct TerminalApprover {
    prompter: OnceLock<Option<Prompter>>,
    /// Where rules are kept.
    user_file: Option<PathBuf>,
}

impl TerminalApprover {
    /// Without a file, no rule is kept for longer than the program runs.
    pub(crate) fn new(user_file: Option<PathBuf>) -> Self {
        Self {
            prompter: OnceLock::new(),
            user_file,
        }
    }

    /// Says where the user is. Until then, nothing is approved.
    pub(crate) fn begin(&self, prompter: Option<Prompter>) {
        // It is called once for each run, and each run has an approver of its own.
        let _ = self.prompter.set(prompter);
    }

    async fn answer(&self, request: ApprovalRequest) -> Answer {
        let Some(Some(prompter)) = self.prompter.get() else {
            return Answer::No(Some("no user is at the terminal".to_owned()));
        };
        let rules = request.suggestions();
        let (mut head, details) = described(&request);
        let mut question = "y to run it once, n or n REASON to deny it".to_owned();
        for (index, rule) in rules.iter().enumerate() {
            let rule = short(&rule.to_string());
            // Writing to a string cannot fail.
            let _ = write!(question, ", {} to {rule} in this session", index + 1);
        }
        question.push_str("; a and the number to do so always");
        loop {
            let line = prompter.approve(&head, &details, &question).await;
            let Some(line) = line else {
                return Answer::No(None);
            };
            match read(&line, &rules) {
                Some(Typed::Answer(answer)) => return answer,
                Some(Typed::Always(rule)) => match keep(self.user_file.as_deref(), &request, &rule)
                {
                    Ok(()) => return Answer::Session(rule),
                    // The question is repeated, with what is wrong.
                    Err(problem) => head = one_line(&problem),
                },
                None => {}
            }
        }
    }
}

/// Writes a rule about a call to the user's file. `Err` is what is wrong, in one line.
pub(crate) fn keep(
    user_file: Option<&Path>,
    request: &ApprovalRequest,
    rule: &Rule,
) -> Result<(), String> {
    let file = user_file.ok_or("no rule can be kept, because configuration files are not read")?;
    let approved = Approved {
        gadget: &request.gadget,
        parameters: &request.parameters,
        subject: request.preview.subject.as_ref(),
        rule,
    };
    remember(file, &approved)
}

/// What the user has typed.
#[derive(Debug, PartialEq)]
enum Typed {
    Answer(Answer),
    /// The rule is to be kept.
    Always(Rule),
}

/// What the user has typed; `None` if it is not an answer.
fn read(line: &str, rules: &[Rule]) -> Option<Typed> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" if rest.is_empty() => Some(Typed::Answer(Answer::Once)),
        "n" | "no" => {
            let reason = (!rest.is_empty()).then(|| rest.to_owned());
            Some(Typed::Answer(Answer::No(reason)))
        }
        number if rest.is_empty() => {
            let (always, number) = match number.strip_prefix('a') {
                Some(number) => (true, number),
                None => (false, number),
            };
            let index = number.parse::<usize>().ok()?.checked_sub(1)?;
            let rule = rules.get(index)?.clone();
            Some(if always {
                Typed::Always(rule)
            } else {
                Typed::Answer(Answer::Session(rule))
            })
        }
        _ => None,
    }
}

/// The call in one line, and the lines about it.
fn described(request: &ApprovalRequest) -> (String, Vec<(Shade, String)>) {
    let preview = &request.preview;
    let subject = match &preview.subject {
        // All of a command is shown below.
        Some(Subject::Command(_)) => String::new(),
        Some(subject) => format!(" {}", one_line(subject.text())),
        None => format!(" {}", short(&request.parameters.to_string())),
    };
    let head = format!("{}{subject} needs approval", request.gadget);
    let mut lines = Vec::new();
    if let Some(Subject::Command(command)) = &preview.subject {
        let command = command.lines().map(|line| (Shade::Plain, line.to_owned()));
        lines.extend(command);
    }
    for line in preview.diff.as_deref().unwrap_or_default().lines() {
        let shade = match line.as_bytes().first() {
            Some(b'+') => Shade::Added,
            Some(b'-') => Shade::Removed,
            _ => Shade::Plain,
        };
        lines.push((shade, line.to_owned()));
    }
    lines.extend(
        preview
            .notes
            .iter()
            .map(|note| (Shade::Plain, format!("({note})"))),
    );
    (head, lines)
}

struct ByTerminal(Arc<TerminalApprover>);

impl Approver for ByTerminal {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        Box::pin(self.0.answer(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let rules = Rules::parse(["allow A", "allow *"]).unwrap();
        let rules: Vec<Rule> = rules.iter().cloned().collect();
        let check = |line: &str, expected: Option<Answer>| {
            let expected = expected.map(Typed::Answer);
            assert_eq!(read(line, &rules), expected, "{line:?}");
        };
        assert_eq!(read("a2", &rules), Some(Typed::Always(rules[1].clone())));
        check("y", Some(Answer::Once));
        check(" Yes ", Some(Answer::Once));
        check("n", Some(Answer::No(None)));
        check(
            "no not in src",
            Some(Answer::No(Some("not in src".to_owned()))),
        );
        check("1", Some(Answer::Session(rules[0].clone())));
        check("2", Some(Answer::Session(rules[1].clone())));
        for other in [
            "", "3", "0", "-1", "y please", "1 2", "maybe", "ye", "a", "a3", "aa1",
        ] {
            check(other, None);
        }
    }
}
