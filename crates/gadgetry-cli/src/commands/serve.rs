//! `gadgetry serve`: native tool calls for any client, on any text model.

use std::net::SocketAddr;
use std::sync::Arc;

use gadgetry::provider::resolve::Api;
use gadgetry::provider::{ApiKey, BaseUrl, HttpConfig, Resolver};
use gadgetry_gateway::config::{Config, load, load_keys};
use gadgetry_gateway::exchange::{Constrain, MarkerStyle, RulesPatch, ToolMode};
use gadgetry_gateway::upstream::{Target, Upstream};
use gadgetry_gateway::{Gateway, Settings, server};
use tokio::net::TcpListener;

use crate::cli::{ServeArgs, UpstreamApi};
use crate::config::{self, ModelMarkers, ModelSettings, ModelTables, ModelTools};
use crate::error::Error;
#[cfg(feature = "inspect")]
use crate::inspection;
use crate::interrupts::Interrupts;
use crate::open_files;
use crate::printer::Printer;
#[cfg(feature = "otel")]
use crate::telemetry;

/// Default address to listen at.
const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8787);

/// Runs the command until an interrupt.
pub(crate) async fn run(
    args: &ServeArgs,
    models: &ModelTables,
    printer: &Printer,
) -> Result<(), Error> {
    if args.quiet {
        printer.be_quiet();
    }
    let Config { settings, listen } = read(args, models)?;
    let listen = args.listen.or(listen).unwrap_or(LISTEN);
    check(listen, &settings)?;
    let interrupts = if is_reloadable(args) {
        Interrupts::listen_but_hangup()
    } else {
        Interrupts::listen()
    };
    let mut interrupts = interrupts.map_err(|error| Error::machine(&error))?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| Error::Failed(format!("cannot listen on {listen}: {error}")))?;
    let address = listener
        .local_addr()
        .map_err(|error| Error::machine(&error))?;
    let upstreams: Vec<String> = settings.upstreams.iter().map(|it| it.place()).collect();
    printer.progress(&format!(
        "serving http://{address}/v1 with the models of {}\n",
        upstreams.join(", ")
    ));
    open_files::raise_limit();
    let gateway = Gateway::new(settings);
    #[cfg(feature = "otel")]
    telemetry::trace(&gateway);
    #[cfg(feature = "inspect")]
    inspection::watch(&gateway);
    let mut reloads = Reloads::listen(args)?;
    let reloaded = gateway.clone();
    let reloading = async {
        loop {
            reloads.next().await;
            match read(args, models).and_then(|it| check(listen, &it.settings).map(|()| it)) {
                Ok(config) => {
                    reloaded.replace(config.settings);
                    printer.progress("the configuration was read again\n");
                }
                Err(
                    Error::Input(problem)
                    | Error::Failed(problem)
                    | Error::Denied(problem)
                    | Error::Help(problem),
                ) => {
                    printer.progress(&format!("the old configuration stays: {problem}\n"));
                }
                Err(Error::Closed) => {}
            }
        }
    };
    let mut serving = std::pin::pin!(server::serve(listener, gateway, async move {
        interrupts.next().await;
        // Another one ends the program at once.
        tokio::spawn(async move {
            interrupts.next().await;
            std::process::exit(1);
        });
    }));
    tokio::select! {
        () = &mut serving => {}
        () = reloading => {}
    }
    Ok(())
}

/// Returns whether there is a file to read again.
fn is_reloadable(args: &ServeArgs) -> bool {
    args.config.is_some() || args.keys.is_some()
}

/// The settings that the options and files give.
fn read(args: &ServeArgs, models: &ModelTables) -> Result<Config, Error> {
    let resolver = Resolver::from_env();
    let patch = patch(args);
    let mut config = match (&args.config, &args.upstream) {
        (Some(path), _) => load(path, &resolver, &patch).map_err(Error::input)?,
        (None, Some(upstream)) => Config {
            settings: Settings::default()
                .upstreams(vec![Arc::new(single(upstream, args, resolver)?)])
                .rules(patch),
            listen: None,
        },
        (None, None) => return Err(Error::input("--upstream or --config is missing")),
    };
    config.settings.log_prompts |= args.log_prompts;
    config.settings.models = models
        .by_model()
        .map(|(name, settings)| (name.to_owned(), rules_of(settings)))
        .collect();
    if let Some(path) = &args.keys {
        let keys = load_keys(path).map_err(Error::input)?;
        config.settings.keys.extend(keys);
    }
    Ok(config)
}

