//! `gadgetry complete`: one request to a model, with its answer streamed.

use std::mem;
use std::sync::Arc;

use futures_util::StreamExt as _;
use gadgetry::Model;
use gadgetry::ask::{ModelCall, Received};
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::DiagnosticCode;
use gadgetry::proto::message::{Content, Message, Request, Role};
use gadgetry::proto::reply::{Format, Pipeline, ReplyStage};
use gadgetry::proto::run::Retry;
use gadgetry::proto::usage::Usage;
use gadgetry::provider::adapter::piped;
use tokio::sync::Notify;

use crate::cli::{CompleteArgs, ModelArgs};
use crate::connect::{self, ImageUse, ModelOverrides};
use crate::error::Error;
use crate::interrupts::when_reader_goes;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::prompt::{is_piped_in, not_empty, piped_and_typed, typed_or_piped};
use crate::run_agent::until_interrupted;
use crate::usage_totals::UsageTotals;
use crate::{catalog, media};

/// Runs the command. All input is checked before anything is sent.
pub(crate) async fn run(args: &CompleteArgs, printer: &Printer) -> Result<(), Error> {
    if args.model.quiet {
        printer.be_quiet();
    }
    let overrides = ModelOverrides {
        images: ImageUse::None.or_next(!args.images.is_empty()),
        audio: !args.audio.is_empty(),
        ..ModelOverrides::of(&args.model)
    };
    let catalog = catalog::load(&args.model.data)?;
    let model = connect::model(args.model.name(), &overrides, &catalog).await?;
    let request = request(args, printer)?;
    let stage = reasoning(&args.model)?;
    let gone = Arc::new(Notify::new());
    let going = Arc::clone(&gone);
    when_reader_goes(move || going.notify_one());
    let mut asking = Asking {
        model,
        request,
        stage,
        retry: connect::retry(&args.model),
        printer: printer.clone(),
        totals: UsageTotals::default(),
        has_said: None,
        thought: false,
        called: false,
    };
    let work = async move {
        let done = tokio::select! {
            done = asking.ask() => done,
            () = gone.notified() => Err(Error::Closed),
        };
        asking.printer.sum_up(|| asking.totals.words());
        done
    };
    let done = until_interrupted(work, || true).await?;
    done.unwrap_or_else(|| Err(Error::Failed("cancelled".to_owned())))
}

/// The request to the model.
fn request(args: &CompleteArgs, printer: &Printer) -> Result<Request, Error> {
    let mut content = Vec::new();
    let images = media::images(&args.images)?;
    content.extend(images.into_iter().map(Content::Media));
    for path in &args.audio {
        content.push(Content::Media(media::audio(path)?));
    }
    let text = match args.context {
        Some(_) if args.prompt != "-" => piped_and_typed(&args.prompt, printer)?,
        Some(_) | None => {
            if args.prompt != "-" && is_piped_in() {
                printer.progress(
                    "  note: stdin is not read; add - after the prompt to send it as well\n",
                );
            }
            typed_or_piped(&args.prompt, printer)?
        }
    };
    let text = not_empty(text)?;
    content.push(Content::Text { text });
    let user = Message::new(Role::User, content);
    let system = args.model.system.as_ref();
    let system = system.map(|text| Message::text(Role::System, text));
    Ok(Request::default()
        .messages(system.into_iter().chain([user]).collect::<Vec<_>>())
        .iteration(1))
}

/// Separates reasoning in tags from the answer.
fn reasoning(args: &ModelArgs) -> Result<ReplyStage, Error> {
    let format = Format {
        reasoning: args.reasoning_tags.0.clone(),
        reasoning_open: args.reasoning_open,
        ..Format::default()
    };
    ReplyStage::new(format, Vec::new(), None).map_err(Error::input)
}

struct Asking {
    model: Arc<dyn Model>,
    request: Request,
    stage: ReplyStage,
    retry: Option<Retry>,
    printer: Printer,
    totals: UsageTotals,
    /// The last character of the answer so far.
    has_said: Option<char>,
    /// Whether it has thought, and called a tool.
    thought: bool,
    called: bool,
}

