"""The benchmarks: adalog beside its peers, in the same run, with the losses printed as plainly as the wins."""
