//! `gadgetry models --base-url`: the models of a server, and what it says about itself.

use std::fmt::Write as _;

use gadgetry::ModelInfo;
use gadgetry::proto::call_form::CallForm;
use gadgetry::provider::server::recognise;
use gadgetry::provider::{
    BaseUrl, ConstraintField, Http, HttpConfig, ModelFacts, ServerFacts, ServerKind,
};
use serde::Serialize;

use crate::cli::ModelsArgs;
use crate::error::Error;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;
use crate::usable::key_in;
use crate::usage_totals::grouped;

/// One model, with its server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template_has_tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_chat_template: Option<bool>,
    server: ServerKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    /// The field of a request that takes a grammar.
    constraint: ConstraintField,
    structural_tags: bool,
    /// Agents use the text form with every model, unless an option says otherwise.
    tool_mode: &'static str,
    form: CallForm,
    examples: usize,
}

/// Returns how an agent calls tools with a model of this server, if no option says otherwise.
fn usual(facts: &ServerFacts, model: &ModelFacts) -> ModelInfo {
    let mut info = None;
    facts.complete(&model.name, &mut info);
    info.unwrap_or_default()
}

pub(super) async fn list(url: &str, args: &ModelsArgs, printer: &Printer) -> Result<(), Error> {
    let url = BaseUrl::new(url);
    let shown = url.shown();
    let facts = facts(url, args.api_key_env.as_deref()).await?;
    if facts.refuses_key {
        return Err(Error::Failed(format!(
            "{shown} refuses the request: name the variable of its key with --api-key-env"
        )));
    }
    if facts == ServerFacts::default() {
        return Err(Error::Failed(format!(
            "{shown}: no server of models answers there; expected a form like http://127.0.0.1:8080/v1"
        )));
    }
    let text = args.text.as_deref().map(str::to_lowercase);
    let is_wanted = |model: &&ModelFacts| {
        let name = model.name.to_lowercase();
        text.as_ref().is_none_or(|text| name.contains(text))
    };
    let models: Vec<&ModelFacts> = facts.models.iter().filter(is_wanted).collect();
    if args.json {
        for model in models {
            let usual = usual(&facts, model);
            printer.json(&Listed {
                name: &model.name,
                context_window: model.context_window,
                template_has_tools: model.template_has_tools,
                has_chat_template: model.has_chat_template,
                server: facts.kind,
                version: facts.version.as_deref(),
                constraint: facts.constraint,
                structural_tags: facts.constraint.takes_structural_tags(),
                tool_mode: "text",
                form: usual.usual_form(),
                examples: usual.usual_examples(),
            })?;
            printer.flush_if_full()?;
        }
        return Ok(());
    }
    printer.text(&table(&shown, &facts, &models));
    Ok(())
}

async fn facts(url: BaseUrl, variable: Option<&str>) -> Result<ServerFacts, Error> {
    let key = variable.map(key_in).transpose()?;
    let http = Http::new(HttpConfig::new().proxy_from_environment(true)).map_err(Error::input)?;
    let work = async move { recognise(&http, &url, key.as_ref(), None).await };
    let found = until_interrupted(work, || true).await?;
    found.ok_or_else(|| Error::Failed("cancelled".to_owned()))
}

/// The server, and a line for each model.
fn table(url: &str, facts: &ServerFacts, models: &[&ModelFacts]) -> String {
    const HEAD: [&str; 4] = ["MODEL", "CONTEXT", "CALLS AS", "TEMPLATE HAS TOOLS"];
    let row = |model: &&ModelFacts| {
        let window = model.context_window;
        let tools = model.template_has_tools;
        [
            one_line(&model.name),
            window.map_or_else(|| "?".to_owned(), grouped),
            match usual(facts, model).usual_form() {
                CallForm::Json => "JSON in text",
                CallForm::Block | _ => "blocks in text",
            }
            .to_owned(),
            match (model.has_chat_template, tools) {
                (Some(false), _) => "no template",
                (_, Some(true)) => "yes",
                (_, Some(false)) => "no",
                (_, None) => "?",
            }
            .to_owned(),
        ]
    };
    let rows: Vec<[String; 4]> = models.iter().map(row).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([HEAD[column].len()]).max().unwrap_or_default()
    };
    let (name, window, calls) = (width(0), width(1), width(2));
    let mut out = format!("{url}  {}\n\n", one_line(&facts.words()));
    for [first, second, third, fourth] in [HEAD.map(str::to_owned)].iter().chain(&rows) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{first:<name$}  {second:>window$}  {third:<calls$}  {fourth}"
        );
    }
    out
}
