"""`python -m farthing` is `farthing`."""

from farthing.cli import main

if __name__ == "__main__":  # worker processes import this module too
    main()
