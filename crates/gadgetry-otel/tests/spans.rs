//! The spans of runs: how they hang together, and what they say.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gadgetry::agent::single_call;
use gadgetry::journal::MemoryJournal;
use gadgetry::log::{LogWriter, replay};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::EventKind;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{Agent, AgentBuilder, ExecutionContext, IntoGadget as _, TraceContext, from_fn};
use gadgetry_testing::{MockGadget, MockModel, Reply, call, reply};
use opentelemetry::Context;
use opentelemetry::trace::{SpanId, TraceContextExt as _, TraceId, Tracer as _};
use opentelemetry_sdk::trace::SpanData;
use tokio::time::timeout;

use crate::support::{Memory, attribute, tree};

fn agent<const N: usize>(replies: [Reply; N]) -> AgentBuilder {
    let model = MockModel::builder().name("anthropic:haiku").unchecked();
    let model = model.when(|any| any).replies_in_order(replies).build();
    let fetch = MockGadget::builder("Fetch").returns("the private page");
    let broken = MockGadget::builder("Broken").fails("a private error");
    let count = MockGadget::builder("Count")
        .param("text", "string")
        .returns("2");
    let fetch = fetch.delay(Duration::from_millis(250)).build();
    let delegate = GadgetSpec {
        name: "Delegate".to_owned(),
        ..GadgetSpec::default()
    };
    let delegate = from_fn(delegate, |_, context: ExecutionContext| async move {
        let agent = context.spawn_agent(Agent::builder().name("helper"));
        match agent.map(|agent| agent.ask("A question?")) {
            Ok(run) => Outcome::ok(run.text().await.unwrap()),
            Err(error) => Outcome::error(error.to_string()),
        }
    });
    Agent::builder()
        .name("clerk")
        .model(model)
        .without_retry()
        .gadget(fetch)
        .gadget(broken.build())
        .gadget(count.build())
        .gadget(delegate)
}

async fn traced(builder: AgentBuilder, content: bool) -> Vec<SpanData> {
    let memory = Memory::new();
    let hook = memory.hook().content(content);
    let run = builder.hook(hook).ask("The private question");
    let _ended = run.unwrap().await;
    memory.spans()
}

fn calls<const N: usize>(calls: [gadgetry_testing::MockCall; N]) -> Reply {
    reply().text("Calling.").calls(calls)
}

#[tokio::test(start_paused = true)]
async fn spans_hang_together() {
    async fn check<const N: usize>(replies: [Reply; N], expected: &str) {
        let spans = traced(agent(replies), false).await;
        assert_eq!(tree(&spans), expected);
        let trace = spans[0].span_context.trace_id();
        assert!(spans.iter().all(|it| it.span_context.trace_id() == trace));
    }
    check(
        [reply().text("Hello.")],
        "invoke_agent clerk\n  chat haiku\n",
    )
    .await;
    check(
        [
            calls([
                call("Fetch").id("a"),
                call("Fetch").id("b"),
                call("Count").id("c").after("a").after("b").arg("text", "${b}"),
            ]),
            reply().text("Done."),
        ],
        "invoke_agent clerk\n  chat haiku\n    execute_tool Fetch\n    execute_tool Fetch\n    execute_tool Count <- a <- b\n  chat haiku\n",
    )
    .await;
    check(
        [
            calls([call("Broken").id("a"), call("Count").id("c").after("a").arg("text", "x")]),
            reply().text("Done."),
        ],
        "invoke_agent clerk\n  chat haiku\n    execute_tool Broken failed: gadget_error, gadget_error\n    execute_tool Count <- a failed: skipped, skipped\n  chat haiku\n",
    )
    .await;
    check(
        [calls([call("Count").id("c")]), reply().text("Done.")],
        "invoke_agent clerk\n  chat haiku\n    execute_tool Count failed: gadget_error, gadget_error\n  chat haiku\n",
    )
    .await;
    check(
        [
            calls([call("Delegate").id("d")]),
            reply().text("Inner."),
            reply().text("Done."),
        ],
        "invoke_agent clerk\n  chat haiku\n    execute_tool Delegate\n      invoke_agent helper\n        chat haiku\n  chat haiku\n",
    )
    .await;
    check(
        [reply().fails_as(ModelErrorKind::RateLimit, "a private limit")],
        "invoke_agent clerk failed: rateLimit, rateLimit\n  chat haiku failed: rateLimit, rateLimit\n",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn spans_have_times_tokens_and_names() {
    let first = calls([call("Fetch").id("a")]).delay(Duration::from_millis(40));
    let spans = traced(agent([first.tokens(100, 7), reply().text("Done.")]), false).await;
    let named = |name: &str| spans.iter().find(|it| it.name == name).unwrap();
    let check = |name: &str, attributes: &[(&str, &str)]| {
        for (key, expected) in attributes {
            let found = attribute(named(name), key);
            assert_eq!(found.as_deref(), Some(*expected), "{name} {key}");
        }
    };
    check(
        "invoke_agent clerk",
        &[
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.provider.name", "anthropic"),
            ("gen_ai.request.model", "haiku"),
            ("gen_ai.agent.name", "clerk"),
            ("gadgetry.finish_reason", "completed"),
            ("gadgetry.iteration", "2"),
        ],
    );
    check(
        "chat haiku",
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.usage.input_tokens", "100"),
            ("gen_ai.usage.output_tokens", "7"),
            ("gen_ai.response.time_to_first_chunk", "0.04"),
        ],
    );
    check(
        "execute_tool Fetch",
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "Fetch"),
            ("gen_ai.tool.call.id", "a"),
            ("gadgetry.call", "0"),
        ],
    );
    let fetch = named("execute_tool Fetch");
    let took = fetch.end_time.duration_since(fetch.start_time).unwrap();
    assert_eq!(took, Duration::from_millis(250));
    let now = SystemTime::now();
    let age = now.duration_since(fetch.start_time).unwrap_or_default();
    assert!(age < Duration::from_hours(1), "{age:?}");
}

