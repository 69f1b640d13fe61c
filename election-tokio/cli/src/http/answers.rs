//! What is answered to which request. The body of a request is never read.

use super::knowledge::Knowledge;
use hyper::{
    Method, Request, Response, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue},
    http::uri::Authority,
};
use std::net::IpAddr;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PROMETHEUS: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The answer; for HEAD the server leaves the body out.
pub(super) fn answer<B>(knowledge: &Knowledge, request: &Request<B>) -> Response<String> {
    let hosts = request.headers().get_all(HOST);
    if !knowledge.exposed && !hosts.iter().all(is_own) {
        let why = "this port answers only requests for localhost or a loopback address, since \
                   another name may come from a malicious web page (DNS rebinding); ask 127.0.0.1, \
                   or start with --http-exposed\n";
        return response(StatusCode::MISDIRECTED_REQUEST, TEXT, why.to_owned());
    }
    let method = request.method();
    let answer: fn(&Knowledge) -> Response<String> = match request.uri().path() {
        "/leader" => leader,
        "/livez" => livez,
        "/readyz" => readyz,
        "/metrics" => metrics,
        _ => {
            let paths = "not found; ask for /leader, /livez, /readyz or /metrics\n";
            return response(StatusCode::NOT_FOUND, TEXT, paths.to_owned());
        }
    };
    if [Method::GET, Method::HEAD].contains(method) {
        return answer(knowledge);
    }
    let why = format!("{method} is not supported; use GET or HEAD\n");
    let mut refusal = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, why);
    refusal.headers_mut().insert(ALLOW, METHODS);
    refusal
}

/// Whether a browser that names this host got here by it alone. Of any other name whoever owns it says
/// where it leads, also to this port, and then its pages may read what is answered (DNS rebinding).
fn is_own(host: &HeaderValue) -> bool {
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| {
        let ip = host.host().trim_matches(['[', ']']).parse::<IpAddr>();
        let is_loopback = ip.is_ok_and(|ip| ip.to_canonical().is_loopback());
        is_loopback || host.host().eq_ignore_ascii_case("localhost")
    })
}

/// Who leads. An answer without a leader is a success: this node knows that there is none.
fn leader(knowledge: &Knowledge) -> Response<String> {
    let leader = knowledge.leader();
    // Texts and numbers can always be serialized.
    let body = serde_json::to_string(&leader).unwrap_or_default() + "\n";
    response(status(leader.error.as_ref(), StatusCode::SERVICE_UNAVAILABLE), JSON, body)
}

/// Whether a restart would help: for the probe that restarts.
fn livez(knowledge: &Knowledge) -> Response<String> {
    let ailment = knowledge.ailment();
    let status = status(ailment.as_ref(), StatusCode::INTERNAL_SERVER_ERROR);
    response(status, TEXT, ailment.unwrap_or_else(|| knowledge.life()) + "\n")
}

/// Whether this node takes part, as a leader or not: a member that could vote.
fn readyz(knowledge: &Knowledge) -> Response<String> {
    let absence = knowledge.absence();
    let status = status(absence.as_ref(), StatusCode::SERVICE_UNAVAILABLE);
    response(status, TEXT, absence.unwrap_or_else(|| "ready".to_owned()) + "\n")
}

fn metrics(knowledge: &Knowledge) -> Response<String> {
    response(StatusCode::OK, PROMETHEUS, knowledge.metrics())
}

fn status(trouble: Option<&String>, code: StatusCode) -> StatusCode {
    if trouble.is_some() { code } else { StatusCode::OK }
}

fn response(status: StatusCode, kind: HeaderValue, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}
