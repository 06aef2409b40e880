//! Runs of agents as logs, and their replay.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use futures_util::FutureExt as _;
use gadgetry::control::BeforeGadget;
use gadgetry::human::HumanQuestion;
use gadgetry::log::{LogError, LogHeader, LogWriter, load, replay};
use gadgetry::proto::convo::compaction::Compaction;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::{CompactionStrategy, Event, EventKind, FinishReason};
use gadgetry::proto::message::Request;
use gadgetry::proto::run::{Code, HintTiming, Input, Interceptor, OnTextOnlyReply};
use gadgetry::proto::tags::CustomBlock;
use gadgetry::proto::time::Time;
use gadgetry::proto::transform::DeltaTransform;
use gadgetry::{
    Agent, AgentBuilder, GadgetError, IntoGadget, ModelInfo, Observer, Services, ToolChoice,
    Toolbox, drive, from_fn,
};

use super::support::{Mock, broken, call, echo, failed, price, spec, story};

/// Writes the log, and keeps the events.
struct Keeper<W> {
    log: W,
    events: Vec<Event>,
    requests: usize,
}

impl<W: Observer> Observer for Keeper<W> {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.log.input(time, input);
    }

    fn request(&mut self, _: &Request) {
        self.requests += 1;
    }
}

/// Runs it, and plays its log. Gives the events, and the log.
async fn check(agent: AgentBuilder) -> (Vec<Event>, String) {
    let mut run = agent
        .ask("Begin")
        .unwrap()
        .run_id("r")
        .start_time(UNIX_EPOCH);
    let mut file = Vec::new();
    let mut keeper = Keeper {
        log: LogWriter::new(&mut file, &run.header().await.unwrap()).unwrap(),
        events: Vec::new(),
        requests: 0,
    };
    let summary = match run.observe(&mut keeper).await {
        Ok(finished) => finished.summary,
        Err(error) => error.into_finished().summary,
    };
    let Keeper {
        log,
        events,
        requests,
    } = keeper;
    log.finish().unwrap();
    let calls = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::ModelCallStart { .. }));
    assert_eq!(requests, calls.count());
    let mut again = Vec::new();
    let replayed = replay(&file[..], &mut |event: &Event| again.push(event.clone()));
    assert_eq!(again, events);
    assert_eq!(replayed.unwrap(), Some(summary));
    (events, String::from_utf8(file).unwrap())
}

fn asks() -> impl gadgetry::IntoGadget {
    from_fn(spec("Asks"), |_, _| async {
        Err::<(), _>(GadgetError::human_input_required("Which?"))
    })
}