#[tokio::test(start_paused = true)]
async fn content_is_asked_for() {
    async fn check(content: bool) {
        let replies = [
            calls([call("Fetch").id("a"), call("Broken").id("b")]),
            reply().text("The private answer."),
        ];
        let spans = traced(agent(replies), content).await;
        let all = format!("{spans:?}");
        let private = [
            "The private question",
            "The private answer",
            "the private page",
            "a private error",
        ];
        for text in private {
            assert_eq!(all.contains(text), content, "{text}");
        }
    }
    check(false).await;
    check(true).await;
}

#[tokio::test(start_paused = true)]
async fn messages_are_in_the_form_of_the_conventions() {
    let replies = [
        reply()
            .reasoning("Hm.")
            .text("Call")
            .text("ing.")
            .call(call("Fetch").id("a").arg("url", "/x")),
        reply().text("Done."),
    ];
    let spans = traced(agent(replies).system("Be brief."), true).await;
    let chats: Vec<_> = spans.iter().filter(|it| it.name == "chat haiku").collect();
    let json = |span: &SpanData, name: &str| -> serde_json::Value {
        serde_json::from_str(&attribute(span, name).unwrap()).unwrap()
    };
    let output = json(chats[0], "gen_ai.output.messages");
    let expected = serde_json::json!([{ "role": "assistant", "finish_reason": "stop", "parts": [
        { "type": "reasoning", "content": "Hm." },
        { "type": "text", "content": "Calling.\n" },
        { "type": "tool_call", "id": "a", "name": "Fetch", "arguments": { "url": "/x" } },
    ] }]);
    assert_eq!(output, expected);
    let input = json(chats[1], "gen_ai.input.messages");
    assert_eq!(input[0]["role"], "user");
    let parts = |role: &str| {
        let messages = input
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["role"] == role);
        messages
            .flat_map(|it| it["parts"].as_array().unwrap().clone())
            .collect::<Vec<_>>()
    };
    let answered = parts("tool")
        .into_iter()
        .find(|part| part["type"] == "tool_call_response");
    assert_eq!(answered.unwrap()["id"], "a");
    let system = json(chats[0], "gen_ai.system_instructions");
    assert!(system.to_string().contains("Be brief."));
}

#[tokio::test(start_paused = true)]
async fn runs_at_the_same_time_are_apart() {
    let memory = Memory::new();
    let hook = Arc::new(memory.hook());
    let run = || {
        let replies = [calls([call("Fetch").id("a")]), reply().text("Done.")];
        agent(replies).hook(Arc::clone(&hook)).ask("?").unwrap()
    };
    let (one, two) = tokio::join!(run(), run());
    one.unwrap();
    two.unwrap();
    let spans = memory.spans();
    let one = "invoke_agent clerk\n  chat haiku\n    execute_tool Fetch\n  chat haiku\n";
    assert_eq!(tree(&spans), one.repeat(2));
}

