//! The program `ragstone`; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ragstone::cli::main()
}
