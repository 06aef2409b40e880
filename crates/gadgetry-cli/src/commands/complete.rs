//! `gadgetry complete`: one question to a model, and its answer as it comes.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry::Model;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::{DiagnosticCode, ModelErrorKind};
use gadgetry::proto::message::{Content, Message, Request, Role};
use gadgetry::proto::reply::{Format, ReplyStage};
use gadgetry::proto::run::Retry;
use gadgetry::proto::usage::Usage;
use tokio::sync::Notify;

use crate::args::{CompleteArgs, ModelArgs};
use crate::conduct::until_interrupted;
use crate::connect::{self, Wishes};
use crate::error::Error;
use crate::interrupts::when_reader_goes;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::prompt::{is_piped_in, piped_and_typed, typed_or_piped};
use crate::tally::Tally;
use crate::{catalog, media};

/// Everything that can be wrong with the input is found before anything is sent.
pub(crate) fn run(args: &CompleteArgs, printer: &mut Printer) -> Result<(), Error> {
    if args.model.quiet {
        printer.be_quiet();
    }
    let wishes = Wishes {
        images: !args.images.is_empty(),
        audio: !args.audio.is_empty(),
        ..Wishes::of(&args.model)
    };
    let catalog = catalog::load(&args.model.data)?;
    let model = connect::model(&args.model.model, wishes, &catalog)?;
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
        printer: mem::take(printer),
        tally: Tally::default(),
        has_said: None,
    };
    let work = move || async move {
        let done = tokio::select! {
            done = asking.ask() => done,
            () = gone.notified() => Err(Error::Closed),
        };
        let Asking {
            mut printer, tally, ..
        } = asking;
        printer.sum_up(|| tally.words());
        (done, printer)
    };
    let Some((done, written)) = until_interrupted(work, || true)? else {
        return Err(Error::Failed("cancelled".to_owned()));
    };
    *printer = written;
    done
}

/// What the model is asked.
fn request(args: &CompleteArgs, printer: &mut Printer) -> Result<Request, Error> {
    let mut content = Vec::new();
    for image in &args.images {
        content.push(Content::Media(media::image(image)?));
    }
    for path in &args.audio {
        content.push(Content::Media(media::audio(path)?));
    }
    let text = match args.context {
        Some(_) if args.prompt != "-" => piped_and_typed(&args.prompt, printer)?,
        Some(_) | None => {
            if args.prompt != "-" && is_piped_in() {
                printer.progress(
                    "  note: stdin is not read; add - after the prompt to send it, too\n",
                );
            }
            typed_or_piped(&args.prompt, printer)?
        }
    };
    if text.trim().is_empty() {
        return Err(Error::input(
            "there is nothing to ask: write a prompt, or pipe a text into stdin",
        ));
    }
    content.push(Content::Text { text });
    let user = Message {
        role: Role::User,
        content,
        raw: None,
    };
    let system = args.model.system.as_ref();
    let system = system.map(|text| Message::text(Role::System, text));
    Ok(Request {
        messages: Arc::new(system.into_iter().chain([user]).collect()),
        iteration: 1,
        ..Request::default()
    })
}

/// Takes reasoning that stands in tags out of the answer.
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
    tally: Tally,
    /// The last character of the answer so far.
    has_said: Option<char>,
}

/// A model call that came to nothing, or to less than it should.
struct Failure {
    words: String,
    kind: ModelErrorKind,
    retry_after_ms: Option<u64>,
}

impl Failure {
    fn new(kind: ModelErrorKind, words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            kind,
            retry_after_ms: None,
        }
    }
}

impl Asking {
    /// Asks until there is an answer, or nothing can be done about a failure.
    async fn ask(&mut self) -> Result<(), Error> {
        self.printer.spin();
        for attempt in 1.. {
            let Err(failure) = self.attempt().await? else {
                break;
            };
            let delay = self.retry.as_ref().and_then(|retry| {
                let may_pass = failure.kind.is_retryable() && self.has_said.is_none();
                let delay = may_pass.then(|| retry.delay_ms(1, attempt, failure.retry_after_ms));
                delay.flatten().map(Duration::from_millis)
            });
            let Some(delay) = delay else {
                self.end_line()?;
                return Err(Error::Failed(failure.words));
            };
            self.printer.progress(&format!(
                "  {}; retrying in {:.1} s\n",
                one_line(&failure.words),
                delay.as_secs_f64()
            ));
            tokio::time::sleep(delay).await;
        }
        self.end_line()
    }