#[tokio::test(start_paused = true)]
async fn a_saved_run_has_the_same_spans() {
    let memory = Memory::new();
    let hook = memory.hook();
    let replies = [
        calls([call("Fetch").id("a"), call("Broken").id("b")]),
        reply().text("Done."),
    ];
    let mut run = agent(replies).ask("?").unwrap();
    let mut header = run.header().await.unwrap();
    let info = Arc::make_mut(header.run.as_mut().unwrap());
    // A log from before the time was in it.
    info.start_ms = None;
    let mut file = Vec::new();
    let mut log = LogWriter::new(&mut file, &header).unwrap();
    run.observe(&mut log).await.unwrap();
    log.finish().unwrap();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    replay(&file[..], &mut hook.replay(start)).unwrap();
    // A log that ends in the middle of a run.
    let cut = file
        .split_inclusive(|byte| *byte == b'\n')
        .take(8)
        .collect::<Vec<_>>()
        .concat();
    replay(&cut[..], &mut hook.replay(start)).unwrap();

    let spans = memory.spans();
    let (whole, rest) = spans.split_at(5);
    assert_eq!(
        tree(whole),
        "invoke_agent clerk\n  chat haiku\n    execute_tool Fetch\n    execute_tool Broken failed: gadget_error, gadget_error\n  chat haiku\n",
    );
    let root = whole
        .iter()
        .find(|it| it.name == "invoke_agent clerk")
        .unwrap();
    assert_eq!(root.start_time, start);
    assert_eq!(attribute(root, "gadgetry.replay").unwrap(), "true");
    assert!(
        tree(rest).starts_with("invoke_agent clerk\n"),
        "{}",
        tree(rest)
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_is_below_the_current_span() {
    let memory = Memory::new();
    let outer = memory.tracer().start("a request");
    let outer = Context::current_with_span(outer);
    let (trace, span) = {
        let context = outer.span().span_context().clone();
        (context.trace_id(), context.span_id())
    };
    let builder = agent([reply().text("Hello.")]).hook(memory.hook());
    let run = builder.ask("?").unwrap();
    opentelemetry::context::FutureExt::with_context(async { run.await.unwrap() }, outer).await;
    let spans = memory.spans();
    let root = spans
        .iter()
        .find(|it| it.name == "invoke_agent clerk")
        .unwrap();
    assert_ne!((trace, span), (TraceId::INVALID, SpanId::INVALID));
    assert_eq!(
        (root.span_context.trace_id(), root.parent_span_id),
        (trace, span)
    );
}

/// The ids of a span, as it is sent to other programs.
fn ids(span: &SpanData) -> (u128, u64) {
    let context = &span.span_context;
    let trace = u128::from_be_bytes(context.trace_id().to_bytes());
    (trace, u64::from_be_bytes(context.span_id().to_bytes()))
}

#[tokio::test(start_paused = true)]
async fn models_and_gadgets_receive_the_span_that_they_are_in() {
    let memory = Memory::new();
    let replies = [
        calls([call("Send").id("send"), call("Delegate").id("ask")]),
        reply().text("A helper."),
        reply().text("Done."),
    ];
    let model = MockModel::builder().unchecked().when(|any| any);
    let model = model.replies_in_order(replies).build();
    let seen = Arc::new(std::sync::Mutex::new(None));
    let noted = Arc::clone(&seen);
    let send = GadgetSpec {
        name: "Send".to_owned(),
        ..GadgetSpec::default()
    };
    let send = from_fn(send, move |_, context: ExecutionContext| {
        *noted.lock().unwrap() = context.trace_context().cloned();
        async { Outcome::ok("sent") }
    });
    let client: TraceContext = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        .parse()
        .unwrap();
    let client = client.state("vendor=1");
    let builder = agent([]).model(model.clone()).gadget(send);
    let run = builder.hook(memory.hook()).ask("?").unwrap();
    run.with(client.clone()).await.unwrap();

    let spans = memory.spans();
    let named = |name: &str| {
        let found = spans.iter().filter(|it| it.name == name);
        found.map(ids).collect::<Vec<_>>()
    };
    let mut received: Vec<_> = model
        .requests()
        .iter()
        .map(|request| (**request.trace.as_ref().unwrap()).clone())
        .collect();
    received.extend(seen.lock().unwrap().clone());
    for trace in &received {
        assert_eq!(trace.trace_id(), client.trace_id());
        assert_eq!(trace.tracestate(), Some("vendor=1"));
        assert!(trace.is_sampled());
    }
    let received: Vec<_> = received
        .iter()
        .map(|it| (it.trace_id(), it.span_id()))
        .collect();
    let chats = named("chat mock");
    // A subagent without the hook is in the span of the call that it belongs to.
    let expected = [
        chats[0],
        named("execute_tool Delegate")[0],
        *chats.last().unwrap(),
        named("execute_tool Send")[0],
    ];
    assert_eq!(received, expected, "{}", tree(&spans));
    let root = spans.iter().find(|it| it.name == "invoke_agent clerk");
    let parent = root.unwrap().parent_span_id.to_bytes();
    assert_eq!(u64::from_be_bytes(parent), client.span_id());
}

#[test]
fn names_are_those_of_the_conventions() {
    let published = include_str!("../../../corpus/traces/attributes.txt");
    let published: Vec<&str> = published.lines().collect();
    for name in gadgetry_otel::names::CONVENTIONAL {
        assert!(published.contains(name), "{name}");
    }
}

/// The program ends while a call runs; another one goes on, and its first event is not the beginning of the run.
#[tokio::test(start_paused = true)]
async fn a_resumed_run_is_known() {
    let journal = MemoryJournal::default();
    let replies = || {
        [
            calls([
                call("Fetch").id("a"),
                call("Count").id("c").after("a").arg("text", "${a}"),
            ]),
            reply().text("Done."),
        ]
    };
    let before = agent(replies()).build().unwrap();
    let run = before
        .durable(&journal)
        .run_id("order-7")
        .ask("?")
        .await
        .unwrap();
    let mut has_started = false;
    let mut run = Box::pin(run.on_event(|event| {
        has_started |= matches!(event.kind, EventKind::GadgetStart { .. });
    }));
    // The gadget takes 250 ms.
    assert!(timeout(Duration::from_millis(100), &mut run).await.is_err());
    drop(run);
    assert!(has_started);

    let memory = Memory::new();
    let after = agent([reply().text("Done.")]).hook(memory.hook());
    let after = after.build().unwrap();
    let run = after.durable(&journal).run_id("order-7").force();
    run.resume().await.unwrap().await.unwrap();
    let spans = memory.spans();
    let root = spans
        .iter()
        .find(|it| it.name == "invoke_agent clerk")
        .unwrap();
    assert_eq!(
        attribute(root, "gadgetry.run.id").as_deref(),
        Some("order-7")
    );
    assert_eq!(
        attribute(root, "gen_ai.request.model").as_deref(),
        Some("haiku")
    );
    // The calls whose beginnings the other process saw hang below the run.
    assert_eq!(
        tree(&spans),
        "invoke_agent clerk\n  chat haiku\n  execute_tool Fetch failed: gadget_error, gadget_error\n  execute_tool Count failed: skipped, skipped\n",
    );
}

/// Such as that of an MCP client: no model has written it, so its gadget has the only span.
#[tokio::test(start_paused = true)]
async fn a_single_call_is_one_span() {
    async fn check(gadget: MockGadget, parameters: &str, expected: &str) {
        let client: TraceContext = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            .parse()
            .unwrap();
        let memory = Memory::new();
        let agent = single_call(gadget.into_gadget(), parameters, 1).unwrap();
        let run = agent.hook(memory.hook()).ask("").unwrap();
        run.with(client.clone()).finish().await.unwrap();
        let spans = memory.spans();
        assert_eq!(tree(&spans), expected);
        let (span, parent) = (&spans[0], spans[0].parent_span_id.to_bytes());
        assert_eq!(u64::from_be_bytes(parent), client.span_id());
        assert_eq!(ids(span).0, client.trace_id());
    }
    let fetch = || MockGadget::builder("Fetch").returns("page").build();
    check(fetch(), "{}", "execute_tool Fetch\n").await;
    let broken = MockGadget::builder("Broken").fails("an error").build();
    let failed = "failed: gadget_error, gadget_error\n";
    check(broken, "{}", &format!("execute_tool Broken {failed}")).await;
    let count = MockGadget::builder("Count").param("text", "string");
    let count = count.returns("2").build();
    check(count, "{}", &format!("execute_tool Count {failed}")).await;
}

/// The log says when its run began, whatever its file says.
#[tokio::test(start_paused = true)]
async fn a_saved_run_has_its_own_time() {
    let mut run = agent([reply().text("Done.")]).ask("?").unwrap();
    let mut header = run.header().await.unwrap();
    let info = Arc::make_mut(header.run.as_mut().unwrap());
    info.start_ms = Some(1_700_000_000_123);
    let mut file = Vec::new();
    let mut log = LogWriter::new(&mut file, &header).unwrap();
    run.observe(&mut log).await.unwrap();
    log.finish().unwrap();
    let memory = Memory::new();
    replay(&file[..], &mut memory.hook().replay(SystemTime::now())).unwrap();
    let start = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    for span in memory.spans() {
        assert_eq!(span.start_time, start, "{}", span.name);
    }
}
