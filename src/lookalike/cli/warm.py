"""The command `lookalike warm`."""

from __future__ import annotations

from lookalike.cli import options as o


@o.takes()
def warm(quiet: o.RunOptions.Quiet = False) -> None:
    """Compile all kernels now, on all cores, so that no later command has to.

    Useful once after an installation, and when an image for containers is built. Compiled kernels are kept in
    ~/.cache/lookalike (or $XDG_CACHE_HOME/lookalike), for this version, this version of Python and this processor.
    """
    from lookalike.cli import terminal
    from lookalike.kernels import warming

    kernels = warming.missing()
    if kernels:
        if not quiet:
            terminal.err.say("Compiling", f"{len(kernels)} kernels on {warming.cores()} cores ...")
        warming.compile_together(kernels)
    left = len(warming.missing())
    if not quiet:
        terminal.err.say("Compiled", f"{len(kernels) - left} kernels" + (f", {left} failed" if left else ""))
