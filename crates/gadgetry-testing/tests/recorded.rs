//! Saved runs, again with the agent of today; stories; users that answer from lists.

use gadgetry::approval::{Approvals, Rules};
use gadgetry::log::LogWriter;
use gadgetry::{Agent, AgentBuilder, ExecutionContext, GadgetError, ModelErrorKind, gadget};
use gadgetry_testing::{
    EventLog, MockApprover, MockHuman, MockModel, ReplayError, Reply, assert_run, call, paused,
    replay, reply,
};

use super::support::panic_of;

/// Gets the weather
#[gadget]
fn weather(city: String) -> String {
    format!("{city}: 21 degrees")
}

/// Gets the weather in Fahrenheit
#[gadget(name = "Weather")]
fn fahrenheit(city: String) -> String {
    format!("{city}: 70 degrees")
}

/// The log of a run whose model gives these replies.
fn saved(replies: impl IntoIterator<Item = Reply>, agent: AgentBuilder) -> Vec<u8> {
    let agent = agent.model(MockModel::in_order(replies)).build().unwrap();
    let mut run = agent.ask("Is it warm in Paris?");
    let mut saved = Vec::new();
    let mut log = LogWriter::new(&mut saved, &paused(run.header()).unwrap()).unwrap();
    let _ = paused(run.observe(&mut log));
    log.finish().unwrap();
    saved
}

fn asks() -> Reply {
    reply().call(call("Weather").id("w").arg("city", "Paris"))
}

#[test]
fn a_saved_run_is_the_same_until_a_gadget_changes() {
    let overloaded = || reply().fails_as(ModelErrorKind::Overloaded, "busy");
    let log = saved(
        [overloaded(), asks(), reply().text("Warm.")],
        Agent::builder().gadget(Weather).system("Then."),
    );
    let same = paused(replay(&log[..], Agent::builder().gadget(Weather))).unwrap();
    same.assert_unchanged();
    assert_eq!(same.result.as_ref().unwrap().summary.answer, "Warm.");

    let other = paused(replay(&log[..], Agent::builder().gadget(Fahrenheit))).unwrap();
    let difference = panic_of(|| other.assert_unchanged());
    let lines = [
        "! result Weather: Paris: 21 degrees   result Weather: Paris: 70 degrees\n",
        "  text: Warm.                         text: Warm.\n",
    ];
    assert!(
        lines.iter().all(|line| difference.contains(line)),
        "{difference}"
    );
    // The run of today asks for more than the saved one did.
    let none = paused(replay(&log[..], Agent::builder())).unwrap();
    assert_run!(
        none.log,
        [
            "call Weather…",
            "error Weather…",
            "text: Warm.",
            "end completed"
        ]
    );
}

#[test]
fn a_request_beyond_the_saved_replies_fails() {
    let log = saved([asks()], Agent::builder().gadget(Weather).max_iterations(1));
    let longer = paused(replay(&log[..], Agent::builder().gadget(Weather))).unwrap();
    let error = longer.result.as_ref().unwrap_err();
    let error = error.model_error().unwrap().message.as_str();
    assert_eq!(
        error,
        "the saved run has no reply for this request, in iteration 2"
    );
}

#[test]
fn what_is_no_log_is_an_error() {
    for text in ["", "{}", "[1]\n"] {
        let error = paused(replay(text.as_bytes(), Agent::builder())).unwrap_err();
        assert!(matches!(error, ReplayError::Log(_)), "{text}: {error}");
    }
}

/// Asks for the city
#[gadget]
async fn city(context: ExecutionContext) -> Result<String, GadgetError> {
    Ok(context.ask_human("Which city?").await?)
}

#[test]
fn users_answer_from_a_list_and_miss_nothing() {
    let check = |user: MockHuman, problems: &str| {
        let model = MockModel::in_order([reply().call(call("City")), reply().text("Sunny.")]);
        let log = EventLog::default();
        let agent = Agent::builder()
            .model(model)
            .gadget(City)
            .observer(log.clone());
        let agent = agent.on_human_input(user.clone()).build().unwrap();
        paused(agent.ask("?").text()).unwrap();
        assert_eq!(user.questions(), ["Which city?"]);
        assert_run!(
            log,
            [
                "call City {}",
                "question: Which city?",
                "…",
                "end completed"
            ]
        );
        if problems.is_empty() {
            user.verify();
        } else {
            let expected = format!("questions are not as expected:\n{problems}");
            assert_eq!(panic_of(|| user.verify()), expected);
        }
    };
    let list = MockHuman::default;
    check(list().answers("Which city?", "Paris"), "");
    check(list().ignores("Which city?"), "");
    check(
        list(),
        "\"Which city?\" came, and nothing is left on the list",
    );
    check(
        list()
            .answers("Which city?", "Paris")
            .answers("When?", "now"),
        "\"When?\" never came",
    );
    check(
        list().answers("When?", "now"),
        "\"Which city?\" came, and \"When?\" is next on the list\n\"When?\" never came",
    );
}

#[test]
fn approvals_are_answered_from_a_list() {
    let check = |user: MockApprover, answer: &str, problems: &str| {
        let model = MockModel::in_order([asks(), reply().text("Done.")]);
        let log = EventLog::default();
        let rules = Rules::parse(["ask Weather"]).unwrap();
        let agent = Agent::builder()
            .model(model)
            .gadget(Weather)
            .observer(log.clone());
        let agent = agent.approvals(Approvals::new(rules).approver(user.clone()));
        paused(agent.build().unwrap().ask("?").text()).unwrap();
        assert_eq!(user.requests()[0].gadget, "Weather");
        let is_allowed = answer.starts_with("result");
        let decision = if is_allowed { "allowed" } else { "denied" };
        assert_run!(
            log,
            [
                "call Weather…",
                "approval Weather",
                decision,
                answer,
                "text: Done.",
                "end completed"
            ]
        );
        if problems.is_empty() {
            user.verify();
        } else {
            let expected = format!("approvals are not as expected:\n{problems}");
            assert_eq!(panic_of(|| user.verify()), expected);
        }
    };
    let list = MockApprover::default;
    check(
        list().allows("Weather"),
        "result Weather: Paris: 21 degrees",
        "",
    );
    check(list().denies("Weather", "not now"), "error Weather…", "");
    check(
        list(),
        "error Weather…",
        "\"Weather\" came, and nothing is left on the list",
    );
}