    /// Asks once. The outer error is one of stdout.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the rest is no text, and ends nothing"
    )]
    async fn attempt(&mut self) -> Result<Result<(), Failure>, Error> {
        let mut deltas = self.model.stream(self.request.clone());
        let mut stage = self.stage.clone();
        let mut scanned = Vec::new();
        let mut usage = Usage::default();
        let mut refusal = None;
        let mut end = Err(Failure::new(
            ModelErrorKind::Truncated,
            "model call failed: the connection broke before the answer had ended",
        ));
        while let Some(delta) = deltas.next().await {
            match delta {
                Delta::Text { .. } | Delta::Reasoning { .. } => {
                    stage.process(delta, &mut scanned);
                    self.tell(&mut scanned)?;
                }
                Delta::Usage { usage: counts } => usage = usage.max(counts),
                Delta::Diagnostic(said) if said.code == DiagnosticCode::Refusal => {
                    refusal = Some(said.message);
                }
                Delta::MessageEnd {
                    stop_reason,
                    usage: counts,
                } => {
                    usage = usage.max(counts.unwrap_or_default());
                    stage.finish(&mut scanned);
                    self.tell(&mut scanned)?;
                    end = self.verdict(&stop_reason, refusal.take());
                    break;
                }
                Delta::Error {
                    error,
                    kind,
                    retry_after_ms,
                    ..
                } => {
                    end = Err(Failure {
                        retry_after_ms,
                        ..Failure::new(kind, format!("model call failed: {error}"))
                    });
                    break;
                }
                _ => {}
            }
        }
        // An answer that broke off may end in what could have become a tag.
        stage.finish(&mut scanned);
        self.tell(&mut scanned)?;
        let price = self.model.info().price;
        self.tally
            .call(usage, price.map_or(0.0, |price| price.cost(&usage)));
        Ok(end)
    }

    /// Text is the answer; everything else is not.
    fn tell(&mut self, scanned: &mut Vec<Delta>) -> Result<(), Error> {
        for delta in scanned.drain(..) {
            if let Delta::Text { delta, .. } = delta {
                self.say(&delta)?;
            } else if let Delta::Reasoning { delta, .. } = delta {
                self.tally.text(&delta);
                self.spin_with("thinks");
            }
        }
        Ok(())
    }

    fn verdict(&self, reason: &StopReason, refusal: Option<String>) -> Result<(), Failure> {
        match reason {
            StopReason::MaxTokens => Err(Failure::new(
                ModelErrorKind::Other,
                "the answer was cut off at the token limit; allow more with --max-tokens",
            )),
            StopReason::ContentFilter => Err(Failure::new(
                ModelErrorKind::ContentFilter,
                refusal
                    .unwrap_or_else(|| "the provider withheld the rest of the answer".to_owned()),
            )),
            StopReason::Error => Err(Failure::new(ModelErrorKind::Other, "model call failed")),
            StopReason::Unspecified => Err(Failure::new(
                ModelErrorKind::Other,
                "the reply ended without a stop reason and may be incomplete",
            )),
            StopReason::Other(_) => Err(Failure::new(
                ModelErrorKind::Other,
                format!("the reply ended with the reason \"{reason}\" and may be incomplete"),
            )),
            StopReason::Stop | StopReason::StopSequence | StopReason::ToolUse => {
                match self.has_said {
                    Some(_) => Ok(()),
                    None => Err(Failure::new(
                        ModelErrorKind::Truncated,
                        "the model gave no answer",
                    )),
                }
            }
        }
    }

    /// More of the answer, at once.
    fn say(&mut self, text: &str) -> Result<(), Error> {
        let Some(last) = text.chars().next_back() else {
            return Ok(());
        };
        self.has_said = Some(last);
        self.tally.text(text);
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
            .spin_with(|| format!("the model {what}: {}", self.tally.words()));
    }
}
