//! Who watches never slows who works: when processors are short, the thread of the readers is the one that waits.

/// How nice that thread is. While every processor is busy with threads that are not, it gets about a tenth of one:
/// readers then come late, and those that fall off what can be replayed go on from a snapshot. On a processor that
/// is idle it runs as fast as any.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Lowers the priority of the thread that calls this, and of those it starts from now on.
#[cfg(target_os = "linux")]
pub(super) fn lower() {
    // On Linux this is of the thread alone, whatever POSIX says of processes. Who is nicer already stays so.
    let is_nicer = rustix::process::getpriority_process(None).is_ok_and(|now| now >= NICE);
    if !is_nicer && let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "the thread of the event stream's readers keeps its priority");
    }
}

/// Elsewhere it would be the whole program that gives way.
#[cfg(not(target_os = "linux"))]
pub(super) fn lower() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_way_with_those_it_starts_and_no_other_does() {
        let now = || rustix::process::getpriority_process(None).unwrap();
        let before = now();
        let lowered = std::thread::spawn(move || {
            lower();
            (now(), std::thread::spawn(now).join().unwrap())
        });
        let wanted = before.max(NICE);
        assert_eq!(lowered.join().unwrap(), (wanted, wanted));
        assert_eq!(now(), before);
    }
}
