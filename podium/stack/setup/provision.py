"""Set-up beyond Python: programs and jars.

    python -m podium.stack.setup.provision [--for demo|test]

Does nothing, in a fraction of a second, when everything is there. Exit codes: 0 all there, 1 a
download or a check failed, 2 something has to be installed by hand (the command is printed).
"""

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from podium.stack.errors import StackError
from podium.stack.setup.jars import ensure_jars, write_lock
from podium.stack.setup.tools import NEEDED, ensure_tools


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m podium.stack.setup.provision", description=__doc__
    )
    parser.add_argument("--for", dest="purpose", choices=sorted(NEEDED), default="demo")
    parser.add_argument(
        "--write-lock", action="store_true", help="pin the jars that pom.xml resolves to now"
    )
    options = parser.parse_args(arguments)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        with console.status("checking the tools") as status:

            def say(line: str) -> None:
                console.print(f"podium set-up: {line}", markup=False)
                status.update(line)

            ensure_tools(options.purpose, say)
            if options.write_lock:
                write_lock(say)
            ensure_jars(say)
    except KeyboardInterrupt:
        console.print("podium set-up: interrupted; run again to continue where it stopped")
        return 130
    except StackError as error:
        console.print(f"podium set-up: {error}", markup=False, style="red")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
