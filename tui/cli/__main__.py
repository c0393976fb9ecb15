"""`python -m tui.cli`: the command where it is not installed as `arena`, such as under torchrun."""

from tui.cli import main

if __name__ == "__main__":
    main()
