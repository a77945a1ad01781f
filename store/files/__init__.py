"""Files and folders: private ones, leases, segment files, places at an address."""
