"""For tests of programs that use adalog: `adalog.client.testing` under its public name."""

from adalog.client.testing import FrozenClock as FrozenClock
from adalog.client.testing import adalog_clock as adalog_clock
from adalog.client.testing import adalog_db as adalog_db
from adalog.client.testing import memory as memory
