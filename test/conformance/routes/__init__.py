"""The registry of programs and routes: a program is written once, and runs on every route that takes it."""
