//! Gadget search: the prompt has names, and a call finds what they mean.

use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::message::{Request, Role};
use gadgetry_proto::prompt::{GadgetSearch, SearchWhen};
use gadgetry_proto::run::{PlanError, Tools};
use serde_json::json;

use crate::support::sim::script::{Behaviour, Script, block, gadget};
use crate::support::sim::{Log, play};

/// A tool as MCP servers have them.
fn tool(number: usize) -> Behaviour {
    let (verb, noun) = match number % 4 {
        0 => ("create", "issue"),
        1 => ("list", "branch"),
        2 => ("merge", "pull request"),
        _ => ("delete", "webhook"),
    };
    let name = format!("forge_{verb}_{}_{number}", noun.replace(' ', "_"));
    gadget(&name).with(|spec| {
        spec.description = format!(
            "Use this to {verb} a {noun} of the repository. It needs the rights of a maintainer, and fails without them. {}",
            "More is said about pages, limits and errors. ".repeat(5)
        );
        spec.parameters = json!({
            "type": "object",
            "properties": {
                "owner": { "type": "string", "description": "The owner of the repository, which is a user or an organisation" },
                "repository": { "type": "string", "description": "The name of the repository" },
                "labels": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["owner", "repository"],
        });
    })
}

fn script(tools: usize) -> Script {
    (0..tools).fold(
        Script::default().gadget(gadget("Echo")),
        |script, number| script.gadget(tool(number)),
    )
}

fn described(names: &[&str]) -> GadgetSearch {
    GadgetSearch {
        described: names.iter().map(|name| (*name).to_owned()).collect(),
        ..GadgetSearch::default()
    }
}

fn system(request: &Request) -> String {
    let messages = request.messages.iter();
    let system = messages.filter(|message| message.role == Role::System);
    system.map(prompt_text).collect()
}

fn systems(log: &Log) -> Vec<String> {
    log.requests().into_iter().map(system).collect()
}

#[track_caller]
fn check(tools: usize, window: Option<u64>, search: GadgetSearch, is_used: bool, has_echo: bool) {
    let log = play(&script(tools).with(|config| {
        config.context_window = window;
        config.gadget_search = search;
    }));
    let system = &systems(&log)[0];
    let found = (
        system.contains("## FindGadgets"),
        system.contains("## Echo\n"),
    );
    assert_eq!(found, (is_used, has_echo), "{tools} {window:?}");
    let is_described = system.contains("## forge_create_issue_0");
    assert_eq!(is_described, !is_used, "{tools} {window:?}");
}

#[test]
fn when_it_is_used() {
    let when = |when| GadgetSearch {
        when,
        ..described(&["Echo"])
    };
    check(29, None, GadgetSearch::default(), false, true);
    check(30, None, GadgetSearch::default(), true, false);
    check(30, None, described(&["Echo"]), true, true);
    check(30, None, when(SearchWhen::Never), false, true);
    check(3, None, when(SearchWhen::Always), true, true);
    // By what they fill of the window.
    check(20, Some(100_000), described(&["Echo"]), false, true);
    check(20, Some(5_000), described(&["Echo"]), true, true);
}

/// A model that does not read how to answer cannot end its run.
#[test]
fn the_gadget_of_the_answer_is_always_described() {
    for answer in [None, Some("echo".to_owned())] {
        let is_described = answer.is_some();
        let log = play(&script(30).with(|config| config.answer_gadget = answer));
        let system = &systems(&log)[0];
        assert!(system.contains("## FindGadgets"), "{system}");
        assert_eq!(system.contains("## Echo\n"), is_described, "{system}");
    }
}

/// A hundred tools cost at most 600 tokens until they are used: a token of a prompt has three bytes or more.
#[test]
fn a_hundred_tools_cost_little() {
    let of = |tools| {
        let log = play(&script(tools).with(|config| config.gadget_search = described(&["Echo"])));
        systems(&log)[0].len()
    };
    let cost = of(100) - of(0);
    assert!(cost <= 600 * 3, "{cost} bytes");
    assert!(of(1_000) - of(0) <= 600 * 3);
    // All are described without it, which is what it saves.
    let log = play(&script(100).with(|config| config.gadget_search.when = SearchWhen::Never));
    assert!(systems(&log)[0].len() > 40_000);
}

#[test]
fn the_result_of_a_search_is_a_result_of_a_call() {
    let with_search = || script(40).with(|config| config.gadget_search = described(&["Echo"]));
    for (query, finds) in [
        ("forge_list_branch_1", "## forge_list_branch_1\n"),
        (
            "forge_list_branch_1, forge_delete_webhook_3",
            "## forge_delete_webhook_3\n",
        ),
        ("merge pull requests", "## forge_merge_pull_request_2\n"),
        ("echo", "## Echo"),
        ("the weather", "Error: No gadget matches."),
    ] {
        let log = play(&with_search().reply(block("FindGadgets:f", &[("query", query)])));
        let (_, text) = log.told()[0];
        assert!(text.contains(finds), "{query}: {text}");
        assert!(text.len() < 6_000, "{query}: {} bytes", text.len());
        // The system text is the same in every request.
        let systems = systems(&log);
        assert_eq!(systems.len(), 2);
        assert_eq!(systems[0], systems[1]);
    }
}

/// A gadget that is only listed can be called; a call with the wrong parameters is answered with the right ones.
#[test]
fn gadgets_that_are_listed_can_be_called() {
    let name = "forge_list_branch_1";
    let right = [("owner", "me"), ("repository", "r")];
    let log = play(
        &script(40)
            .reply(block(&format!("{name}:a"), &[("repo", "r")]))
            .reply(block(&format!("{name}:b"), &right)),
    );
    let told = log.told();
    let (_, refused) = told[0];
    assert!(refused.contains("- owner (string; required)"), "{refused}");
    assert_eq!(told[1], ("b", "ok forge_list_branch_1"));
}

#[test]
fn the_provider_knows_all_gadgets_natively() {
    let log = play(&script(40).with(|config| config.tools = Tools::Native));
    assert!(!log.plan.has_search());
}

#[test]
fn its_name_may_be_taken() {
    let taken = script(40).gadget(gadget("findgadgets"));
    assert!(matches!(taken.try_plan(), Err(PlanError::Search(_))));
}
