//! Where telemetry is exported to: the configuration's collector, unless the standard variables say otherwise
//! (contract 2, 10).

use std::path::PathBuf;
use std::time::Duration;

use hyper::Uri;
use mcpl_certs::ClientFiles;

use crate::config::Env;

/// How long a batch may take unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What a collector is spoken to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP over HTTP, as protobuf.
    Http,
}

/// Where one signal goes, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// In what.
    pub protocol: Protocol,
    /// The whole address: `http://` or `https://`, and of HTTP the path.
    pub endpoint: String,
    /// Whom to trust, and who we are, where the address is `https://`.
    pub tls: Option<ClientFiles>,
    /// How long a batch may take.
    pub timeout: Duration,
}

/// Where each signal goes; `None`: nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destinations {
    /// Spans.
    pub traces: Option<Destination>,
    /// Metrics.
    pub metrics: Option<Destination>,
}

impl Destinations {
    /// As the configuration's `[telemetry] otlp_endpoint` and the variables have it.
    ///
    /// # Errors
    /// What is wrong with the variables, or cannot be done.
    pub fn of(configured: Option<&str>, env: Env<'_>) -> Result<Self, String> {
        if said(env, "OTEL_SDK_DISABLED").is_some_and(|said| said.eq_ignore_ascii_case("true")) {
            return Ok(Self::default());
        }
        let of = |name| Signal { name, env }.destination(configured);
        Ok(Self { traces: of("TRACES")?, metrics: of("METRICS")? })
    }

    /// Nothing goes anywhere.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A variable that says something.
fn said(env: Env<'_>, name: &str) -> Option<String> {
    env(name).map(|said| said.trim().to_owned()).filter(|said| !said.is_empty())
}

/// The variables of one signal.
struct Signal<'a> {
    /// As variables have it.
    name: &'static str,
    env: Env<'a>,
}

