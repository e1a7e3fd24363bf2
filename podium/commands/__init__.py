"""One module a group of commands; each offers `register(app)`."""
