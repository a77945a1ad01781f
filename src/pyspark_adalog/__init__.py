"""The data source `adalog` by the name that Spark looks for: in a checkout `spark.read.format("adalog")` finds it.

It is no part of the wheel, in which `adalog` is the only name; there `adalog.spark.register` tells a session of it.
"""

from adalog.executor.source.data_source import AdalogSource as DefaultSource

__all__ = ["DefaultSource"]
