//! The sentences that known hosts refuse with, and what each of them means (contract 8.10).

use mcpl_codec::code::{CAPABILITY_DENIED, INVALID_PARAMS};
use mcpl_codec::refusal::Kind;
use mcpl_codec::{Refusal, raw};

use super::{About, Said};
use crate::profile::Profile;

/// What agent-framework takes as the content of one event, in JCS bytes.
const AGENT_FRAMEWORK_CONTENT_BYTES: u64 = 1_048_576;

/// One entry of a profile. All that it names must be found in the refusal.
struct Phrase {
    /// The code of an error; a result has none.
    code: Option<i64>,
    /// Pieces of a result's `reason` or an error's `message`, in this order, as the host spells them.
    /// Text without a regular expression: there is nothing to compile and nothing that can fail.
    text: &'static [&'static str],
    /// A condition that is not in a text.
    when: fn(&Said<'_>, About) -> bool,
    means: Means,
}

/// What a phrase means.
enum Means {
    /// A kind, with what belongs to it.
    Plain(fn() -> Refusal),
    /// `not_permitted` for now.
    NotYet,
    /// `unavailable`, for this many milliseconds if the host does not say; `None`: as configured.
    Unavailable(Option<u64>),
}

impl Phrase {
    const fn new(text: &'static [&'static str], means: Means) -> Self {
        Self { code: None, text, when: |_, _| true, means }
    }

    fn matches(&self, said: &Said<'_>, about: About) -> bool {
        if self.code.is_some_and(|code| said.code() != Some(code)) {
            return false;
        }
        let words = said.words.as_deref().unwrap_or("");
        let mut rest = Some(words);
        for piece in self.text {
            rest = rest.and_then(|words| words.find(piece).map(|at| &words[at + piece.len()..]));
        }
        rest.is_some() && (self.when)(said, about)
    }
}

const AGENT_FRAMEWORK: &[Phrase] = &[
    Phrase {
        code: Some(CAPABILITY_DENIED),
        ..Phrase::new(&["initial policy not yet established"], Means::NotYet)
    },
    Phrase {
        code: Some(INVALID_PARAMS),
        when: content_over_its_limit,
        ..Phrase::new(&[], Means::Plain(|| Refusal::too_large(AGENT_FRAMEWORK_CONTENT_BYTES)))
    },
    Phrase::new(&["Feature set not enabled"], Means::Plain(Refusal::not_permitted)),
    Phrase::new(&["Unknown feature set"], Means::Plain(Refusal::invalid)),
    Phrase::new(&["Feature set validation failed"], Means::Plain(Refusal::invalid)),
    Phrase::new(&["invalid channel/message identity"], Means::Plain(Refusal::invalid)),
    Phrase::new(&["unknown channel \""], Means::Plain(Refusal::unknown_channel)),
    Phrase::new(&["host is stopping"], Means::Unavailable(Some(5_000))),
    Phrase::new(&["could not persist"], Means::Unavailable(Some(1_000))),
    Phrase::new(&["could not make", "durable"], Means::Unavailable(Some(1_000))),
];

const CC_BRIDGE: &[Phrase] = &[
    Phrase::new(&["not admitted on this host"], Means::Plain(Refusal::not_permitted)),
    Phrase::new(&["internal error"], Means::Unavailable(None)),
];

/// What the profile knows of this refusal; the first entry that fits counts.
pub(super) fn meaning(profile: Profile, said: &Said<'_>, about: About) -> Option<Refusal> {
    let phrases = match profile {
        Profile::Generic => &[],
        Profile::AgentFramework => AGENT_FRAMEWORK,
        Profile::CcBridge => CC_BRIDGE,
    };
    let phrase = phrases.iter().find(|phrase| phrase.matches(said, about))?;
    Some(match phrase.means {
        Means::Plain(refusal) => refusal(),
        Means::NotYet => Refusal { retryable: Some(true), ..Refusal::not_permitted() },
        Means::Unavailable(ms) => super::judge::bare(Kind::Unavailable, ms),
    })
}

/// The host caps content and answers `-32602` naming it: by `data.field`, in words where it has no field.
fn content_over_its_limit(said: &Said<'_>, about: About) -> bool {
    let field = said.fields.and_then(|data| raw::member(data, "field")).and_then(raw::string);
    let names_it = match &field {
        Some(field) => matches!(field.as_ref(), "payload.content" | "content"),
        None => said.words.as_ref().is_some_and(|words| words.contains("payload.content")),
    };
    names_it && about.content_bytes as u64 > AGENT_FRAMEWORK_CONTENT_BYTES
}
