//! Settings from files.

use std::fs;

use gadgetry_gateway::config::{load, load_keys};
use gadgetry_gateway::exchange::{ModelRules, RulesPatch, ToolMode};
use gadgetry_providers::Resolver;
use gadgetry_providers::resolve::Api;

const WHOLE: &str = r#"
listen = "127.0.0.1:9999"

[rules]
repairs = 3

[limits]
body-bytes = 1000
drain-seconds = 5

[[upstream]]
name = "local"
url = "http://127.0.0.1:8080/v1"
api = "completions"
key-env = "LOCAL_KEY"

[[upstream]]
name = "cloud"
model = "ollama:llama3.2"

[[model]]
name = "claude-*"
upstreams = ["cloud", "local"]
model = "qwen"
rules = { mode = "native", dialects = ["hermes", { name = "mine", before = "<c>", after = "</c>" }], reasoning-tags = ["thought"] }

[[key]]
name = "laptop"
env = "CLIENT_KEY"
requests-per-minute = 60
"#;

fn resolver() -> Resolver {
    Resolver::new([("LOCAL_KEY", "k"), ("CLIENT_KEY", "c")])
}

#[test]
fn a_whole_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    fs::write(&path, WHOLE).expect("it can be written");
    let patch = RulesPatch {
        run_dependencies: Some(true),
        ..RulesPatch::default()
    };
    let config = load(&path, &resolver(), &patch).expect("it is valid");
    assert_eq!(config.listen.map(|it| it.port()), Some(9999));
    let settings = config.settings;
    assert_eq!(
        (
            settings.upstreams.len(),
            settings.keys.len(),
            settings.limits.body_bytes
        ),
        (2, 1, 1000)
    );
    assert_eq!(
        (settings.rules.repairs, settings.rules.run_dependencies),
        (Some(3), Some(true))
    );
    let apis: Vec<Api> = settings.upstreams.iter().map(|it| it.api()).collect();
    assert_eq!(apis, [Api::Completions, Api::Chat]);
    let route = &settings.routes[0];
    let names: Vec<&str> = route.upstreams.iter().map(|it| it.name()).collect();
    assert_eq!(
        (names, route.model.as_deref()),
        (vec!["cloud", "local"], Some("qwen"))
    );
    let rules = route.rules.over(&settings.rules);
    let rules = rules.applied_to(&ModelRules::default());
    assert_eq!(
        (rules.mode, rules.repairs, rules.dialects.known().len()),
        (ToolMode::Native, 3, 1)
    );
    assert_eq!(rules.reasoning.tags, ["thought"]);
}

#[test]
fn mistakes_have_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let check = |text: &str, place: &str, part: &str| {
        fs::write(&path, text).expect("it can be written");
        let error = load(&path, &resolver(), &RulesPatch::default())
            .expect_err("it is invalid")
            .to_string();
        let expected = format!("{}:{place}: ", path.display());
        assert!(
            error.starts_with(&expected) && error.contains(part),
            "{text}: {error}"
        );
    };
    let upstream = "[[upstream]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/v1\"\n";
    check("", "1:1", "no [[upstream]]");
    check("listen = 5", "1:10", "invalid type");
    check("lisen = \"x\"", "1:1", "unknown field `lisen`");
    check(
        &format!("listen = \"here\"\n{upstream}"),
        "1:10",
        "not an address",
    );
    check(
        "[[upstream]]\nname = \"a\"\n",
        "1:1",
        "either a url or a model",
    );
    check(
        "[[upstream]]\nname = \"a\"\nurl = \"ftp://x\"\n",
        "1:1",
        "scheme",
    );
    check(
        "[[upstream]]\nname = \"a\"\nmodel = \"nobody:x\"\n",
        "3:9",
        "no provider is known",
    );
    check(
        &format!("{upstream}key-env = \"NONE\"\n"),
        "4:11",
        "NONE is not set",
    );
    check(&format!("{upstream}{upstream}"), "4:1", "two upstreams");
    check(
        &format!("{upstream}[[model]]\nname = \"m\"\nupstreams = [\"b\"]\n"),
        "6:14",
        "no upstream named \"b\"",
    );
    check(
        &format!("{upstream}[rules]\nmode = \"magic\"\n"),
        "5:8",
        "unknown variant `magic`",
    );
    check(
        &format!("{upstream}[rules]\ndialects = [\"klingon\"]\n"),
        "5:12",
        "unknown dialect",
    );
    check(
        &format!(
            "{upstream}[rules]\ndialects = [{{ name = \"mine\", before = \"<c>\", after = \"\" }}]\n"
        ),
        "5:12",
        "the dialect \"mine\" has a blank `after`",
    );
    check(
        &format!("{upstream}[rules]\ndialects = [{{ name = \"mine\", befor = \"<c>\" }}]\n"),
        "5:12",
        "unknown field `befor`",
    );
    check(
        &format!("{upstream}[rules]\nstrip-tags = [\"a b\"]\n"),
        "4:1",
        "a b",
    );
    check(
        &format!("{upstream}[[key]]\nname = \"k\"\n"),
        "4:1",
        "either env",
    );
    check(
        &format!("{upstream}[[key]]\nname = \"k\"\nsha256 = \"zz\"\n"),
        "6:10",
        "64 hexadecimal digits",
    );
}

#[test]
fn keys_in_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys");
    fs::write(&path, "# keys\nalpha\n\nlaptop beta # mine\n").expect("it can be written");
    let keys = load_keys(&path).expect("it is valid");
    let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["key-2", "laptop"]);
    fs::write(&path, "a b c\n").expect("it can be written");
    let error = load_keys(&path).expect_err("three words").to_string();
    assert!(error.contains(":1:1: a line has one key"), "{error}");
}

/// The files on the pages about the gateway are valid, once their variables are set.
#[test]
fn files_of_the_guide() {
    let pages = [
        include_str!("../../../docs/guide/gateway.md"),
        include_str!("../../../docs/guide/gateway-deployment.md"),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let keys = [
        "LOCAL_KEY",
        "VLLM_API_KEY",
        "ANTHROPIC_API_KEY",
        "GATEWAY_KEY",
        "KEY_TEAM_A",
    ];
    let resolver = Resolver::new(keys.map(|name| (name, "a-key-of-some-length")));
    for page in pages {
        let block = page.split("```toml\n").nth(1).expect("a file");
        let path = folder.path().join("gateway.toml");
        fs::write(&path, block.split("```").next().expect("its end")).expect("written");
        let config = load(&path, &resolver, &RulesPatch::default());
        assert!(config.is_ok(), "{:?}", config.err());
    }
}
