//! The first minute: three questions to a user who has chosen no model, and then a conversation.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gadgetry::provider::Resolver;

use crate::config::{Config, keep_model};
use crate::error::Error;
use crate::invocation::First;
use crate::lines::one_line;
use crate::pages::Row;
use crate::printer::Printer;
use crate::usable::{self, Usable, shortcuts_of};

/// Models that are listed; others are typed.
const MOST: usize = 9;

const NOTHING: &str = "\
gadgetry found no key in the environment, and no server of models on this
machine. To begin, do one of these:

  export ANTHROPIC_API_KEY=…   then `gadgetry chat --model haiku`
  export OPENAI_API_KEY=…      then `gadgetry chat --model gpt5`
  export GEMINI_API_KEY=…      then `gadgetry chat --model flash`
  start a local server         such as Ollama or llama.cpp, then run `gadgetry`
  gadgetry chat --base-url URL another server of models
  gadgetry demo                shows what it does, without a key or a network

`gadgetry doctor` shows which keys count, `gadgetry --help` all verbs.
";

/// A provider or a server with models.
struct Found {
    words: String,
    /// Names for `--model`, the first of which is proposed.
    models: Vec<String>,
    /// Begins names that are typed; empty for the server that the user has named.
    provider: &'static str,
    /// The models are those of a server, which has no others.
    is_server: bool,
}

/// Asks the three questions, but for those that the options answer, and returns the options of the conversation that follows; `None` if an
/// answer is missing.
pub(crate) fn ask(
    config: &Config,
    first: &First,
    printer: &Printer,
) -> Result<Option<Vec<OsString>>, Error> {
    let all = match &first.base_url {
        Some(url) => vec![Found::at(url, first.api_key_env.as_deref())?],
        None => found()?,
    };
    if all.is_empty() {
        return Err(Error::Help(NOTHING.to_owned()));
    }
    let Some(found) = answering(&all, first.base_url.is_some(), printer) else {
        return Ok(None);
    };
    let head = "Which model? A number, or the name of another one.";
    let models = found.models.iter().take(MOST).cloned().collect();
    let model = match choice(head, models, printer, |text| found.named(text)) {
        Some(Chosen::Row(index)) => found.models.get(index).cloned().unwrap_or_default(),
        Some(Chosen::Other(name)) => name,
        None => return Ok(None),
    };
    let place = if first.asks_place {
        let Some(place) = place(printer)? else {
            return Ok(None);
        };
        place
    } else {
        Vec::new()
    };
    // Without its server, the name means another model.
    if first.base_url.is_none() {
        keep(config, &model, printer);
    }
    let words = ["--model", &model].map(OsString::from);
    Ok(Some(words.into_iter().chain(place).collect()))
}

/// The provider or server that the user chooses, or the only one that they have named.
fn answering<'f>(all: &'f [Found], is_named: bool, printer: &Printer) -> Option<&'f Found> {
    if is_named {
        return all.first();
    }
    let rows = all.iter().map(|it| it.words.clone()).collect();
    let head = "gadgetry found these. Which one answers you?";
    let none = |_: &str| Err::<Infallible, _>(format!("Type a number from 1 to {}.", all.len()));
    match choice(head, rows, printer, none)? {
        Chosen::Row(index) => all.get(index),
        Chosen::Other(never) => match never {},
    }
}

/// Where the agent may work, as options.
fn place(printer: &Printer) -> Result<Option<Vec<OsString>>, Error> {
    let here = env::current_dir().map_err(|error| Error::machine(&error))?;
    let shown = one_line(&here.to_string_lossy());
    let mut rows = vec![format!(
        "in {shown}: it asks before it changes a file or runs a command"
    )];
    if cfg!(target_os = "linux") {
        rows.push(format!(
            "in {shown}, without questions: commands run in a sandbox that has no network"
        ));
    }
    let head = "Where may it work? A number, or the path of another folder.";
    let folder = |text: &str| {
        let path = PathBuf::from(text);
        let missing = || format!("There is no folder {}.", one_line(text));
        path.is_dir().then_some(path).ok_or_else(missing)
    };
    Ok(match choice(head, rows, printer, folder) {
        Some(Chosen::Row(1)) => Some(["--yes", "--sandbox"].map(OsString::from).to_vec()),
        Some(Chosen::Row(_)) => Some(Vec::new()),
        Some(Chosen::Other(path)) => Some(vec!["--workspace".into(), path.into()]),
        None => None,
    })
}

