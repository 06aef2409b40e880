//! Models by their names.

#![cfg(feature = "http")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod recognition;
mod runs;
mod servers;
mod templates;

use std::collections::BTreeSet;

use gadgetry_providers::Resolver;
use gadgetry_providers::model::ModelInfo;

use gadgetry_providers::models::{Mode, ModelFilter, ModelRegistry};
use gadgetry_providers::resolve::{Api, ResolveError};

const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "sk-openai-0123456789");
const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-ant-0123456789");

/// `provider model address` of a name, or the error.
fn place(resolver: &Resolver, name: &str) -> String {
    match resolver.locate(name) {
        Ok(place) => format!(
            "{} {} {}",
            place.provider.unwrap_or("-"),
            place.model,
            place.base_url.expose()
        ),
        Err(error) => error.to_string(),
    }
}

#[test]
fn names() {
    let resolver = Resolver::new([OPENAI]);
    let cases = [
        ("openai:gpt-4o", "openai gpt-4o https://api.openai.com/v1"),
        (
            " OpenAI : gpt-4o ",
            "openai gpt-4o https://api.openai.com/v1",
        ),
        ("gpt-4o", "openai gpt-4o https://api.openai.com/v1"),
        ("o3", "openai o3 https://api.openai.com/v1"),
        ("o4-mini", "openai o4-mini https://api.openai.com/v1"),
        (
            "claude-opus-4-8",
            "anthropic claude-opus-4-8 https://api.anthropic.com",
        ),
        (
            "HAIKU",
            "anthropic claude-haiku-5-5 https://api.anthropic.com",
        ),
        (
            "or:llama",
            "openrouter meta-llama/llama-3.3-70b-instruct https://openrouter.ai/api/v1",
        ),
        (
            "openrouter:a/b:free",
            "openrouter a/b:free https://openrouter.ai/api/v1",
        ),
        (
            "groq:llama-3.3-70b",
            "groq llama-3.3-70b https://api.groq.com/openai/v1",
        ),
        (
            "ollama:llama3:8b",
            "ollama llama3:8b http://127.0.0.1:11434/v1",
        ),
        ("lmstudio:x", "lmstudio x http://127.0.0.1:1234/v1"),
        ("llamacpp:x", "llamacpp x http://127.0.0.1:8080/v1"),
        ("vllm:x", "vllm x http://127.0.0.1:8000/v1"),
        ("llama.cpp:x", "llamacpp x http://127.0.0.1:8080/v1"),
        ("sglang:x", "sglang x http://127.0.0.1:30000/v1"),
        ("tgi:x", "tgi x http://127.0.0.1:8080/v1"),
        ("jan:x", "jan x http://127.0.0.1:1337/v1"),
        ("llamafile:x", "llamafile x http://127.0.0.1:8080/v1"),
        (
            "litellm:openai/x",
            "litellm openai/x http://127.0.0.1:4000/v1",
        ),
        (
            "deepseek:deepseek-chat",
            "deepseek deepseek-chat https://api.deepseek.com/v1",
        ),
        ("mistral:x", "mistral x https://api.mistral.ai/v1"),
        ("grok:x", "xai x https://api.x.ai/v1"),
        ("together:a/b", "together a/b https://api.together.xyz/v1"),
        (
            "fireworks:x",
            "fireworks x https://api.fireworks.ai/inference/v1",
        ),
        ("cerebras:x", "cerebras x https://api.cerebras.ai/v1"),
        ("kimi:x", "moonshot x https://api.moonshot.ai/v1"),
        ("zai:x", "zai x https://api.z.ai/api/paas/v4"),
        ("minimax:x", "minimax x https://api.minimax.io/v1"),
        ("perplexity:x", "perplexity x https://api.perplexity.ai"),
        ("nvidia:x", "nvidia x https://integrate.api.nvidia.com/v1"),
        ("hf:x", "huggingface x https://router.huggingface.co/v1"),
        ("github:x", "github x https://models.github.ai/inference"),
        (
            "cohere:x",
            "cohere x https://api.cohere.ai/compatibility/v1",
        ),
        // OpenAI's own form for fine-tuned models.
        (
            "openai:ft:gpt-4o-2024-08-06:acme::abc",
            "openai ft:gpt-4o-2024-08-06:acme::abc https://api.openai.com/v1",
        ),
        (
            "ft:gpt-4o-2024-08-06:acme::abc",
            "openai ft:gpt-4o-2024-08-06:acme::abc https://api.openai.com/v1",
        ),
        // What cannot be reached says what to use.
        (
            "azure:x",
            "no address for azure: set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_ENDPOINT or AZURE_API_BASE, or give a base URL",
        ),
        (
            "bedrock:x",
            "bedrock has an interface of its own: use a LiteLLM proxy (litellm:MODEL), or Bedrock's interface \
             like OpenAI's with --base-url and --api-key-env AWS_BEARER_TOKEN_BEDROCK",
        ),
        (
            "vertex_ai/gemini-x",
            "vertex_ai has an interface of its own: use a LiteLLM proxy (litellm:MODEL), or gemini:MODEL with a \
             key of Google AI Studio",
        ),
        // Other clients put two colons between a provider and its model.
        (
            "deepseek::small",
            "two colons in deepseek::small: write deepseek:small",
        ),
        ("claude :: x", "two colons in claude :: x: write claude:x"),
        (
            "openai::",
            "no model is named; write it as provider:model, such as ollama:llama3",
        ),
        (
            "bedrock_api::x",
            "bedrock_api has an interface of its own: use a LiteLLM proxy (litellm:MODEL), or Bedrock's interface \
             like OpenAI's with --base-url and --api-key-env AWS_BEARER_TOKEN_BEDROCK",
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(place(&resolver, name), expected, "{name}");
    }
}

#[test]
fn names_of_providers_and_their_variables_are_unique() {
    let names: Vec<_> = Resolver::providers().collect();
    let variables: Vec<_> = Resolver::key_variables()
        .flat_map(|(_, variables)| variables)
        .collect();
    let unique = |count, all: usize| assert_eq!(count, all);
    unique(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    unique(
        variables.iter().collect::<BTreeSet<_>>().len(),
        variables.len(),
    );
}

/// The models of the table in the program that `models` lists can all be used.
#[test]
fn every_name_of_the_table_resolves() {
    let keys: Vec<(&str, &str)> = Resolver::key_variables()
        .filter_map(|(_, variables)| Some((*variables.first()?, "key-0123456789")))
        .collect();
    let resolver = Resolver::new(keys);
    let registry = ModelRegistry::builtin();
    let filter = ModelFilter::default();
    let (mut named, mut of_responses, mut of_completions) = (0, 0, 0);
    for spec in registry.list(&filter) {
        let Some(name) = Resolver::name_of(spec) else {
            continue;
        };
        let resolved = resolver.resolve(&name);
        named += 1;
        assert_eq!(resolved.err(), None, "{name}");
        // The name finds what the table says about it; some models are in it twice.
        let found = registry.get(&name).and_then(Resolver::name_of);
        assert_eq!(found.as_ref(), Some(&name), "{}", spec.id);
        assert!(resolver.describe(&name).unwrap().is_some(), "{name}");
        let (count, api) = match spec.mode {
            Mode::Chat => continue,
            Mode::Responses => (&mut of_responses, Api::Responses),
            Mode::Completion => (&mut of_completions, Api::Completions),
        };
        *count += 1;
        assert_eq!(resolver.locate(&name).unwrap().api, api, "{name}");
    }
    assert!(named > 700, "{named}");
    assert!(of_responses > 10, "{of_responses}");
    assert!(of_completions > 10, "{of_completions}");
}

/// The catalogue decides which API serves a model, at the provider's own address; a prefix decides everywhere.
#[test]
fn the_api_of_a_model() {
    let resolver = Resolver::new([OPENAI, ANTHROPIC]);
    let gateway = resolver.clone().base_url("http://127.0.0.1:1/v1");
    let cases = [
        (&resolver, "o3-pro", Api::Responses),
        (&resolver, "openai:gpt-5.3-codex", Api::Responses),
        (&resolver, "gpt-5.5-pro", Api::Responses),
        (&resolver, "gpt-5-codex", Api::Responses),
        (&resolver, "gpt-5.6", Api::Chat),
        (&resolver, "responses:gpt-5.6", Api::Responses),
        (&resolver, "responses:gpt5", Api::Responses),
        (&resolver, " Responses: openai:gpt-5.6", Api::Responses),
        (&resolver, "chat:gpt-5.3-codex", Api::Chat),
        (&resolver, "haiku", Api::Messages),
        // A gateway may translate, so only a prefix counts there.
        (&gateway, "gpt-5.3-codex", Api::Chat),
        (&gateway, "responses:gpt-5.3-codex", Api::Responses),
        (&gateway, "responses:my-model", Api::Responses),
        (&resolver, "openai:gpt-3.5-turbo-instruct", Api::Completions),
        (&resolver, "chat:openai:gpt-3.5-turbo-instruct", Api::Chat),
        (&gateway, "gpt-3.5-turbo-instruct", Api::Chat),
        (
            &gateway,
            "completions:gpt-3.5-turbo-instruct",
            Api::Completions,
        ),
        (&resolver, " Completions: llama.cpp:gemma", Api::Completions),
    ];
    for (resolver, name, expected) in cases {
        let place = resolver.locate(name).unwrap();
        assert_eq!(place.api, expected, "{name}");
        assert!(!place.full_name().contains("responses"), "{name}");
        assert!(!place.full_name().contains("ompletions"), "{name}");
    }
}

#[test]
fn every_shortcut_leads_to_a_provider() {
    for (short, full) in Resolver::shortcuts() {
        let keys = [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
        ];
        let resolved = Resolver::new(keys.map(|it| (it, "key-0123456789"))).resolve(short);
        assert_eq!(resolved.err(), None, "{short}");
        let (provider, model) = full.split_once(':').unwrap();
        let place = Resolver::new([OPENAI]).locate(short).unwrap();
        assert_eq!(
            (place.provider, place.model.as_str()),
            (Some(provider), model)
        );
        assert!(Resolver::providers().any(|it| it == provider), "{full}");
    }
}

#[test]
fn names_that_lead_nowhere() {
    let resolver = Resolver::new([ANTHROPIC]);
    let providers = Resolver::providers().collect::<Vec<_>>().join(", ");
    let here = "ollama, lmstudio, llamacpp, vllm, sglang, tgi, jan, llamafile, litellm";
    assert!(providers.ends_with(here), "{providers}");
    let cases = [
        ("llama3", ""),
        ("gpt-oss-20b", ""),
        ("o30", ""),
        ("mine:x", ""),
        ("llama3:8b", ""),
        ("sonet", " (did you mean sonnet?)"),
        (
            "deepsek:deepseek-chat",
            " (did you mean deepseek:deepseek-chat?)",
        ),
        (
            "deepseek/deepseek-chat",
            " (did you mean deepseek:deepseek-chat?)",
        ),
        (
            "groq/openai/gpt-oss-120b",
            " (did you mean groq:openai/gpt-oss-120b?)",
        ),
    ];
    for (name, suggestion) in cases {
        let error = resolver.resolve(name).err().unwrap();
        assert!(matches!(error, ResolveError::Unknown { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            format!(
                "no provider is known for the model {name:?}{suggestion}; write it as provider:model, or give a base URL. \
                 Providers: {providers}. Configured: anthropic (ANTHROPIC_API_KEY)"
            )
        );
    }
    for name in ["", " ", "openai:"] {
        assert_eq!(
            resolver.resolve(name).err(),
            Some(ResolveError::NoName),
            "{name:?}"
        );
    }
    let nothing = Resolver::new([("OPENAI_API_KEY", " ")]);
    let error = nothing.resolve("gemini:x").err().unwrap().to_string();
    assert!(
        error.starts_with(
            "no key for gemini: set GEMINI_API_KEY or GOOGLE_API_KEY. Configured: nothing."
        ),
        "{error}"
    );
    let error = resolver
        .clone()
        .base_url("nowhere")
        .resolve("x")
        .err()
        .unwrap();
    assert!(matches!(error, ResolveError::Settings(_)), "{error}");
    let error = resolver
        .reasoning_effort("hard")
        .resolve("haiku")
        .err()
        .unwrap();
    assert!(error.to_string().contains("reasoning effort"), "{error}");
}

#[test]
fn addresses_of_the_environment() {
    let cases = [
        (
            "OPENAI_BASE_URL",
            "http://h/v1",
            "gpt-4o",
            "openai gpt-4o http://h/v1",
        ),
        // Whatever has no provider is a model there.
        (
            "OPENAI_BASE_URL",
            "http://h/v1",
            "mine",
            "openai mine http://h/v1",
        ),
        (
            "ANTHROPIC_BASE_URL",
            "http://h",
            "claude-x",
            "anthropic claude-x http://h",
        ),
        (
            "OLLAMA_HOST",
            "0.0.0.0",
            "ollama:x",
            "ollama x http://127.0.0.1:11434/v1",
        ),
        (
            "OLLAMA_HOST",
            "box:9999",
            "ollama:x",
            "ollama x http://box:9999/v1",
        ),
        (
            "OLLAMA_HOST",
            "https://h/o/",
            "ollama:x",
            "ollama x https://h/o/v1",
        ),
        // Ollama's own rules for this variable.
        (
            "OLLAMA_HOST",
            ":9999",
            "ollama:x",
            "ollama x http://127.0.0.1:9999/v1",
        ),
        (
            "OLLAMA_HOST",
            "::1",
            "ollama:x",
            "ollama x http://[::1]:11434/v1",
        ),
        (
            "OLLAMA_HOST",
            "[::1]:9999",
            "ollama:x",
            "ollama x http://[::1]:9999/v1",
        ),
        (
            "OLLAMA_HOST",
            "[::]",
            "ollama:x",
            "ollama x http://[::1]:11434/v1",
        ),
        (
            "OLLAMA_HOST",
            "\"box\"",
            "ollama:x",
            "ollama x http://box:11434/v1",
        ),
        (
            "OLLAMA_HOST",
            "http://box",
            "ollama:x",
            "ollama x http://box/v1",
        ),
        (
            "OLLAMA_HOST",
            "0.0.0.0:99999",
            "ollama:x",
            "ollama x http://127.0.0.1:11434/v1",
        ),
        (
            "AZURE_OPENAI_ENDPOINT",
            "https://r.openai.azure.com/",
            "azure:mine",
            "azure mine https://r.openai.azure.com/openai/v1",
        ),
        (
            "AZURE_OPENAI_BASE_URL",
            "https://r.openai.azure.com/openai/v1/",
            "azure:mine",
            "azure mine https://r.openai.azure.com/openai/v1/",
        ),
        (
            "VLLM_BASE_URL",
            "http://h/v1",
            "vllm:x",
            "vllm x http://h/v1",
        ),
    ];
    for (variable, value, name, expected) in cases {
        let resolver = Resolver::new([(variable, value)]);
        assert_eq!(place(&resolver, name), expected, "{variable}={value}");
        // A server of one's own may want no key.
        assert!(resolver.resolve(name).is_ok(), "{variable}={value}");
    }
}

#[test]
fn an_address_that_is_given_comes_first() {
    let resolver =
        Resolver::new([OPENAI, ("OPENAI_BASE_URL", "http://other/v1")]).base_url("http://h/v1");
    assert_eq!(place(&resolver, "gpt-oss-20b"), "- gpt-oss-20b http://h/v1");
    assert_eq!(place(&resolver, "llama3:8b"), "- llama3:8b http://h/v1");
    assert_eq!(place(&resolver, "openai:x"), "openai x http://h/v1");
    assert_eq!(place(&resolver, "anthropic:x"), "anthropic x http://h/v1");
    assert_eq!(resolver.resolve("llama3:8b").unwrap().name(), "llama3:8b");
}

#[test]
fn what_is_known_of_a_model() {
    let known = |name: &str| {
        let context_window = (name == "openai:gpt-4o").then_some(128_000);
        context_window.map(|_| ModelInfo::default().context_window(context_window))
    };
    let resolver = Resolver::new([OPENAI, ANTHROPIC]).info(known);
    assert_eq!(
        resolver.resolve("gpt-4o").unwrap().info().context_window,
        Some(128_000)
    );
    assert_eq!(
        resolver.resolve("gpt-4").unwrap().info(),
        ModelInfo::default()
    );
    // The table in the program knows models unless another source is given.
    let by_default = Resolver::new([OPENAI]).resolve("gpt-4o").unwrap();
    assert_eq!(by_default.info().context_window, Some(128_000));
    // Anthropic's models see, whoever knows them.
    assert!(resolver.resolve("haiku").unwrap().info().reads_images);
    assert!(resolver.resolve("ollama:x").unwrap().info().is_local);
    let elsewhere = Resolver::new([("OLLAMA_HOST", "box")]);
    assert!(!elsewhere.resolve("ollama:x").unwrap().info().is_local);
    assert!(
        !resolver
            .base_url("http://127.0.0.1/v1")
            .resolve("openai:x")
            .unwrap()
            .info()
            .is_local
    );
}

#[test]
fn no_key_is_shown() {
    let resolver = Resolver::new([OPENAI, ANTHROPIC]).api_key("sk-given-0123456789");
    let configured = format!("{:?}", resolver.configured());
    assert!(configured.contains("OPENAI_API_KEY"), "{configured}");
    let error = resolver.resolve("nobody").err().unwrap();
    for shown in [
        format!("{resolver:?}"),
        configured,
        format!("{error:?} {error}"),
    ] {
        assert!(!shown.contains("0123456789"), "{shown}");
    }
}

#[test]
fn the_address_of_a_provider_is_known_however_it_is_written() {
    for url in [
        "https://api.openai.com/v1/",
        "https://API.OpenAI.com/v1",
        "https://api.openai.com:443/v1",
        " https://api.openai.com/v1 ",
    ] {
        // So the key is required, and the rules are OpenAI's.
        let error = Resolver::new([("OPENAI_BASE_URL", url)])
            .resolve("gpt-4o")
            .err();
        assert!(matches!(error, Some(ResolveError::NoKey { .. })), "{url}");
    }
    let elsewhere = Resolver::new([("OPENAI_BASE_URL", "https://api.openai.com/v2")]);
    assert!(elsewhere.resolve("gpt-4o").is_ok());
}

#[test]
fn azure_has_deployments_of_an_older_version() {
    let place = |version| {
        let resolver = Resolver::new([
            ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com"),
            ("OPENAI_API_VERSION", version),
        ]);
        let place = resolver.locate("azure:my model").unwrap();
        place.base_url.expose().to_owned()
    };
    assert_eq!(
        place("2024-10-21"),
        "https://r.openai.azure.com/openai/deployments/my%20model?api-version=2024-10-21"
    );
    assert_eq!(place("preview"), "https://r.openai.azure.com/openai/v1");
}

#[test]
fn a_name_alone_makes_no_price() {
    let price = |resolver: Resolver, name: &str| {
        let info = resolver.describe(name).unwrap();
        info.and_then(|it| it.price).map(|price| price.input)
    };
    let plain = || Resolver::new([OPENAI]);
    let cases = [
        (plain(), "gpt-4o", Some(2.5)),
        (plain(), "openai:ft:gpt-4o-2024-08-06:acme::abc", Some(3.75)),
        // What runs here is free, whatever it is called.
        (plain(), "vllm:gpt-4o", Some(0.0)),
        (plain(), "ollama:llama3", Some(0.0)),
        // What runs on another machine or behind a gateway costs what only the user knows.
        (plain().base_url("http://box/v1"), "vllm:gpt-4o", None),
        (plain(), "litellm:gpt-4o", None),
        (plain().base_url("http://127.0.0.1:1/v1"), "gpt-4o", None),
        // Nor is it the price of another provider.
        (plain(), "openrouter:openai/gpt-4o", None),
        (plain(), "github:openai/gpt-4o", None),
        (plain().base_url("http://box/v1"), "gpt-4o", Some(2.5)),
    ];
    for (resolver, name, expected) in cases {
        assert_eq!(price(resolver, name), expected, "{name}");
    }
    let openrouter = plain().describe("openrouter:openai/gpt-4o").unwrap();
    assert!(openrouter.unwrap().reports_cost);
}

#[test]
fn a_password_in_the_address_and_a_key_exclude_each_other() {
    let resolver = Resolver::new([OPENAI]).base_url("http://bob:secret@h/v1");
    let error = resolver.resolve("openai:x").err().unwrap().to_string();
    assert!(
        error.contains("both need the header authorization"),
        "{error}"
    );
    assert!(!error.contains("secret"), "{error}");
    // Without a key, and with one that has a header of its own.
    assert!(resolver.resolve("x").is_ok());
    let anthropic = resolver.api_key("sk-ant-0123456789");
    assert!(anthropic.resolve("anthropic:x").is_ok());
}
