"""The commands: argument parsing over the libraries. Installed as the package `et_tools`."""
