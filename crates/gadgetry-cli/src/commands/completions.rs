//! `gadgetry completions`: the script by which a shell requests completions, and the answers to its requests, which know models, sessions,
//! gadgets and profiles as they are then.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, complete};
use clap_complete::env::{EnvCompleter, Shells};
use gadgetry::models::ModelFilter;
use gadgetry::proto::dialect::Dialect;
use gadgetry::provider::Resolver;
use tokio::runtime::Builder;

use crate::catalog;
use crate::cli::{self, CompletionsArgs, DataArgs};
use crate::config::{Config, ConfigVerb, Keys};
use crate::error::Error;
use crate::invocation::{config_for_completion, with_commands};
use crate::lines::one_line;
use crate::options::DATA_DIR;
use crate::printer::Printer;
use crate::sessions::Sessions;

/// The variable with which a shell requests completions.
const VARIABLE: &str = "GADGETRY_COMPLETE";
const NAME: &str = "gadgetry";
/// The shell that has an answer of its own.
const BASH: &str = "bash";

/// Prints the script for a shell.
pub(crate) fn run(args: &CompletionsArgs, printer: &Printer) -> Result<(), Error> {
    let shell = args.shell.to_string();
    let program = env::args_os().next().unwrap_or_else(|| NAME.into());
    // A program that was named by a path is found from any folder.
    let program = match std::path::absolute(&program) {
        Ok(path) if path.components().count() > 1 && has_folder(&program) => path.into_os_string(),
        Ok(_) | Err(_) => program,
    };
    let program = program.to_string_lossy();
    let completer = completer(&shell)?;
    completer.write_registration(VARIABLE, NAME, NAME, &program, &mut *printer.out())?;
    printer.flush()
}

fn has_folder(program: &OsStr) -> bool {
    Path::new(program).components().count() > 1
}

fn completer(shell: &str) -> Result<&'static dyn EnvCompleter, Error> {
    const ALL: Shells<'static> = Shells::builtins();
    let found = ALL.completer(shell);
    found.ok_or_else(|| Error::input(format_args!("there are no completions for {shell}")))
}

/// Answers the request of a shell, if this is one.
pub(crate) fn answer(printer: &Printer) -> Option<Result<(), Error>> {
    let shell = env::var(VARIABLE).ok().filter(|it| !it.is_empty())?;
    let words: Vec<OsString> = env::args_os().collect();
    let start = words.iter().position(|it| it == "--")? + 1;
    Some(candidates(&shell, words[start..].to_vec(), printer))
}

fn candidates(shell: &str, words: Vec<OsString>, printer: &Printer) -> Result<(), Error> {
    let completer = completer(shell)?;
    // The last word is not complete, so it names no file and no profile yet.
    let before = &words[..words.len().saturating_sub(1)];
    let config = config_for_completion(before, printer);
    let continues = words.iter().any(|it| it == "--continue");
    let known = Known { config, continues };
    let command = with_commands(cli::command(), &known.config);
    let mut command = known.add_to(command, &[]);
    let folder = env::current_dir().ok();
    if shell == BASH {
        return of_bash(&mut command, words, folder.as_deref(), printer);
    }
    completer.write_complete(&mut command, words, folder.as_deref(), &mut *printer.out())?;
    printer.flush()
}

/// The answer for bash, which parts words at colons: `anthropic`, `:`, `claude`. It is given the part after the last one.
fn of_bash(
    command: &mut Command,
    words: Vec<OsString>,
    folder: Option<&Path>,
    printer: &Printer,
) -> Result<(), Error> {
    let index = env::var("_CLAP_COMPLETE_INDEX").ok();
    let mut index: usize = index.and_then(|it| it.parse().ok()).unwrap_or_default();
    let (mut joined, mut cut): (Vec<OsString>, usize) = (Vec::new(), 0);
    let last = index;
    for (at, word) in words.into_iter().enumerate() {
        let is_part = |before: &OsString| word == ":" || before.as_encoded_bytes().ends_with(b":");
        match joined.last_mut().filter(|before| at > 1 && is_part(before)) {
            Some(before) => {
                before.push(word);
                cut += usize::from(at <= last);
            }
            None => joined.push(word),
        }
    }
    index -= cut;
    let prefix = joined.get(index).and_then(|it| it.to_str());
    let prefix = prefix
        .and_then(|it| it.rfind(':'))
        .map_or(0, |colon| colon + 1);
    let prefix = if cut == 0 { 0 } else { prefix };
    let separator = env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".to_owned());
    let found = complete(command, joined, index, folder)?;
    let found = found.iter().map(|it| it.get_value().to_string_lossy());
    let found = found.filter_map(|it| it.get(prefix..).map(str::to_owned));
    printer.text(&found.collect::<Vec<_>>().join(&separator));
    printer.flush()
}

/// What is known about the values of options.
struct Known {
    config: Config,
    /// Whether a session is continued, so that its name may be a word.
    continues: bool,
}

impl Known {
    /// The command, whose options know their values. `verbs` are the names of those above it.
    fn add_to(&self, command: Command, verbs: &[String]) -> Command {
        let command = command.mut_args(|option| self.with_values(option, verbs));
        command.mut_subcommands(|inner| {
            let mut verbs = verbs.to_vec();
            verbs.push(inner.get_name().to_owned());
            self.add_to(inner, &verbs)
        })
    }

