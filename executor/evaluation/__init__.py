"""From a plan to rows: bound to snapshots, rules by strata and rounds, queries within queries, the run itself."""
