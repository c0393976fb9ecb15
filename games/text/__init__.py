"""How OpenSpiel games speak: rules, boards and action names in plain words."""