    fn with_values(&self, option: Arg, verbs: &[String]) -> Arg {
        let (id, verb) = (
            option.get_id().to_string(),
            verbs.first().map(String::as_str),
        );
        if option.is_hide_set() && !option.is_positional() {
            // The shell would be offered it as soon as nothing else begins so.
            return option.long(format!("\u{7f}{id}"));
        }
        let is_named = |name: &str| option.get_long() == Some(name);
        let is_positional = option.is_positional();
        let of_agent = matches!(verb, Some("agent" | "chat"));
        if is_named("model") || (id == "model" && is_positional) {
            option.add(ArgValueCandidates::new(models))
        } else if is_named("profile") || id == "profile_name" {
            let names: Vec<String> = self.config.profiles.names().map(str::to_owned).collect();
            option.add(ArgValueCandidates::new(move || named(&names)))
        } else if is_named("builtins") {
            let names = gadgetry_builtins::NAMES;
            option.add(list(&["all", "none"], names))
        } else if is_named("dialects") {
            option.add(list(&["all", "none"], Dialect::ALL.map(Dialect::name)))
        } else if verb == Some("gadget") && is_positional && id == "name" {
            let names = self.gadgets();
            option.add(ArgValueCandidates::new(move || named(&names)))
        } else if (verb == Some("sessions")
            && is_positional
            && matches!(id.as_str(), "name" | "names"))
            || (is_named("continue") && verb == Some("chat"))
            || (of_agent && is_positional && id == "prompt" && self.continues)
        {
            let data = self.data();
            option.add(ArgValueCandidates::new(move || sessions(&data)))
        } else {
            option
        }
    }

    /// The data directory of the configuration.
    fn data(&self) -> DataArgs {
        let setting = self.config.everywhere(DATA_DIR).ok().flatten();
        let folder = setting.and_then(|it| it.value.first().map(Into::into));
        DataArgs { data_dir: folder }
    }

    /// The built-in gadgets, and those of the file that is configured.
    fn gadgets(&self) -> Vec<String> {
        let mut names: Vec<String> = gadgetry_builtins::NAMES.map(str::to_owned).to_vec();
        let settings = self.config.settings(ConfigVerb::Gadget, None, &Keys::new());
        let file = settings
            .ok()
            .and_then(|it| it.text("gadgets").map(str::to_owned));
        let gadgets = file.and_then(|file| gadgetry::command::load(file.as_ref()).ok());
        for gadget in gadgets.into_iter().flatten() {
            names.push(
                gadgetry::IntoGadget::into_gadget(gadget)
                    .spec()
                    .name
                    .clone(),
            );
        }
        names
    }
}

fn named(names: &[String]) -> Vec<CompletionCandidate> {
    // A line of the answer is one candidate.
    let names = names.iter().filter(|it| one_line(it) == **it);
    names.map(CompletionCandidate::new).collect()
}

/// A list of names, separated by commas, or a word `alone`: `ReadFile,Wr` becomes `ReadFile,WriteFile`.
fn list<const N: usize>(
    alone: &'static [&'static str],
    names: [&'static str; N],
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_string_lossy();
        let (before, last) = typed.split_at(typed.rfind(',').map_or(0, |comma| comma + 1));
        let has = |it: &str| before.split(',').any(|name| name.eq_ignore_ascii_case(it));
        if alone.iter().any(|it| has(it)) {
            return Vec::new();
        }
        let alone = alone.iter().copied().filter(|_| before.is_empty());
        let found = alone.chain(names.into_iter().filter(|it| !has(it)));
        let found = found.filter(|it| it.starts_with(last));
        let lists: Vec<String> = found.map(|it| format!("{before}{it}")).collect();
        named(&lists)
    })
}

fn models() -> Vec<CompletionCandidate> {
    let catalog = catalog::load(&DataArgs { data_dir: None });
    let Ok(catalog) = catalog else {
        return Vec::new();
    };
    let filter = ModelFilter::default();
    let names = catalog.list(&filter).filter_map(Resolver::name_of);
    let shortcuts = Resolver::shortcuts().map(|(short, _)| short.to_owned());
    let mut names: Vec<String> = names.chain(shortcuts).collect();
    names.sort_unstable();
    names.dedup();
    named(&names)
}

fn sessions(data: &DataArgs) -> Vec<CompletionCandidate> {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let all = runtime.block_on(async {
        match Sessions::existing(data) {
            Ok(Some(sessions)) => sessions.all().await.unwrap_or_default(),
            Ok(None) | Err(_) => Vec::new(),
        }
    });
    let names: Vec<String> = all.iter().map(|it| it.name.to_string()).collect();
    named(&names)
}

/// The shells have the same names in both lists.
#[cfg(test)]
#[test]
fn every_shell_has_completions() {
    use clap::ValueEnum as _;
    use clap_complete::Shell;

    for shell in Shell::value_variants() {
        assert!(completer(&shell.to_string()).is_ok(), "{shell}");
    }
}
