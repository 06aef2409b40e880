//! From answers to facts: no network.

use std::collections::HashMap;

use serde_json::Value;

use super::{ConstraintField, ModelFacts, ServerFacts, ServerKind};

/// Bytes of a version that are kept.
const VERSION: usize = 64;

/// Models that are kept.
const MODELS: usize = 10_000;

/// Fields for the window in a list of models: llama.cpp; vLLM and `SGLang`; gateways such as ours; `OpenRouter` and others.
const WINDOWS: [&str; 4] = [
    "/meta/n_ctx",
    "/max_model_len",
    "/context_window",
    "/context_length",
];

/// The answers of a server; null where it has not answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// `/v1/models`.
    pub(super) models: Value,
    /// `/props`.
    pub(super) props: Value,
    /// `/version`.
    pub(super) version: Value,
    /// `/get_server_info` and `/server_info`, as far as there are such.
    pub(super) server_infos: Vec<Value>,
    /// `/api/version`.
    pub(super) ollama_version: Value,
    /// `/api/v0/models`.
    pub(super) lm_studio_models: Value,
    /// `/info`.
    pub(super) info: Value,
}

/// Returns the facts in the answers. Some servers imitate others, so the order counts: what has its own form comes before what only has a
/// version.
pub(super) fn facts(answers: &Answers) -> ServerFacts {
    let mut facts = ServerFacts {
        models: listed(&answers.models),
        ..ServerFacts::default()
    };
    let read: [fn(&Answers, &mut ServerFacts) -> bool; 6] =
        [llama_cpp, sglang, tgi, lm_studio, vllm, ollama];
    // The first that recognises the server.
    let _ = read.iter().any(|read| read(answers, &mut facts));
    facts
}

/// The models of `/v1/models`, in the form of any server.
fn listed(answer: &Value) -> Vec<ModelFacts> {
    let models = answer["data"].as_array().map_or(&[][..], Vec::as_slice);
    let model = |model: &Value| {
        let aliases = model["aliases"].as_array().into_iter().flatten();
        let aliases = aliases.filter_map(|it| it.as_str().map(str::to_owned));
        Some(ModelFacts {
            name: model["id"].as_str()?.to_owned(),
            aliases: aliases.collect(),
            context_window: WINDOWS.iter().find_map(|path| tokens(model.pointer(path)?)),
            parameters: tokens(&model["meta"]["n_params"]),
            ..ModelFacts::default()
        })
    };
    models.iter().take(MODELS).filter_map(model).collect()
}

fn llama_cpp(answers: &Answers, facts: &mut ServerFacts) -> bool {
    let props = &answers.props;
    let settings = &props["default_generation_settings"];
    // One that serves several models says nothing about them there.
    let is_router = props["role"] == "router";
    if !settings.is_object() && !is_router {
        return false;
    }
    facts.kind = ServerKind::LlamaCpp;
    facts.version = version(&props["build_info"]);
    facts.constraint = ConstraintField::LlamaCpp;
    if is_router {
        return true;
    }
    // With several slots, the list may have the tokens of all, and a request gets those of one.
    let window = tokens(&settings["n_ctx"]);
    let known = props["chat_template_caps"]["supports_tools"].as_bool();
    let template = props["chat_template"].as_str();
    let has_tools = known.or_else(|| template.map(|text| text.contains("tools")));
    let has_template = template.map(|text| !text.trim().is_empty() && !is_stand_in(text, props));
    for model in &mut facts.models {
        model.context_window = window.or(model.context_window);
        model.template_has_tools = has_tools;
        model.has_chat_template = has_template;
    }
    true
}

/// Returns whether a template of llama.cpp's is the one that it has for models without any: `ChatML`'s, for a model whose turns do not end
/// as those of `ChatML`.
fn is_stand_in(template: &str, props: &Value) -> bool {
    const CHATML: &str = "{%- for message in messages -%}\
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}\
        {%- endfor -%}\
        {%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}";
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let end = props["eos_token"].as_str();
    bare(template) == bare(CHATML) && end.is_some_and(|token| token != "<|im_end|>")
}

fn sglang(answers: &Answers, facts: &mut ServerFacts) -> bool {
    // Others have a `/server_info`, too.
    let is_ours = |info: &&Value| info["model_path"].is_string() && !info["tp_size"].is_null();
    let Some(info) = answers.server_infos.iter().find(is_ours) else {
        return false;
    };
    facts.kind = ServerKind::Sglang;
    facts.version = version(&info["version"]);
    facts.constraint = match info["grammar_backend"].as_str() {
        // Outlines has no grammars.
        Some("outlines" | "none") => ConstraintField::None,
        _ => ConstraintField::Sglang,
    };
    for model in &mut facts.models {
        model.context_window = tokens(&info["context_length"]).or(model.context_window);
    }
    true
}

fn tgi(answers: &Answers, facts: &mut ServerFacts) -> bool {
    let info = &answers.info;
    if !info["model_id"].is_string() || info["max_concurrent_requests"].is_null() {
        return false;
    }
    facts.kind = ServerKind::Tgi;
    facts.version = version(&info["version"]);
    if facts.models.is_empty() {
        let name = info["model_id"].as_str().unwrap_or_default().to_owned();
        facts.models.push(ModelFacts {
            name,
            ..ModelFacts::default()
        });
    }
    for model in &mut facts.models {
        model.context_window = tokens(&info["max_total_tokens"]);
    }
    true
}