impl Signal<'_> {
    /// What the signal's own variable says, or else the one of all.
    fn said(&self, what: &str) -> Option<String> {
        self.own(what).or_else(|| said(self.env, &format!("OTEL_EXPORTER_OTLP_{what}")))
    }

    fn own(&self, what: &str) -> Option<String> {
        said(self.env, &format!("OTEL_EXPORTER_OTLP_{}_{what}", self.name))
    }

    fn destination(&self, configured: Option<&str>) -> Result<Option<Destination>, String> {
        let exporter = said(self.env, &format!("OTEL_{}_EXPORTER", self.name));
        let wanted = match exporter.as_deref() {
            None => false,
            Some("none") => return Ok(None),
            Some(list) if list.split(',').any(|name| name.trim() == "otlp") => true,
            // `prometheus`, `console`: what there is of those is there anyway.
            Some(_) => return Ok(None),
        };
        let named = self.said("ENDPOINT");
        let Some(place) = named.as_deref().or(configured).or(wanted.then_some("")) else { return Ok(None) };
        let protocol = match self.said("PROTOCOL").as_deref() {
            Some("grpc") => Protocol::Grpc,
            Some("http/protobuf") => Protocol::Http,
            Some(_) => return Err("OTEL_EXPORTER_OTLP_PROTOCOL is neither grpc nor http/protobuf".to_owned()),
            // The port that collectors have for gRPC.
            None if place.trim_end_matches('/').ends_with(":4317") => Protocol::Grpc,
            None => Protocol::Http,
        };
        let endpoint = self.endpoint(place, protocol)?;
        let tls = if endpoint.starts_with("https:") { Some(self.tls()?) } else { None };
        self.check_compression();
        Ok(Some(Destination { protocol, endpoint, tls, timeout: self.timeout() }))
    }

    /// The whole address of what was said to be the `place`; nothing: the one that collectors have.
    fn endpoint(&self, place: &str, protocol: Protocol) -> Result<String, String> {
        let path = if self.name == "TRACES" { "v1/traces" } else { "v1/metrics" };
        let endpoint = match (protocol, place) {
            (Protocol::Grpc, "") => "http://localhost:4317".to_owned(),
            (Protocol::Http, "") => format!("http://localhost:4318/{path}"),
            // Said of this signal, it is whole.
            (Protocol::Http, _) if self.own("ENDPOINT").is_some() => place.to_owned(),
            (Protocol::Http, _) => format!("{}/{path}", place.trim_end_matches('/')),
            (Protocol::Grpc, _) if place.contains("://") => place.to_owned(),
            (Protocol::Grpc, _) => {
                let insecure = self.said("INSECURE").is_some_and(|said| said.eq_ignore_ascii_case("true"));
                format!("{}://{place}", if insecure { "http" } else { "https" })
            }
        };
        let wrong = |why| format!("the address in OTEL_EXPORTER_OTLP_ENDPOINT {why}");
        let uri: Uri =
            endpoint.parse().map_err(|_| wrong("is no URL; write http://HOST:PORT or https://HOST:PORT"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("has no http:// or https:// in front"));
        }
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(wrong("has a user or password in it; use OTEL_EXPORTER_OTLP_HEADERS"));
        }
        Ok(endpoint)
    }

    fn tls(&self) -> Result<ClientFiles, String> {
        let path = |what| self.said(what).map(PathBuf::from);
        let identity = match (path("CLIENT_CERTIFICATE"), path("CLIENT_KEY")) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some((cert, key)),
            _ => {
                return Err(
                    "of OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY one is \
                            missing; set both or none"
                        .to_owned(),
                );
            }
        };
        Ok(ClientFiles { ca_file: path("CERTIFICATE"), identity })
    }

    fn timeout(&self) -> Duration {
        let Some(said) = self.said("TIMEOUT") else { return TIMEOUT };
        let ms = said.parse().ok().filter(|ms| *ms > 0);
        ms.map_or_else(
            || {
                tracing::warn!(
                    signal = self.signal(),
                    "OTEL_EXPORTER_OTLP_TIMEOUT is no number of milliseconds above 0; it is 10000"
                );
                TIMEOUT
            },
            Duration::from_millis,
        )
    }

    /// The exporter compresses with what it can by itself; what it cannot is said here.
    fn check_compression(&self) {
        let said = self.said("COMPRESSION").unwrap_or_default().to_ascii_lowercase();
        if !matches!(&*said, "" | "none" | "gzip") {
            let why = "OTEL_EXPORTER_OTLP_COMPRESSION is neither gzip nor none; nothing is compressed";
            tracing::warn!(signal = self.signal(), "{why}");
        }
    }

    /// For the log.
    fn signal(&self) -> String {
        self.name.to_ascii_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(configured: Option<&str>, vars: &[(&str, &str)]) -> Result<Destinations, String> {
        let env = |name: &str| vars.iter().find(|(var, _)| *var == name).map(|(_, said)| (*said).to_owned());
        Destinations::of(configured, &env)
    }

    fn to(protocol: Protocol, endpoint: &str) -> Destination {
        Destination { protocol, endpoint: endpoint.to_owned(), tls: None, timeout: TIMEOUT }
    }

    #[test]
    fn without_a_word_nothing_is_exported() {
        assert!(of(None, &[]).unwrap().are_none());
        assert!(
            of(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " "), ("OTEL_SERVICE_NAME", "x")]).unwrap().are_none()
        );
    }

    #[test]
    fn the_configuration_names_a_collector() {
        let grpc = of(Some("http://c:4317"), &[]).unwrap();
        assert_eq!(grpc.traces, Some(to(Protocol::Grpc, "http://c:4317")));
        assert_eq!(grpc.metrics, grpc.traces);
        let http = of(Some("http://c:4318/"), &[]).unwrap();
        assert_eq!(http.traces, Some(to(Protocol::Http, "http://c:4318/v1/traces")));
        assert_eq!(http.metrics, Some(to(Protocol::Http, "http://c:4318/v1/metrics")));
    }

    #[test]
    fn the_variables_win() {
        let file = Some("http://c:4317");
        let var = |name, said| [(name, said)];
        let both = of(file, &var("OTEL_EXPORTER_OTLP_ENDPOINT", "http://d:4318")).unwrap();
        assert_eq!(both.traces, Some(to(Protocol::Http, "http://d:4318/v1/traces")));
        assert_eq!(both.metrics, Some(to(Protocol::Http, "http://d:4318/v1/metrics")));
        let one = of(file, &var("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d:1/x")).unwrap();
        assert_eq!(one.traces, Some(to(Protocol::Http, "http://d:1/x")));
        assert_eq!(one.metrics, Some(to(Protocol::Grpc, "http://c:4317")));
        let forced = of(file, &var("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")).unwrap();
        assert_eq!(forced.traces, Some(to(Protocol::Http, "http://c:4317/v1/traces")));
        let no_traces = of(file, &var("OTEL_TRACES_EXPORTER", "none")).unwrap();
        assert_eq!((no_traces.traces, no_traces.metrics.is_some()), (None, true));
        assert!(of(file, &var("OTEL_SDK_DISABLED", "TRUE")).unwrap().are_none());
        let asked = of(None, &var("OTEL_TRACES_EXPORTER", "otlp")).unwrap();
        assert_eq!(
            (asked.traces, asked.metrics),
            (Some(to(Protocol::Http, "http://localhost:4318/v1/traces")), None)
        );
        let grpc = [("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        assert_eq!(of(None, &grpc).unwrap().traces, Some(to(Protocol::Grpc, "http://localhost:4317")));
        let times = [("OTEL_EXPORTER_OTLP_TIMEOUT", "500"), ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "soon")];
        let timed = of(file, &times).unwrap();
        assert_eq!(timed.traces.unwrap().timeout, Duration::from_millis(500));
        assert_eq!(timed.metrics.unwrap().timeout, TIMEOUT);
    }

    #[test]
    fn an_address_without_a_scheme_is_grpcs_and_encrypted_unless_it_is_said_to_be_insecure() {
        let with = |more: &[(&str, &str)]| {
            let vars = [&[("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317")], more].concat();
            of(None, &vars).unwrap().traces.unwrap()
        };
        let secure = with(&[("OTEL_EXPORTER_OTLP_METRICS_INSECURE", "true")]);
        assert_eq!((&*secure.endpoint, secure.tls), ("https://c:4317", Some(ClientFiles::default())));
        let insecure = with(&[("OTEL_EXPORTER_OTLP_INSECURE", "True")]);
        assert_eq!((&*insecure.endpoint, insecure.tls), ("http://c:4317", None));
        assert!(
            of(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318")]).is_err(),
            "of HTTP there is no such rule"
        );
    }

    #[test]
    fn the_files_of_tls_are_those_of_the_signal_or_of_all() {
        let vars = [
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "all.crt"),
            ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "ca.crt"),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "us.crt"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "us.key"),
        ];
        let of_each = of(Some("https://c:4317"), &vars).unwrap();
        let files = |ca: &str| {
            Some(ClientFiles { ca_file: Some(ca.into()), identity: Some(("us.crt".into(), "us.key".into())) })
        };
        assert_eq!(of_each.traces.unwrap().tls, files("ca.crt"));
        assert_eq!(of_each.metrics.unwrap().tls, files("all.crt"));
        assert!(of(Some("https://c:4317"), &vars[..3]).is_err(), "a certificate without its key");
        assert_eq!(of(Some("http://c:4317"), &vars[..3]).unwrap().traces.unwrap().tls, None);
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        assert!(of(Some("http://c:1"), &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]).is_err());
        for address in ["ftp://c:4317", "https://", "https://me:secret@c:4317", "http://c:4317 x"] {
            let why = of(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", address)]).unwrap_err();
            assert!(why.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && !why.contains("secret"), "{why}");
        }
    }
}
