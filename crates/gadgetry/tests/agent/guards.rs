//! What must not run does not run: gadgets that need approval, and calls that a later guard refuses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Rules};
use gadgetry::control::{AfterModelCall, BeforeGadget, BeforeModelCall};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::Event;
use gadgetry::proto::message::{Message, Request, Role};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{
    Agent, AgentBuilder, AgentError, CallPreview, DynGadget, ExecutionContext, IntoGadget as _,
    Permission,
};
use serde_json::{Value, json};

use super::support::{Mock, call, echo, gadget, story};

/// Deletes a path below a folder, which has a default. Its permission may change.
struct Delete {
    spec: GadgetSpec,
    permission: Permission,
    allowed_at_first: Arc<AtomicBool>,
}

fn delete(name: &str, permission: Permission) -> Arc<dyn DynGadget> {
    switched(name, permission, Arc::default())
}

/// Is allowed as long as the switch is on.
fn switched(
    name: &str,
    permission: Permission,
    allowed_at_first: Arc<AtomicBool>,
) -> Arc<dyn DynGadget> {
    let parameters = json!({ "type": "object", "properties": {
        "path": { "type": "string" },
        "folder": { "type": "string", "default": "home" },
        "times": { "type": "integer", "default": 1 },
    }, "required": ["path"] });
    Arc::new(Delete {
        spec: GadgetSpec::new(name, "Deletes a path").parameters(parameters),
        permission,
        allowed_at_first,
    })
}

impl DynGadget for Delete {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn permission(&self) -> Permission {
        if self.allowed_at_first.load(Ordering::SeqCst) {
            Permission::Allow
        } else {
            self.permission
        }
    }

    fn execute(&self, parameters: Value, _: ExecutionContext) -> BoxFuture<'static, Outcome> {
        Box::pin(async move { Outcome::ok(format!("deleted {parameters}")) })
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        Box::pin(async move { Ok(CallPreview::default().note(parameters.to_string())) })
    }
}

fn approvals() -> Approvals {
    Approvals::new(Rules::default())
}

#[test]
fn a_rule_about_a_misspelt_gadget_is_a_mistake() {
    let check = |rule: &str, near: Option<&str>| {
        let rules = Rules::parse([rule]).unwrap();
        let agent = Agent::builder().model(Mock::new(["."])).gadget(echo());
        let agent = agent.gadget(delete("WriteFile", Permission::Ask));
        let expected = near.map(|near| AgentError::RuleWithoutGadget {
            rule: rule.to_owned(),
            near: near.to_owned(),
        });
        let approvals = Approvals::new(rules);
        let unchecked = agent.clone().approvals(approvals.clone().any_names());
        assert_eq!(unchecked.build().err(), None, "{rule}");
        let built = agent.approvals(approvals).build();
        assert_eq!(built.err(), expected, "{rule}");
    };
    check("deny WriteFlie(.git/**)", Some("WriteFile"));
    check("allow write_files", Some("WriteFile"));
    check("ask Ecko", Some("Echo"));
    check("deny writefile", None);
    // Of another agent, of a server, or as written for what comes later.
    check("deny EditFile", None);
    check("deny RunCommand", None);
    check("deny WriteFlie@files", None);
    check("deny WriteFl*", None);
    check(r"deny \WriteFlie", None);
    check("allow GadgetOutputViewer", None);
}

#[test]
fn an_agent_without_approvals_has_no_gadgets_that_need_them() {
    let check = |options: fn(AgentBuilder) -> AgentBuilder, expected: Option<&[&str]>| {
        let built = options(Agent::builder().model(Mock::new(["."])).gadget(echo())).build();
        let refused = built.err().map(|error| {
            let AgentError::NoApprovals { gadgets } = error else {
                panic!("{error}");
            };
            gadgets
        });
        assert_eq!(
            refused,
            expected.map(|names| names.iter().map(|it| (*it).to_owned()).collect())
        );
    };
    check(|it| it, None);
    check(|it| it.gadget(delete("Free", Permission::Allow)), None);
    let risky = |it: AgentBuilder| {
        it.gadget(delete("Rm", Permission::Ask))
            .gadget(delete("Free", Permission::Allow))
            .gadget(delete("Drop", Permission::Deny))
    };
    check(risky, Some(&["Rm", "Drop"]));
    check(
        |it| {
            it.gadget(delete("Rm", Permission::Ask))
                .approvals(approvals())
        },
        None,
    );
    check(
        |it| it.gadget(delete("Rm", Permission::Ask)).without_approvals(),
        None,
    );
    // The last word counts.
    check(
        |it| {
            it.gadget(delete("Rm", Permission::Ask))
                .approvals(approvals())
                .without_approvals()
        },
        None,
    );
    // A hook is no approval by itself: it may look at something else.
    check(
        |it| {
            it.gadget(delete("Rm", Permission::Ask))
                .before_gadget(async |_| BeforeGadget::Proceed)
        },
        Some(&["Rm"]),
    );
    let agent = risky(Agent::builder().model(Mock::new(["."])));
    assert_eq!(
        agent.build().unwrap_err().to_string(),
        "there are no approvals for the calls of Rm, Drop, which need approval; add `.approvals(…)`, or `.without_approvals()` if whatever \
         the model writes may run"
    );
}

