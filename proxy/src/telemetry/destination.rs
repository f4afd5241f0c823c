//! Where telemetry is exported to: the configuration's collector, unless the standard variables say otherwise
//! (contract 2, 10).

use crate::config::Env;

/// What a collector is spoken to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP over HTTP, as protobuf.
    Http,
}

/// Where one signal goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// In what.
    pub protocol: Protocol,
    /// The address to export to; `None`: a variable has it, which the exporter reads itself.
    pub endpoint: Option<String>,
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
        Ok(Self {
            traces: destination("TRACES", "v1/traces", configured, env)?,
            metrics: destination("METRICS", "v1/metrics", configured, env)?,
        })
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

fn destination(
    signal: &str,
    path: &str,
    configured: Option<&str>,
    env: Env<'_>,
) -> Result<Option<Destination>, String> {
    let exporter = said(env, &format!("OTEL_{signal}_EXPORTER"));
    let wanted = match exporter.as_deref() {
        None => false,
        Some("none") => return Ok(None),
        Some(list) if list.split(',').any(|name| name.trim() == "otlp") => true,
        // `prometheus`, `console`: what there is of those is there anyway.
        Some(_) => return Ok(None),
    };
    let or_all = |what: &str| {
        said(env, &format!("OTEL_EXPORTER_OTLP_{signal}_{what}"))
            .or_else(|| said(env, &format!("OTEL_EXPORTER_OTLP_{what}")))
    };
    let named = or_all("ENDPOINT");
    let Some(place) = named.as_deref().or(configured).or(wanted.then_some("")) else { return Ok(None) };
    let protocol = match or_all("PROTOCOL").as_deref() {
        Some("grpc") => Protocol::Grpc,
        Some("http/protobuf") => Protocol::Http,
        Some(_) => return Err("OTEL_EXPORTER_OTLP_PROTOCOL is neither grpc nor http/protobuf".to_owned()),
        // The port that collectors have for gRPC.
        None if place.trim_end_matches('/').ends_with(":4317") => Protocol::Grpc,
        None => Protocol::Http,
    };
    if place.starts_with("https:") {
        return Err("this version exports over http:// only: run a collector beside it".to_owned());
    }
    let endpoint = configured.filter(|_| named.is_none()).map(|base| match protocol {
        Protocol::Grpc => base.to_owned(),
        Protocol::Http => format!("{}/{path}", base.trim_end_matches('/')),
    });
    Ok(Some(Destination { protocol, endpoint }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(configured: Option<&str>, vars: &[(&str, &str)]) -> Result<Destinations, String> {
        let env = |name: &str| vars.iter().find(|(var, _)| *var == name).map(|(_, said)| (*said).to_owned());
        Destinations::of(configured, &env)
    }

    fn to(protocol: Protocol, endpoint: Option<&str>) -> Destination {
        Destination { protocol, endpoint: endpoint.map(ToOwned::to_owned) }
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
        assert_eq!(grpc.traces, Some(to(Protocol::Grpc, Some("http://c:4317"))));
        assert_eq!(grpc.metrics, grpc.traces);
        let http = of(Some("http://c:4318/"), &[]).unwrap();
        assert_eq!(http.traces, Some(to(Protocol::Http, Some("http://c:4318/v1/traces"))));
        assert_eq!(http.metrics, Some(to(Protocol::Http, Some("http://c:4318/v1/metrics"))));
    }

    #[test]
    fn the_variables_win() {
        let file = Some("http://c:4317");
        let var = |name, said| [(name, said)];
        let both = of(file, &var("OTEL_EXPORTER_OTLP_ENDPOINT", "http://d:4318")).unwrap();
        let http = Some(to(Protocol::Http, None));
        assert_eq!((both.traces, both.metrics), (http.clone(), http.clone()));
        let one = of(file, &var("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d:1/x")).unwrap();
        assert_eq!(one.traces, http);
        assert_eq!(one.metrics, Some(to(Protocol::Grpc, file)));
        let forced = of(file, &var("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")).unwrap();
        assert_eq!(forced.traces, Some(to(Protocol::Http, Some("http://c:4317/v1/traces"))));
        let no_traces = of(file, &var("OTEL_TRACES_EXPORTER", "none")).unwrap();
        assert_eq!((no_traces.traces, no_traces.metrics.is_some()), (None, true));
        assert!(of(file, &var("OTEL_SDK_DISABLED", "TRUE")).unwrap().are_none());
        let asked = of(None, &var("OTEL_TRACES_EXPORTER", "otlp")).unwrap();
        assert_eq!((asked.traces, asked.metrics), (http, None));
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        assert!(of(Some("http://c:1"), &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]).is_err());
        assert!(of(Some("https://c:4317"), &[]).is_err());
    }
}
