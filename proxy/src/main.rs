//! The binary: see [`mcpl_sidecar::cli`].

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Sessions come and go in any order, and each has buffers of many sizes: the system's allocator cannot give back what
/// lies between those that stay.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    mcpl_sidecar::cli::main()
}