/// The story of a run with one call of `Rm`.
async fn told(
    rm: Arc<dyn DynGadget>,
    arguments: &[(&str, &str)],
    options: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> Vec<String> {
    let model = Mock::new([call("Rm", "r", arguments), "Done.".to_owned()]);
    let builder = Agent::builder().model(model).gadget(rm);
    let mut events: Vec<Event> = Vec::new();
    let run = options(builder).ask("Question?").unwrap();
    let _ = run.on_event(|event| events.push(event.clone())).await;
    story(&events)
}

#[tokio::test]
async fn a_call_that_needs_approval_later_is_denied_without_approvals() {
    let denied = "r failed: Denied: Rm needs approval, but this agent has no approvals";
    let ran = r#"r: deleted {"path":"x","folder":"home","times":1}"#;
    for (options, expected) in [
        (
            (|it| it) as fn(AgentBuilder) -> AgentBuilder,
            ["start r", denied],
        ),
        (AgentBuilder::without_approvals, ["start r", ran]),
    ] {
        let switch = Arc::new(AtomicBool::new(true));
        let rm = switched("Rm", Permission::Ask, Arc::clone(&switch));
        let lines = told(rm, &[("path", "x")], |it| {
            options(it).before_model_call(move |_| {
                switch.store(false, Ordering::SeqCst);
                async { BeforeModelCall::Proceed }
            })
        })
        .await;
        assert_eq!(lines[..2], expected);
    }
}

/// A subagent has the approvals of its parent, or the absence of them, or its own.
#[tokio::test]
async fn subagents_inherit() {
    type Options = fn(AgentBuilder) -> AgentBuilder;
    let denied = "r failed: Denied: Rm needs approval, but no user is available to approve it";
    let refused = "a failed: there are no approvals for the calls of Rm";
    let ran = r#"r: deleted {"path":"x","folder":"home","times":1}"#;
    let cases: [(Options, Options, &str); 5] = [
        (|it| it, |it| it, refused),
        (|it| it.approvals(approvals()), |it| it, denied),
        (AgentBuilder::without_approvals, |it| it, ran),
        (
            |it| it.approvals(approvals()),
            AgentBuilder::without_approvals,
            ran,
        ),
        (
            AgentBuilder::without_approvals,
            |it| it.approvals(approvals()),
            denied,
        ),
    ];
    for (index, (parent, own, expected)) in cases.into_iter().enumerate() {
        let ask = gadget("Ask", move |context: ExecutionContext| async move {
            let model = Mock::new([call("Rm", "r", &[("path", "x")]), "Done.".to_owned()]);
            let agent = own(Agent::builder()
                .model(model)
                .gadget(delete("Rm", Permission::Ask)));
            match context.spawn_agent(agent) {
                Ok(agent) => Outcome::ok(agent.ask("?").text().await.unwrap_or_default()),
                Err(error) => Outcome::error(error.to_string()),
            }
        });
        let model = Mock::new([call("Ask", "a", &[]), "Done.".to_owned()]);
        let agent = parent(Agent::builder().model(model)).gadget(ask.into_gadget());
        let mut events: Vec<Event> = Vec::new();
        let run = agent.ask("?").unwrap();
        let _ = run.on_event(|event| events.push(event.clone())).await;
        let lines = story(&events);
        assert!(
            lines.iter().any(|line| line.contains(expected)),
            "{index}: {lines:#?}"
        );
    }
}

/// A rewrite of parameters is passed on to the next hook; approvals decide last, about what will run.
#[tokio::test]
async fn a_rewrite_switches_no_guard_off() {
    type Hook = fn(&Value) -> BeforeGadget;
    fn below(parameters: &Value) -> BeforeGadget {
        let path = parameters["path"].as_str().unwrap_or_default();
        let path = format!("tenant/{path}");
        let mut parameters = parameters.clone();
        parameters["path"] = path.into();
        BeforeGadget::Parameters(parameters)
    }
    fn guard(parameters: &Value) -> BeforeGadget {
        if parameters["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("etc"))
        {
            BeforeGadget::Deny(format!("not {}", parameters["path"]))
        } else {
            BeforeGadget::Proceed
        }
    }
    let proceed: Hook = |_| BeforeGadget::Proceed;
    let answer: Hook = |_| BeforeGadget::Result("cached".to_owned());
    let bare: Hook = |_| BeforeGadget::Parameters(json!({ "path": "y" }));
    let broken: Hook = |_| BeforeGadget::Parameters(json!({ "times": "many" }));
    let seen = |path: &str| json!({ "path": path, "folder": "home", "times": 1 }).to_string();
    let ran = |path: &str| format!("r: deleted {}", seen(path));
    let invalid = "r failed: Error: Invalid parameters for 'Rm':\n  - path: expected string, but it is missing";
    for (hooks, path, approved, expected) in [
        (
            vec![guard as Hook],
            "etc",
            None,
            "r failed: not \"etc\"".to_owned(),
        ),
        (
            vec![below, guard],
            "etc",
            None,
            "r failed: not \"tenant/etc\"".to_owned(),
        ),
        (
            vec![below, guard],
            "x",
            Some(seen("tenant/x")),
            ran("tenant/x"),
        ),
        (
            vec![below, below],
            "x",
            Some(seen("tenant/tenant/x")),
            ran("tenant/tenant/x"),
        ),
        (
            vec![below, proceed],
            "x",
            Some(seen("tenant/x")),
            ran("tenant/x"),
        ),
        (
            vec![below, answer, guard],
            "etc",
            None,
            "r: cached".to_owned(),
        ),
        // What is approved has the defaults that the gadget will get.
        (vec![bare], "x", Some(seen("y")), ran("y")),
        (
            vec![bare, below],
            "x",
            Some(seen("tenant/y")),
            ran("tenant/y"),
        ),
        (vec![broken, proceed], "x", None, invalid.to_owned()),
    ] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let approvals = approvals().approver(move |request: ApprovalRequest| {
            log.lock().unwrap().push(request.parameters.to_string());
            async { Answer::Once }
        });
        let lines = told(delete("Rm", Permission::Ask), &[("path", path)], |agent| {
            hooks
                .iter()
                .fold(agent.approvals(approvals), |agent, hook| {
                    let hook = *hook;
                    agent.before_gadget(move |start| {
                        let decision = hook(&start.parameters);
                        async move { decision }
                    })
                })
        })
        .await;
        assert!(
            lines.iter().any(|line| line.starts_with(&expected)),
            "{expected}: {lines:#?}"
        );
        assert_eq!(
            *asked.lock().unwrap(),
            Vec::from_iter(approved),
            "{lines:#?}"
        );
    }
}

/// So are rewritten requests and replies.
#[tokio::test]
async fn rewritten_requests_and_replies_are_passed_on() {
    let model = Mock::new(["Draft.", "Better."]);
    let add = |request: Request, text: &str| {
        let mut messages = (*request.messages).clone();
        messages.push(Message::text(Role::User, text));
        BeforeModelCall::Replace(request.messages(Arc::new(messages)))
    };
    let saw = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&saw);
    let agent = Agent::builder()
        .model(model.clone())
        .before_model_call(move |request| async move { add(request, "one") })
        .before_model_call(move |request| async move { add(request, "two") })
        .after_model_call(async |reply| match reply.iteration {
            1 => AfterModelCall::Modify {
                text: Some("Edited.".to_owned()),
                append: vec![Message::text(Role::User, "Again.")],
            },
            _ => AfterModelCall::Proceed,
        })
        .after_model_call(move |reply| {
            let text = reply.message.map(|message| message.content);
            log.lock()
                .unwrap()
                .push(format!("{text:?}").contains("Edited."));
            async move {
                AfterModelCall::Modify {
                    text: None,
                    append: vec![Message::text(Role::User, "Please.")],
                }
            }
        })
        .text_only(gadgetry::proto::run::OnTextOnlyReply::Acknowledge)
        .max_iterations(2);
    let _ = agent.ask("Question?").unwrap().text().await;
    assert_eq!(*saw.lock().unwrap(), [true, false]);
    let last = model.last();
    let lines: Vec<_> = last
        .split('\n')
        .skip_while(|line| *line != "Question?")
        .collect();
    assert_eq!(
        lines,
        ["Question?", "Edited.", "Again.", "Please.", "one", "two"]
    );
}