#[tokio::test(start_paused = true)]
async fn a_run_with_everything_plays_again() {
    let long = "0123456789".repeat(10);
    let model = Mock::new([
        failed(ModelErrorKind::Overloaded),
        failed(ModelErrorKind::RateLimit),
        (call("Echo", "long", &[("text", &long)])
            + &call("Asks", "who", &[])
            + &call("Echo", "no", &[("text", "denied")])
            + &call("Echo", "b:no", &[])
            + "<plan>one</plan><done/>")
            .into(),
        "What else?".into(),
        call("Broken", "x", &[]).into(),
    ]);
    let agent = Agent::builder()
        .model(model.info(ModelInfo::default().context_window(2_000).price(price())))
        .system("Be brief.")
        .gadget(echo())
        .gadget(asks())
        .gadget(broken())
        .custom_block(CustomBlock::new("plan").description("What you do."))
        .custom_block(CustomBlock::new("done").suppress())
        .output_limit_percent(1.0)
        .tool_choice(ToolChoice::Gadget("Echo".to_owned()))
        .budget(9.0)
        .iteration_hint(HintTiming::Always)
        .trailing("Go on.")
        .text_only(OnTextOnlyReply::WaitForInput)
        .stop_on_gadget_error()
        .on_human_input(async |question: HumanQuestion| Some(format!("{question} All!")))
        .before_gadget(async |start| match start.invocation_id.as_str() {
            "no" => BeforeGadget::Result("instead".to_owned()),
            _ => BeforeGadget::Proceed,
        });
    let (events, log) = check(agent).await;
    let story = story(&events);
    let retried = |event: &&Event| matches!(event.kind, EventKind::ModelRetry { .. });
    assert_eq!(events.iter().filter(retried).count(), 2, "{story:#?}");
    let stopped = events.last().map(|event| &event.kind);
    assert!(
        matches!(
            stopped,
            Some(EventKind::RunFinished {
                reason: FinishReason::GadgetError,
                ..
            })
        ),
        "{story:#?}"
    );
    for part in [
        "Which? All!",
        "What else? All!",
        "instead",
        "\"outputLimit\":80",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    let Some((header, _)) = log.split_once('\n') else {
        panic!("no header")
    };
    let header: LogHeader = serde_json::from_str(header).unwrap();
    assert_ne!(
        header.config.retry.unwrap().seed,
        0,
        "the seed that was used"
    );
    assert_eq!(header.config.trailing.len(), 2);
    assert_eq!(header.config.custom_blocks.len(), 2);
    assert_eq!(header.config.budget, Some(9.0));
    assert_eq!(
        header.config.tool_choice,
        ToolChoice::Gadget("Echo".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_compacted_plays_again() {
    let bells = (0..6).map(|n| call("Echo", &format!("e{n}"), &[("text", &"word ".repeat(80))]));
    let model =
        Mock::new(bells.chain(["Done.".to_owned()])).info(ModelInfo::default().context_window(900));
    let compaction = Compaction {
        strategy: CompactionStrategy::SlidingWindow,
        keep_recent_turns: 1,
        ..Compaction::default()
    };
    let agent = Agent::builder().model(model).gadget(echo());
    let (events, _) = check(agent.compaction(compaction).without_output_limit()).await;
    let compacted = |event: &Event| matches!(event.kind, EventKind::Compaction(_));
    assert!(events.iter().any(compacted), "{:#?}", story(&events));
}

/// Changes nothing.
struct Nothing;

impl Interceptor for Nothing {}

impl DeltaTransform for Nothing {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        out.push(delta);
    }

    fn flush(&mut self, _: &mut Vec<Delta>) {}
}

#[test]
fn what_is_code_is_in_no_log() {
    let check = |with: fn(AgentBuilder) -> AgentBuilder, what: Option<&str>| {
        let agent = with(Agent::builder().model(Mock::new([""; 0])));
        let header = agent.ask("?").unwrap().header().now_or_never();
        let header = header.expect("the model has no server to wait for");
        let refused = match header {
            Ok(_) => None,
            Err(LogError::Code(what)) => Some(what),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(refused.as_deref(), what);
    };
    check(|agent| agent, None);
    check(
        |agent| agent.custom_block(CustomBlock::new("a").on_start(|_| {})),
        None,
    );
    check(|agent| agent.parallel_hint(2), None);
    check(|agent| agent.interceptor(Nothing), Some("an interceptor"));
    check(
        |agent| agent.transform(|| Nothing),
        Some("a transform of deltas"),
    );
    check(
        |agent| agent.custom_block(CustomBlock::new("a").map(|_| None)),
        Some("the closure of a custom block"),
    );
    check(
        |agent| agent.trailing_with(|_| None),
        Some("the closure of a trailing message"),
    );
}

/// One call, and the answer.
fn one_call() -> Mock {
    Mock::new([call("Echo", "e", &[("text", "hi")]), "Done.".to_owned()])
}

#[tokio::test(start_paused = true)]
async fn one_configuration_gives_the_same_run_by_every_road() {
    let agent = Agent::builder()
        .system("Be brief.")
        .custom_block(CustomBlock::new("plan"))
        .trailing("Go on.")
        .max_iterations(4)
        .model(one_call())
        .gadget(echo());
    // `check` has played the log, too.
    let (events, log) = check(agent).await;
    let header: LogHeader = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let again = AgentBuilder::from_config(header.config.clone(), Code::default())
        .model(one_call())
        .gadget(echo());
    assert_eq!(
        *again.clone().build().unwrap().plan().config(),
        header.config
    );
    let (events_again, log_again) = check(again).await;
    assert_eq!(events_again, events);
    assert_eq!(log_again, log);
}

#[tokio::test]
async fn the_header_has_the_configuration_of_the_plan() {
    let agent = Agent::builder()
        .model(one_call())
        .gadget(echo())
        .tool_choice(ToolChoice::Gadget("ECHO".to_owned()))
        .without_retry()
        .build()
        .unwrap();
    let header = agent.ask("Begin").header().await.unwrap();
    assert_eq!(header.config, *agent.plan().config());
    // The gadgets without the viewer, which the run adds.
    assert_eq!(header.gadgets, [echo().into_gadget().spec().clone()]);
    let plan = header.plan().unwrap();
    assert_eq!(plan.config(), agent.plan().config());
    assert_eq!(plan.has_viewer(), agent.plan().has_viewer());
}

#[tokio::test(start_paused = true)]
async fn a_log_that_was_cut_anywhere_continues() {
    let agent = Agent::builder().model(one_call()).gadget(echo());
    let (_, log) = check(agent).await;
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    assert!(lines.len() > 4, "{log}");
    for count in 1..lines.len() {
        // The crash has cut the next line, too.
        let cut = lines[..count].concat() + &lines[count][..lines[count].len() / 2];
        let run = load(cut.as_bytes()).unwrap();
        let mut toolbox = Toolbox::default();
        toolbox.add(echo()).unwrap();
        let services = Services::new(Arc::new(Mock::new(["Done."; 3])), toolbox);
        let (_commands, receiver) = tokio::sync::mpsc::channel(1);
        let ended = drive(run, &services, receiver, &mut |_: &Event| {}).await;
        assert_eq!(
            (ended.summary.reason, ended.summary.answer.as_str()),
            (FinishReason::Completed, "Done."),
            "after {count} lines"
        );
    }
}
