//! The second act: a producer that does as discord-mcpl 0.1.4 does. It names no subject, edits a message under one
//! `eventId` however often, looks at no refusal and sends nothing twice.

use super::script::{Act, Event, Scene, Step};

const MESSAGES: &str = "discord.messaging";

/// The act.
pub(super) fn act() -> Act {
    let title = "Messages are edited and deleted, before and after the model read them";
    Act {
        scenes: vec![Scene { title, steps: steps() }],
        settings: include_str!("discord.toml"),
        declared: &[MESSAGES],
        released: true,
    }
}

fn steps() -> Vec<Step> {
    let create = |n: u32, text: &str| say(&format!("discord_msg_{n}"), &format!("message {n}: {text}"), text);
    let edit = |n: u32, text: &str| say(&format!("discord_edit_{n}"), &format!("edit of {n}: {text}"), text);
    let delete = |n: u32| {
        say(&format!("discord_delete_{n}"), &format!("deletion of {n}"), &format!("message {n} deleted"))
    };
    vec![
        create(1, "good morning"),
        create(2, "lunch at nonn?"),
        edit(2, "lunch at noon?"),
        edit(2, "lunch at 12:30?"),
        create(3, "wrong window"),
        delete(3),
        Step::Turn,
        delete(1),
        Step::Turn,
    ]
}

fn say(id: &str, label: &str, text: &str) -> Step {
    Step::Send(Event::push(MESSAGES, id, label, text, None))
}
