//! A server for this machine, which pages of others cannot use.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use gadgetry_http::{is_from_another_page, names_this_machine};

/// Returns `app` for a server on this machine without logins: it answers programs, and its own pages in a browser. Requests that name
/// another host, as those of a page that has taken over a name by DNS, and requests of other pages get 403.
///
/// ```
/// use axum::{Router, routing::get};
/// use gadgetry_axum::for_this_machine;
///
/// let app: Router = for_this_machine(Router::new().route("/", get(|| async { "Hello!" })));
/// ```
pub fn for_this_machine(app: Router) -> Router {
    app.layer(middleware::from_fn(admit))
}

async fn admit(request: Request, next: Next) -> Response {
    if !names_this_machine(request.headers()) {
        let words = "the request's host must be localhost, 127.0.0.1 or [::1]\n";
        return (StatusCode::FORBIDDEN, words).into_response();
    }
    if is_from_another_page(request.headers()) {
        return (StatusCode::FORBIDDEN, "the request is from another page\n").into_response();
    }
    next.run(request).await
}
