//! How a collector is reached: a TCP connection, and TLS on it where its address says so (contract 10.1, 12).

use std::error::Error;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::Uri;
use hyper_util::rt::TokioIo;
use mcpl_certs::{ClientStore, Refreshed};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::Error as TlsError;
use tokio_rustls::rustls::pki_types::ServerName;
use tower_service::Service;

use super::destination::{Destination, Protocol};
use super::standing::Standing;
use crate::transport::dial::{Settings, distrust};

/// What to set where there is no trust.
const SETTINGS: Settings = Settings {
    ca: "OTEL_EXPORTER_OTLP_CERTIFICATE",
    name: "write the address with the name it has",
    identity: "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
};

/// Makes connections to one collector. Certificates that were renewed count from the next one on.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    tls: Option<ClientStore>,
    protocol: Protocol,
    within: Duration,
    standing: Arc<Standing>,
}

/// What both ways of HTTP read and write.
type Stream = TokioIo<Heard>;

impl Connector {
    /// One for this destination; what it finds wrong, `standing` is told. Reads the files.
    ///
    /// # Errors
    /// The first fault of its files.
    pub(super) fn new(to: &Destination, standing: Arc<Standing>) -> Result<Self, String> {
        let tls = to.tls.clone().map(ClientStore::open).transpose().map_err(|fault| fault.to_string())?;
        if let Some(store) = &tls {
            for warning in store.warnings() {
                tracing::warn!("{warning}");
            }
        }
        Ok(Self { tls, protocol: to.protocol, within: to.timeout, standing })
    }

    /// Connects to the host of an address.
    ///
    /// # Errors
    /// What the network or TLS says; the standing knows it in words.
    pub(super) async fn connect(&self, uri: &Uri) -> io::Result<Stream> {
        let connected = self.attempt(uri).await;
        if let Err(error) = &connected {
            self.standing.note(reason(error));
        }
        connected
    }

    async fn attempt(&self, uri: &Uri) -> io::Result<Stream> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = uri.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let stream = dial(host, port, self.within).await?;
        let stream: Box<dyn Both> = match &self.tls {
            None => Box::new(stream),
            Some(store) => {
                if let Refreshed::Kept(fault) = store.refresh() {
                    tracing::warn!("{fault}; what was there before stays");
                }
                let mut config = (*store.config()).clone();
                if self.protocol == Protocol::Grpc {
                    config.alpn_protocols = vec![b"h2".to_vec()];
                }
                let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
                Box::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
            }
        };
        Ok(TokioIo::new(Heard { stream, standing: Arc::clone(&self.standing), closed: None }))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { this.connect(&uri).await })
    }
}

/// A connection that breaks where nothing of what is sent arrives within this time: a collector that is gone without a
/// word is dialled anew after a batch or two, and not when the system gives up.
async fn dial(host: &str, port: u16, within: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    {
        // More than the system takes is as good as never.
        let ms = i32::try_from(within.as_millis()).unwrap_or(i32::MAX);
        rustix::net::sockopt::set_tcp_user_timeout(&stream, ms.unsigned_abs())?;
    }
    Ok(stream)
}

/// Why there is no connection, or no more, and what can be done about it.
fn reason(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| (inner as &dyn Error).downcast_ref::<TlsError>());
    match (inner, error.kind()) {
        (Some(inner), _) => format!("TLS: {}", distrust(inner, &SETTINGS)),
        (None, io::ErrorKind::ConnectionRefused) => {
            "nothing listens there: connection refused; is the collector running, and its address right?"
                .to_owned()
        }
        (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
            "the connection was closed; are http:// or https://, and the port, what it speaks?".to_owned()
        }
        (None, _) => error.to_string(),
    }
}

trait Both: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Both for S {}

/// A connection of which it is heard why it broke: with TLS 1.3 the other side says only there that it does not trust
/// us.
pub(super) struct Heard {
    stream: Box<dyn Both>,
    standing: Arc<Standing>,
    /// A write failed with this, and it is not known yet why.
    closed: Option<io::Error>,
}

impl Heard {
    /// Writes, and notes why that failed. Where the connection was closed from the other side, that side may have
    /// said why, and what it said is there to be read: the kernel wakes who reads of a closed connection.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut Box<dyn Both>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let error = match self.closed.take() {
            Some(error) => error,
            None => match ready!(write(Pin::new(&mut self.stream), cx)) {
                Ok(done) => return Poll::Ready(Ok(done)),
                Err(error) => error,
            },
        };
        let mut why = None;
        if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) {
            let mut last = [0; 64];
            match Pin::new(&mut self.stream).poll_read(cx, &mut ReadBuf::new(&mut last)) {
                Poll::Ready(read) => why = read.err().map(|error| reason(&error)),
                Poll::Pending => {
                    self.closed = Some(error);
                    return Poll::Pending;
                }
            }
        }
        self.standing.note(why.unwrap_or_else(|| reason(&error)));
        Poll::Ready(Err(error))
    }
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        if let Err(error) = &read {
            self.standing.note(reason(error));
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Heard {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_is_sent_arrives_within_the_time_of_a_batch_or_the_connection_breaks() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = dial("127.0.0.1", port, Duration::from_millis(2_500)).await.unwrap();
        assert_eq!(rustix::net::sockopt::tcp_user_timeout(&stream).unwrap(), 2_500);
        assert!(stream.nodelay().unwrap());
        dial("127.0.0.1", port, Duration::MAX).await.unwrap();
    }
}
