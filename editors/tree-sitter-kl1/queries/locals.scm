; A variable is known in its clause, and there everywhere.
[(rule) (fact) (directive)] @local.scope
(variable) @local.reference
