"""EDN text and Python values: `adalog.client.edn` under its public name."""

from adalog.client.edn import read as read
from adalog.client.edn import write as write
