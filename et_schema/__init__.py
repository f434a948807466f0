"""The `.pte` and `.ptd` file formats: schema, containers, errors. Needs neither torch nor numpy."""