fn patch(args: &ServeArgs) -> RulesPatch {
    RulesPatch {
        mode: args.mode.map(Into::into),
        markers: args.markers.map(Into::into),
        dialects: args.dialects.clone(),
        repairs: args.repairs,
        run_dependencies: args.run_dependencies.then_some(true),
        form: args.form.map(Some),
        examples: args.examples.map(|count| Some(count.into())),
        constrain: args.constrain.map(Into::into),
        ..RulesPatch::default()
    }
}

/// The rules of a model that its table in the user's configuration states.
fn rules_of(settings: &ModelSettings) -> RulesPatch {
    RulesPatch {
        mode: settings.tools.map(|tools| match tools {
            ModelTools::Text => ToolMode::Text,
            ModelTools::Native => ToolMode::Native,
        }),
        form: settings.form.map(Some),
        examples: settings.examples.map(Some),
        constrain: settings.constrain.map(|constrain| match constrain {
            config::Constrain::Auto => Constrain::Auto,
            config::Constrain::Off => Constrain::Off,
        }),
        markers: settings.markers.map(|markers| match markers {
            ModelMarkers::Random => MarkerStyle::Nonce,
            ModelMarkers::Plain => MarkerStyle::Plain,
        }),
        ..RulesPatch::default()
    }
}

/// The upstream of `--upstream`.
fn single(name: &str, args: &ServeArgs, resolver: Resolver) -> Result<Upstream, Error> {
    let key = args.upstream_key_env.as_ref().map(|variable| {
        let key = resolver.variable(variable).map(ApiKey::new);
        key.ok_or_else(|| {
            Error::input(format_args!(
                "--upstream-key-env {variable}: the variable is not set"
            ))
        })
    });
    let key = key.transpose()?;
    let target = if name.contains("://") {
        let api = match args.upstream_api {
            UpstreamApi::Chat => Api::Chat,
            UpstreamApi::Responses => Api::Responses,
            UpstreamApi::Messages => Api::Messages,
            UpstreamApi::Completions => Api::Completions,
        };
        Target::Server {
            url: BaseUrl::new(name),
            api,
            key,
        }
    } else {
        Target::Model {
            name: name.to_owned(),
            key,
            resolver: Box::new(resolver),
        }
    };
    let http = HttpConfig::new().proxy_from_environment(true);
    // Clients see the name in a header: an address is nothing for them.
    let shown = if name.contains("://") {
        "upstream"
    } else {
        name
    };
    Upstream::new(shown, target, http).map_err(|error| Error::at("--upstream", error))
}

/// Without keys, only this machine may use the gateway.
fn check(listen: SocketAddr, settings: &Settings) -> Result<(), Error> {
    if listen.ip().is_loopback() || !settings.keys.is_empty() {
        return Ok(());
    }
    Err(Error::input(format_args!(
        "{listen} can be reached from other machines, and there are no keys: add --keys FILE, or listen on 127.0.0.1"
    )))
}

#[cfg(unix)]
struct Reloads(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Reloads {
    /// SIGHUP, where there is a file to read again.
    fn listen(args: &ServeArgs) -> Result<Self, Error> {
        use tokio::signal::unix::{SignalKind, signal};
        let signal = is_reloadable(args)
            .then(|| signal(SignalKind::hangup()))
            .transpose();
        signal.map(Self).map_err(|error| Error::machine(&error))
    }

    async fn next(&mut self) {
        match &mut self.0 {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct Reloads;

#[cfg(not(unix))]
impl Reloads {
    fn listen(_: &ServeArgs) -> Result<Self, Error> {
        Ok(Self)
    }

    async fn next(&mut self) {
        std::future::pending().await
    }
}
