//! Media that a backend leaves out are reported, once, by each backend.

use futures_util::StreamExt as _;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::{Content, Media, MediaData, MediaKind, Message, Request, Role};
use gadgetry_providers::model::ModelInfo;
use gadgetry_providers::{Anthropic, OpenAi};

use super::server::{Server, answer};

/// The diagnostics of a request with one medium, and with a turn after it.
async fn left_out(model: &dyn gadgetry::Model, medium: Media) -> Vec<String> {
    let message = |role, content| Message::new(role, vec![content]);
    let mut messages = vec![
        message(Role::User, Content::Media(medium)),
        message(
            Role::Assistant,
            Content::Text {
                text: "I see.".into(),
            },
        ),
        Message::text(Role::User, "What?"),
    ];
    let diagnostics = async |messages: &[Message]| {
        let request = Request::default().messages(messages.to_vec());
        let deltas = model.stream(request).filter_map(async |delta| match delta {
            Delta::Diagnostic(said) => Some(format!("{:?} {}", said.code, said.message)),
            _ => None,
        });
        deltas.collect::<Vec<_>>().await
    };
    assert_eq!(diagnostics(&messages).await, Vec::<String>::new());
    messages.truncate(1);
    diagnostics(&messages).await
}

#[tokio::test]
async fn media_that_are_left_out_are_reported_once() {
    let server = Server::start(vec![answer("400 No", &[], "no")]).await;
    let medium = |kind, mime: &str, data| Media {
        kind,
        mime_type: mime.into(),
        data,
        name: Some("n".into()),
    };
    let bytes = || MediaData::Base64("AAAA".into());
    let link = || MediaData::Url("https://example.com/n".into());
    let info = |reads_images, reads_audio| {
        ModelInfo::default()
            .reads_images(reads_images)
            .reads_audio(reads_audio)
    };
    let images = "the model is not known to read images (`ModelInfo::reads_images`)";
    let sounds = "the model is not known to read audio (`ModelInfo::reads_audio`)";
    let formats = "the API takes no images but JPEG, PNG, GIF and WebP";
    // What each API leaves out: Chat Completions, Messages.
    let table = [
        (
            info(false, false),
            medium(MediaKind::Image, "image/png", bytes()),
            [images; 2],
        ),
        (
            info(true, true),
            medium(MediaKind::Image, "image/png", bytes()),
            [""; 2],
        ),
        (
            info(true, true),
            medium(MediaKind::Image, "image/tiff", bytes()),
            ["", formats],
        ),
        (
            info(true, false),
            medium(MediaKind::Audio, "audio/wav", bytes()),
            [sounds, "the API takes no sounds"],
        ),
        (
            info(true, true),
            medium(MediaKind::Audio, "audio/wav", link()),
            [
                "the API takes no links to sounds",
                "the API takes no sounds",
            ],
        ),
        (
            info(true, true),
            medium(MediaKind::File, "text/csv", bytes()),
            [
                "the API takes no such files",
                "the API takes no files but PDF",
            ],
        ),
        (
            info(true, true),
            medium(MediaKind::File, "application/pdf", bytes()),
            ["the API takes no such files", ""],
        ),
    ];
    for (info, medium, expected) in table {
        let base = server.base_url();
        let models: Vec<Box<dyn gadgetry::Model>> = vec![
            Box::new(
                OpenAi::builder("m")
                    .base_url(&base)
                    .info(info.clone())
                    .build()
                    .unwrap(),
            ),
            Box::new(
                Anthropic::builder("m")
                    .base_url(&base)
                    .info(info)
                    .build()
                    .unwrap(),
            ),
        ];
        for (model, why) in models.iter().zip(expected) {
            let expected = format!("MediaOmitted {} was not sent: {why}", medium.caption());
            let expected: Vec<String> = (!why.is_empty()).then_some(expected).into_iter().collect();
            assert_eq!(left_out(&**model, medium.clone()).await, expected);
        }
    }
}
