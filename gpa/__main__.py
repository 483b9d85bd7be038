"""`python -m gpa` is the `gpa` command."""

from gpa.cli import main

if __name__ == "__main__":
    main()
