//! Hosts come: connections, and their first messages.

use std::task::{Context, Poll};

use mcpl_codec::Frame;
use tokio::time::Instant;

use super::Binding;
use super::probe::{MAX_PROBES, Probe, Said};
use crate::exchange::Side;
use crate::transport::ws::close::Close;

impl Binding {
    pub(super) fn poll_connections(&mut self, cx: &mut Context<'_>) {
        let limit = self.producer.limits.max_message_bytes;
        while let Some(connections) = &mut self.connections {
            match connections.poll_recv(cx) {
                Poll::Ready(Some(connection)) => {
                    if self.probes.len() >= MAX_PROBES {
                        self.dismiss(0, "too many connections have said nothing yet");
                    }
                    self.probes.push_back(Probe::new(connection, limit, false));
                }
                Poll::Ready(None) => self.connections = None,
                Poll::Pending => return,
            }
        }
    }

    /// Closes a connection that is no session.
    fn dismiss(&mut self, at: usize, why: &str) {
        if let Some(probe) = self.probes.remove(at) {
            probe.dismiss(&Close::new(Close::NORMAL, why));
        }
    }

    pub(super) fn poll_probes(&mut self, cx: &mut Context<'_>) {
        let now = Instant::now();
        let limit = self.producer.limits.max_message_bytes;
        let mut at = 0;
        while at < self.probes.len() {
            let Some(probe) = self.probes.get_mut(at) else { return };
            match probe.poll(cx) {
                Said::Nothing if probe.until.is_none_or(|until| now < until) => at += 1,
                Said::Nothing => self.dismiss(at, "no message came in time"),
                Said::End => self.dismiss(at, ""),
                Said::Noise(frame) => {
                    let (head, why) = match &frame {
                        Frame::Line(line) => (line.text(), "it is no JSON object or array"),
                        Frame::TooLong(_) => {
                            (&b""[..], "it is too long for the first message of a connection")
                        }
                    };
                    self.core.trouble.noise(Side::Host, why, head);
                }
                Said::Message(line) => {
                    let Some(probe) = self.probes.remove(at) else { return };
                    let patient = probe.until.is_none();
                    let (connection, mut framer) = probe.into_parts();
                    framer.set_limit(limit);
                    if let Some(older) = self.session.take() {
                        tracing::info!(producer = %self.producer.name, "a newer host connection ends the older one");
                        let why =
                            Close::new(Close::NORMAL, "another connection of this producer's host took over");
                        self.retire(older, &why);
                    }
                    self.begin(connection, framer, Some(line), patient);
                }
            }
        }
    }
}
