"""The command `arena` as a module, for processes that are started by torchrun, or killed."""

from tui.cli import main

if __name__ == "__main__":
    main()