/// An answer to a question.
enum Chosen<T> {
    Row(usize),
    Other(T),
}

/// Shows numbered rows, and returns the row that was chosen, the first for an empty line, or what `other` makes of the answer. Repeats the
/// question after its problem with any other answer.
fn choice<T>(
    head: &str,
    rows: Vec<String>,
    printer: &Printer,
    other: impl Fn(&str) -> Result<T, String>,
) -> Option<Chosen<T>> {
    let question = head;
    let mut head = head.to_owned();
    let count = rows.len();
    let rows = rows.into_iter().zip(1..);
    let rows: Vec<String> = rows
        .map(|(row, number)| format!("{number}  {row}"))
        .collect();
    loop {
        let items = rows.iter().flat_map(|row| Row::items(row)).collect();
        let answer = printer.ask_about(&head, items, "[1]")?;
        let answer = answer.trim();
        match answer.parse::<usize>() {
            Ok(number) if (1..=count).contains(&number) => return Some(Chosen::Row(number - 1)),
            _ if answer.is_empty() => return Some(Chosen::Row(0)),
            _ => {}
        }
        match other(answer) {
            Ok(other) => return Some(Chosen::Other(other)),
            Err(problem) => head = format!("{problem} {question}"),
        }
    }
}

impl Found {
    /// The server at an address, with its models.
    fn at(url: &str, variable: Option<&str>) -> Result<Self, Error> {
        let models = usable::models_at(url, variable)?;
        Ok(Self {
            words: String::new(),
            models,
            provider: "",
            is_server: true,
        })
    }

    /// The full name of a model that was typed.
    ///
    /// # Errors
    ///
    /// If it is a number that is not shown, or a model that the server does not have.
    fn named(&self, text: &str) -> Result<String, String> {
        if text.parse::<usize>().is_ok() {
            return Err(format!("There is no number {text}."));
        }
        let has_provider = self.provider.is_empty()
            || Resolver::shortcuts().any(|(it, _)| it == text)
            || Resolver::providers().any(|it| text.split_once(':').is_some_and(|(of, _)| of == it));
        let name = if has_provider {
            text.to_owned()
        } else {
            format!("{}:{text}", self.provider)
        };
        let of = name.split_once(':').map(|(of, _)| of);
        let is_here = self.provider.is_empty() || of == Some(self.provider);
        if self.is_server && is_here && !self.models.contains(&name) {
            return Err(format!("The server has no model {}.", one_line(text)));
        }
        Ok(name)
    }
}

/// The providers and servers that can be used now.
fn found() -> Result<Vec<Found>, Error> {
    let usable = Usable::look_now()?;
    let mut all: Vec<Found> = Vec::new();
    for key in usable.keys() {
        // What a server lists says more.
        if !usable.of_servers().any(|it| it.provider == key.provider) {
            all.push(Found {
                words: format!("{}, by {}", key.provider, key.variable),
                models: shortcuts_of(key.provider).map(str::to_owned).collect(),
                provider: key.provider,
                is_server: false,
            });
        }
    }
    for model in usable.of_servers() {
        match all.iter_mut().find(|it| it.provider == model.provider) {
            Some(found) => found.models.push(model.name),
            None => all.push(Found {
                words: one_line(&format!(
                    "{}, a server at {}",
                    model.provider, model.base_url
                )),
                models: vec![model.name],
                provider: model.provider,
                is_server: true,
            }),
        }
    }
    Ok(all)
}

/// Keeps the model for the next time. A failure is a note.
fn keep(config: &Config, model: &str, printer: &Printer) {
    let Some(path) = config.user_path.as_deref() else {
        return;
    };
    let shown = one_line(&Path::new(path).to_string_lossy());
    match keep_model(path, model) {
        Ok(()) => printer.progress(&format!("{shown} has the model from now on\n")),
        Err(problem) => printer.progress(&format!("the model is not kept: {problem}\n")),
    }
}
