"""What can go wrong around the local stack; each message says what to do."""


class StackError(Exception):
    """The stack cannot go on. `exit_code` is what a command returns for it."""

    exit_code = 1


class MissingTools(StackError):
    """A program that the stack needs is not installed; the message is the command to type."""

    exit_code = 2


class FolderInUse(StackError):
    """Another supervisor holds this folder: `podium down` stops it."""

    exit_code = 2

    def __init__(self, folder: str, pid: int | None) -> None:
        self.pid = pid
        holder = f"pid {pid}" if pid is not None else "another process"
        super().__init__(
            f"a stack already runs in {folder} ({holder}); "
            f"stop it with `podium down --folder {folder}` or choose another --folder"
        )


class JarMismatch(StackError):
    """A jar is not the one that jars.sha256 pins."""
