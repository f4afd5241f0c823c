//! From the file's refusal rules to those of the policy.

use mcpl_codec::refusal::Kind;
use mcpl_policy::refusal::Classifier;

use super::model::{Producer, Profile, Refusals, Rule};

impl Producer {
    /// What reads this producer's host's refusals (contract 8).
    pub fn classifier(&self) -> Classifier {
        Classifier::new(self.refusals.rules(), self.host.profile.into(), self.refusals.retry_after_ms)
    }
}

impl Refusals {
    /// The user's rules, in order.
    pub fn rules(&self) -> Vec<mcpl_policy::refusal::Rule> {
        self.rules.iter().map(Into::into).collect()
    }
}

impl From<&Rule> for mcpl_policy::refusal::Rule {
    fn from(rule: &Rule) -> Self {
        Self {
            code: rule.code,
            message: rule.message.as_ref().map(|pattern| pattern.0.clone()),
            reason: rule.reason.as_ref().map(|pattern| pattern.0.clone()),
            method: rule.method.clone(),
            refusal: Kind::from(rule.refusal.as_str()),
            retryable: rule.retryable,
            retry_after_ms: rule.retry_after_ms,
            limit_bytes: rule.limit_bytes,
        }
    }
}

impl From<Profile> for mcpl_policy::profile::Profile {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Generic => Self::Generic,
            Profile::AgentFramework => Self::AgentFramework,
            Profile::CcBridge => Self::CcBridge,
        }
    }
}
