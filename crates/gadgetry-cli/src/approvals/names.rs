//! Names in rules that match no gadget: a misspelt `deny` protects from nothing.
//!
//! A gadget may come from a file or a server that this run does not have. So a name that resembles a known one is an error, and any
//! other name is a note.

use gadgetry::proto::convo::viewer;
use gadgetry::proto::prompt::search;
use gadgetry::proto::schema::closest;

use crate::claude_code;
use crate::cli::{ApprovalOptions, GadgetOptions};
use crate::config::Declared;
use crate::error::Error;
use crate::lines::one_line;
use crate::mcp::Connected;

/// Gadgets that a run may have next to the built-in ones.
const OTHERS: [&str; 4] = ["LoadSkill", "RunAgent", viewer::NAME, search::NAME];

/// The names that rules may have.
pub(crate) struct Names<'a> {
    /// Gadgets of this run.
    pub(crate) gadgets: Vec<&'a str>,
    pub(crate) source: &'a GadgetOptions,
    /// Rules and servers of files.
    pub(crate) declared: &'a Declared,
    pub(crate) servers: Option<&'a Connected>,
}

impl Names<'_> {
    /// Checks the rules that were typed and those of files. Returns a line about each one that names no gadget.
    pub(crate) fn check(&self, options: &ApprovalOptions) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        for rule in &options.approval {
            let Some(problem) = self.problem(rule.gadget()) else {
                continue;
            };
            let words = format!("--approval '{rule}' is about no gadget of this run");
            match problem.near {
                Some(near) if problem.is_certain => {
                    return Err(Error::input(format_args!("{words}; did you mean {near}?")));
                }
                near => notes.push(noted(&words, near)),
            }
        }
        for written in &self.declared.approvals {
            let Some(problem) = self.problem(written.rule.gadget()) else {
                continue;
            };
            let name = written.rule.gadget();
            match problem.near {
                Some(near) if problem.is_certain => {
                    return Err(written.place.error(format_args!(
                        "there is no gadget {name}; did you mean {near}?"
                    )));
                }
                near => {
                    let (place, rule) = (&written.place, &written.rule);
                    let words = format!("{place}: '{rule}' is about no gadget of this run");
                    notes.push(noted(&words, near));
                }
            }
        }
        Ok(notes)
    }

    /// Checks the names in matchers of `[[hooks]]`: a guard with a misspelt one never runs.
    pub(crate) fn check_hooks(&self) -> Result<(), Error> {
        for hook in &self.declared.hooks {
            for (name, place) in hook.names() {
                let Some(problem) = self.problem_among(name, claude_code::names()) else {
                    continue;
                };
                let near = problem.near.filter(|_| problem.is_certain);
                // One for two programs may have the names of both.
                if let Some(near) = near.filter(|near| !hook.matches(near)) {
                    let words = format_args!("there is no gadget {name}; did you mean {near}?");
                    return Err(place.error(words));
                }
            }
        }
        Ok(())
    }

    fn problem(&self, name: &str) -> Option<Problem> {
        self.problem_among(name, [])
    }

    /// The problem of a name that may also be one of these.
    fn problem_among(
        &self,
        name: &str,
        also: impl IntoIterator<Item = &'static str>,
    ) -> Option<Problem> {
        let own = self.gadgets.iter().copied();
        let known = own.chain(gadgetry_builtins::NAMES).chain(OTHERS);
        let known = known.chain(also.into_iter().map(|it| -> &str { it }));
        let mut known = known.collect::<Vec<_>>().into_iter();
        let is_known = known.clone().any(|it| it.eq_ignore_ascii_case(name));
        // A pattern may be about gadgets of other runs; what names a server otherwise is checked with its tools.
        if is_known || name.contains(['*', '\\', '/', '@', '#', ':']) {
            return None;
        }
        if let Some(gadget) = claude_code::gadget_of(name) {
            return Some(Problem {
                near: Some(gadget.to_owned()),
                is_certain: true,
            });
        }
        if let Some((server, tool)) = name.split_once("__") {
            let servers = self.declared.servers.keys().map(String::as_str);
            let typed = self.source.mcp_names();
            let servers: Vec<&str> = servers.chain(typed).collect();
            if servers.iter().any(|it| it.eq_ignore_ascii_case(server)) {
                return None;
            }
            if let Some(near) = closest(server, servers).first() {
                let near = Some(format!("{near}__{tool}"));
                return Some(Problem {
                    near,
                    is_certain: true,
                });
            }
        }
        let near = closest(name, known.by_ref())
            .first()
            .map(|it| (*it).to_owned());
        Some(Problem {
            near,
            is_certain: self.has_all_servers(),
        })
    }

    /// Returns whether no server has tools that are not among the gadgets.
    fn has_all_servers(&self) -> bool {
        let wanted = self.declared.servers.len() + self.source.mcp.len();
        self.servers.map_or(0, Connected::ready) == wanted
    }
}

/// A name that matches no gadget.
struct Problem {
    /// The name that it is probably a slip of.
    near: Option<String>,
    /// Whether all names are known.
    is_certain: bool,
}

fn noted(words: &str, near: Option<String>) -> String {
    let hint = near.map(|near| format!("; did you mean {near}?"));
    one_line(&format!("note: {words}{}", hint.unwrap_or_default()))
}
