//! The `rimms` command: run applications, look at devices, make scenes.
//!
//! | module | subject |
//! | --- | --- |
//! | [`cli`] | the arguments |
//! | [`machine`] | the PEs there are, and a runtime of those asked for |
//! | [`costs`] | what is known of costs from other runs |
//! | [`watch`] | what is watched on simulated devices |
//! | [`devices`], [`run`], [`scene`], [`bench`] | one subcommand each |
//! | [`image`] | pictures of what was found |
//! | [`progress`] | how far a long run has come |
//! | [`output`] | stdout, stderr, exit codes |
//!
//! Exit codes: 0, 1 for a failure (findings of `--check` among them), 2 for a mistake in the arguments. Whatever goes wrong is one line on stderr.

mod bench;
mod cli;
mod costs;
mod devices;
mod image;
mod machine;
mod output;
mod progress;
mod run;
mod scene;
mod watch;

use std::process::ExitCode;

use clap::Parser;
use cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::clap(&error),
    };
    output::finish(match cli.command {
        Command::Devices(args) => devices::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Scene(args) => scene::run(&args),
        Command::Bench(which) => bench::run(&which),
    })
}
