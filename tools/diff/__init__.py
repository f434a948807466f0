"""What ``et-vm diff`` compares: programs, in terms that neither numbering nor the layout of the file touches."""
