"""Rules as programs: requirements, magic sets, closures, strata, shares."""