impl Asking {
    /// Calls the model until there is an answer, or a failure that is not retried.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the rest is not text, and ends nothing"
    )]
    async fn ask(&mut self) -> Result<(), Error> {
        self.printer.spin();
        tracing::debug!(target: "gadgetry", "calling model");
        let stage = self.stage.clone();
        let call = ModelCall::new(Arc::clone(&self.model))
            .sender(move |model, request| {
                let pipeline = Pipeline::new(stage.clone(), Vec::new());
                piped(pipeline, model.stream(request))
            })
            .retry(self.retry.clone());
        let mut steps = call.send(self.request.clone());
        let (mut usage, mut refusal) = (Usage::default(), None);
        let mut end =
            Err("model call failed: the connection broke before the end of the answer".to_owned());
        while let Some(step) = steps.next().await {
            let delta = match step {
                Received::Delta(delta) => delta,
                Received::Retry { delay, error, .. } => {
                    let error = error.message;
                    self.pay(mem::take(&mut usage));
                    self.thought = false;
                    tracing::warn!(target: "gadgetry", ?delay, error, "retrying model call");
                    self.printer.progress(&format!(
                        "  model call failed: {}; retrying in {:.1} s\n",
                        one_line(&error),
                        delay.as_secs_f64()
                    ));
                    continue;
                }
                _ => continue,
            };
            match delta {
                Delta::Text { delta, .. } => self.say(&delta)?,
                Delta::Reasoning { delta, .. } => {
                    self.thought = true;
                    self.totals.text(&delta);
                    self.spin_with("thinks");
                }
                Delta::Usage { usage: counts } => usage = usage.max(counts),
                Delta::Diagnostic(said) if said.code == DiagnosticCode::Refusal => {
                    refusal = Some(said.message);
                }
                Delta::Diagnostic(said) if said.code == DiagnosticCode::MediaOmitted => {
                    let line = format!("  {}\n", one_line(&said.message));
                    self.printer.progress(&line);
                }
                Delta::ToolCallStart { .. } | Delta::ToolCall { .. } => self.called = true,
                Delta::MessageEnd {
                    stop_reason,
                    usage: counts,
                } => {
                    usage = usage.max(counts.unwrap_or_default());
                    end = self.verdict(&stop_reason, refusal.take());
                }
                Delta::Error(error) => end = Err(format!("model call failed: {error}")),
                _ => {}
            }
        }
        self.pay(usage);
        log_end(&usage, &end);
        self.end_line()?;
        end.map_err(Error::Failed)
    }

    /// Records a completed model call and its cost.
    fn pay(&mut self, usage: Usage) {
        let price = self.model.info().price;
        self.totals.call(usage, usage.dollars(price.as_ref()));
    }

    fn verdict(&self, reason: &StopReason, refusal: Option<String>) -> Result<(), String> {
        Err(match reason {
            StopReason::MaxTokens => {
                "the answer was cut off at the token limit; raise it with --max-tokens".to_owned()
            }
            StopReason::ContentFilter => {
                refusal.unwrap_or_else(|| "the provider withheld the rest of the answer".to_owned())
            }
            StopReason::Error => "model call failed".to_owned(),
            StopReason::Unspecified => {
                "the reply ended without a stop reason and may be incomplete".to_owned()
            }
            StopReason::Stop
            | StopReason::StopSequence
            | StopReason::ToolUse
            | StopReason::NextTurn => {
                return match (self.has_said, self.called, self.thought) {
                    (Some(_), ..) => Ok(()),
                    (None, true, _) => Err("the model gave no answer, only a tool call".to_owned()),
                    (None, false, true) => {
                        Err("the model gave no answer, only reasoning".to_owned())
                    }
                    (None, false, false) => Err("the model gave no answer".to_owned()),
                };
            }
            StopReason::Other(_) | _ => {
                format!("the reply ended with the reason \"{reason}\" and may be incomplete")
            }
        })
    }

    /// Prints more of the answer immediately.
    fn say(&mut self, text: &str) -> Result<(), Error> {
        let Some(last) = text.chars().next_back() else {
            return Ok(());
        };
        self.has_said = Some(last);
        self.totals.text(text);
        tracing::trace!(target: "gadgetry", text, "text");
        if self.printer.shares_terminal() {
            self.printer.stop_spinning();
        }
        self.spin_with("writes");
        self.printer.text(text);
        self.printer.flush()
    }

    fn end_line(&mut self) -> Result<(), Error> {
        if self.has_said.is_some_and(|last| last != '\n') {
            self.printer.text("\n");
        }
        self.printer.flush()
    }

    fn spin_with(&self, what: &str) {
        self.printer
            .spin_with(|| format!("the model {what}: {}", self.totals.words()));
    }
}

/// Logs the end of the model call, as a run does.
fn log_end(usage: &Usage, end: &Result<(), String>) {
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    match end {
        Ok(()) => tracing::info!(target: "gadgetry", input, output, "model call finished"),
        Err(error) => {
            tracing::error!(target: "gadgetry", input, output, error, "model call failed");
        }
    }
}
