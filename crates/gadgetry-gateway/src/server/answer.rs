//! Answers to requests, from the first upstream that has one.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use gadgetry_proto::error::ModelErrorKind;

use super::job::Job;
use super::prompt_log::PromptLog;
use super::reply::{UpstreamReply, is_error};
use super::response::{failed, json_text, put_id};
use super::stream::streamed;
use super::watch::Watch;
use super::{Gateway, now};
use crate::api::{Failure, ReplyEncoder};
use crate::settings::Settings;

/// Answers a request. If an upstream fails before the first part of its reply, the next one is used.
pub(super) async fn answer(
    gateway: &Gateway,
    settings: &Settings,
    job: Arc<Job>,
    mut watch: Watch,
) -> Response {
    let mut upstreams = job.destination.upstreams.clone();
    // Those that failed a moment ago come last.
    upstreams.sort_by_key(|upstream| upstream.is_out());
    let client = &job.request.client;
    let mut failure = None;
    for upstream in upstreams {
        let log = PromptLog::new(&job.id, settings.log_prompts);
        let begun = UpstreamReply::begin(gateway, &job, Arc::clone(&upstream), log).await;
        let mut reply = match begun {
            Ok(reply) => reply,
            Err(error) => {
                failure = Some(error);
                continue;
            }
        };
        watch.asked(upstream);
        // Not the id in its calls: who is shown the one must not know the other.
        let id = format!("{:032x}", gateway.id());
        let mut encoder = job.api.encoder(client, &id, now());
        let answered = if client.is_streaming() {
            reply.first().await.map(Answered::First)
        } else {
            whole(&mut reply, &mut encoder).await.map(Answered::Whole)
        };
        watch.outcome = reply.outcome();
        let error = match answered {
            Ok(answered) => {
                watch.first_byte();
                return match answered {
                    Answered::First(deltas) => {
                        streamed(reply, watch, encoder, deltas, settings.limits.keep_alive)
                    }
                    Answered::Whole(response) => response,
                };
            }
            Err(error) => error,
        };
        let is_final = !is_elsewhere_better(&error);
        failure = Some(error);
        if is_final {
            break;
        }
    }
    // A route without upstreams serves no model.
    let failure = failure.unwrap_or_else(|| Failure::UnknownModel(client.model.clone()));
    watch.outcome.status = Some(failure.status(job.api));
    let mut response = failed(job.api, &failure);
    put_id(response.headers_mut(), &job.id);
    response
}

/// The part of an answer that the client receives first.
enum Answered {
    /// The first deltas of a stream.
    First(Vec<gadgetry_proto::delta::Delta>),
    /// The whole answer.
    Whole(Response),
}

/// Returns `true` if another upstream may have a reply after this failure.
fn is_elsewhere_better(failure: &Failure) -> bool {
    matches!(failure, Failure::Upstream { kind, .. } if !matches!(
        kind,
        ModelErrorKind::BadRequest | ModelErrorKind::ContextOverflow | ModelErrorKind::ContentFilter
    ))
}

/// Waits for a reply as one document. It is written while it arrives, so that it is in memory only once. Any error is the answer.
async fn whole(reply: &mut UpstreamReply, encoder: &mut ReplyEncoder) -> Result<Response, Failure> {
    let mut is_estimated = false;
    let (mut deltas, mut frames) = (Vec::new(), Vec::new());
    while !reply.is_over() {
        reply.next(&mut deltas).await;
        if let Some(at) = deltas.iter().position(is_error) {
            return Err(deltas.swap_remove(at).into());
        }
        is_estimated |= reply.encode(encoder, deltas.drain(..), &mut frames);
        frames.clear();
    }
    reply.remember(|| encoder.document());
    let mut response = json_text(StatusCode::OK, encoder.json());
    let headers = response.headers_mut();
    if is_estimated {
        headers.insert("x-gadgetry-usage", HeaderValue::from_static("estimated"));
    }
    reply.describe(headers);
    Ok(response)
}