fn lm_studio(answers: &Answers, facts: &mut ServerFacts) -> bool {
    let entries = answers.lm_studio_models["data"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    // It answers paths that it does not have with 200 and an error, and other servers may, too.
    if !entries
        .iter()
        .any(|it| it["compatibility_type"].is_string())
    {
        return false;
    }
    facts.kind = ServerKind::LmStudio;
    let named = entries
        .iter()
        .rev()
        .filter_map(|it| Some((it["id"].as_str()?, it)));
    // The first of a name counts.
    let by_name: HashMap<&str, &Value> = named.collect();
    for model in &mut facts.models {
        let Some(entry) = by_name.get(model.name.as_str()) else {
            continue;
        };
        let loaded = tokens(&entry["loaded_context_length"]);
        model.context_window = loaded.or_else(|| tokens(&entry["max_context_length"]));
        model.template_has_tools = has(&entry["capabilities"], "tool_use");
    }
    true
}

fn vllm(answers: &Answers, facts: &mut ServerFacts) -> bool {
    let models = answers.models["data"].as_array().into_iter().flatten();
    let mut owners = models.map(|model| &model["owned_by"]);
    if !owners.any(|owner| owner == "vllm") {
        return false;
    }
    facts.kind = ServerKind::Vllm;
    facts.version = version(&answers.version["version"]);
    facts.constraint = match facts.version.as_deref() {
        Some(version) if has_structured_outputs(version) => ConstraintField::Vllm,
        // Without a version, the field may be unknown there, and the request refused.
        Some(_) | None => ConstraintField::None,
    };
    true
}

/// Returns whether a version of vLLM is 0.11 or later. Builds from source call themselves `0.1.dev17…` or `dev`.
fn has_structured_outputs(version: &str) -> bool {
    let mut numbers = version
        .split('.')
        .map_while(|part| part.parse::<u32>().ok());
    let (major, minor) = (numbers.next(), numbers.next());
    match (major, minor) {
        (Some(0), Some(1)) | (None, _) => version.contains("dev"),
        (Some(0), Some(minor)) => minor >= 11,
        (Some(_), _) => true,
    }
}

fn ollama(answers: &Answers, facts: &mut ServerFacts) -> bool {
    let found = version(&answers.ollama_version["version"]);
    if found.is_none() {
        return false;
    }
    facts.kind = ServerKind::Ollama;
    facts.version = found;
    true
}

/// Adds the facts of `/api/show` and `/api/ps` about a model.
///
/// Ollama cuts a prompt that is longer than the window in use, without a word, so that window counts more than the one that
/// the model was trained with.
pub(super) fn ollama_model(model: &mut ModelFacts, shown: &Value, loaded: &Value) {
    let running = loaded["models"].as_array().into_iter().flatten();
    let mut running = running.filter(|it| it["name"] == *model.name || it["model"] == *model.name);
    let in_use = running.find_map(|it| tokens(&it["context_length"]));
    let parameters = shown["parameters"].as_str().unwrap_or_default();
    let set = parameters.lines().find_map(|line| {
        let value = line.trim().strip_prefix("num_ctx")?;
        value.trim().parse().ok().filter(|tokens| *tokens > 0)
    });
    let fields = shown["model_info"].as_object().into_iter().flatten();
    let mut lengths = fields.filter(|(name, _)| name.ends_with(".context_length"));
    let trained = lengths.find_map(|(_, length)| tokens(length));
    model.context_window = in_use.or(set).or(trained);
    model.parameters = tokens(&shown["model_info"]["general.parameter_count"]);
    model.template_has_tools = has(&shown["capabilities"], "tools");
    let template = shown["template"].as_str().map(str::trim);
    let template = template.filter(|text| !text.is_empty());
    model.has_chat_template = template.map(|text| text != "{{ .Prompt }}");
}

/// Returns whether vLLM has a chat template for a model, by its answer to messages that it was to turn into tokens.
pub(super) fn vllm_template(is_success: bool, answer: &Value) -> Option<bool> {
    let message = answer["error"]["message"].as_str();
    let message = message.or(answer["message"].as_str()).unwrap_or_default();
    let is_missing =
        message.contains("provide a chat template") || message.contains("chat_template is not set");
    (is_success || is_missing).then_some(is_success)
}

/// Returns whether a list has a word; `None` if there is no list.
fn has(list: &Value, word: &str) -> Option<bool> {
    let words = list.as_array()?;
    Some(words.iter().any(|it| it == word))
}

/// A number of tokens; 0 means unknown.
fn tokens(value: &Value) -> Option<u64> {
    value.as_u64().filter(|tokens| *tokens > 0)
}

fn version(value: &Value) -> Option<String> {
    let mut text = value.as_str()?.to_owned();
    text.truncate(text.floor_char_boundary(VERSION));
    (!text.is_empty()).then_some(text)
}
